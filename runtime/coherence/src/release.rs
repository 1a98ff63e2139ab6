//! Release: makes own writes visible to whoever acquires from this process.
//!
//! A release looks at three bit sets and at nothing else, so blocks that only this process uses cost nothing:
//! - *dirty*: this process asked for permission to store since the last release. Must be published.
//! - *read*: somebody read the block here. If it is a writable home, it is treated as written: the reader may hold bytes from before a
//!   store of this interval. Every reader sets its mark before it reads; one whose mark this scan misses reads after the scan, hence
//!   sees all that was written before it.
//! - *taken*: somebody took the home away while it was writable here, and left its snapshot as the twin. What was stored here since
//!   differs from the twin; what was stored before is in the taker's contents, and no copy older than that exists
//!   elsewhere that a notice does not cover already (or the read mark would be set).
//!
//! A home stays writable after its notice: exclusive. It becomes shared (write-protected) when it was read in the interval and no other thread
//! of the process can be between a passed check and its store.

use std::sync::atomic::Ordering;

use crate::fabric::{Fabric, Gate, MarkKind, Word};
use crate::home_migration::has_twin;
use crate::link::Link;
use crate::migration_on_miss::hint;
use crate::queue_lock::LockRequests;
use crate::records::Records;
use crate::scratch::{Scratch, ScratchGuard};
use crate::types::{Block, Chunk, Extent, Notice, Timestamp};
use crate::{Coherence, Fault, Part, ReleaseToken, abi, marks};

/// Number of wasted diffs (comparisons with a twin that find nothing) after which a release waits for the other threads of the process: together they cost about as much. The number
/// is doubled, up to `WASTED_MAX`, whenever the threads were not held after such a wait.
pub(crate) const WASTED_MIN: u32 = 16;
const WASTED_MAX: u32 = 1 << 14;

/// What a release found in the sets of a chunk.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Work {
    pub(crate) chunk: Chunk,
    dirty: u64,
    read: u64,
    /// No other thread of the process is between a passed check and its store.
    pub(crate) exclusive: bool,
}

/// How far a release has come.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Progress {
    /// Least version of what is published next.
    pub(crate) version: Timestamp,
    /// Blocks of one version that are published and not listed yet: what follows them may go into the same notice.
    run: Option<(Extent, Timestamp)>,
    /// See [`Coherence::release_then`].
    pub(crate) global_sync: bool,
}

impl Work {
    /// A block that threads of this process may have stored to, by themselves.
    pub(crate) fn of_writer(chunk: Chunk, block: u64) -> Work {
        Work::of_stores(chunk, block, false)
    }

    /// Blocks that threads of this process may have stored to.
    pub(crate) fn of_stores(chunk: Chunk, blocks: u64, exclusive: bool) -> Work {
        Work { chunk, dirty: blocks, read: 0, exclusive }
    }
}

impl Progress {
    /// Nothing is published yet.
    pub(crate) fn new(version: Timestamp, global_sync: bool) -> Progress {
        Progress { version, run: None, global_sync }
    }
}

impl<F: Fabric> Coherence<F> {
    /// Publishes everything this process wrote so far.
    pub async fn release(&self) {
        if !self.nothing_to_publish() {
            if let Err(then) = self.try_release_single(drop).await {
                self.publish_all(true, then).await;
            }
        } else if self.front.has_deferred() && !self.fabric.fault(Fault::HeldBackForGood) {
            self.signature().publish(&self.fabric);
        }
    }

    /// As [`Coherence::release`]; calls `then` with what [`Coherence::token`] is then, as soon as everything is published: whoever waits for it need not wait
    /// for what comes behind.
    /// `global_sync`: others release at the same time, so blocks that several processes store to keep their homes. A process that only hands a lock over is likely to
    /// store to them again before others do.
    pub async fn release_then<R>(&self, global_sync: bool, then: impl FnOnce(ReleaseToken) -> R) -> R {
        match self.nothing_to_publish() {
            true => then(self.token()),
            // A synchronous fabric's caller has tried the fast path by `release_sync`.
            false if F::SYNCHRONOUS => self.publish_all(global_sync, then).await,
            false => match self.release_single(then).await {
                Ok(result) => result,
                Err(then) => self.publish_all(global_sync, then).await,
            },
        }
    }

    /// As [`Coherence::release_then`], for what mostly is to be published. Returns `then` if it is something else, and nothing was done. Only where operations are done
    /// at once.
    #[inline(always)]
    pub fn release_sync<R, T: FnOnce(ReleaseToken) -> R>(&self, then: T) -> Result<R, T> {
        assert!(F::SYNCHRONOUS);
        if self.nothing_to_publish() { Ok(then(self.token())) } else { self.release_single_sync(then) }
    }

    async fn try_release_single<R, T: FnOnce(ReleaseToken) -> R>(&self, then: T) -> Result<R, T> {
        if F::SYNCHRONOUS { self.release_single_sync(then) } else { self.release_single(then).await }
    }

    /// Whether a release has nothing to do. Counts it then.
    fn nothing_to_publish(&self) -> bool {
        let nothing = self.has_nothing_to_publish();
        self.stats.releases.add(u64::from(nothing));
        nothing
    }

    /// Whether a release has nothing to do.
    #[inline(always)]
    pub(crate) fn has_nothing_to_publish(&self) -> bool {
        let fabric = &self.fabric;
        if !fabric.none_marked(&[MarkKind::Dirty]) {
            // The gate is the fence then.
            return false;
        }
        fabric.fence();
        self.nothing_is_marked()
    }

    /// Whether a release has nothing to do, if nothing was marked *dirty* before the fence that this comes behind.
    #[inline(always)]
    pub(crate) fn nothing_is_marked(&self) -> bool {
        let fabric = &self.fabric;
        // Marks first: another thread's release that found nothing below a summary may be about to set it again. What it finds then it has published by the
        // time the gate is free. Rings before them: what it takes out of these it puts there.
        self.rings_are_empty()
            && fabric.none_marked(&MarkKind::RELEASED)
            && (fabric.gate_free(Gate::Publish) || fabric.fault(Fault::ReleaseUnderway))
    }

    async fn publish_all<R>(&self, global_sync: bool, then: impl FnOnce(ReleaseToken) -> R) -> R {
        let fabric = &self.fabric;
        let gate = fabric.lock_gate(Gate::Publish).await;
        self.stats.releases.add(1);
        let held = self.hold_threads();
        let exclusive = held || fabric.fault(Fault::AlwaysExclusive);
        let mut progress = Progress::new(self.clock() + 1, global_sync);
        let mut chunks = std::mem::take(&mut ScratchGuard::new().chunks);
        self.drain_rings().await;
        let checkpoint = fabric.checkpoint();
        marks::scan(fabric, &mut chunks).await;
        fabric.live_since(checkpoint, || &chunks);
        self.publish_together(&chunks, exclusive, &mut progress).await;
        let checkpoint = fabric.checkpoint();
        for chunk in chunks.drain(..) {
            self.release_chunk(chunk, exclusive, &mut progress).await;
            fabric.live_since(checkpoint, || (chunk, progress));
        }
        ScratchGuard::new().chunks = chunks;
        let result = then(self.publish(&mut progress));
        if held {
            fabric.end_exclusive();
        }
        drop(gate);
        result
    }

    /// Holds the other threads of the process in the runtime, if possible. What cannot be taken out of the dirty set because of them is compared
    /// with its twin at each release: after many wasted diffs, the release waits for the threads.
    fn hold_threads(&self) -> bool {
        if self.has_one_writer() {
            // A thread may wait for the permission to store, and the process that has it for this one to revoke another.
            return false;
        }
        let wasted_diffs = self.wasted_diffs.load(Ordering::Relaxed);
        if wasted_diffs == 0 {
            return self.fabric.begin_exclusive(false);
        }
        let limit = self.wasted_limit.load(Ordering::Relaxed);
        let wait = wasted_diffs >= limit;
        let held = self.fabric.begin_exclusive(wait) || wait && self.fabric.fault(Fault::HeldAfterWait);
        if held || wait {
            self.wasted_diffs.store(0, Ordering::Relaxed);
            // Threads that stay in user code for long are not worth trying often.
            let limit = if held { WASTED_MIN } else { (2 * limit).min(WASTED_MAX) };
            self.wasted_limit.store(limit, Ordering::Relaxed);
            self.stats.threads_held.add(u64::from(held && wait));
        }
        held
    }

    async fn release_chunk(&self, chunk: Chunk, exclusive: bool, progress: &mut Progress) {
        let fabric = &self.fabric;
        let scratch = &mut *ScratchGuard::new();
        let mut locked = fabric.lock_chunk(chunk).await;
        let mut sequence;
        let (work, mut todo);
        if fabric.fault(Fault::MarksTakenEarly) {
            (work, todo) = self.take_marks(chunk, exclusive).await;
            sequence = self.lock_records(chunk).await;
        } else {
            sequence = self.lock_records(chunk).await;
            (work, todo) = self.take_marks(chunk, exclusive).await;
        }
        let checkpoint = fabric.checkpoint();
        loop {
            self.publish_here(work, &mut todo, progress);
            self.unlock_records(chunk, sequence);
            let requests = self.begin_elsewhere(work, &mut todo, scratch, progress).await;
            drop(locked);
            if let Some(requests) = requests {
                self.publish_elsewhere(requests, exclusive, progress, scratch).await;
            }
            // What is left was taken from here, and the taker has not finished. Nothing is held now.
            let Some(block) = chunk.blocks(todo).next() else { break };
            let (word, link) = self.own_link(block);
            if matches!(link, Link::Link { pending: true, .. }) {
                fabric.wait_change(self.me(), Word::Link(block), word).await;
            }
            fabric.live_since(checkpoint, || (work, todo, *progress));
            locked = fabric.lock_chunk(chunk).await;
            sequence = self.lock_records(chunk).await;
        }
    }

    /// Takes what is marked in a chunk, with its records locked: an atomic operation of a peer (see [`crate::calls::update`]) finds the marks, or the version that is made
    /// because of them. Returns the blocks, too.
    async fn take_marks(&self, chunk: Chunk, exclusive: bool) -> (Work, u64) {
        let fabric = &self.fabric;
        let dirty = marks::take_chunk(fabric, MarkKind::Dirty, chunk).await;
        let mut read = marks::take_chunk(fabric, MarkKind::Read, chunk).await;
        let taken = marks::take_chunk(fabric, MarkKind::Taken, chunk).await;
        let todo = dirty | read | taken;
        if fabric.fault(Fault::IgnoreReadMarks) {
            read = 0;
        }
        (Work { chunk, dirty, read, exclusive }, todo)
    }

    /// Publishes the blocks of `todo` whose home is here, in place: all of them get the same version, above every lease. Those that were to be looked at
    /// and are home leave `todo`. The chunk and its records are locked.
    pub(crate) fn publish_here(&self, work: Work, todo: &mut u64, progress: &mut Progress) {
        let fabric = &self.fabric;
        let chunk = work.chunk;
        let homes = self.own_homes(chunk);
        let done = homes.all & *todo;
        let publish = done & (work.dirty | work.read & !homes.write_protected);
        *todo &= !done;
        let read = work.read | self.read_since(chunk, work.read & done, publish & work.dirty);
        if publish == 0 {
            return;
        }
        let wr_ts = self.next_version(chunk, progress.version);
        if publish == fabric.existing(chunk) {
            fabric.set_own(Word::ChunkVersion(chunk), wr_ts);
        } else {
            self.label(chunk, publish, wr_ts);
        }
        self.raise_lease(chunk, wr_ts);
        let migrated = self.take_migrated(chunk, publish);
        let leaving = self.likely_to_leave(chunk, publish & work.dirty, migrated);
        if work.exclusive {
            self.downgrade_homes(
                chunk,
                if self.downgrades_all() { publish } else { publish & (read | leaving) },
            );
        }
        self.stats.published_in_place.add(u64::from(publish.count_ones()));
        self.list(chunk, publish, wr_ts, progress);
    }

    /// Of blocks at home here whose stores are published now, those that have been read since stores to them were published last. `read`: in this interval. Who has read what a process
    /// stored reads what it stores next, too: if that stayed writable, it would have to be published once more because it was read.
    fn read_since(&self, chunk: Chunk, read: u64, stored: u64) -> u64 {
        let word = hint(MarkKind::ReadSince, chunk);
        let before = self.fabric.own(word);
        let now = (before | read) & !stored;
        if now != before {
            self.fabric.set_own(word, now);
        }
        before & stored
    }

    /// Version in which blocks of a chunk that are home here can be published: at least `at_least`, above all leases. The chunk's records are locked.
    pub(crate) fn next_version(&self, chunk: Chunk, at_least: Timestamp) -> Timestamp {
        let lease = self.fabric.own(Word::Lease(chunk));
        at_least.max(lease + u64::from(!self.fabric.fault(Fault::EqualTimestamps)))
    }

    /// Whether all homes that are published become shared, whether or not somebody has read them.
    #[inline]
    pub(crate) fn downgrades_all(&self) -> bool {
        self.fabric.watches_writes() || self.fabric.leaves_out(Part::ExclusiveHomes)
    }

    /// Downgrades homes, and notes that they are write-protected. The chunk and its records are locked.
    pub(crate) fn downgrade_homes(&self, chunk: Chunk, blocks: u64) {
        if blocks == 0 {
            return;
        }
        self.downgrade(chunk, blocks);
        self.set_write_protected(chunk, blocks, true);
    }

    /// Takes away the permission to store to blocks whose homes are here. The chunk is locked, and so are its records or the blocks.
    pub(crate) fn downgrade(&self, chunk: Chunk, blocks: u64) {
        // If the home is taken, the copy stays and has to expire.
        marks::set_own(&self.fabric, MarkKind::Cached, chunk, blocks);
        for run in chunk.runs(blocks) {
            self.fabric.set_state(run, abi::READABLE);
        }
        self.stats.homes_shared.add(u64::from(blocks.count_ones()));
    }

    /// Looks at the blocks of `todo` whose home is elsewhere, and begins to lock those that were changed here. In `todo` remain those whose
    /// links are pending. The chunk is locked.
    async fn begin_elsewhere(
        &self,
        work: Work,
        todo: &mut u64,
        Scratch { own, peer, .. }: &mut Scratch,
        progress: &mut Progress,
    ) -> Option<LockRequests> {
        let fabric = &self.fabric;
        let chunk = work.chunk;
        let leads_elsewhere = |own: &Records, block| {
            matches!(self.decode(own.of(block).link, self.me(), block), Link::Link { pending: false, .. })
        };
        let mut away = self.away(chunk, *todo, own).await;
        away =
            chunk.blocks(away).filter(|b| leads_elsewhere(own, *b)).fold(0, |mask, block| mask | block.bit());
        *todo &= !away;
        let mut changed = 0;
        for run in chunk.runs(away) {
            fabric.own_records(run, own.run_mut(run));
            let mut at = run.first;
            while at < run.end() {
                let (state, count) = self.run(at, run);
                let part = Extent::new(at, count);
                if has_twin(state) {
                    // What was replaced has no twin, and nothing of ours in it.
                    let compared = part.mask() & !self.replaced(chunk);
                    self.stats.blocks_compared.add(u64::from(compared.count_ones()));
                    let different =
                        chunk.runs(compared).fold(0, |different, run| different | fabric.changed(run));
                    changed |= different;
                    self.left_unstored(chunk, compared & !(different | work.dirty));
                    self.note_silent(chunk, compared & work.dirty, compared & work.dirty & !different);
                    for block in chunk.blocks(part.mask() & !different) {
                        self.unchanged(work, block, state, own).await;
                    }
                } else {
                    fabric.drop_twin(part);
                }
                at = part.end();
            }
        }
        changed &= !self.publish_diffs(work, changed, own, peer, progress).await;
        (changed != 0).then(|| self.begin_locking(chunk, changed, abi::WRITABLE, own))
    }

    /// A block whose home is elsewhere and that was not changed here. The notice that is owed nevertheless is of the version that the home had when the
    /// twin was made: what was stored here before is part of it. Taking the home back for that would let blocks wander between
    /// processes that only read. The chunk is locked: link and version belong together.
    async fn unchanged(&self, work: Work, block: Block, state: u8, own: &Records) {
        let fabric = &self.fabric;
        let extent = Extent::single(block);
        if (work.dirty | work.read) & block.bit() != 0 && !fabric.fault(Fault::DirtyNotSticky) {
            let Link::Link { to: home, .. } = self.decode(own.of(block).link, self.me(), block) else {
                unreachable!("a release of this process is under way: no other can move the home here")
            };
            self.stats.notices_out.add(1);
            let wr_ts = own.of(block).wr_ts;
            self.signature().add_owed(Notice { writer: home, extent, wr_ts, merged: false });
        }
        if !work.exclusive {
            self.wasted_diffs
                .store(self.wasted_diffs.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
        }
        self.clean(work, block, state).await;
    }

    async fn publish_elsewhere(
        &self,
        mut requests: LockRequests,
        share: bool,
        progress: &mut Progress,
        scratch: &mut Scratch,
    ) {
        let chunk = requests.chunk;
        let mut held = Vec::new();
        while let Some(batch) = self.next_batch(&mut requests, progress.version, scratch).await {
            if self.fabric.fault(Fault::HoldWhileWaiting) {
                held.push(batch);
                continue;
            }
            self.publish_batch(chunk, batch, share, progress, scratch).await;
        }
        for batch in held {
            self.publish_batch(chunk, batch, share, progress, scratch).await;
        }
    }

    /// Lists own blocks of one version; acquirers see it when the signature is published.
    pub(crate) fn list(&self, chunk: Chunk, blocks: u64, wr_ts: Timestamp, progress: &mut Progress) {
        chunk.runs(blocks).for_each(|extent| self.list_extent(extent, wr_ts, progress));
    }

    pub(crate) fn list_extent(&self, extent: Extent, wr_ts: Timestamp, progress: &mut Progress) {
        self.stats.notices_out.add(extent.count);
        // What was taken by calls that were under way together comes in versions of any order.
        progress.version = progress.version.max(wr_ts);
        self.fabric.published(extent, wr_ts);
        match &mut progress.run {
            Some((run, version)) if run.end() == extent.first && *version == wr_ts => {
                run.count += extent.count;
            }
            _ => {
                self.list_run(progress);
                progress.run = Some((extent, wr_ts));
            }
        }
    }

    pub(crate) fn list_run(&self, progress: &mut Progress) {
        if let Some(run) = progress.run.take() {
            self.signature().add_own(self.notice(run), &self.fabric);
        }
    }

    fn notice(&self, (extent, wr_ts): (Extent, Timestamp)) -> Notice {
        Notice { writer: self.me(), extent, wr_ts, merged: false }
    }

    /// Lists what is left, and lets acquirers see all that is listed.
    pub(crate) fn publish(&self, progress: &mut Progress) -> ReleaseToken {
        let mut signature = self.signature();
        if let Some(run) = progress.run.take() {
            signature.add_own(self.notice(run), &self.fabric);
        }
        signature.publish(&self.fabric);
        signature.token()
    }
}
