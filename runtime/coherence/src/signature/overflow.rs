//! The list begins anew: after an overflow, or when much of it is known to everybody.
//!
//! Overflow drops notices that a later one of the same extent supersedes, then those with the smallest `wr_ts`, raising `min_wr_ts`:
//! every copy that a dropped notice would have invalidated has a lease below it.

use rustc_hash::FxHashMap;

use super::{Signature, carried};
use crate::fabric::{Fabric, Word};
use crate::fault::Fault;
use crate::types::{Extent, Notice, Timestamp};

impl Signature {
    pub(super) fn republish<F: Fabric>(&mut self, fabric: &F) {
        let min = self.min_out;
        self.drop_stale();
        self.retain(|n| n.wr_ts > min);
        if self.notices.len() > self.capacity {
            let bound = self.shrink();
            if !fabric.fault(Fault::SilentOverflow) {
                self.min_out = bound;
            }
        }
        if self.seen.remembered() > self.remembered_bound() {
            self.forget_unlisted();
        }
        self.sequence += 1;
        carried::write(fabric, self.buffer(), self.length, &self.places);
        self.places.clear();
        self.places.extend(0..self.notices.len() as u32);
        fabric.write_notices(self.buffer(), 0, &self.notices);
        fabric.set_own(Word::LogMin, self.min_out);
        self.tell(fabric);
    }

    pub(super) fn drop_stale(&mut self) {
        let mut stale = std::mem::take(&mut self.stale).into_iter();
        self.retain(|_| !stale.next().expect("one for each notice"));
    }

    pub(super) fn retain(&mut self, keep: impl FnMut(&Notice) -> bool) {
        let keep: Vec<bool> = self.notices.iter().map(keep).collect();
        let mut kept = keep.iter();
        self.notices.retain(|_| *kept.next().expect("one for each notice"));
        let mut kept = keep.iter();
        self.generations.retain(|_| *kept.next().expect("a generation for each notice"));
        let mut kept = keep.iter();
        self.places.retain(|_| *kept.next().expect("a place for each notice"));
        // Neighbours are not what they were.
        self.stale.clear();
        self.stale.resize(self.notices.len(), false);
        self.token = self.token_of_last(self.notices.len());
    }

    /// Drops notices until some space is free; returns the bound that covers them.
    pub(super) fn shrink(&mut self) -> Timestamp {
        let mut newest: FxHashMap<Extent, Timestamp> =
            FxHashMap::with_capacity_and_hasher(self.notices.len(), Default::default());
        for n in &self.notices {
            let ts = newest.entry(n.extent).or_default();
            *ts = (*ts).max(n.wr_ts);
        }
        self.retain(|n| newest[&n.extent] == n.wr_ts);
        let keep = self.capacity - self.capacity / 4;
        if self.notices.len() <= keep {
            return self.min_out;
        }
        let mut versions: Vec<Timestamp> = self.notices.iter().map(|n| n.wr_ts).collect();
        // Versions equal to the last dropped one go too: the bound would cover them anyway.
        let last_dropped = versions.len() - keep - 1;
        let (_, &mut bound, _) = versions.select_nth_unstable(last_dropped);
        self.retain(|n| n.wr_ts > bound);
        self.min_out.max(bound)
    }
}
