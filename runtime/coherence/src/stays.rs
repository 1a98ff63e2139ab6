//! How long homes stay: which homes a release write-protects because they are likely to leave before they are stored to again.
//!
//! A home stays writable behind a release. Then whoever takes it leaves a twin behind, and the next release here makes a wasted diff, as a miss takes no home that is stored to. A home that is
//! write-protected leaves none, but asks before the next store. So a home that has come on a miss is write-protected by the first release that publishes it, and by the next two as well, if there was a wasted diff before and
//! the home has always left behind three releases since: a last-touch predictor (A.-C. Lai, B. Falsafi, "Selective, Accurate, and Timely Self-Invalidation Using Last-Touch Prediction", ISCA 2000) with the number of releases
//! as trace. Where data are transposed to and fro, one phase stores to what has come, another goes on with it, and the next one prepares it for the way back. Where several processes store side by side, diffs are not
//! wasted, and homes stay as they are.

use crate::Coherence;
use crate::fabric::{Fabric, MarkKind};
use crate::hash::fibonacci;
use crate::migration_on_miss::hint;
use crate::types::Chunk;

/// What is remembered of the blocks of a chunk, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stays {
    /// How many releases have published the block since its home came, 0 to 3 where 3 stands for more: the lower and the upper bit.
    published: [u64; 2],
    /// Blocks whose homes have left while stores to them were allowed, and none came.
    brief: u64,
    /// Blocks that more than three releases have published before the home left.
    long: u64,
}

impl Stays {
    /// Words that keep them, in the order of the fields.
    const KINDS: [MarkKind; 4] =
        [MarkKind::PublishedLow, MarkKind::PublishedHigh, MarkKind::BriefStay, MarkKind::LongStay];

    /// Stores to these blocks are published, those of `migrated` for the first time since their homes came. Returns the blocks whose homes are likely to leave next.
    fn publish(&mut self, stored: u64, migrated: u64) -> u64 {
        let [low, high] = self.published;
        let again = stored & !migrated & (low | high);
        self.long |= again & low & high;
        self.published = [low & !again | high & again | migrated, (high | again) & !migrated];
        migrated | again & !(low & high) & self.brief & !self.long
    }

    /// Homes have left while stores to them were allowed, and none came. `forgets`: whether what was known of longer stays is forgotten.
    fn leave(&mut self, blocks: u64, forgets: bool) {
        self.brief |= blocks;
        if forgets {
            self.long &= !blocks;
        }
    }
}

impl<F: Fabric> Coherence<F> {
    fn stays(&self, chunk: Chunk) -> Stays {
        let [low, high, brief, long] = Stays::KINDS.map(|kind| self.fabric.own(hint(kind, chunk)));
        Stays { published: [low, high], brief, long }
    }

    fn set_stays(&self, chunk: Chunk, before: Stays, now: Stays) {
        let words = |Stays { published: [low, high], brief, long }| [low, high, brief, long];
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
        let [low, high] = before.published;
        if (low | high) & stored | migrated == 0 {
            return 0;
        }
        let mut now = before;
        let leaving = now.publish(stored, migrated);
        self.set_stays(chunk, before, now);
        leaving
    }

    /// Homes of blocks have left while stores to them were allowed here, and none came: one time in eight, longer stays are forgotten. The chunk is locked.
    pub(crate) fn left_unstored(&self, chunk: Chunk, blocks: u64) {
        if blocks == 0 {
            return;
        }
        let before = self.stays(chunk);
        let mut now = before;
        now.leave(blocks, fibonacci(self.clock() ^ chunk.0, 3) == 0);
        self.set_stays(chunk, before, now);
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
        assert_eq!(stay(&mut stays, 3), 1, "no diff was wasted");
        stays.leave(1, false);
        for releases in [3, 1, 2, 3, 3] {
            assert_eq!(stay(&mut stays, releases), releases);
        }
    }

    #[test]
    fn homes_that_stay_for_longer_are_not() {
        let mut stays = Stays::default();
        stays.leave(1, false);
        assert_eq!([5, 5, 2].map(|releases| stay(&mut stays, releases)), [3, 1, 1]);
        stays.leave(1, false);
        assert_eq!(stay(&mut stays, 5), 1);
        stays.leave(1, true);
        assert_eq!([2, 5, 2].map(|releases| stay(&mut stays, releases)), [2, 3, 1]);
        assert_eq!(stays.publish(0b110, 0b100), 0b100, "other blocks are not concerned");
    }
}
