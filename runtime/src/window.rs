//! Windows: what a loop nest remembers of the memory around the ranges that it checks.
//!
//! A range check inside of a loop first looks whether its range lies in the window, which compiled code keeps on its stack and
//! empties in front of the outermost loop without synchronisation. A window holds lines that were found valid since, so it holds until
//! the thread's next acquire, as any check. How far a miss looks ahead grows while the ranges walk on through memory.

use std::ops::Range;

use dsm_abi::layout::ADDRESS_BITS;

use crate::check::{Access, ensure, ensure_grid, has_effect};
use crate::memory;
use crate::profile;
use crate::race;
use crate::verify;

/// First byte and end of memory that is known to be valid.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Window {
    start: u64,
    end: u64,
}

/// Lines that a miss looks ahead at first, and at most.
const AHEAD_MIN: usize = 16;
const AHEAD_MAX: usize = 4096;

/// Makes a range valid and finds the window around it.
fn look(address: usize, len: usize, old: Window, access: Access) -> Window {
    if !has_effect() {
        return Window { start: 0, end: 1 << ADDRESS_BITS };
    }
    let (from, to) = (address, address.saturating_add(len));
    if (old.start as usize) <= from && to <= old.end as usize {
        return old;
    }
    ensure(address, len, access);
    let (table, geometry) = (memory::get().table(), memory::get().geometry());
    let line = 1usize << geometry.line_shift();
    let Some(part) = geometry.parts().find(|p| p.contains(&from)) else {
        return to_window(private(from, to, geometry.parts()));
    };
    if to > part.end {
        return to_window(from..to);
    }
    // Walks on from the window: everything between its start and the range is valid if they touch.
    let walks = (old.start as usize) < from && from <= old.end as usize;
    let known = if walks { (old.end - old.start) as usize } else { 0 };
    let ahead = (2 * known).clamp(AHEAD_MIN * line, AHEAD_MAX * line);
    let last = to.saturating_add(ahead).min(part.end) - 1;
    let end = match table.first_at_least(to.max(from + 1) - 1, last, access.limit()) {
        Some(refused) => refused.max(to),
        None => last + 1,
    };
    let start = if walks { old.start as usize } else { (from & !(line - 1)).max(part.start) };
    if verify::is_on() {
        verify::checked(from, end - from, access);
    }
    to_window(start..end)
}

/// As [`look`] for `len` bytes at `address + i * step`, `i` up to `count` inclusive.
fn look_along(
    address: usize,
    len: usize,
    (step, count): (usize, usize),
    old: Window,
    access: Access,
) -> Window {
    let line = 1usize << memory::get().geometry().line_shift();
    if !has_effect() || step < len + line {
        return look(address, len.wrapping_add(step.wrapping_mul(count)), old, access);
    }
    ensure_grid(address, len, [(step, count), (0, 0)], access);
    // Lines between the steps may be valid, too. Backwards steps are not looked at: the inline test fails for them anyway.
    let whole = step.checked_mul(count).and_then(|far| address.checked_add(far)?.checked_add(len));
    let table = memory::get().table();
    match whole.filter(|end| (end - address) / line <= AHEAD_MAX) {
        Some(end) if table.first_at_least(address, end - 1, access.limit()).is_none() => {
            if verify::is_on() {
                verify::checked(address, end - address, access);
            }
            to_window(address..end)
        }
        _ => old,
    }
}

/// The private memory around a range that starts in it.
fn private(from: usize, to: usize, shared: impl Iterator<Item = Range<usize>>) -> Range<usize> {
    let (mut start, mut end) = (0, 1 << ADDRESS_BITS);
    for part in shared {
        if part.end <= from {
            start = start.max(part.end);
        } else {
            end = end.min(part.start);
        }
    }
    // The range may reach into shared memory, which was made valid then.
    start..end.max(to)
}

fn to_window(range: Range<usize>) -> Window {
    Window { start: range.start as u64, end: range.end as u64 }
}

unsafe extern "C" {
    // In C, where a function can ask for its return address: each calls the function below of its name.
    pub(crate) fn __dsm_load_window(addr: *mut u8, len: u64, window: *mut u8);
    pub(crate) fn __dsm_load_walk(addr: *mut u8, len: u64, step: u64, count: u64, window: *mut u8);
    pub(crate) fn __dsm_store_window(addr: *mut u8, len: u64, window: *mut u8);
    pub(crate) fn __dsm_overwrite_window(addr: *mut u8, len: u64, window: *mut u8);
    pub(crate) fn __dsm_store_walk(addr: *mut u8, len: u64, step: u64, count: u64, window: *mut u8);
}

/// A load at return address `pc` asks.
///
/// # Safety
/// `window` points to a [`Window`] that nobody else uses.
#[unsafe(no_mangle)]
unsafe extern "C" fn dsm_rt_load_window(addr: *mut u8, len: u64, window: *mut u8, pc: usize) {
    // SAFETY: the caller's promise.
    let window = unsafe { &mut *window.cast::<Window>() };
    *window = profile::at(pc, || look(addr as usize, len as usize, *window, Access::Read));
}

/// As [`dsm_rt_load_window`], for a walk.
///
/// # Safety
/// As for [`dsm_rt_load_window`].
#[unsafe(no_mangle)]
unsafe extern "C" fn dsm_rt_load_walk(
    addr: *mut u8,
    len: u64,
    step: u64,
    count: u64,
    window: *mut u8,
    pc: usize,
) {
    // SAFETY: the caller's promise.
    let window = unsafe { &mut *window.cast::<Window>() };
    let steps = (step as usize, count as usize);
    *window = profile::at(pc, || look_along(addr as usize, len as usize, steps, *window, Access::Read));
}

/// As [`dsm_rt_store_window`], for a walk.
///
/// # Safety
/// As for [`dsm_rt_load_window`].
#[unsafe(no_mangle)]
unsafe extern "C" fn dsm_rt_store_walk(
    addr: *mut u8,
    len: u64,
    step: u64,
    count: u64,
    window: *mut u8,
    pc: usize,
) {
    if race::is_on() {
        for i in 0..=count {
            race::note_write((addr as u64).wrapping_add(i.wrapping_mul(step)) as usize, len as usize, pc);
        }
    }
    // SAFETY: the caller's promise.
    let window = unsafe { &mut *window.cast::<Window>() };
    let steps = (step as usize, count as usize);
    *window = profile::at(pc, || look_along(addr as usize, len as usize, steps, *window, Access::Write));
}

/// A store at return address `pc` asks.
///
/// # Safety
/// As for [`dsm_rt_load_window`].
#[unsafe(no_mangle)]
unsafe extern "C" fn dsm_rt_store_window(addr: *mut u8, len: u64, window: *mut u8, pc: usize) {
    // SAFETY: the caller's promise.
    unsafe { store_window(addr, len, window, pc, Access::Write) }
}

/// As [`dsm_rt_store_window`], for stores to every byte.
///
/// # Safety
/// As for [`dsm_rt_load_window`].
#[unsafe(no_mangle)]
unsafe extern "C" fn dsm_rt_overwrite_window(addr: *mut u8, len: u64, window: *mut u8, pc: usize) {
    // SAFETY: the caller's promise.
    unsafe { store_window(addr, len, window, pc, Access::Overwrite) }
}

/// # Safety
/// As for [`dsm_rt_load_window`].
unsafe fn store_window(addr: *mut u8, len: u64, window: *mut u8, pc: usize, access: Access) {
    if race::is_on() {
        race::note_write(addr as usize, len as usize, pc);
    }
    // SAFETY: the caller's promise.
    let window = unsafe { &mut *window.cast::<Window>() };
    *window = profile::at(pc, || look(addr as usize, len as usize, *window, access));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_memory_ends_where_shared_memory_starts() {
        let shared = [100..200, 1000..2000];
        assert_eq!(private(20, 30, shared.clone().into_iter()), 0..100);
        assert_eq!(private(300, 310, shared.clone().into_iter()), 200..1000);
        assert_eq!(private(950, 1010, shared.clone().into_iter()), 200..1010);
        assert_eq!(private(2000, 2010, shared.clone().into_iter()), 2000..1 << ADDRESS_BITS);
    }
}
