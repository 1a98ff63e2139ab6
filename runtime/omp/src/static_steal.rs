//! Dynamic schedules of teams that span processes: chunks are split over the processes, and a process whose chunks are used up takes those of others.
//!
//! Affinity scheduling (E. Markatos, T. LeBlanc, IEEE TPDS 1994; `static_steal` in LLVM's runtime). A loop that is executed again, or another one over the same data, has most of its iterations
//! where they were, so that what they use is there, and a process takes its own chunks without a message. The order in which a thread gets chunks is not that of iterations: loops that are
//! monotonic or have ordered regions are handed out by one counter for all, see [`dispatch`](super::dispatch).
//!
//! # Counters
//! Each process has, for each slot of the [`ring`](super::ring), a word: the number of the loop that it was last used for, and how many of the process's chunks have been handed out. Whoever
//! finds an earlier loop's number begins with the new one, be it the process or one that takes chunks from it; so nobody has to clear the words. A loop leaves its slot when all threads
//! have found that nothing is left, so no thread of an earlier loop comes behind one of a later loop.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::ring::SLOTS;
use super::schedule::{chunks_at_once, first_thread};
use super::team::Team;
use crate::{control, sync};

crate::control::declare! {
    /// See the module documentation.
    static HANDED_OUT: u64, SLOTS as usize;
}

/// Bits of a counter that count chunks; those above have the loop's number.
const COUNT_BITS: u32 = 24;
/// A counter of no loop.
const NO_LOOP: u64 = u64::MAX << COUNT_BITS;
/// Most chunks of a loop. Threads that find nothing left count on.
const MOST_CHUNKS: u64 = 1 << (COUNT_BITS - 1);

/// The counter of a process.
trait Counter: Copy {
    fn fetch_add(self, value: u64) -> u64;
    /// Puts `new` in the place of `expected`; or else what was found.
    fn replace(self, expected: u64, new: u64) -> Result<u64, u64>;
}

impl Counter for control::Word {
    fn fetch_add(self, value: u64) -> u64 {
        self.fetch_add(value, Ordering::SeqCst)
    }

    fn replace(self, expected: u64, new: u64) -> Result<u64, u64> {
        self.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst)
    }
}

/// Hands out the next `count` chunks in loop `number`; returns how many were handed out before.
fn hand_out(counter: impl Counter, number: u64, count: u64) -> u64 {
    let of_loop = number << COUNT_BITS;
    let handed_out = |word: u64| (word >> COUNT_BITS == of_loop >> COUNT_BITS).then_some(word - of_loop);
    loop {
        // What this adds to the counter of an earlier loop is lost.
        let old = counter.fetch_add(count);
        if let Some(before) = handed_out(old) {
            return before;
        }
        let mut found = old.wrapping_add(count);
        while handed_out(found).is_none() {
            match counter.replace(found, of_loop | count) {
                Ok(_) => return 0,
                Err(now) => found = now,
            }
        }
    }
}

/// Numbers the chunks of a process, of so many in a team of so many threads in so many processes.
fn chunks_of(process: u32, chunks: u64, threads: u32, processes: u32) -> Range<u64> {
    let split = |process| {
        let first = first_thread(threads, process, processes);
        (u128::from(chunks) * u128::from(first) / u128::from(threads)) as u64
    };
    split(process)..split(process + 1)
}

/// Makes the words of all processes those of no loop: numbers begin with 0 again. No thread is in a loop.
pub fn reset() {
    for process in 0..sync::size() {
        control::write_words(process, HANDED_OUT.offset(), &[NO_LOOP; SLOTS as usize]);
    }
}

/// How far the threads of one process have found chunks to be used up.
#[derive(Default)]
pub struct Exhausted(AtomicU64);

impl Exhausted {
    const PROCESS_BITS: u32 = 16;

    /// The first process, counted from this one, that may have chunks left in loop `number`.
    fn first_left(&self, number: u64) -> u32 {
        let word = self.0.load(Ordering::Relaxed);
        if word >> Self::PROCESS_BITS == number { (word & ((1 << Self::PROCESS_BITS) - 1)) as u32 } else { 0 }
    }

    /// None of the processes before this one has any. Where another thread is in a later loop already, that is forgotten.
    fn note(&self, number: u64, first_left: u32) {
        self.0.fetch_max(number << Self::PROCESS_BITS | u64::from(first_left), Ordering::Relaxed);
    }
}

/// Whose chunks a thread takes.
pub struct Supply {
    number: u64,
    all: u64,
    /// The process, counted from this one, and its chunks: none before the first are wanted.
    from: u32,
    chunks: Option<Range<u64>>,
    /// How many of these are known to have been handed out.
    handed_out: u64,
}

impl Supply {
    /// For loop `number`. `None`: there are too many chunks to be counted like this.
    pub fn new(number: u64, chunks: u64) -> Option<Supply> {
        let supply = Supply { number, all: chunks, from: 0, chunks: None, handed_out: 0 };
        (chunks <= MOST_CHUNKS).then_some(supply)
    }

    /// Takes the next chunks of a loop of the team; none if nothing is left.
    pub fn take(&mut self, team: &Team) -> Range<u64> {
        loop {
            let first_left = team.exhausted.first_left(self.number);
            if first_left > self.from {
                self.go_on_to(first_left);
            }
            if self.from >= team.participants {
                return 0..0;
            }
            let process = (sync::rank() + self.from) % team.participants;
            let chunks = self
                .chunks
                .get_or_insert_with(|| chunks_of(process, self.all, team.size, team.participants))
                .clone();
            let length = chunks.end - chunks.start;
            if self.handed_out < length {
                // The first one tells how many are left.
                let count = match self.handed_out == 0 || control::is_mapped(process) {
                    true => 1,
                    false => chunks_at_once(length - self.handed_out, team.size),
                };
                let word = HANDED_OUT.of(process, (self.number % SLOTS) as usize);
                let before = hand_out(word, self.number, count);
                self.handed_out = before + count;
                if before < length {
                    return chunks.start + before..chunks.start + self.handed_out.min(length);
                }
            }
            self.go_on_to(self.from + 1);
            team.exhausted.note(self.number, self.from);
        }
    }

    fn go_on_to(&mut self, from: u32) {
        (self.from, self.chunks, self.handed_out) = (from, None, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    impl Counter for &AtomicU64 {
        fn fetch_add(self, value: u64) -> u64 {
            AtomicU64::fetch_add(self, value, Ordering::SeqCst)
        }

        fn replace(self, expected: u64, new: u64) -> Result<u64, u64> {
            self.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst)
        }
    }

    #[test]
    fn chunks_are_split_over_the_processes() {
        for (threads, processes) in [(1, 1), (2, 2), (5, 2), (7, 3), (64, 64)] {
            for chunks in [0, 1, 2, 63, 64, 1000, u64::MAX] {
                let parts = (0..processes).map(|process| chunks_of(process, chunks, threads, processes));
                let end = parts.fold(0, |end, part| {
                    assert_eq!(part.start, end);
                    part.end
                });
                assert_eq!(end, chunks, "{chunks} chunks of {threads} threads in {processes} processes");
            }
        }
        assert_eq!(chunks_of(1, 10, 5, 2), 4..10, "three threads of five");
    }

    /// Whoever comes first, and whatever an earlier loop has left, each chunk is handed out once.
    #[test]
    fn chunks_are_handed_out_once() {
        const THREADS: u64 = 4;
        let counter = AtomicU64::new(NO_LOOP);
        for number in 0..2000 {
            let handed_out: Vec<AtomicU64> = (0..40).map(|_| AtomicU64::new(0)).collect();
            std::thread::scope(|scope| {
                for count in 1..=THREADS {
                    let (counter, handed_out) = (&counter, &handed_out);
                    scope.spawn(move || {
                        while let before = hand_out(counter, number, count)
                            && let Some(rest) = handed_out.get(before as usize..)
                            && !rest.is_empty()
                        {
                            for chunk in &rest[..rest.len().min(count as usize)] {
                                chunk.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    });
                }
            });
            assert!(handed_out.iter().all(|times| times.load(Ordering::Relaxed) == 1), "loop {number}");
        }
    }

    /// A counter whose word another thread uses before each replacement.
    #[derive(Clone, Copy)]
    struct Contended<'a>(&'a AtomicU64, &'a Cell<u64>);

    impl Counter for Contended<'_> {
        fn fetch_add(self, value: u64) -> u64 {
            Counter::fetch_add(self.0, value)
        }

        fn replace(self, expected: u64, new: u64) -> Result<u64, u64> {
            self.1.set(hand_out(self.0, new >> COUNT_BITS, 3));
            Counter::replace(self.0, expected, new)
        }
    }

    #[test]
    fn who_comes_second_to_a_new_loop_takes_what_is_left() {
        let (word, other) = (AtomicU64::new(6 << COUNT_BITS | 9), Cell::new(u64::MAX));
        assert_eq!(hand_out(Contended(&word, &other), 7, 2), 3);
        assert_eq!((other.get(), word.into_inner()), (0, 7 << COUNT_BITS | 5));
    }

    #[test]
    fn what_is_exhausted_is_known_of_one_loop() {
        let exhausted = Exhausted::default();
        assert_eq!(exhausted.first_left(0), 0);
        exhausted.note(5, 2);
        exhausted.note(5, 1);
        assert_eq!((exhausted.first_left(5), exhausted.first_left(6)), (2, 0));
        exhausted.note(6, 1);
        assert_eq!((exhausted.first_left(5), exhausted.first_left(6)), (0, 1));
    }
}
