//! Home migration: moving the homes of locked blocks here, and merging the contents at the old home with own unpublished bytes.

use crate::calls::take::{self, Claim, Taken};
use crate::fabric::{Fabric, MarkKind};
use crate::migration_on_miss::hint;
use crate::queue_lock::Batch;
use crate::records::Records;
use crate::release::Progress;
use crate::scratch::Scratch;
use crate::segment::Busy;
use crate::types::{Block, Chunk, Extent, Rank, Timestamp};
use crate::{Coherence, Fault, abi};

impl<F: Fabric> Coherence<F> {
    /// Takes the homes of wanted blocks of a chunk at a process, as far as the claim goes, in a version of `at_least` or above. What is got is in the state `becomes` here, without a twin, and still locked. In the
    /// peer's records are those of the span of the wanted blocks there as they were before. The chunk is not locked.
    pub(crate) async fn migrate_homes(
        &self,
        at: Rank,
        (chunk, wanted): (Chunk, u64),
        becomes: u8,
        claim: Claim,
        at_least: Timestamp,
        Scratch { own, peer, snapshot, .. }: &mut Scratch,
    ) -> (Taken, Option<Batch>) {
        let fabric = &self.fabric;
        let span = chunk.span(wanted);
        if fabric.fault(Fault::StampBeforeMerge) {
            fabric.own_records(span, own.run_mut(span));
            self.label(chunk, wanted, self.above_own_leases(chunk, wanted, at_least, own));
        }
        let checkpoint = fabric.checkpoint();
        let taken = loop {
            fabric.live_since(checkpoint, || ());
            let locked = fabric.lock_chunk(chunk).await;
            fabric.own_records(span, own.run_mut(span));
            let at_least = self.above_own_leases(chunk, wanted, at_least, own);
            let request = take::Request { to: self.me(), chunk, wanted, at_least, claim };
            let place = |run, contents: &[u8]| self.store_contents(run, contents, at, becomes);
            match self.call_take(at, &request, peer, false, snapshot, place).await {
                Ok(taken) => {
                    let batch = self.label_batch(chunk, taken, own, peer);
                    drop(locked);
                    break (taken, batch);
                }
                Err(Busy { word, seen }) => {
                    drop(locked);
                    self.wait_for(at, word, seen).await;
                }
            }
        };
        self.not_replaced(chunk, taken.0.blocks).await;
        taken
    }

    /// Homes that a release has taken, whose contents are here, get their version. The records are in `own` and `peer` as they were before. The chunk has been locked since before the contents came:
    /// an acquire that finds the new lease passes the blocks over.
    pub(crate) fn label_batch(
        &self,
        chunk: Chunk,
        taken: Taken,
        own: &Records,
        peer: &Records,
    ) -> Option<Batch> {
        let batch = self.batch(chunk, taken, own, peer);
        self.label(chunk, taken.blocks, taken.version);
        let count = u64::from(taken.blocks.count_ones());
        self.stats.homes_taken.add(count);
        if let Some(block) = chunk.blocks(taken.blocks).next() {
            self.stats.bytes_moved.add(count * self.fabric.block_bytes(block) as u64);
        }
        batch
    }

    fn batch(&self, chunk: Chunk, taken: Taken, own: &Records, peer: &Records) -> Option<Batch> {
        let Taken { blocks, writable, version, .. } = taken;
        let same = |block: &Block| own.of(*block).wr_ts == peer.of(*block).wr_ts;
        let current = chunk.blocks(blocks).filter(same).fold(0, |mask, block| mask | block.bit());
        (blocks != 0).then_some(Batch { blocks, writable, current, version })
    }

    /// A version of `at_least` or above, and above the leases of own copies, whose records are in `own`.
    pub(crate) fn above_own_leases(
        &self,
        chunk: Chunk,
        blocks: u64,
        at_least: Timestamp,
        own: &Records,
    ) -> Timestamp {
        let above = u64::from(!self.fabric.fault(Fault::EqualTimestamps));
        let leases = chunk.runs(blocks).flat_map(|run| own.run(run)).map(|record| record.rd_ts);
        at_least.max(leases.fold(0, Timestamp::max) + above)
    }

    /// Blocks whose homes are or come here get a version. The chunk is locked.
    pub(crate) fn label(&self, chunk: Chunk, blocks: u64, version: Timestamp) {
        chunk.runs(blocks).for_each(|run| self.fabric.set_own_stamps(run, |_| [version; 2]));
    }

    /// Unlocks and lists a batch of locked blocks. `exclusive`: no thread of this process is about to store to
    /// them. Then they are downgraded, so that the process that takes the homes next has no twins to leave; except blocks that somebody else has
    /// published since they were read here: two processes that store to a block all the time should not have a miss each time.
    pub(crate) async fn publish_batch(
        &self,
        chunk: Chunk,
        batch: Batch,
        exclusive: bool,
        progress: &mut Progress,
        scratch: &mut Scratch,
    ) {
        let fabric = &self.fabric;
        let Batch { blocks, writable, current, version } = batch;
        let share = match exclusive {
            true if self.downgrades_all() => blocks,
            true => current,
            false => 0,
        };
        // Until the links say that nobody stores, no thread may be allowed to.
        let contended = blocks & (writable | !current);
        let noted = fabric.own(hint(MarkKind::Contended, chunk)) & blocks == contended;
        let locked = if share == 0 && noted { None } else { Some(fabric.lock_chunk(chunk).await) };
        if !noted {
            self.note_contended(chunk, blocks, contended);
        }
        if share != 0 {
            self.downgrade(chunk, share);
            self.unlock(chunk, share, false, version, &mut scratch.own).await;
        }
        if blocks != share {
            self.unlock(chunk, blocks & !share, true, version, &mut scratch.own).await;
        }
        drop(locked);
        self.list(chunk, blocks, version, progress);
    }

    /// Makes fetched contents those of own blocks: merges them where there is a twin, else overwrites. The chunk is locked.
    pub(crate) fn store_contents(&self, piece: Extent, contents: &[u8], from: Rank, becomes: u8) {
        let fabric = &self.fabric;
        let mut rest = contents;
        let mut at = piece.first;
        while at < piece.end() {
            let (state, count) = self.run(at, piece);
            // An atomic operation may come to blocks that were replaced.
            let replaced = if has_twin(state) { self.replaced(at.chunk()) } else { 0 };
            let alike = |block: &Block| (replaced & block.bit() != 0) == (replaced & at.bit() != 0);
            let count = Extent::new(at, count).blocks().take_while(alike).count() as u64;
            let run = Extent::new(at, count);
            let (part, behind) = rest.split_at(count as usize * fabric.block_bytes(at));
            let merges = has_twin(state) && replaced & at.bit() == 0 && !fabric.fault(Fault::NoMerge);
            if merges {
                fabric.merge(run, part, from);
                self.stats.blocks_merged.add(count);
            } else {
                fabric.overwrite(run, part);
            }
            if state != becomes {
                fabric.set_state(run, becomes);
            }
            if merges {
                fabric.drop_twin(run);
            }
            rest = behind;
            at = Block(at.0 + count);
        }
    }
}

/// Whether a block that is not at home in this state has a twin.
pub(crate) fn has_twin(state: u8) -> bool {
    matches!(state, abi::WRITABLE | abi::INVALID_DIRTY)
}
