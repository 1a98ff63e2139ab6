//! The queue lock of a block, along probable-owner links, and the taking of its home (the paper's listing 1).
//!
//! Locking takes the home: whoever holds the lock of a block becomes its home. A process that finds the home free swaps a link to itself into
//! the home's word; one that finds it locked does the same and thereby queues behind it. Only one process can queue behind
//! another, since the word then is a link that later ones follow to the end of the queue.

use crate::fabric::{Fabric, MarkKind, Word};
use crate::link::Link;
use crate::types::{Block, CLOSED, Extent, Rank, Timestamp};
use crate::{Coherence, Fault, abi, marks};

/// How the lock was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The home was here already.
    InPlace,
    /// The home has to be moved here from `from`.
    Moving {
        from: Rank,
        /// Stores pass their check there: it needs a twin.
        writable: bool,
    },
}

impl<F: Fabric> Coherence<F> {
    /// Locks a block. The caller holds the publish gate and no chunk.
    pub(crate) async fn lock(&self, block: Block) -> Held {
        loop {
            let (word, link) = self.own_link(block);
            match link {
                Link::Home { writable, locked } => {
                    assert!(!locked, "the publish gate admits one holder a process");
                    let taken = Link::Home { writable, locked: true };
                    if self.cas_link(self.me(), block, word, taken).await {
                        return Held::InPlace;
                    }
                }
                Link::Link { pending: true, .. } => {
                    self.fabric.wait_change(self.me(), Word::Link(block), word).await;
                }
                Link::Link { to, pending: false } => {
                    if self.cas_link(self.me(), block, word, Link::Wait).await {
                        return self.chase(block, to).await;
                    }
                }
                Link::Wait => unreachable!("the publish gate admits one holder a process"),
            }
        }
    }

    async fn chase(&self, block: Block, first: Rank) -> Held {
        let mut at = first;
        loop {
            assert!(at != self.me(), "links lead forward in time, never back to a process that queues");
            let (word, link) = self.load_link(at, block).await;
            let queue_here = Link::Link { to: self.me(), pending: true };
            match link {
                Link::Home { writable, locked: false } => {
                    if self.cas_link(at, block, word, queue_here).await {
                        return Held::Moving { from: at, writable };
                    }
                }
                Link::Home { locked: true, .. } | Link::Wait => {
                    if self.cas_link(at, block, word, queue_here).await {
                        self.stats.lock_waits.add(1);
                        let writable = self.wait_grant().await;
                        return Held::Moving { from: at, writable };
                    }
                }
                Link::Link { to, .. } => {
                    self.stats.link_hops.add(1);
                    at = to;
                }
            }
        }
    }

    async fn wait_grant(&self) -> bool {
        let grant = self.fabric.wait_change(self.me(), Word::Grant, 0).await;
        self.fabric.set_own(Word::Grant, 0);
        grant & 2 != 0
    }

    /// Unlocks a block whose home is here now, or hands it to whoever queued. `share` takes the writable bit away.
    pub(crate) async fn unlock(&self, block: Block, share: bool) {
        loop {
            let (word, link) = self.own_link(block);
            let writable = match link {
                Link::Home { writable, .. } => writable && !share,
                Link::Wait => !share,
                Link::Link { .. } if self.fabric.fault(Fault::NoHandOver) => return,
                Link::Link { to, .. } => {
                    // A twin too many does no harm, one too few does.
                    self.fabric.post_store(to, Word::Grant, 1 | u64::from(!share) << 1).await;
                    return self.fabric.flush(to).await;
                }
            };
            if self.cas_link(self.me(), block, word, Link::Home { writable, locked: false }).await {
                return;
            }
        }
    }

    /// Brings the contents of a block that was locked as [`Held::Moving`] here and merges them with own unpublished bytes. Afterwards the block is
    /// writable here without a twin. Returns its new version: above every one and every lease at the old home, and at least `at_least`.
    pub(crate) async fn move_home(
        &self,
        block: Block,
        from: Rank,
        writable: bool,
        at_least: Timestamp,
    ) -> Timestamp {
        let fabric = &self.fabric;
        if writable && !fabric.fault(Fault::NoTakenMark) {
            // Before the snapshot: a release there that misses this mark happened before the snapshot was read.
            marks::set(fabric, from, MarkKind::Taken, block.chunk(), block.bit()).await;
        }
        let mut contents = vec![0; fabric.block_bytes()];
        fabric.snapshot(from, block, &mut contents).await;
        let lease = self.close_lease(block, from).await;
        let above = u64::from(!fabric.fault(Fault::EqualTimestamps));
        let wr_ts = at_least.max(lease.max(self.copy_lease(block)) + above);
        if fabric.fault(Fault::SettleLinkEarly) {
            self.settle_link(block, from).await;
        }
        if writable {
            if !fabric.fault(Fault::NoTwin) {
                fabric.post_twin(from, block, &contents).await;
            }
            // What the old home has to tell of if it stored before the snapshot.
            fabric.post_store(from, Word::Wr(block), wr_ts).await;
            if !fabric.fault(Fault::NoTwinFlush) {
                fabric.flush(from).await;
            }
        }
        self.stats.homes_taken.add(1);
        self.stats.bytes_moved.add(contents.len() as u64);

        let chunk = fabric.lock_chunk(block.chunk()).await;
        let own = Extent::single(block);
        if has_twin(fabric.state(block)) && !fabric.fault(Fault::NoMerge) {
            fabric.merge(block, &contents, from);
            fabric.drop_twin(own);
            self.stats.blocks_merged.add(1);
        } else {
            fabric.overwrite(block, &contents);
        }
        fabric.set_own(Word::Wr(block), wr_ts);
        fabric.set_own(Word::Rd(block), wr_ts);
        fabric.set_state(own, abi::WRITABLE);
        drop(chunk);
        // Only now: the old home may tell others of this version as soon as the link is settled, and they read it from here.
        if !fabric.fault(Fault::SettleLinkEarly) {
            self.settle_link(block, from).await;
        }
        wr_ts
    }

    /// Ends the taker's business at the old home.
    async fn settle_link(&self, block: Block, from: Rank) {
        let (word, _) = self.load_link(from, block).await;
        let settled = self.cas_link(from, block, word, Link::to(self.me())).await;
        assert!(settled, "only the taker changes a pending link");
    }

    /// Ends the lease at a home that is being taken and returns it. It becomes at least the bound that the old home has checked its copies
    /// against, which it did not do with this block while it was the home.
    async fn close_lease(&self, block: Block, from: Rank) -> Timestamp {
        let fabric = &self.fabric;
        let min = match fabric.fault(Fault::IgnoreOldBound) {
            true => 0,
            false => fabric.load(from, Word::LogMin(0)).await,
        };
        loop {
            let open = fabric.load(from, Word::Rd(block)).await;
            let lease = (open & !CLOSED).max(min);
            if fabric.fault(Fault::OpenLease) {
                return lease;
            }
            if fabric.cas(from, Word::Rd(block), open, lease | CLOSED).await == open {
                return lease;
            }
        }
    }
}

/// Whether a block that is not at home in this state has a twin.
pub(crate) fn has_twin(state: u8) -> bool {
    matches!(state, abi::WRITABLE | abi::INVALID_DIRTY)
}
