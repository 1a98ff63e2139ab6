//! Words that never migrate: the control areas of the segments, and the control words that OpenMP's constructs use.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use dsm_comm::{Bytes, CALL_REPLY_BYTES, Half, Segments, Word};
use dsm_threads::futex;

use super::{cell, layout};
use crate::memory;
use crate::memory::geometry::CONTROL_BYTES;
use crate::signals::Deferred;

/// Control areas of all processes.
struct Areas {
    segments: Segments,
    /// Where they begin in their segments.
    offset: usize,
}

#[inline]
fn areas() -> &'static Areas {
    static AREAS: OnceLock<Areas> = OnceLock::new();
    AREAS.get_or_init(|| {
        // Unit tests use control words without any memory.
        let shared = if cfg!(test) && !memory::is_set_up() { None } else { memory::shared() };
        match shared {
            Some(shared) => {
                Areas { segments: shared.segments, offset: memory::get().geometry().control_offset() }
            }
            // A single process has no segment.
            None => Areas {
                segments: Segments::single(CONTROL_BYTES)
                    .unwrap_or_else(|error| panic!("no memory for control words: {error}")),
                offset: 0,
            },
        }
    })
}

#[inline]
fn place(offset: usize, bytes: usize) -> (Segments, usize) {
    assert!(offset.is_multiple_of(bytes) && offset < CONTROL_BYTES);
    let areas = areas();
    (areas.segments, areas.offset + offset)
}

/// Bytes of a control area.
pub const fn area_bytes() -> usize {
    CONTROL_BYTES
}

/// Whether the control area of a process is mapped.
#[inline(always)]
pub fn is_mapped(rank: u32) -> bool {
    areas().segments.is_mapped(rank)
}

/// Has a process whose control area is not mapped execute a request; the length of the reply, for which `reply` has space.
pub fn send(rank: u32, request: &[u8], reply: &mut [u8]) -> usize {
    thread_local! {
        static REPLY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    // A handler that interrupts the thread may want to send something, too.
    let _deferred = Deferred::begin();
    let mut ask = |buffer: &mut Vec<u8>| {
        buffer.resize(CALL_REPLY_BYTES, 0);
        let length = areas().segments.ask(rank, request, buffer).min(reply.len());
        reply[..length].copy_from_slice(&buffer[..length]);
        length
    };
    // The last regions of a thread run when its variables have been destroyed.
    let mut own = REPLY.try_with(RefCell::take).unwrap_or_default();
    let length = ask(&mut own);
    _ = REPLY.try_with(|buffer| buffer.replace(own));
    length
}

/// A cache line of a process's control area.
#[derive(Clone, Copy, Debug)]
pub struct Line(Bytes);

/// The line of a process at `offset`, a multiple of its size.
#[inline(always)]
pub fn line(rank: u32, offset: usize) -> Line {
    let (segments, offset) = place(offset, Line::BYTES);
    Line(segments.bytes(rank, offset))
}

impl Line {
    const BYTES: usize = 64;

    /// The word at byte `at`.
    #[inline(always)]
    pub fn word(self, at: usize) -> Word {
        assert!(at.is_multiple_of(8) && at < Line::BYTES);
        // SAFETY: inside the line, aligned; the words of control areas are only accessed atomically.
        unsafe { self.0.word(at) }
    }

    /// The half word at byte `at`.
    #[inline(always)]
    pub fn half(self, at: usize) -> Half {
        assert!(at.is_multiple_of(4) && at < Line::BYTES);
        // SAFETY: as for `word`.
        unsafe { self.0.half(at) }
    }
}

/// A word of a process's control area; `offset` as [`layout`] says.
#[inline]
pub fn word(rank: u32, offset: usize) -> Word {
    let (segments, offset) = place(offset, 8);
    segments.word(rank, offset)
}

/// Half a word of a process's control area: for futexes.
#[inline]
pub fn half(rank: u32, offset: usize) -> Half {
    let (segments, offset) = place(offset, 4);
    segments.half(rank, offset)
}

/// The bytes of a process's control area from `offset` on.
pub fn bytes(rank: u32, offset: usize) -> Bytes {
    let (segments, offset) = place(offset, 1);
    segments.bytes(rank, offset)
}

/// Address of a byte of the own control area.
pub fn own_area(offset: usize) -> *mut u8 {
    let (segments, offset) = place(offset, 1);
    segments.own().address(offset)
}

/// Reads words of a process's control area one after the other.
pub fn read_words(rank: u32, offset: usize, into: &mut [u64]) {
    let (segments, offset) = place(offset, 8);
    segments.read_words(rank, offset, into);
}

/// Writes words of a process's control area one after the other.
pub fn write_words(rank: u32, offset: usize, words: &[u64]) {
    let (segments, offset) = place(offset, 8);
    segments.write_words(rank, offset, words);
}

/// Word `i` of the counters that a process leaves for the table at the end.
pub fn stats_word(rank: u32, i: usize) -> Word {
    word(rank, layout::STATS + 8 * i)
}

/// Number of control words.
pub const CONTROL_WORDS: usize = 1 << 16;

fn control(i: usize) -> Word {
    assert!(i < CONTROL_WORDS);
    word(0, layout::CONTROL + 8 * i)
}

fn wake_control(i: usize) {
    cell::wake(control(i).low(), half(0, layout::CONTROL_SLEEPERS), futex::ALL);
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
    cell::wait(control(i).low(), half(0, layout::CONTROL_SLEEPERS), futex::ALL, |_| until(control_load(i)));
    control_load(i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_words_lie_side_by_side() {
        for i in [0, 1, CONTROL_WORDS - 1] {
            control(i).store(7, Ordering::SeqCst);
            let mut value = [0];
            read_words(0, layout::CONTROL + 8 * i, &mut value);
            assert_eq!(value, [7]);
            control(i).store(0, Ordering::SeqCst);
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
