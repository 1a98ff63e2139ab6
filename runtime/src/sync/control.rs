//! Words that never migrate: the control areas of the segments, and the control words that OpenMP's constructs use.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use dsm_threads::futex;

use super::{cell, layout};
use crate::memory;

/// Control memory of a single process, which has no segment.
fn private_control() -> *mut u8 {
    static AREA: OnceLock<usize> = OnceLock::new();
    let bytes = memory::geometry::CONTROL_BYTES;
    *AREA.get_or_init(|| {
        // Not from the allocator, which would fill all of it with zeros.
        let area = dsm_comm::segment::reserve(bytes)
            .unwrap_or_else(|error| panic!("no memory for control words: {error}"));
        area as usize
    }) as *mut u8
}

fn address(rank: u32, offset: usize) -> *mut u8 {
    assert!(offset < memory::geometry::CONTROL_BYTES);
    // Unit tests use control words without any memory.
    let shared = if cfg!(test) && !memory::is_set_up() { None } else { memory::shared() };
    match shared {
        Some(shared) => shared.views.address(rank, memory::get().geometry().control_offset() + offset),
        // SAFETY: inside the area by the assertion.
        None => unsafe { private_control().add(offset) },
    }
}

/// A cache line of process 0's control area: its address is looked up once for all of its words.
#[derive(Clone, Copy)]
pub struct Line(*mut u8);

/// The line at `offset`, a multiple of its size.
#[inline]
pub fn line(offset: usize) -> Line {
    /// Address of the area; 0 until it is first used.
    static AREA: AtomicUsize = AtomicUsize::new(0);
    assert!(offset.is_multiple_of(Line::BYTES) && offset < memory::geometry::CONTROL_BYTES);
    let mut area = AREA.load(Ordering::Relaxed);
    if area == 0 {
        area = address(0, 0) as usize;
        AREA.store(area, Ordering::Relaxed);
    }
    Line((area + offset) as *mut u8)
}

impl Line {
    const BYTES: usize = 64;

    /// A line of its own, of zeros.
    #[cfg(test)]
    pub fn new() -> Line {
        Line(Box::leak(Box::new(crossbeam_utils::CachePadded::new([0_u64; 8]))).as_mut_ptr().cast())
    }

    /// The word at byte `at`.
    #[inline]
    pub fn word(self, at: usize) -> &'static AtomicU64 {
        assert!(at.is_multiple_of(8) && at < Line::BYTES);
        // SAFETY: inside the line, which is mapped for good; aligned, only accessed atomically.
        unsafe { AtomicU64::from_ptr(self.0.add(at).cast()) }
    }

    /// The half word at byte `at`.
    #[inline]
    pub fn half(self, at: usize) -> &'static AtomicU32 {
        assert!(at.is_multiple_of(4) && at < Line::BYTES);
        // SAFETY: as for `word`.
        unsafe { AtomicU32::from_ptr(self.0.add(at).cast()) }
    }
}

/// A word of a process's control area.
pub fn word(rank: u32, offset: usize) -> &'static AtomicU64 {
    assert!(offset.is_multiple_of(8));
    // SAFETY: mapped for good, aligned, only accessed atomically.
    unsafe { AtomicU64::from_ptr(address(rank, offset).cast()) }
}

/// Half a word of a process's control area: for futexes.
pub fn half(rank: u32, offset: usize) -> &'static AtomicU32 {
    assert!(offset.is_multiple_of(4));
    // SAFETY: mapped for good, aligned, only accessed atomically.
    unsafe { AtomicU32::from_ptr(address(rank, offset).cast()) }
}

/// Address of a byte of a process's control area; `offset` as [`layout`] says.
pub fn control_area(rank: u32, offset: usize) -> *mut u8 {
    address(rank, offset)
}

/// Word of a process's control area; `offset` as [`layout`] says.
pub fn control_area_word(rank: u32, offset: usize) -> &'static AtomicU64 {
    word(rank, offset)
}

/// Half a word of a process's control area.
pub fn control_area_half(rank: u32, offset: usize) -> &'static AtomicU32 {
    half(rank, offset)
}

/// Word `i` of the counters that a process leaves for the table at the end.
pub fn stats_word(rank: u32, i: usize) -> &'static AtomicU64 {
    word(rank, layout::STATS + 8 * i)
}

/// Number of control words.
pub const CONTROL_WORDS: usize = 1 << 16;

fn control(i: usize) -> &'static AtomicU64 {
    assert!(i < CONTROL_WORDS);
    word(0, layout::CONTROL + 8 * i)
}

/// The low half of a control word, which futexes take.
fn low(i: usize) -> &'static AtomicU32 {
    const { assert!(cfg!(target_endian = "little")) };
    // SAFETY: half of a word that is only accessed atomically.
    unsafe { AtomicU32::from_ptr(control(i).as_ptr().cast()) }
}

fn wake_control(i: usize) {
    cell::wake(low(i), half(0, layout::CONTROL_SLEEPERS), futex::ALL);
}

/// Reads a control word: it lives in process 0, starts at 0, and orders nothing but itself.
pub fn control_load(i: usize) -> u64 {
    control(i).load(Ordering::SeqCst)
}

/// Writes a control word and wakes who waits for it.
pub fn control_store(i: usize, v: u64) {
    control(i).store(v, Ordering::SeqCst);
    wake_control(i);
}

/// Adds to a control word and wakes who waits for it; returns the old value.
pub fn control_fetch_add(i: usize, v: u64) -> u64 {
    let old = control(i).fetch_add(v, Ordering::SeqCst);
    wake_control(i);
    old
}

/// Compare-and-swap of a control word; wakes who waits for it.
///
/// # Errors
/// The value found, if it is not `expected`.
pub fn control_cas(i: usize, expected: u64, new: u64) -> Result<u64, u64> {
    let result = control(i).compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst);
    if result.is_ok() {
        wake_control(i);
    }
    result
}

/// Sleeps until `until` holds for a control word; returns it. Changes of the low 32 bits are noticed.
pub fn control_wait(i: usize, until: impl Fn(u64) -> bool) -> u64 {
    cell::wait(low(i), half(0, layout::CONTROL_SLEEPERS), futex::ALL, |_| until(control_load(i)));
    control_load(i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_words_lie_side_by_side() {
        for i in [0, 1, CONTROL_WORDS - 1] {
            assert_eq!(control(i).as_ptr() as usize, address(0, layout::CONTROL) as usize + 8 * i);
        }
    }

    #[test]
    fn each_change_of_a_control_word_wakes_who_waits_for_it() {
        let changes: [fn(usize); 3] = [
            |i| control_store(i, 1),
            |i| assert_eq!(control_fetch_add(i, 1), 0),
            |i| assert_eq!(control_cas(i, 0, 1), Ok(0)),
        ];
        for (i, change) in changes.into_iter().enumerate() {
            std::thread::scope(|scope| {
                let waiter = scope.spawn(move || control_wait(i, |value| value != 0));
                while half(0, layout::CONTROL_SLEEPERS).load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
                // Time to fall asleep.
                std::thread::sleep(std::time::Duration::from_millis(20));
                change(i);
                assert_eq!(waiter.join().expect("it is woken"), 1);
            });
        }
    }
}
