//! Windows: what a loop nest remembers of the memory around the ranges that it checks.
//!
//! A range check inside of a loop first looks whether its range lies in the window, which compiled code keeps on its stack and
//! empties in front of the outermost loop without synchronisation. A window holds lines that were found valid since, so it holds until
//! the thread's next acquire, as any check. How far a miss looks ahead grows while the ranges walk on through memory.

use std::ops::Range;

use dsm_abi::layout::{ADDRESS_BITS, WALK_WINDOW_WORDS, WINDOW_WORDS};

use crate::check::{Access, ensure, ensure_grid, has_effect, state_granularity};
use crate::checked;
use crate::memory;
use crate::profile;
use crate::race;

/// First byte and end of memory that is known to be valid.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Window {
    start: u64,
    end: u64,
}

/// A walk whose bytes are known to be valid, and with them the rest of their lines and perhaps lines beside: `len` bytes at `address + i * step`, `i` up to `count` inclusive, from each
/// address between `first` and `last`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Walk {
    first: u64,
    last: u64,
    len: u64,
    step: u64,
    count: u64,
}

impl Walk {
    /// The walk, and those beside it: `around` tells for the first and the last byte of a step how many bytes before and behind are known to be valid, too.
    fn of(
        address: usize,
        len: usize,
        (step, count): (usize, usize),
        around: impl Fn(usize, usize) -> (usize, usize),
    ) -> Walk {
        let sides = beside(address, len, [(step, count), (0, 0)], |first, last| Some(around(first, last)));
        let (before, behind) = sides.unwrap_or_default();
        let (first, last) = (address.saturating_sub(before), address.saturating_add(behind));
        Walk {
            first: first as u64,
            last: last as u64,
            len: len as u64,
            step: step as u64,
            count: count as u64,
        }
    }

    /// How many bytes beside this walk, before or behind it, the walk from `address` may look at: none if it is not beside it, and the more the more are known.
    fn ahead(
        &self,
        address: usize,
        len: usize,
        (step, count): (usize, usize),
        granularity: usize,
    ) -> (usize, usize) {
        let is_same = (self.len, self.step, self.count) == (len as u64, step as u64, count as u64);
        let address = address as u64;
        let bytes =
            (2 * (self.last - self.first) as usize).clamp(BESIDE_MIN * granularity, BESIDE_MAX * granularity);
        if is_same && address > self.last && address - self.last <= (len + granularity) as u64 {
            (0, bytes)
        } else if is_same && address < self.first && self.first - address <= (len + granularity) as u64 {
            (bytes, 0)
        } else {
            (0, 0)
        }
    }

    fn has(&self, address: usize, len: usize, (step, count): (usize, usize)) -> bool {
        (self.first..=self.last).contains(&(address as u64))
            && len as u64 <= self.len
            && step as u64 == self.step
            && count as u64 <= self.count
    }
}

/// A [`Window`] and the last walk. A nest that walks down the columns of a matrix, one after the other, finds the same lines as before until it leaves them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct WalkWindow {
    window: Window,
    walk: Walk,
}

const _: () = assert!(size_of::<Window>() == 8 * WINDOW_WORDS as usize);
const _: () = assert!(size_of::<WalkWindow>() == 8 * WALK_WINDOW_WORDS as usize);

/// Lines that a miss looks ahead at first, and at most.
const AHEAD_MIN: usize = 16;
const AHEAD_MAX: usize = 4096;
/// How many times the [`state_granularity`] beside each step of a walk, or repetition of a grid, is looked at, at first and at most, once walks or grids follow each other.
pub(crate) const BESIDE_MIN: usize = 4;
/// See [`BESIDE_MIN`].
pub(crate) const BESIDE_MAX: usize = 64;

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
    if checked::is_on() {
        checked::note(memory::get().geometry(), from, end - from, access);
    }
    to_window(start..end)
}

/// As [`look`] for `len` bytes at `address + i * step`, `i` up to `count` inclusive.
fn look_along(
    address: usize,
    len: usize,
    (step, count): (usize, usize),
    old: WalkWindow,
    access: Access,
) -> WalkWindow {
    let granularity = state_granularity();
    if !has_effect() || step < len + granularity {
        let window = look(address, len.wrapping_add(step.wrapping_mul(count)), old.window, access);
        return WalkWindow { window, ..old };
    }
    if old.walk.has(address, len, (step, count)) && !checked::is_on() {
        return old;
    }
    ensure_grid(address, len, [(step, count), (0, 0)], access);
    // Lines between the steps may be valid, too. Backwards steps are not looked at: the inline test fails for them anyway.
    let whole = step.checked_mul(count).and_then(|far| address.checked_add(far)?.checked_add(len));
    let table = memory::get().table();
    let line = 1usize << memory::get().geometry().line_shift();
    match whole.filter(|end| (end - address) / line <= AHEAD_MAX) {
        Some(end) if table.first_at_least(address, end - 1, access.limit()).is_none() => {
            WalkWindow { window: look(address, end - address, old.window, access), ..old }
        }
        _ => {
            let ahead = old.walk.ahead(address, len, (step, count), granularity);
            let last = address.wrapping_add(step.wrapping_mul(count)).wrapping_add(len - 1);
            let surroundings = Surroundings::of(address, last, ahead, access);
            // Others may have taken what was valid.
            let around = |first, last| surroundings.valid(first, last).unwrap_or((0, 0));
            WalkWindow { walk: Walk::of(address, len, (step, count), around), ..old }
        }
    }
}

/// Looks at what is valid around ranges that lie near each other.
pub(crate) struct Surroundings {
    /// Of shared data, which all the ranges are in; `None`: nothing but the lines of a range is looked at.
    part: Option<Range<usize>>,
    ahead: (usize, usize),
    access: Access,
}

impl Surroundings {
    /// Of ranges between `first` and `last`. Up to `ahead` bytes before or behind each are looked at.
    pub(crate) fn of(first: usize, last: usize, ahead: (usize, usize), access: Access) -> Surroundings {
        let holds = |part: &Range<usize>| part.contains(&first) && part.contains(&last);
        let part = if ahead == (0, 0) { None } else { memory::get().geometry().parts().find(holds) };
        Surroundings { part, ahead, access }
    }

    /// How many bytes before the first and behind the last one of a range are valid, too, if the range is: to the ends of their lines, and those that are looked at if all lines before, or some behind,
    /// are.
    pub(crate) fn valid(&self, first: usize, last: usize) -> Option<(usize, usize)> {
        let (table, geometry) = (memory::get().table(), memory::get().geometry());
        let line = 1usize << geometry.line_shift();
        let (start, end) = (first & !(line - 1), last | (line - 1));
        let refused = |from, to| table.first_at_least(from, to, self.access.limit());
        let (lowest, highest) = match &self.part {
            Some(part) if self.ahead.0 != 0 => (start.saturating_sub(self.ahead.0).max(part.start), end),
            Some(part) => (start, (end + self.ahead.1).min(part.end - 1)),
            None => (start, end),
        };
        let (from, to) = if lowest < start && refused(lowest, last).is_none() {
            (lowest, end)
        } else {
            match refused(first, highest.max(last)) {
                None => (start, highest.max(end)),
                Some(refused) if refused > last => (start, refused - 1),
                Some(_) => return None,
            }
        };
        if checked::is_on() {
            checked::note(geometry, from, to + 1 - from, self.access);
        }
        Some((first - from, to - last))
    }
}

/// How many bytes before and behind each repetition of a grid are valid, where `around` tells that for the first and the last byte of one; `None` if it does not for one.
pub(crate) fn beside(
    address: usize,
    len: usize,
    [(step, count), (outer_step, outer_count)]: [(usize, usize); 2],
    around: impl Fn(usize, usize) -> Option<(usize, usize)>,
) -> Option<(usize, usize)> {
    let (mut before, mut behind) = (usize::MAX, usize::MAX);
    for j in 0..=outer_count {
        for i in 0..=count {
            let first = address.wrapping_add(i.wrapping_mul(step)).wrapping_add(j.wrapping_mul(outer_step));
            let beside = around(first, first.wrapping_add(len - 1))?;
            (before, behind) = (before.min(beside.0), behind.min(beside.1));
        }
    }
    Some((before, behind))
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

#[allow(missing_docs, reason = "see `dsm_abi::entries`")]
unsafe extern "C" {
    // In C, where a function can ask for its return address: each calls the function below of its name.
    pub fn __dsm_load_window(addr: *mut u8, len: u64, window: *mut u8);
    pub fn __dsm_load_walk(addr: *mut u8, len: u64, step: u64, count: u64, window: *mut u8);
    pub fn __dsm_store_window(addr: *mut u8, len: u64, window: *mut u8);
    pub fn __dsm_overwrite_window(addr: *mut u8, len: u64, window: *mut u8);
    pub fn __dsm_store_walk(addr: *mut u8, len: u64, step: u64, count: u64, window: *mut u8);
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
/// `window` points to a [`WalkWindow`] that nobody else uses.
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
    let window = unsafe { &mut *window.cast::<WalkWindow>() };
    let steps = (step as usize, count as usize);
    *window = profile::at(pc, || look_along(addr as usize, len as usize, steps, *window, Access::Read));
}

/// As [`dsm_rt_store_window`], for a walk.
///
/// # Safety
/// As for [`dsm_rt_load_walk`].
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
    let window = unsafe { &mut *window.cast::<WalkWindow>() };
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

    /// Whole lines of 1 KiB.
    fn lines(first: usize, last: usize) -> (usize, usize) {
        (first & 0x3ff, !last & 0x3ff)
    }

    #[test]
    fn walks_beside_one_are_known_as_far_as_they_touch_its_lines() {
        // The second step begins 256 bytes into its line, the third 512.
        let walk = Walk::of(0x1000, 8, (0x1100, 2), lines);
        assert!(walk.has(0x1000, 8, (0x1100, 2)));
        assert!(walk.has(0x1000 + 0x1f8, 8, (0x1100, 1)));
        assert!(!walk.has(0x1000 + 0x1f9, 8, (0x1100, 2)));
        assert!(!walk.has(0xfff, 8, (0x1100, 2)));
        assert!(!walk.has(0x1000, 16, (0x1100, 2)));
        assert!(!walk.has(0x1000, 8, (0x1000, 2)));
        assert!(!walk.has(0x1000, 8, (0x1100, 3)));
        assert!(!Walk::default().has(0x1000, 8, (0x1100, 2)));
    }

    #[test]
    fn walks_may_go_backwards() {
        let back = 0usize.wrapping_sub(0x1000);
        let walk = Walk::of(0x8010, 8, (back, 3), lines);
        assert!(walk.has(0x8000, 8, (back, 3)) && walk.has(0x8000 + 0x3f8, 8, (back, 3)));
        assert!(!walk.has(0x7fff, 8, (back, 3)) && !walk.has(0x8000 + 0x3f9, 8, (back, 3)));
    }

    #[test]
    fn walks_that_follow_each_other_look_further_and_further() {
        const LINE: usize = 0x400;
        let steps = (0x1100, 2);
        let walk = Walk::of(0x1000, 8, steps, lines);
        let (first, last) = (walk.first as usize, walk.last as usize);
        assert_eq!(walk.ahead(last + 1, 8, steps, LINE), (0, BESIDE_MIN * LINE));
        assert_eq!(walk.ahead(first - 8, 8, steps, LINE), (BESIDE_MIN * LINE, 0));
        for (address, len, steps) in [
            (last + 8 + LINE + 1, 8, steps),
            (last + 1, 16, steps),
            (last + 1, 8, (0x1100, 3)),
            (first, 8, steps),
        ] {
            assert_eq!(walk.ahead(address, len, steps, LINE), (0, 0));
        }
        let further = Walk::of(0x1000, 8, steps, |_, _| (0, 10 * LINE));
        assert_eq!(further.ahead(0x1000 + 10 * LINE + 8, 8, steps, LINE), (0, 20 * LINE));
        let furthest = Walk::of(0x1000, 8, steps, |_, _| (0, 100 * LINE));
        assert_eq!(furthest.ahead(0x1000 + 100 * LINE + 8, 8, steps, LINE), (0, BESIDE_MAX * LINE));
    }

    #[test]
    fn private_memory_ends_where_shared_memory_starts() {
        let shared = [100..200, 1000..2000];
        assert_eq!(private(20, 30, shared.clone().into_iter()), 0..100);
        assert_eq!(private(300, 310, shared.clone().into_iter()), 200..1000);
        assert_eq!(private(950, 1010, shared.clone().into_iter()), 200..1010);
        assert_eq!(private(2000, 2010, shared.clone().into_iter()), 2000..1 << ADDRESS_BITS);
    }
}
