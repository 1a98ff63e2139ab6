//! What a process remembers of notices that it has applied.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use rustc_hash::FxHashMap;

use crate::types::Notice;

/// Notices, each with the generation of the signature's list in which it was remembered last. An acquirer asks for every notice that it reads.
#[derive(Debug, Default)]
pub(super) struct Seen {
    known: FxHashMap<Notice, u64>,
    /// What is known (and some that no longer is), oldest first.
    ages: VecDeque<(Notice, u64)>,
}

impl Seen {
    pub(super) fn contains(&self, notice: &Notice) -> bool {
        self.known.contains_key(notice)
    }

    /// Entries, those of forgotten notices included.
    pub(super) fn remembered(&self) -> usize {
        self.ages.len()
    }

    /// True if the notice is news.
    pub(super) fn insert(&mut self, notice: Notice, generation: u64) -> bool {
        self.ages.push_back((notice, generation));
        self.known.insert(notice, generation).is_none()
    }

    pub(super) fn remove(&mut self, notice: &Notice) {
        self.known.remove(notice);
    }

    /// Forgets all others. An owed notice is listed, but has not been applied: it does not become known.
    pub(super) fn retain_listed(&mut self, listed: impl Iterator<Item = (Notice, u64)>) {
        self.ages = listed.filter(|(notice, _)| self.known.contains_key(notice)).collect();
        self.known = self.ages.iter().copied().collect();
    }

    /// Forgets what was remembered before a generation.
    pub(super) fn forget_before(&mut self, generation: u64) {
        while let Some(&(notice, age)) = self.ages.front()
            && age < generation
        {
            if self.known.get(&notice) == Some(&age) {
                self.known.remove(&notice);
            }
            self.ages.pop_front();
        }
    }

    /// Number that depends on all that decides what is answered here, now and later: how many entries there are of each generation decides when others are forgotten.
    pub(super) fn digest<H: Hasher + Default>(&self) -> u64 {
        let hash = |entry: (&Notice, &u64)| {
            let mut h = H::default();
            entry.hash(&mut h);
            h.finish()
        };
        let known = self.known.iter().map(hash).fold(0u64, u64::wrapping_add);
        let mut h = H::default();
        h.write_u64(known);
        self.ages.iter().for_each(|(_, age)| age.hash(&mut h));
        h.finish()
    }
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHasher;

    use super::*;
    use crate::types::{Block, Extent, Rank};

    fn notice(block: u64) -> Notice {
        Notice { writer: Rank(1), extent: Extent::single(Block(block)), wr_ts: 7, merged: false }
    }

    #[test]
    fn digests_tell_apart_what_will_be_forgotten_apart() {
        // The same notice, remembered in the same generation; one of them once before, which counts against the bound of entries.
        let mut once = Seen::default();
        once.insert(notice(1), 3);
        let mut twice = Seen::default();
        twice.insert(notice(1), 2);
        twice.insert(notice(1), 3);
        assert_ne!(once.digest::<FxHasher>(), twice.digest::<FxHasher>());
        // Until the older entry is gone.
        twice.forget_before(3);
        assert!(twice.contains(&notice(1)));
        assert_eq!(once.digest::<FxHasher>(), twice.digest::<FxHasher>());
    }
}
