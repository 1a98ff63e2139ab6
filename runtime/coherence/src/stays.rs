//! How long homes stay: which homes a release write-protects because they are likely to leave before they are stored to again.
//!
//! A home stays writable behind a release. Then whoever takes it leaves a twin behind, which the next release here compares in vain, as a miss takes no home that is stored to. A home that is
//! write-protected leaves none, but asks before the next store. So a home that has come on a miss is write-protected by the first release that publishes it, and by the next two as well, unless it has left later than that:
//! a last-touch predictor (A.-C. Lai, B. Falsafi, "Selective, Accurate, and Timely Self-Invalidation Using Last-Touch Prediction", ISCA 2000) with the number of releases as trace. Where data are transposed
//! to and fro, one phase stores to what has come, another goes on with it, and the next one prepares it for the way back.

use crate::Coherence;
use crate::fabric::{Fabric, MarkKind};
use crate::migration_on_miss::hint;
use crate::types::Chunk;

/// What is remembered of the blocks of a chunk, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stays {
    /// Blocks whose stores have been published once since their homes came.
    once: u64,
    /// Those whose stores have been published twice.
    twice: u64,
    /// Those whose stores have been published three times.
    thrice: u64,
    /// Blocks whose stores were published more often before the home left.
    long: u64,
}

impl Stays {
    /// Words that keep them, in the order of the fields.
    const KINDS: [MarkKind; 4] =
        [MarkKind::PublishedOnce, MarkKind::PublishedTwice, MarkKind::PublishedThrice, MarkKind::LongStay];

    /// Stores to these blocks are published, those of `migrated` for the first time since their homes came. Returns the blocks whose homes are likely to leave next.
    fn publish(&mut self, stored: u64, migrated: u64) -> u64 {
        let goes_on = stored & !migrated;
        self.long |= self.thrice & goes_on;
        let leaving = migrated | (self.once | self.twice) & goes_on & !self.long;
        self.thrice = self.thrice & !(stored | migrated) | self.twice & goes_on;
        self.twice = self.twice & !(stored | migrated) | self.once & goes_on;
        self.once = self.once & !stored | migrated;
        leaving
    }
}

impl<F: Fabric> Coherence<F> {
    fn stays(&self, chunk: Chunk) -> Stays {
        let [once, twice, thrice, long] = Stays::KINDS.map(|kind| self.fabric.own(hint(kind, chunk)));
        Stays { once, twice, thrice, long }
    }

    fn set_stays(&self, chunk: Chunk, before: Stays, now: Stays) {
        let words = |stays: Stays| [stays.once, stays.twice, stays.thrice, stays.long];
        for ((kind, before), now) in Stays::KINDS.into_iter().zip(words(before)).zip(words(now)) {
            if before != now {
                self.fabric.set_own(hint(kind, chunk), now);
            }
        }
    }

    /// Of blocks at home here whose stores are published, those whose homes are likely to leave before they are stored to again. `migrated`: published for the first time since
    /// their homes came. The chunk is locked.
    pub(crate) fn likely_to_leave(&self, chunk: Chunk, stored: u64, migrated: u64) -> u64 {
        let before = self.stays(chunk);
        if (before.once | before.twice | before.thrice) & stored | migrated == 0 {
            return 0;
        }
        let mut now = before;
        let leaving = now.publish(stored, migrated);
        self.set_stays(chunk, before, now);
        leaving
    }

    /// Homes of blocks have left while stores to them were allowed here, and none came. One time in four what was known of their stays is forgotten. The chunk is locked.
    pub(crate) fn left_unstored(&self, chunk: Chunk, blocks: u64) {
        let forgets = (self.clock() ^ chunk.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 == 0;
        if blocks != 0 && forgets {
            let long = hint(MarkKind::LongStay, chunk);
            self.fabric.set_own(long, self.fabric.own(long) & !blocks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of releases that publish a block behind its home's coming, how many write-protect it.
    fn stay(stays: &mut Stays, releases: usize) -> usize {
        let published: Vec<_> = (0..releases).map(|i| stays.publish(1, u64::from(i == 0))).collect();
        let protected = published.iter().take_while(|leaving| **leaving == 1).count();
        assert!(published[protected..].iter().all(|leaving| *leaving == 0), "{published:?}");
        protected
    }

    #[test]
    fn homes_that_leave_behind_three_releases_are_write_protected() {
        let mut stays = Stays::default();
        for releases in [3, 1, 2, 3, 3] {
            assert_eq!(stay(&mut stays, releases), releases);
        }
    }

    #[test]
    fn homes_that_stay_for_longer_are_not() {
        let mut stays = Stays::default();
        assert_eq!([5, 5, 2, 5].map(|releases| stay(&mut stays, releases)), [3, 1, 1, 1]);
        assert_eq!(stays.publish(0b110, 0b100), 0b100, "other blocks are not concerned");
    }
}
