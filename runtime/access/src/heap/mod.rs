//! The shared heap: each process allocates from its own arena; metadata lies outside, so that the allocator adds
//! no traffic to coherent memory. Objects of other arenas go back to their owner through `foreign`.

pub mod arena;
pub mod brk;
mod cache;
pub mod entries;
pub mod extents;
pub mod foreign;
pub mod large;
pub mod slabs;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use dsm_comm::Word;
use parking_lot::Mutex;

use crate::image::{self, Place};
use crate::job::library::set_errno;
use crate::memory::rules::Rules;
use crate::posted::pending;
use crate::{config, memory, profile, race, sync};
use arena::{Arena, Object, class_bytes, small_class};
use dsm_threads::fork;
use dsm_threads::handler::Deferred;
use slabs::Slabs;

/// A piece of this process's arena, with one block size.
struct Part {
    base: usize,
    bytes: usize,
    /// Bytes of its blocks.
    block: usize,
    slabs: Arc<Slabs>,
    arena: Mutex<Arena>,
}

/// The general part, then one for each block size that the rules name.
fn parts() -> &'static [Part] {
    static PARTS: OnceLock<Vec<Part>> = OnceLock::new();
    PARTS.get_or_init(|| {
        let geometry = memory::get().geometry();
        (0..=geometry.heap_blocks().len())
            .map(|part| {
                let range = geometry.arena_part(sync::rank(), part);
                let block = geometry.block_bytes(geometry.block(range.start));
                let (base, bytes, arena) = (range.start, range.len(), Arena::new(range));
                Part { base, bytes, block, slabs: arena.slabs(), arena: Mutex::new(arena) }
            })
            .collect()
    })
}

/// The part that holds an address of this process's arena.
fn part_of(address: usize) -> Option<&'static Part> {
    parts().iter().find(|part| (part.base..part.base + part.bytes).contains(&address))
}

/// Allocates from this process's arena: address, and whether the bytes are known to be zero. `site` is the return address of the program's
/// call, or 0.
pub fn allocate_at(size: usize, align: usize, site: usize) -> Option<(usize, bool)> {
    let Some(memory) = memory::set_up() else { return allocate_early(size, align) };
    let rules = memory.rules();
    // A handler of the program that synchronises may need the heap, too.
    let _deferred = Deferred::begin();
    let part = if rules.allocations.is_empty() { &parts()[0] } else { chosen_part(rules, size, site) };
    let pad = large::pad(size, part.block);
    // Blocks that hold nothing else where that costs little.
    let (bytes, align) = match pad > 0 {
        true => (size.saturating_add(part.block - 1) & !(part.block - 1), align.max(part.block)),
        false => (size, align),
    };
    let small = if pad == 0 && std::ptr::eq(part, &parts()[0]) { small_class(bytes, align) } else { None };
    let object = match small {
        Some(class) => cache::allocate(part, class).map(|kept| {
            kept.place.hand_out();
            Object { offset: kept.offset, fresh: kept.fresh }
        }),
        None => part.arena.lock().allocate(bytes, align, pad),
    };
    let Some(object) = object else {
        report_exhaustion(size, part.bytes);
        set_errno(libc::ENOMEM);
        return None;
    };
    let address = part.base + object.offset;
    if pad > 0 {
        large::list(address, size);
    }
    if race::is_on() || profile::is_on() {
        race::sites::note(address, size, site);
    }
    if race::is_on() {
        race::watch_allocation(address, size);
    }
    Some((address, object.fresh))
}

/// Allocates for a constructor of a library, which runs before memory is set up: from the C library, for this process.
fn allocate_early(size: usize, align: usize) -> Option<(usize, bool)> {
    let mut object = std::ptr::null_mut();
    // SAFETY: the pointer is written; the alignment is a power of two, and made large enough.
    let status =
        unsafe { libc::posix_memalign(&mut object, align.max(align_of::<libc::max_align_t>()), size) };
    (status == 0).then_some((object as usize, false))
}

/// As [`allocate_at`], for the runtime itself.
pub fn allocate(size: usize, align: usize) -> Option<(usize, bool)> {
    allocate_at(size, align, 0)
}

/// As [`allocate`], in blocks of coherence that hold nothing else as long as they are no larger than two pages: `align` may be that of larger ones.
pub fn allocate_blocks(bytes: usize, align: usize) -> Option<(usize, bool)> {
    let align = align.max(config::get().block_bytes.clamp(16, 2 * arena::PAGE));
    allocate(bytes.next_multiple_of(align), align)
}

/// Where the calls are that asked for allocations, by return address.
static PLACES: Mutex<Option<HashMap<usize, Place>>> = Mutex::new(None);

/// Before `fork`: no thread is in the middle of a change of the heap until [`after_fork`], as the child has this thread only.
pub fn before_fork() {
    std::mem::forget(PLACES.lock());
    parts().iter().for_each(|part| std::mem::forget(part.arena.lock()));
}

/// Behind `fork`, in both processes.
pub fn after_fork(in_child: bool) {
    // SAFETY: `before_fork` has left them locked, in this thread.
    unsafe {
        parts().iter().for_each(|part| fork::unlock(&part.arena, in_child));
        fork::unlock(&PLACES, in_child);
    }
}

fn chosen_part(rules: &Rules, size: usize, site: usize) -> &'static Part {
    let is_at = |file: &str, line| {
        let mut places = PLACES.lock();
        places.get_or_insert_default().entry(site).or_insert_with(|| image::call_site(site)).is(file, line)
    };
    let index = rules.for_allocation(size, is_at).and_then(|rule| {
        note_followed(rule);
        let blocks = memory::get().geometry().heap_blocks();
        blocks.iter().position(|b| *b == rules.allocations[rule].bytes)
    });
    &parts()[index.map_or(0, |index| index + 1)]
}

crate::control::declare! {
    /// Rules for allocations that some allocation followed: bits, in process 0.
    static FOLLOWED: u64;
}

fn followed() -> Word {
    FOLLOWED.shared(0)
}

fn note_followed(rule: usize) {
    static NOTED: AtomicU64 = AtomicU64::new(0);
    let bit = 1_u64.checked_shl(rule as u32).unwrap_or(0);
    if bit & !NOTED.load(Ordering::Relaxed) != 0 {
        followed().fetch_or(bit, Ordering::Relaxed);
        NOTED.fetch_or(bit, Ordering::Relaxed);
    }
}

/// At the end of the job: warns of rules about places where no process allocated.
pub fn report_rules() {
    let rules = memory::get().rules();
    if !rules.asks_for_sites() {
        return;
    }
    let known = PLACES.lock().as_ref().is_none_or(|places| places.values().any(Place::has_line));
    for sentence in rules.not_followed(followed().load(Ordering::Relaxed), known) {
        eprintln!("dsm: warning: {sentence}");
    }
}

fn report_exhaustion(size: usize, space: usize) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    if !REPORTED.swap(true, Ordering::Relaxed) {
        eprintln!(
            "dsm: warning: process {} has no space for {size} bytes in its part of the shared heap, of {space} bytes, so the allocation fails; set DSM_HEAP to a larger size",
            sync::rank()
        );
    }
}

/// The process whose arena holds the address.
pub fn owner(address: usize) -> Option<u32> {
    memory::set_up()?;
    let first = memory::arena(0);
    if sync::size() == 1 {
        return first.contains(&address).then_some(0);
    }
    let stride = memory::arena(1).start - first.start;
    let rank = address.checked_sub(first.start)? / stride;
    let inside = rank < sync::size() as usize && memory::arena(rank as u32).contains(&address);
    inside.then_some(rank as u32)
}

/// Bytes of the general part of this process's arena, used or not.
pub fn space() -> usize {
    parts()[0].bytes
}

/// Usable bytes of an object of this process's arena.
pub fn own_size(address: usize) -> Option<usize> {
    let part = part_of(address)?;
    if let Some(place) = part.slabs.find(address - part.base) {
        return place.is_live().then(|| class_bytes(place.class));
    }
    let _deferred = Deferred::begin();
    part.arena.lock().size(address - part.base)
}

/// Frees what is neither an arena's nor the C library's; false if it is none of that.
static FREE_OTHER: OnceLock<fn(usize) -> bool> = OnceLock::new();

/// Says who frees what is neither an arena's nor the C library's: false if an address is none of that. Before user code runs.
pub fn register(free: fn(usize) -> bool) {
    let _ = FREE_OTHER.set(free);
}

/// Frees a small object of the general part of this process's arena; false if none begins there.
#[inline(always)]
fn free_small(address: usize) -> bool {
    let part = &parts()[0];
    let offset = address.wrapping_sub(part.base);
    let place = if offset < part.bytes { part.slabs.find(offset) } else { None };
    let live = place.filter(slabs::Place::take_back);
    live.inspect(|place| cache::free(part, *place, offset)).is_some()
}

/// Frees another object of this process's arena; false if none begins there.
fn free_own(address: usize) -> bool {
    let Some(part) = part_of(address) else { return false };
    let offset = address - part.base;
    match part.slabs.find(offset) {
        Some(_) if std::ptr::eq(part, &parts()[0]) => false,
        _ => {
            large::forget(address);
            part.arena.lock().free(offset)
        }
    }
}

/// Frees an object of any arena; other addresses belong to the C library.
pub fn free(address: usize) {
    if !memory::is_set_up() {
        // SAFETY: libraries' initialisation, which the C library has given the memory.
        return unsafe { libc::free(address as *mut libc::c_void) };
    }
    // Nothing is to be executed on an object that is gone.
    pending::flush();
    let _deferred = Deferred::begin();
    if free_small(address) {
        return;
    }
    match owner(address) {
        Some(rank) if rank == sync::rank() => {
            if !free_own(address) {
                crate::job::die(&format!("free of {address:#x}, where no object of the shared heap begins"));
            }
        }
        Some(rank) => foreign::defer(rank, address),
        None if FREE_OTHER.get().is_some_and(|free| free(address)) => {}
        // SAFETY: not ours, so the program got it from the C library.
        None => unsafe { libc::free(address as *mut libc::c_void) },
    }
}
