//! The signature: the bounded list of write notices that travels with every release -> acquire edge.
//!
//! It is published, not sent: each process keeps its own as an append-only list in one of two buffers that peers read one-sidedly;
//! an acquirer reads what it has not read yet. `LogState` holds a sequence number and the length (see [`crate::told`]); a new sequence number means that the
//! other buffer is in use (after an overflow, or after a global synchronisation dropped what everybody knows). A reader checks
//! after reading that the sequence number still stands.
//!
//! Modules: `front` (what is read without a lock), `seen` (what was taken in), `overflow` (beginning a new list).

mod front;
mod overflow;
mod seen;
#[cfg(test)]
mod tests;

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustc_hash::FxHashMap;

use crate::fabric::{Fabric, Word};
use crate::fault::Fault;
use crate::told::{LENGTH_MAX, TAIL, Told, state_word};
use crate::types::{Extent, Notice, Timestamp};
pub(crate) use front::Front;
use seen::Seen;

/// Settlements after which no process's list can hold a notice any more (each list drops it after three).
const FORGET_AFTER: u64 = 6;

/// Length of a list up to which an acquirer looks for several notices of the same blocks.
const MOST_COMPARED: usize = 256;

/// Greatest number of notices held back.
const MOST_HELD: usize = 4;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Signature {
    notices: Vec<Notice>,
    /// For each notice, the generation it was listed in; they never fall.
    generations: Vec<u64>,
    /// Whether the next one, which is of the same blocks and newer, makes up for it. Readers may still have to count it: it goes when the list begins anew.
    stale: Vec<bool>,
    /// Everything ever listed in the last [`FORGET_AFTER`] generations.
    seen: Seen,
    /// Meetings of all processes so far: 64 bits, for an empty meeting takes less than a microsecond.
    generation: u64,
    /// Lists begun so far.
    sequence: u64,
    capacity: usize,
    /// Covers the notices this list has dropped or never had: goes out with it.
    min_out: Timestamp,
    /// Greatest `min_wr_ts` that the own copies have been checked against.
    min_applied: Timestamp,
    /// Changed with the signature locked.
    front: Arc<Front>,
    /// Notices of peers that were taken in and are not listed yet: a release that supersedes them spares listing them.
    held: Vec<Notice>,
    /// Notices appended to the list and not yet told of.
    unpublished: usize,
    /// The last notices of the list.
    told: Told,
}

impl Signature {
    /// An empty signature of at most `capacity` notices.
    pub(crate) fn new(capacity: usize) -> Self {
        assert!(capacity >= 2, "a signature needs room for two notices");
        assert!(capacity <= LENGTH_MAX, "a signature has at most {LENGTH_MAX} notices");
        Signature {
            notices: Vec::new(),
            generations: Vec::new(),
            stale: Vec::new(),
            seen: Seen::default(),
            generation: 0,
            sequence: 0,
            capacity,
            min_out: 0,
            min_applied: 0,
            front: Arc::default(),
            held: Vec::with_capacity(MOST_HELD),
            unpublished: 0,
            told: Told::default(),
        }
    }

    pub(crate) fn front(&self) -> Arc<Front> {
        self.front.clone()
    }

    #[inline(always)]
    fn raise_clock(&self, version: Timestamp) {
        if version > self.front.clock() {
            self.front.clock.store(version, Ordering::Relaxed);
        }
    }

    /// A peer's notice that is taken in and has to be passed on by the next release.
    #[inline(always)]
    pub(crate) fn hold<F: Fabric>(&mut self, notice: Notice, fabric: &F) {
        if self.held.len() == MOST_HELD {
            self.publish(fabric);
        }
        self.raise_clock(notice.wr_ts);
        self.held.push(notice);
        self.front.holds.store(true, Ordering::Relaxed);
    }

    fn list_held(&mut self) {
        for i in 0..self.held.len() {
            self.add(self.held[i]);
        }
        self.held.clear();
    }

    /// Own notices that supersede those held: whoever would be told of an older version of these blocks is told of this one, which contains it.
    #[inline(always)]
    fn supersede(&mut self, own: Notice, all: bool) {
        let covered = |held: &Notice| {
            own.extent.first <= held.extent.first
                && held.extent.end() <= own.extent.end()
                && held.wr_ts < own.wr_ts
        };
        match &self.held[..] {
            [] => {}
            [held] if covered(held) => self.held.clear(),
            _ => self.held.retain(|held| !covered(held) && !all),
        }
    }

    pub(crate) fn min_applied(&self) -> Timestamp {
        self.min_applied
    }

    /// Takes in a peer's `min_wr_ts` and publishes; true if own copies have to be checked against it. The bound goes on to whoever acquires
    /// from here, and must be there for takers of homes before the check of the own copies begins.
    pub(crate) fn raise_min<F: Fabric>(&mut self, min: Timestamp, fabric: &F) -> bool {
        self.raise_clock(min);
        if min > self.min_out && !fabric.fault(Fault::BoundNotPassedOn) {
            self.min_out = min;
            self.republish(fabric);
        } else {
            self.publish(fabric);
        }
        let raised = min > self.min_applied;
        self.min_applied = self.min_applied.max(min);
        raised
    }

    /// Whether the notice is news.
    pub(crate) fn is_new(&self, notice: &Notice) -> bool {
        !self.seen.contains(notice)
    }

    /// Of peers' notices of the same blocks, leaves the newest. Its writer has what the others wrote, and it invalidates what they would: the others
    /// need neither be applied nor passed on, and a reader follows no chain of former writers. Returns the others: they are to be [superseded](Self::superseded)
    /// when the newest is listed.
    pub(crate) fn keep_newest<F: Fabric>(&mut self, fresh: &mut Vec<Notice>, fabric: &F) -> Vec<Notice> {
        let mut others = Vec::new();
        // Long lists come from meetings, where hardly any block is told of twice.
        if !(2..=MOST_COMPARED).contains(&fresh.len()) {
            return others;
        }
        let mut newest: FxHashMap<Extent, Timestamp> = FxHashMap::default();
        for notice in fresh.iter() {
            let version = newest.entry(notice.extent).or_insert(notice.wr_ts);
            *version = match fabric.fault(Fault::KeepOldest) {
                true => (*version).min(notice.wr_ts),
                false => (*version).max(notice.wr_ts),
            };
        }
        fresh.retain(|notice| {
            let keep = newest[&notice.extent] == notice.wr_ts;
            if !keep {
                self.raise_clock(notice.wr_ts);
                others.push(*notice);
            }
            keep
        });
        others
    }

    /// Remembers notices that a listed one makes up for. Not before that one is listed: a release of another thread that owes one of them lists it unless it is remembered.
    pub(crate) fn superseded(&mut self, notices: Vec<Notice>) {
        for notice in notices {
            self.remember(notice);
        }
    }

    /// Lists a notice of this process, which has not listed it before: joins it to the last one where that is the same version of the
    /// neighbouring blocks. It is not remembered: what comes back from peers is known by its writer.
    #[inline(always)]
    pub(crate) fn add_own<F: Fabric>(&mut self, notice: Notice, fabric: &F) {
        self.raise_clock(notice.wr_ts);
        self.supersede(notice, fabric.fault(Fault::SupersedeOthers));
        if self.unpublished > 0
            && let Some(last) = self.notices.last_mut()
            && (last.writer, last.wr_ts, last.merged, last.extent.end())
                == (notice.writer, notice.wr_ts, notice.merged, notice.extent.first)
        {
            last.extent.count += notice.extent.count;
            self.told.set_tail(1, *last);
        } else if notice.wr_ts > self.min_out {
            self.list(notice);
        }
    }

    /// Lists and publishes a notice of this process; returns how far this is published then.
    #[inline(always)]
    pub(crate) fn publish_own<F: Fabric>(&mut self, notice: Notice, fabric: &F) -> Told {
        self.add_own(notice, fabric);
        // Copied where it was made: read back later, words that were stored one by one and are loaded two at a time would have to reach the cache first.
        let told = self.told;
        let stays = self.held.is_empty() && self.notices.len() <= self.capacity;
        self.publish(fabric);
        if stays { told.at(state_word(self.sequence, self.notices.len())) } else { self.told() }
    }

    /// Lists a peer's notice; joins it to the last one where that is the same version of the neighbouring blocks.
    pub(crate) fn add(&mut self, notice: Notice) {
        self.raise_clock(notice.wr_ts);
        if self.unpublished > 0
            && let Some(last) = self.notices.last_mut()
            && (last.writer, last.wr_ts, last.merged, last.extent.end())
                == (notice.writer, notice.wr_ts, notice.merged, notice.extent.first)
            && self.seen.contains(last)
        {
            let joined = Notice {
                extent: Extent::new(last.extent.first, last.extent.count + notice.extent.count),
                ..*last
            };
            self.seen.remove(last);
            *last = joined;
            self.told.set_tail(1, joined);
            self.remember(joined);
            return;
        }
        // What the own bound covers need not be listed: whoever would read the notice here gets the bound.
        if self.remember(notice) && notice.wr_ts > self.min_out {
            self.list(notice);
        }
    }

    /// Lists a peer's version that this process has to tell of without having taken it in.
    pub(crate) fn add_owed(&mut self, notice: Notice) {
        if !self.seen.contains(&notice) && notice.wr_ts > self.min_out {
            self.list(notice);
        }
    }

    #[inline(always)]
    fn list(&mut self, notice: Notice) {
        if let (Some(last), Some(stale)) = (self.notices.last(), self.stale.last_mut()) {
            *stale = last.extent == notice.extent && last.wr_ts < notice.wr_ts;
        }
        self.notices.push(notice);
        self.generations.push(self.generation);
        self.stale.push(false);
        self.told.push(notice);
        self.unpublished += 1;
    }

    /// True if the notice is news.
    fn remember(&mut self, notice: Notice) -> bool {
        let news = self.seen.insert(notice, self.generation);
        if self.seen.remembered() > self.remembered_bound().max(2 * self.notices.len()) {
            self.forget_unlisted();
        }
        news
    }

    /// Forgetting costs applying a notice twice at most.
    fn forget_unlisted(&mut self) {
        self.seen.retain_listed(self.notices.iter().copied().zip(self.generations.iter().copied()));
    }

    /// Makes what was added visible to acquirers.
    #[inline(always)]
    pub(crate) fn publish<F: Fabric>(&mut self, fabric: &F) {
        if !self.held.is_empty() {
            self.list_held();
        }
        if self.unpublished != 0 {
            self.publish_listed(fabric);
        }
        // A release of another thread that sees this tells of the list as it is now.
        if self.front.holds() {
            self.front.holds.store(false, Ordering::Release);
        }
    }

    #[inline(always)]
    fn publish_listed<F: Fabric>(&mut self, fabric: &F) {
        if self.notices.len() > self.capacity {
            self.republish(fabric);
            return;
        }
        let start = self.notices.len() - self.unpublished;
        fabric.write_notices(self.buffer(), start as u32, &self.notices[start..]);
        self.tell(fabric);
    }

    /// All processes have taken in what every process had published before they met. Keeps what came since the last meeting but one: a notice
    /// of this interval may have been taken in while this process, slower than its writer, was still in the last meeting, and a process
    /// slower still has to find it here in this one.
    pub(crate) fn settle<F: Fabric>(&mut self, fabric: &F) {
        let kept = u64::from(!fabric.fault(Fault::SettleEarly));
        if self.begin_generation(kept) {
            self.republish(fabric);
        }
    }

    /// Drops what was listed more than `kept` generations ago; whether anything was.
    fn begin_generation(&mut self, kept: u64) -> bool {
        let old = self.generations.partition_point(|g| g + kept < self.generation);
        self.generation += 1;
        self.seen.forget_before(self.generation.saturating_sub(FORGET_AFTER));
        if old > 0 {
            self.notices.drain(..old);
            self.generations.drain(..old);
            self.stale.drain(..old);
            self.told = self.last_told(self.notices.len());
        }
        old > 0
    }

    pub(crate) fn sizes(&self) -> (usize, usize) {
        (self.notices.len(), self.seen.remembered())
    }

    pub(crate) fn remembered_bound(&self) -> usize {
        self.capacity + 64
    }

    /// Adds all that is here. `told` follows from the list.
    pub(crate) fn digest<H: Hasher + Default>(&self, h: &mut H) {
        self.notices.hash(h);
        self.generations.hash(h);
        self.stale.hash(h);
        (self.seen.digest::<H>(), self.generation, self.sequence, self.unpublished).hash(h);
        (self.min_out, self.min_applied).hash(h);
        (self.front.clock(), self.front.guess(), self.front.holds()).hash(h);
        self.held.hash(h);
    }

    /// How far this is published.
    #[inline(always)]
    pub(crate) fn told(&self) -> Told {
        let length = self.notices.len() - self.unpublished;
        let told = if self.unpublished == 0 { self.told } else { self.last_told(length) };
        told.at(state_word(self.sequence, length))
    }

    /// The last of the first `length` notices.
    fn last_told(&self, length: usize) -> Told {
        let mut told = Told::default();
        self.notices[length.saturating_sub(TAIL)..length].iter().for_each(|notice| told.push(*notice));
        told
    }

    fn buffer(&self) -> u8 {
        (self.sequence % 2) as u8
    }

    #[inline(always)]
    fn tell<F: Fabric>(&mut self, fabric: &F) {
        self.unpublished = 0;
        fabric.set_own(Word::LogState, state_word(self.sequence, self.notices.len()));
    }
}
