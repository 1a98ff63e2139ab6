//! Which bytes of a block a process touched, in four words: first and last, and two sets of 64 bits that fold the offsets in different ways.
//!
//! What is remembered contains everything that was noted, and possibly more. So two that are disjoint in any of the three ways touched different bytes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of a block, as offsets in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offsets {
    first: u64,
    last: u64,
    /// Each bit stands for a 64th of the block.
    coarse: u64,
    /// Each bit stands for the words whose number modulo 64 it has.
    fine: u64,
}

/// Words that keep [`Offsets`].
pub const WORDS: usize = 4;

impl Offsets {
    /// The bytes from `first` to `last` of a block of `bytes`, at least 64.
    pub fn of(first: usize, last: usize, bytes: usize) -> Offsets {
        let part = bytes / 64;
        let words = (first / 8)..=(last / 8);
        Offsets {
            first: first as u64,
            last: last as u64,
            coarse: bits(first / part, last / part),
            fine: if words.clone().count() >= 64 {
                u64::MAX
            } else {
                words.fold(0, |set, word| set | 1 << (word % 64))
            },
        }
    }

    /// The bytes in which two blocks of `bytes`, a multiple of eight, differ; `word` gives the exclusive or of their words of this number.
    pub fn of_difference(bytes: usize, word: impl Fn(usize) -> u64) -> Offsets {
        let mut all = Offsets::default();
        for number in 0..bytes / 8 {
            let difference = word(number);
            if difference != 0 {
                // The first byte in memory is the lowest.
                let first = 8 * number + difference.trailing_zeros() as usize / 8;
                let last = 8 * number + 7 - difference.leading_zeros() as usize / 8;
                all = all.union(Offsets::of(first, last, bytes));
            }
        }
        all
    }

    /// Whether it has no byte.
    pub fn is_empty(self) -> bool {
        self.coarse == 0
    }

    /// First and last byte.
    pub fn bounds(self) -> (u64, u64) {
        (self.first, self.last)
    }

    /// Whether it may have all bytes from the first to the last.
    pub fn is_dense(self) -> bool {
        let words = self.last / 8 - self.first / 8 + 1;
        u64::from(self.fine.count_ones()) >= words.min(64)
    }

    /// Both.
    pub fn union(self, other: Offsets) -> Offsets {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => other,
            (_, true) => self,
            _ => Offsets {
                first: self.first.min(other.first),
                last: self.last.max(other.last),
                coarse: self.coarse | other.coarse,
                fine: self.fine | other.fine,
            },
        }
    }

    /// Whether no byte is in both.
    pub fn are_disjoint(self, other: Offsets) -> bool {
        self.is_empty()
            || other.is_empty()
            || self.last < other.first
            || other.last < self.first
            || self.coarse & other.coarse == 0
            || self.fine & other.fine == 0
    }

    /// Adds it to what is kept in [`WORDS`] words. Threads that do so at the same time may lose some of it.
    pub fn add_to(self, words: &[AtomicU64]) {
        let kept = Offsets::kept(&[0, 1, 2, 3].map(|i| words[i].load(Relaxed)));
        let all = kept.union(self);
        if all != kept {
            for (word, value) in words.iter().zip([all.first, all.last, all.coarse, all.fine]) {
                word.store(value, Relaxed);
            }
        }
    }

    /// What the words keep.
    pub fn kept(words: &[u64]) -> Offsets {
        Offsets { first: words[0], last: words[1], coarse: words[2], fine: words[3] }
    }
}

/// The bits from `first` to `last`, both below 64.
fn bits(first: usize, last: usize) -> u64 {
    (u64::MAX >> (63 - (last - first))) << first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_told_apart_whichever_way_they_lie() {
        let of = |first, last| Offsets::of(first, last, 4096);
        // Words side by side, in one part of the block.
        assert!(of(0, 7).are_disjoint(of(8, 15)));
        // Words in turn: only their numbers tell.
        let turns = |start: usize| {
            (0..8).fold(Offsets::default(), |set, i| set.union(of(start + 16 * i, start + 16 * i + 7)))
        };
        assert!(turns(0).are_disjoint(turns(8)) && !turns(0).is_dense() && of(0, 4095).is_dense());
        // Rows in turn: only the parts tell.
        let rows = |start: usize| {
            (0..4).fold(Offsets::default(), |set, i| set.union(of(start + 1024 * i, start + 1024 * i + 511)))
        };
        assert!(rows(0).are_disjoint(rows(512)));
        assert!(!of(0, 100).are_disjoint(of(100, 200)));
        assert!(!turns(0).are_disjoint(of(16, 16)));
        assert!(Offsets::default().are_disjoint(of(0, 4095)));
    }

    #[test]
    fn a_difference_begins_and_ends_with_the_bytes_that_differ() {
        let mut difference = [0u64; 16];
        difference[2] = 0x0000_ff00_0000_0000;
        difference[9] = 0x01;
        let found = Offsets::of_difference(128, |word| difference[word]);
        assert_eq!(found.bounds(), (2 * 8 + 5, 9 * 8));
        assert!(Offsets::of_difference(128, |_| 0).is_empty());
        assert_eq!(Offsets::of_difference(512, |_| u64::MAX), Offsets::of(0, 511, 512));
    }

    #[test]
    fn what_is_kept_grows() {
        let words = [const { AtomicU64::new(0) }; WORDS];
        Offsets::of(100, 107, 1024).add_to(&words);
        Offsets::of(8, 15, 1024).add_to(&words);
        let kept = Offsets::kept(&words.each_ref().map(|word| word.load(Relaxed)));
        assert_eq!(kept.bounds(), (8, 107));
        assert!(kept.are_disjoint(Offsets::of(16, 63, 1024)));
    }
}
