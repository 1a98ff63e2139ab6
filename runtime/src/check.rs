//! The slow paths of the inline checks, and checked access for the runtime itself.
//!
//! In a single process no state byte ever refuses, so nothing here runs but the first test of the range entries.

use dsm_abi::state::{READ_LIMIT, READABLE};
use dsm_coherence::Extent;

use crate::fabric;
use crate::memory::{self, Shared};

/// What an access needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl Access {
    /// States from this on refuse it.
    fn limit(self) -> u8 {
        match self {
            Access::Read => READ_LIMIT,
            Access::Write => READABLE,
        }
    }
}

/// Makes the shared part of `[address, address + len)` accessible.
fn ensure(address: usize, len: usize, access: Access) {
    let Some(shared) = memory::shared() else { return };
    if len == 0 {
        return;
    }
    let geometry = memory::get().geometry();
    let last = address.saturating_add(len - 1);
    for part in [geometry.globals(), geometry.region()] {
        if address < part.end && last >= part.start {
            ensure_part(shared, address.max(part.start), last.min(part.end - 1), access);
        }
    }
}

/// `[first, last]` lies in the globals or in the region.
fn ensure_part(shared: &Shared, first: usize, last: usize, access: Access) {
    let memory = memory::get();
    let (table, geometry) = (memory.table(), memory.geometry());
    let mut at = first;
    while let Some(refused) = table.first_at_least(at, last, access.limit()) {
        let from = geometry.block(refused);
        let to = geometry.block(last);
        // The protocol skips what is valid already: one call for the rest of the range is one batch.
        let extent = Extent::new(from, to.0 - from.0 + 1);
        match access {
            Access::Read => fabric::run(shared.coherence.read_miss(extent)),
            Access::Write => fabric::run(shared.coherence.write_miss(extent)),
        }
        at = refused;
    }
}

/// Makes `[address, address + len)` readable for plain accesses until the thread's next acquire.
pub fn readable(address: usize, len: usize) {
    ensure(address, len, Access::Read);
}

/// Makes `[address, address + len)` writable for plain accesses until the thread's next acquire or release.
pub fn writable(address: usize, len: usize) {
    ensure(address, len, Access::Write);
}

/// Makes a NUL-terminated string readable; returns its length without the NUL.
///
/// # Safety
/// A string starts at `address`.
pub unsafe fn readable_string(address: usize) -> usize {
    let line = 1usize << memory::get().geometry().line_shift();
    let mut end = address;
    loop {
        let next = (end / line + 1) * line;
        readable(end, next - end);
        while end < next {
            // SAFETY: no NUL was seen yet, so the string goes on to this byte at least.
            if unsafe { (end as *const u8).read_volatile() } == 0 {
                return end - address;
            }
            end += 1;
        }
    }
}

/// Entry point, see `dsm_abi::entries`.
#[unsafe(no_mangle)]
#[cold]
pub extern "C" fn __dsm_load_miss(addr: *mut u8, len: u64) {
    readable(addr as usize, len as usize);
}

/// Entry point, see `dsm_abi::entries`.
#[unsafe(no_mangle)]
#[cold]
pub extern "C" fn __dsm_store_miss(addr: *mut u8, len: u64) {
    writable(addr as usize, len as usize);
}

/// Entry point, see `dsm_abi::entries`.
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_load_range(addr: *mut u8, len: u64) {
    readable(addr as usize, len as usize);
}

/// Entry point, see `dsm_abi::entries`.
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_store_range(addr: *mut u8, len: u64) {
    writable(addr as usize, len as usize);
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// A NUL-terminated string starts at `addr`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_load_str(addr: *mut u8) {
    if memory::shared().is_some() && memory::is_shared(addr as usize) {
        // SAFETY: the caller's promise.
        unsafe { readable_string(addr as usize) };
    }
}
