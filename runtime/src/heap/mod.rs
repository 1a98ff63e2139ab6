//! The shared heap: each process allocates from its own arena; metadata lies outside, so that the allocator adds
//! no traffic to coherent memory. Objects of other arenas go back to their owner through [`foreign`].

pub mod arena;
pub mod entries;
pub mod extents;
mod foreign;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::{memory, sync};
use arena::Arena;

fn own() -> &'static Mutex<Arena> {
    static ARENA: OnceLock<Mutex<Arena>> = OnceLock::new();
    ARENA.get_or_init(|| Mutex::new(Arena::new(memory::arena(sync::rank()).end.saturating_sub(base()))))
}

/// First address in use: aligned well, so that offsets and addresses share their alignment.
fn base() -> usize {
    memory::arena(sync::rank()).start.next_multiple_of(1 << 21)
}

/// Allocates from this process's arena: address, and whether the bytes are known to be zero.
pub fn allocate(size: usize, align: usize) -> Option<(usize, bool)> {
    let object = own().lock().allocate(size, align);
    if object.is_none() {
        report_exhaustion(size);
    }
    object.map(|object| (base() + object.offset, object.fresh))
}

fn report_exhaustion(size: usize) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    if !REPORTED.swap(true, Ordering::Relaxed) {
        eprintln!(
            "dsm: error: process {} cannot allocate {size} bytes: its part of the shared heap has {} bytes; set DSM_HEAP to a larger size",
            sync::rank(),
            memory::arena(sync::rank()).len()
        );
    }
}

/// The process whose arena holds the address.
pub fn owner(address: usize) -> Option<u32> {
    let first = memory::arena(0);
    if sync::size() == 1 {
        return first.contains(&address).then_some(0);
    }
    let stride = memory::arena(1).start - first.start;
    let rank = address.checked_sub(first.start)? / stride;
    let inside = rank < sync::size() as usize && memory::arena(rank as u32).contains(&address);
    inside.then_some(rank as u32)
}

/// Usable bytes of an object of this process's arena.
pub fn own_size(address: usize) -> Option<usize> {
    own().lock().size(address.checked_sub(base())?)
}

/// Frees an object of any arena; other addresses belong to the C library.
pub fn free(address: usize) {
    match owner(address) {
        Some(rank) if rank == sync::rank() => {
            let freed = address.checked_sub(base()).is_some_and(|offset| own().lock().free(offset));
            if !freed {
                crate::start::die(&format!(
                    "free of {address:#x}, where no object of the shared heap begins"
                ));
            }
        }
        Some(rank) => foreign::defer(rank, address),
        // SAFETY: not ours, so the program got it from the C library.
        None => unsafe { libc::free(address as *mut libc::c_void) },
    }
}

/// To be called before the release of a synchronisation of all processes.
pub fn before_sync() {
    foreign::send();
}

/// To be called after the acquire of a synchronisation of all processes.
pub fn after_sync() {
    if sync::size() > 1 {
        foreign::receive();
    }
}
