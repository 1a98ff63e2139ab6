//! The queue locks of blocks, along probable-owner links (listing 1 of Endo and Taura, see [`crate`]), for many blocks of a chunk at once.
//!
//! Locking takes the home: whoever holds the lock of a block becomes its home. A process that finds the home free swaps a link to itself into
//! the home's word; one that finds the word of a process that waits or works does the same and thereby queues behind it. Only one process
//! can queue behind another, since the word then is a link that later ones follow to the end of the queue.
//!
//! Blocks whose homes are at the same process are locked by one request. No request queues as long as another could still find a free block; then
//! the process queues for the block with the smallest number, one at a time. It has published and unlocked all that it held by then, so a process that
//! waits for a block only ever makes others wait for blocks with greater numbers: waiting is not circular.

use crate::calls::take::Claim;
use crate::fabric::{Fabric, Word};
use crate::link::Link;
use crate::records::Records;
use crate::scratch::Scratch;
use crate::types::{Block, CHUNK_BLOCKS, Chunk, Rank, Timestamp, first_bits};
use crate::{Coherence, Fault};

/// Blocks of one chunk that this process is locking. Their own links are `Wait`.
#[derive(Debug, Hash)]
pub(crate) struct LockRequests {
    pub(crate) chunk: Chunk,
    /// Not locked yet.
    left: u64,
    /// Of these, the ones that another process held at the last request.
    busy: u64,
    /// Where to look for each next.
    next: [Rank; CHUNK_BLOCKS as usize],
    /// State of the blocks whose homes have come.
    becomes: u8,
}

/// Blocks whose locks were obtained at once. Their homes and contents are here, and they are still locked.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Batch {
    pub(crate) blocks: u64,
    /// Those that stores pass their check for at the old home.
    pub(crate) writable: u64,
    /// Those whose version there was that of the copy here: nobody else has published them meanwhile.
    pub(crate) current: u64,
    /// Their new version.
    pub(crate) version: Timestamp,
}

impl<F: Fabric> Coherence<F> {
    /// Begins to lock blocks whose own links, in `own`, are links without obligations. `becomes`: the state of those whose homes have come. The caller holds the publish gate and the chunk.
    pub(crate) fn begin_locking(
        &self,
        chunk: Chunk,
        blocks: u64,
        becomes: u8,
        own: &Records,
    ) -> LockRequests {
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
        LockRequests { chunk, left: blocks, busy: 0, next, becomes }
    }

    /// Locks some of the requested blocks and migrates their homes here in a version of `at_least` or above; `None` when all were locked. The caller has unlocked the
    /// batch before, and holds no chunk's lock.
    pub(crate) async fn next_batch(
        &self,
        requests: &mut LockRequests,
        at_least: Timestamp,
        scratch: &mut Scratch,
    ) -> Option<Batch> {
        while requests.left != 0 {
            let free = requests.left & !requests.busy;
            let is_last = requests.left.is_power_of_two();
            let (wanted, queue) = if free == 0 || is_last {
                requests.busy = 0;
                (requests.left & requests.left.wrapping_neg(), true)
            } else {
                (free, false)
            };
            if let Some(batch) = self.take_at(requests, wanted, queue, at_least, scratch).await {
                requests.left &= !batch.blocks;
                return Some(batch);
            }
        }
        None
    }

    /// Requests the locks of those of the `wanted` blocks that have the same probable owner as the first, from that process, and takes the homes that are free there.
    /// `queue`: waits its turn if the block, the only one then, is held.
    async fn take_at(
        &self,
        requests: &mut LockRequests,
        wanted: u64,
        queue: bool,
        at_least: Timestamp,
        scratch: &mut Scratch,
    ) -> Option<Batch> {
        let fabric = &self.fabric;
        let chunk = requests.chunk;
        let at = requests.next[wanted.trailing_zeros() as usize];
        assert!(at != self.me(), "links lead forward in time, never back to a process that queues");
        let together = |block: &Block| requests.next[(block.0 % CHUNK_BLOCKS) as usize] == at;
        let wanted = chunk.blocks(wanted).filter(together).fold(0, |mask, block| mask | block.bit());
        let wanted = first_bits(wanted, self.most_blocks(at, chunk.span(wanted).first));

        let checkpoint = fabric.checkpoint();
        let (taken, batch) = self
            .migrate_homes(at, (chunk, wanted), requests.becomes, Claim::Lock { queue }, at_least, scratch)
            .await;
        let mut taking = None;
        for block in chunk.blocks(wanted & !taken.blocks & !taken.queued) {
            let word = scratch.peer.of(block).link;
            match self.decode(word, at, block) {
                Link::Home => unreachable!("the header tells of it"),
                Link::Taking if queue => taking = Some((Word::Link(block), word)),
                Link::Wait | Link::Taking => requests.busy |= block.bit(),
                Link::Link { to, .. } => {
                    self.stats.link_hops.add(1);
                    requests.next[(block.0 % CHUNK_BLOCKS) as usize] = to;
                }
            }
        }
        fabric.live_since(checkpoint, || (taken, batch, taking, &*requests));
        if let Some((word, seen)) = taking {
            fabric.wait_change(at, word, seen).await;
        }
        if taken.queued == 0 {
            return batch;
        }
        self.stats.lock_waits.add(1);
        let grant = fabric.wait_change(self.me(), Word::Grant, 0).await;
        fabric.set_own(Word::Grant, 0);
        let claim = Claim::Granted { writable: grant & 2 != 0 };
        self.migrate_homes(at, (chunk, taken.queued), requests.becomes, claim, at_least, scratch).await.1
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
        let checkpoint = fabric.checkpoint();
        let sequence = self.lock_records(chunk).await;
        fabric.own_links(span, own.run_mut(span));
        let held = [Link::Wait, Link::Taking].map(Link::encode);
        let free = own.of_which(chunk, blocks, |record| held.contains(&record.link));
        self.raise_lease(chunk, wr_ts);
        for run in chunk.runs(free) {
            fabric.set_own_links(run, Link::Home.encode());
        }
        self.come_home(chunk, free, !writable);
        self.unlock_records(chunk, sequence);
        if fabric.fault(Fault::NoHandOver) {
            return;
        }
        for block in chunk.blocks(blocks & !free) {
            self.hand_over(block, own.of(block).link, writable).await;
        }
        fabric.live_since(checkpoint, || ());
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
