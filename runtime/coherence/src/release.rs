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
//! A home stays writable after its notice: exclusive. It becomes shared (a store must ask) when it was read in the interval and no other thread
//! of the process can be between a passed check and its store.

use crate::fabric::{Fabric, Gate, MarkKind, Word};
use crate::link::Link;
use crate::queue_lock::{Held, has_twin};
use crate::types::{Block, CLOSED, Chunk, Extent, Notice, Timestamp};
use crate::{Coherence, Fault, abi, marks};

/// Why a release looks at a block.
#[derive(Clone, Copy, Debug)]
struct Reasons {
    dirty: bool,
    read: bool,
}

impl<F: Fabric> Coherence<F> {
    /// Publishes everything this process wrote so far.
    pub async fn release(&self) {
        let fabric = &self.fabric;
        let gate = fabric.lock_gate(Gate::Publish).await;
        self.stats.releases.add(1);
        let held = fabric.begin_exclusive();
        let exclusive = held || fabric.fault(Fault::AlwaysExclusive);
        let chunks = marks::scan(fabric, &[MarkKind::Dirty, MarkKind::Read, MarkKind::Taken]).await;
        let mut version = self.signature().clock() + 1;
        for chunk in chunks {
            version = self.release_chunk(chunk, exclusive, version).await;
        }
        if held {
            fabric.end_exclusive();
        }
        self.signature().publish(fabric);
        drop(gate);
    }

    async fn release_chunk(&self, chunk: Chunk, exclusive: bool, mut version: Timestamp) -> Timestamp {
        let dirty = marks::take(&self.fabric, MarkKind::Dirty, 0, chunk.0).await;
        let read = marks::take(&self.fabric, MarkKind::Read, 0, chunk.0).await;
        let taken = marks::take(&self.fabric, MarkKind::Taken, 0, chunk.0).await;
        let mut listed: Option<(Extent, Timestamp)> = None;
        for index in marks::ones(dirty | read | taken) {
            let block = chunk.block(index as u32);
            let mut reasons = Reasons { dirty: dirty & block.bit() != 0, read: read & block.bit() != 0 };
            reasons.read &= !self.fabric.fault(Fault::IgnoreReadMarks);
            let publish = match self.own_link(block).1 {
                Link::Home { writable, .. } => reasons.dirty || (reasons.read && writable),
                _ => self.has_changes(block, reasons, exclusive).await,
            };
            if publish {
                version = self.publish(block, reasons.read && exclusive, version).await;
                self.fabric.published(block, version);
                match &mut listed {
                    Some((run, wr_ts)) if run.end() == block && *wr_ts == version => run.count += 1,
                    _ => {
                        if let Some((run, wr_ts)) = listed.replace((Extent::single(block), version)) {
                            self.add_notice(run, wr_ts);
                        }
                    }
                }
            }
        }
        if let Some((run, wr_ts)) = listed {
            self.add_notice(run, wr_ts);
        }
        version
    }

    /// Lists own blocks of one version; acquirers see it when the signature is published.
    fn add_notice(&self, extent: Extent, wr_ts: Timestamp) {
        self.stats.notices_out.add(extent.count);
        self.signature().add(Notice { writer: self.me(), extent, wr_ts });
    }

    /// Whether a block whose home is elsewhere was changed here and has to be published. If it was not, the notice that is owed nevertheless is of the
    /// version that the home had when the twin was made: what was stored here before is part of it. Taking the home back for
    /// that would let blocks wander between processes that only read.
    async fn has_changes(&self, block: Block, reasons: Reasons, exclusive: bool) -> bool {
        while let (word, Link::Link { pending: true, .. }) = self.own_link(block) {
            self.fabric.wait_change(self.me(), Word::Link(block), word).await;
        }
        let own = Extent::single(block);
        let _chunk = self.fabric.lock_chunk(block.chunk()).await;
        let state = self.fabric.state(block);
        if !has_twin(state) {
            self.fabric.drop_twin(own);
            return false;
        }
        if self.fabric.differs_from_twin(block) {
            return true;
        }
        if (reasons.dirty || reasons.read) && !self.fabric.fault(Fault::DirtyNotSticky) {
            // With the chunk locked, link and version belong together.
            let Link::Link { to: home, .. } = self.own_link(block).1 else {
                unreachable!("a release of this process is under way: no other can move the home here")
            };
            let wr_ts = self.fabric.own(Word::Wr(block));
            self.stats.notices_out.add(1);
            self.signature().add_owed(Notice { writer: home, extent: own, wr_ts });
        }
        if exclusive {
            let clean = if state == abi::WRITABLE { abi::READABLE } else { abi::COLD };
            marks::set_own(&self.fabric, MarkKind::Cached, block.chunk(), block.bit());
            // The contents may be older than the version told of: never renew them without data.
            if !self.fabric.fault(Fault::CleanKeepsVersion) {
                self.fabric.set_own(Word::Wr(block), 0);
            }
            self.fabric.set_state(own, clean);
            self.fabric.drop_twin(own);
        } else {
            // Another thread may be about to store: look again next time.
            marks::set(&self.fabric, self.me(), MarkKind::Taken, block.chunk(), block.bit()).await;
        }
        false
    }

    /// Publishes a block, moving its home here if it is elsewhere; returns the new version.
    async fn publish(&self, block: Block, share: bool, at_least: Timestamp) -> Timestamp {
        match self.lock(block).await {
            Held::Moving { from, writable } => {
                let wr_ts = self.move_home(block, from, writable, at_least).await;
                self.unlock(block, false).await;
                wr_ts
            }
            Held::InPlace => {
                let wr_ts = self.new_version(block, at_least).await;
                if share {
                    let _chunk = self.fabric.lock_chunk(block.chunk()).await;
                    // From now on stores ask; if the home is taken, the copy stays and has to expire.
                    marks::set_own(&self.fabric, MarkKind::Cached, block.chunk(), block.bit());
                    self.fabric.set_state(Extent::single(block), abi::READABLE);
                    self.stats.homes_shared.add(1);
                }
                self.unlock(block, share).await;
                self.stats.published_in_place.add(1);
                wr_ts
            }
        }
    }

    /// Gives a block that is locked in place a version above every lease. Readers extend leases with compare-and-swap, so one of the two notices.
    async fn new_version(&self, block: Block, at_least: Timestamp) -> Timestamp {
        loop {
            let lease = self.fabric.own(Word::Rd(block));
            debug_assert!(lease & CLOSED == 0, "the lease at a home is open");
            let wr_ts = at_least.max(lease + u64::from(!self.fabric.fault(Fault::EqualTimestamps)));
            let late = self.fabric.fault(Fault::LeaseBeforeVersion);
            // First the version: a reader must not pair the new lease with the old version and renew an old copy.
            if !late {
                self.fabric.set_own(Word::Wr(block), wr_ts);
            }
            if self.fabric.cas(self.me(), Word::Rd(block), lease, wr_ts).await == lease {
                if late {
                    self.fabric.set_own(Word::Wr(block), wr_ts);
                }
                return wr_ts;
            }
        }
    }

    /// Runs `body` on a block that is current and writable here while no other process and no other critical section of this one can change it: what
    /// atomic operations of the program need.
    pub async fn critical<R>(&self, block: Block, body: impl FnOnce() -> R) -> R {
        let fabric = &self.fabric;
        let gate = fabric.lock_gate(Gate::Publish).await;
        if let Held::Moving { from, writable } = self.lock(block).await {
            let at_least = self.signature().clock() + 1;
            let wr_ts = self.move_home(block, from, writable, at_least).await;
            fabric.published(block, wr_ts);
            self.add_notice(Extent::single(block), wr_ts);
            self.signature().publish(fabric);
        }
        let chunk = fabric.lock_chunk(block.chunk()).await;
        while let (word, Link::Home { writable: false, locked }) = self.own_link(block) {
            let writable = Link::Home { writable: true, locked };
            self.cas_link(self.me(), block, word, writable).await;
        }
        marks::set_own(fabric, MarkKind::Dirty, block.chunk(), block.bit());
        fabric.set_state(Extent::single(block), abi::WRITABLE);
        let result = body();
        drop(chunk);
        self.unlock(block, false).await;
        drop(gate);
        result
    }
}
