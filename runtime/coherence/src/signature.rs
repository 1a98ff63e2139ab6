//! The signature: the bounded list of write notices that travels with every release -> acquire edge.
//!
//! It is published, not sent: each process keeps its own as an append-only list in one of two buffers that peers read one-sidedly;
//! an acquirer reads what it has not read yet. `LogState` holds a sequence number and the length (see [`crate::release_token`]); a new sequence number means that the
//! other buffer is in use (after an overflow, or after a global synchronisation dropped what everybody knows). A reader checks
//! after reading that the sequence number still stands.
//!
//! Modules: `front` (what is read without a lock), `seen` (what was applied), `overflow` (beginning a new list), `carried` (where readers go on in that).

pub(crate) mod carried;
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
use crate::release_token::{LENGTH_MAX, ReleaseToken, TAIL, state_word};
use crate::types::{Extent, Notice, Timestamp};
pub(crate) use front::Front;
use seen::Seen;

/// Global synchronisations after which no process's list can hold a notice any more (each list drops it after three).
const FORGET_AFTER: u64 = 6;

/// Length of a list up to which an acquirer looks for several notices of the same blocks.
const MOST_COMPARED: usize = 256;

/// Greatest number of deferred notices.
const MOST_DEFERRED: usize = 4;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Signature {
    notices: Vec<Notice>,
    /// For each notice, the generation it was listed in; they never fall.
    generations: Vec<u64>,
    /// For each notice, whether the next one supersedes it: names the same blocks in a newer version. It is dropped when the list begins anew, not before, since readers
    /// go by positions in the list.
    stale: Vec<bool>,
    /// For each notice, its place in the list when it was listed or the list began.
    places: Vec<u32>,
    /// Notices of the list that are published.
    length: u32,
    /// Everything ever listed in the last [`FORGET_AFTER`] generations.
    seen: Seen,
    /// Global synchronisations so far: 64 bits, for an empty barrier takes less than a microsecond.
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
    /// Notices of peers that were applied and whose listing is deferred: a release that supersedes them spares listing them.
    deferred: Vec<Notice>,
    /// Notices appended to the list and not yet published.
    unpublished: usize,
    /// The last notices of the list.
    token: ReleaseToken,
}

/// A published signature.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Published<'a> {
    /// See [`Word::LogState`].
    pub(crate) state: u64,
    /// See [`Word::LogMin`].
    pub(crate) min_wr_ts: Timestamp,
    pub(crate) notices: &'a [Notice],
}

impl Signature {
    /// An empty signature of at most `capacity` notices.
    pub(crate) fn new(capacity: usize) -> Self {
        assert!(capacity >= 2, "a signature needs space for two notices");
        assert!(capacity <= LENGTH_MAX, "a signature has at most {LENGTH_MAX} notices");
        Signature {
            notices: Vec::new(),
            generations: Vec::new(),
            stale: Vec::new(),
            places: Vec::new(),
            length: 0,
            seen: Seen::default(),
            generation: 0,
            sequence: 0,
            capacity,
            min_out: 0,
            min_applied: 0,
            front: Arc::default(),
            deferred: Vec::with_capacity(MOST_DEFERRED),
            unpublished: 0,
            token: ReleaseToken::default(),
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

    /// Defers listing a peer's notice, which was applied, to the next release.
    #[inline(always)]
    pub(crate) fn defer<F: Fabric>(&mut self, notice: Notice, fabric: &F) {
        if self.deferred.len() == MOST_DEFERRED {
            self.publish(fabric);
        }
        self.raise_clock(notice.wr_ts);
        self.deferred.push(notice);
        self.front.has_deferred.store(true, Ordering::Relaxed);
    }

    fn list_deferred(&mut self) {
        for i in 0..self.deferred.len() {
            self.add(self.deferred[i]);
        }
        self.deferred.clear();
    }

    /// Drops deferred notices that an own one supersedes: an acquirer gets the own notice, whose version contains the older ones.
    #[inline(always)]
    fn supersede(&mut self, own: Notice, all: bool) {
        let covered = |deferred: &Notice| {
            own.extent.first <= deferred.extent.first
                && deferred.extent.end() <= own.extent.end()
                && deferred.wr_ts < own.wr_ts
        };
        match &self.deferred[..] {
            [] => {}
            [deferred] if covered(deferred) => self.deferred.clear(),
            _ => self.deferred.retain(|deferred| !covered(deferred) && !all),
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
        // Long lists come from barriers, where hardly any block has two notices.
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
            self.token.set_tail(1, *last);
        } else if notice.wr_ts > self.min_out {
            self.list(notice);
        }
    }

    /// Lists and publishes a notice of this process; returns how far this is published then.
    #[inline(always)]
    pub(crate) fn publish_own<F: Fabric>(&mut self, notice: Notice, fabric: &F) -> ReleaseToken {
        self.add_own(notice, fabric);
        // Copied where it was made: read back later, words that were stored one by one and are loaded two at a time would have to reach the cache first.
        let token = self.token;
        let stays = self.deferred.is_empty() && self.notices.len() <= self.capacity;
        self.publish(fabric);
        if stays { token.at(state_word(self.sequence, self.notices.len())) } else { self.token() }
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
            self.token.set_tail(1, joined);
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
        self.places.push(self.notices.len() as u32);
        self.notices.push(notice);
        self.generations.push(self.generation);
        self.stale.push(false);
        self.token.push(notice);
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
        if !self.deferred.is_empty() {
            self.list_deferred();
        }
        if self.unpublished != 0 {
            self.publish_listed(fabric);
        }
        // A release of another thread that sees this tells of the list as it is now.
        if self.front.has_deferred() {
            self.front.has_deferred.store(false, Ordering::Release);
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

    /// Garbage collection: all processes have acquired what every process had published before the barrier that ends now. Keeps what came since the last barrier but
    /// one: a notice of this interval may have been acquired while this process, slower than its writer, was still in the last barrier, and a process
    /// slower still has to find it here in this one.
    pub(crate) fn drop_known_notices<F: Fabric>(&mut self, fabric: &F) {
        let kept = u64::from(!fabric.fault(Fault::KnownNoticesDropped));
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
            self.places.drain(..old);
            self.token = self.token_of_last(self.notices.len());
        }
        old > 0
    }

    pub(crate) fn sizes(&self) -> (usize, usize) {
        (self.notices.len(), self.seen.remembered())
    }

    pub(crate) fn remembered_bound(&self) -> usize {
        self.capacity + 64
    }

    /// Adds all that is here. `token` follows from the list.
    pub(crate) fn digest<H: Hasher + Default>(&self, h: &mut H) {
        self.notices.hash(h);
        self.generations.hash(h);
        self.stale.hash(h);
        (self.seen.digest::<H>(), self.generation, self.sequence, self.unpublished).hash(h);
        (self.min_out, self.min_applied).hash(h);
        (self.front.clock(), self.front.guess(), self.front.has_deferred()).hash(h);
        self.deferred.hash(h);
    }

    /// How far this is published.
    #[inline(always)]
    pub(crate) fn token(&self) -> ReleaseToken {
        let length = self.notices.len() - self.unpublished;
        let token = if self.unpublished == 0 { self.token } else { self.token_of_last(length) };
        token.at(state_word(self.sequence, length))
    }

    /// The last of the first `length` notices.
    fn token_of_last(&self, length: usize) -> ReleaseToken {
        let mut token = ReleaseToken::default();
        self.notices[length.saturating_sub(TAIL)..length].iter().for_each(|notice| token.push(*notice));
        token
    }

    /// What of it is published.
    pub(crate) fn published(&self) -> Published<'_> {
        let length = self.notices.len() - self.unpublished;
        let state = state_word(self.sequence, length);
        Published { state, min_wr_ts: self.min_out, notices: &self.notices[..length] }
    }

    fn buffer(&self) -> u8 {
        (self.sequence % 2) as u8
    }

    #[inline(always)]
    fn tell<F: Fabric>(&mut self, fabric: &F) {
        self.unpublished = 0;
        self.length = self.notices.len() as u32;
        fabric.set_own(Word::LogState, state_word(self.sequence, self.notices.len()));
    }
}
