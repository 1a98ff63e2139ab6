//! The queue locks of blocks, along probable-owner links (listing 1 of Endo and Taura, see [`crate`]), for many blocks of a chunk at once.
//!
//! Locking takes the home: whoever holds the lock of a block becomes its home. A process that finds the home free swaps a link to itself into
//! the home's word; one that finds the word of a process that waits or works does the same and thereby queues behind it. Only one process
//! can queue behind another, since the word then is a link that later ones follow to the end of the queue.
//!
//! Blocks whose homes are at the same process are taken in one visit. No visit queues as long as another could still find something free; then
//! the process queues for the block with the smallest number, and for one at a time. What it holds by then is published and unlocked, so a process that
//! waits for a block only ever keeps others waiting for blocks with greater numbers: waiting goes in no circle.

use crate::fabric::{Fabric, Word};
use crate::link::Link;
use crate::records::Records;
use crate::types::{Block, CHUNK_BLOCKS, Chunk, Rank, Timestamp};
use crate::{Coherence, Fault};

/// Blocks of one chunk that this process is locking. Their own links are `Wait`.
#[derive(Debug, Hash)]
pub(crate) struct Chase {
    pub(crate) chunk: Chunk,
    /// Not locked yet.
    left: u64,
    /// Of these, the ones that somebody else held when they were last looked at.
    busy: u64,
    /// Where to look for each next.
    next: [Rank; CHUNK_BLOCKS as usize],
}

/// Blocks whose locks were obtained at once, and whose homes have to be moved here from `from`.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Batch {
    pub(crate) from: Rank,
    pub(crate) blocks: u64,
    /// Those that stores pass their check for at `from`: they need a twin.
    pub(crate) writable: u64,
}

impl<F: Fabric> Coherence<F> {
    /// Begins to lock blocks whose own links, in `own`, are links without obligations. The caller holds the publish gate and the chunk.
    pub(crate) fn start_chase(&self, chunk: Chunk, blocks: u64, own: &Records) -> Chase {
        let mut next = [self.me(); CHUNK_BLOCKS as usize];
        for block in chunk.blocks(blocks) {
            let Link::Link { to, pending: false } = self.decode(own.of(block).link, self.me(), block) else {
                unreachable!("the publish gate admits one holder a process")
            };
            next[(block.0 % CHUNK_BLOCKS) as usize] = to;
        }
        for run in chunk.runs(blocks) {
            self.fabric.set_own_links(run, Link::Wait.encode());
        }
        Chase { chunk, left: blocks, busy: 0, next }
    }

    /// The next blocks of a chase that are locked, with their records at their old home; `None` when it is over. The caller has unlocked those of the
    /// batch before, and holds no chunk.
    pub(crate) async fn next_batch(&self, chase: &mut Chase, records: &mut Records) -> Option<Batch> {
        while chase.left != 0 {
            let free = chase.left & !chase.busy;
            let alone = chase.left.is_power_of_two();
            let (wanted, queue) = if free == 0 || alone {
                chase.busy = 0;
                (chase.left & chase.left.wrapping_neg(), true)
            } else {
                (free, false)
            };
            let batch = self.visit(chase, wanted, queue, records).await;
            chase.left &= !batch.blocks;
            if batch.blocks != 0 {
                return Some(batch);
            }
        }
        None
    }

    /// Goes where the first of the `wanted` blocks is believed to be, and looks after all that are believed to be there. `queue`: waits its turn
    /// if the block, the only one then, is held.
    async fn visit(&self, chase: &mut Chase, wanted: u64, queue: bool, records: &mut Records) -> Batch {
        let fabric = &self.fabric;
        let chunk = chase.chunk;
        let at = chase.next[wanted.trailing_zeros() as usize];
        assert!(at != self.me(), "links lead forward in time, never back to a process that queues");
        let together = |block: &Block| chase.next[(block.0 % CHUNK_BLOCKS) as usize] == at;
        let wanted = chunk.blocks(wanted).filter(together).fold(0, |mask, block| mask | block.bit());
        let span = chunk.span(wanted);

        let moment = fabric.moment();
        let sequence = self.lock_records(at, chunk).await;
        let homes = self.home_records(at, span, records).await;
        let blocks = wanted & homes.all;
        let mut batch = Batch { from: at, blocks, writable: blocks & !homes.asking };
        let mut queued = 0;
        for block in chunk.blocks(wanted & !blocks) {
            match self.decode(records.of(block).link, at, block) {
                Link::Home => unreachable!("the header tells of it"),
                Link::Wait if queue => queued = block.bit(),
                Link::Wait => chase.busy |= block.bit(),
                Link::Link { to, .. } => {
                    self.stats.link_hops.add(1);
                    chase.next[(block.0 % CHUNK_BLOCKS) as usize] = to;
                }
            }
        }
        let mine = Link::Link { to: self.me(), pending: true };
        for run in chunk.runs(batch.blocks | queued) {
            fabric.post_links(at, run, mine.encode()).await;
        }
        self.leave_home(at, chunk, batch.blocks, homes).await;
        self.unlock_records(at, chunk, sequence).await;
        fabric.forget(moment, || (batch, queued, &*chase, records.run(span)));
        if queued != 0 {
            self.stats.lock_waits.add(1);
            let grant = fabric.wait_change(self.me(), Word::Grant, 0).await;
            fabric.set_own(Word::Grant, 0);
            // The pending link keeps everybody else off the record: the block was never free there.
            fabric.read_records(at, span, records.run_mut(span)).await;
            batch = Batch { from: at, blocks: queued, writable: if grant & 2 != 0 { queued } else { 0 } };
        }
        batch
    }

    /// Unlocks blocks whose homes are here now in version `wr_ts`, or hands them to whoever queued.
    /// `writable`: stores to them pass their check.
    pub(crate) async fn unlock(
        &self,
        chunk: Chunk,
        blocks: u64,
        writable: bool,
        wr_ts: Timestamp,
        own: &mut Records,
    ) {
        let fabric = &self.fabric;
        let span = chunk.span(blocks);
        let moment = fabric.moment();
        let sequence = self.lock_records(self.me(), chunk).await;
        fabric.own_links(span, own.run_mut(span));
        let is_wait = |block: &Block| own.of(*block).link == Link::Wait.encode();
        let free = chunk.blocks(blocks).filter(is_wait).fold(0, |mask, block| mask | block.bit());
        self.raise_lease(chunk, wr_ts);
        for run in chunk.runs(free) {
            fabric.set_own_links(run, Link::Home.encode());
        }
        self.come_home(chunk, free, !writable);
        self.unlock_records(self.me(), chunk, sequence).await;
        if fabric.fault(Fault::NoHandOver) {
            return;
        }
        for block in chunk.blocks(blocks & !free) {
            self.hand_over(block, own.of(block).link, writable).await;
        }
        fabric.forget(moment, || ());
    }

    /// Tells whoever queued for a block, in whose own link word it is, that the lock is its own.
    pub(crate) async fn hand_over(&self, block: Block, link: u64, writable: bool) {
        let Link::Link { to, .. } = self.decode(link, self.me(), block) else {
            unreachable!("a block is unlocked by its holder")
        };
        self.fabric.post_store(to, Word::Grant, 1 | u64::from(writable) << 1).await;
        self.fabric.flush(to).await;
    }

    /// The lease of blocks at home is at least their versions. The chunk's records are locked.
    pub(crate) fn raise_lease(&self, chunk: Chunk, wr_ts: Timestamp) {
        let word = Word::Lease(chunk);
        if self.fabric.own(word) < wr_ts && !self.fabric.fault(Fault::LeaseNotRaised) {
            self.fabric.set_own(word, wr_ts);
        }
    }
}
