//! Moving the homes of locked blocks here, and merging what their old home has with own unpublished bytes.

use crate::early::hint;
use crate::fabric::{Fabric, MarkKind, Word};
use crate::link::Link;
use crate::queue_lock::Batch;
use crate::records::{Records, Scratch};
use crate::release::Progress;
use crate::types::{Block, Chunk, Extent, Rank, Timestamp};
use crate::{Coherence, Fault, abi, marks};

impl<F: Fabric> Coherence<F> {
    /// Brings the contents of a batch of a chase here; `peer` has the records at the old home. Afterwards the blocks are writable here without a twin, and still locked. Returns their new
    /// version: above every one and every lease at the old home, and at least `at_least`.
    pub(crate) async fn move_homes(
        &self,
        chunk: Chunk,
        batch: Batch,
        at_least: Timestamp,
        Scratch { own, peer, room, .. }: &mut Scratch,
    ) -> Timestamp {
        let wr_ts = self.begin_move(chunk, batch, at_least, own, peer).await;
        let locked = self.fabric.lock_chunk(chunk).await;
        self.move_contents(batch, chunk.runs(batch.blocks), abi::WRITABLE, room).await;
        // Together with the contents: an acquire that finds the new lease passes the block over.
        self.set_stamps(chunk, batch.blocks, own);
        drop(locked);
        self.end_move(chunk, batch).await;
        wr_ts
    }

    /// What comes before the contents: marks, and a version, which is returned. `own` becomes what the records here have to be.
    pub(crate) async fn begin_move(
        &self,
        chunk: Chunk,
        batch: Batch,
        at_least: Timestamp,
        own: &mut Records,
        peer: &mut Records,
    ) -> Timestamp {
        let fabric = &self.fabric;
        if batch.writable != 0 && !fabric.fault(Fault::NoTakenMark) {
            // Before the snapshot: a release there that misses this mark happened before the snapshot was read.
            marks::set(fabric, batch.from, MarkKind::Taken, chunk, batch.writable).await;
        }
        if fabric.fault(Fault::SettleLinkEarly) {
            self.settle_links(chunk, batch).await;
        }
        let wr_ts = self.stamp(chunk, batch, peer, own, at_least).await;
        if fabric.fault(Fault::StampBeforeMerge) {
            self.set_stamps(chunk, batch.blocks, own);
            fabric.flush(batch.from).await;
        }
        wr_ts
    }

    /// Reads `runs` of the batch's blocks, leaves twins where needed, and puts the contents into the own blocks, whose state becomes `state`. The chunk is
    /// locked.
    pub(crate) async fn move_contents(
        &self,
        batch: Batch,
        runs: impl Iterator<Item = Extent>,
        state: u8,
        room: &mut Vec<u8>,
    ) {
        let fabric = &self.fabric;
        for run in runs {
            let block_bytes = fabric.block_bytes(run.first);
            for piece in run.pieces(fabric.snapshot_blocks(run.first.chunk())) {
                let bytes = piece.count as usize * block_bytes;
                if room.len() < bytes {
                    room.resize(bytes, 0);
                }
                let contents = &mut room[..bytes];
                fabric.snapshot(batch.from, piece, contents).await;
                self.leave_twins(piece, batch, contents).await;
                self.take_in(piece, contents, batch.from, state);
                self.stats.bytes_moved.add(bytes as u64);
            }
        }
    }

    /// The contents are here.
    pub(crate) async fn end_move(&self, chunk: Chunk, batch: Batch) {
        self.stats.homes_taken.add(u64::from(batch.blocks.count_ones()));
        self.not_replaced(chunk, batch.blocks).await;
        if !self.fabric.fault(Fault::NoTwinFlush) {
            self.fabric.flush(batch.from).await;
        }
        // Only now: the old home may tell others of this version as soon as the link is settled, and they read it from here.
        if !self.fabric.fault(Fault::SettleLinkEarly) {
            self.settle_links(chunk, batch).await;
        }
    }

    /// [`Coherence::move_homes`] for a batch of a chase, with the blocks unlocked and listed. `exclusive`: no thread of this process is about to store to
    /// them. Then the next stores ask, so that whoever takes the homes next has no twins to leave; unless the block was published by
    /// somebody else since it was read here: two processes that store to it all the time should not ask all the time.
    pub(crate) async fn publish_batch(
        &self,
        chunk: Chunk,
        batch: Batch,
        exclusive: bool,
        progress: &mut Progress,
        scratch: &mut Scratch,
    ) {
        let fabric = &self.fabric;
        let alone = self.stored_to_alone(chunk, batch.blocks, scratch);
        let share = match exclusive {
            true if fabric.watches_writes() => batch.blocks,
            true => alone,
            false => 0,
        };
        let wr_ts = self.move_homes(chunk, batch, progress.version, scratch).await;
        // Until the links say that nobody stores, no thread may be allowed to.
        let contended = batch.blocks & (batch.writable | !alone);
        let noted = fabric.own(hint(MarkKind::Contended, chunk)) & batch.blocks == contended;
        let locked = if share == 0 && noted { None } else { Some(fabric.lock_chunk(chunk).await) };
        if !noted {
            self.note_contended(chunk, batch.blocks, contended);
        }
        if share != 0 {
            self.make_ask(chunk, share);
            self.unlock(chunk, share, false, wr_ts, &mut scratch.own).await;
        }
        if batch.blocks != share {
            self.unlock(chunk, batch.blocks & !share, true, wr_ts, &mut scratch.own).await;
        }
        drop(locked);
        self.list(chunk, batch.blocks, wr_ts, progress);
    }

    /// Blocks whose version at their home, in `peer`, is that of the copy here.
    fn stored_to_alone(&self, chunk: Chunk, blocks: u64, Scratch { own, peer, .. }: &mut Scratch) -> u64 {
        let span = chunk.span(blocks);
        self.fabric.own_records(span, own.run_mut(span));
        let alone = |block: &Block| own.of(*block).wr_ts == peer.of(*block).wr_ts;
        chunk.blocks(blocks).filter(alone).fold(0, |mask, block| mask | block.bit())
    }

    /// Decides on the version of a batch, writes to the records of the old home what its copies are from now on, and to `own` what the records here
    /// become.
    async fn stamp(
        &self,
        chunk: Chunk,
        batch: Batch,
        records: &mut Records,
        own: &mut Records,
        at_least: Timestamp,
    ) -> Timestamp {
        let fabric = &self.fabric;
        // What the old home has checked its copies against, which it did not do with these blocks while it was their home.
        let bound = match fabric.fault(Fault::IgnoreOldBound) {
            true => 0,
            false => fabric.load(batch.from, Word::LogMin(0)).await,
        };
        let span = chunk.span(batch.blocks);
        fabric.own_records(span, own.run_mut(span));
        let mut longest = 0;
        for block in chunk.blocks(batch.blocks) {
            let record = records.of_mut(block);
            record.rd_ts = record.rd_ts.max(bound);
            longest = longest.max(record.rd_ts).max(own.of(block).rd_ts);
        }
        let wr_ts = at_least.max(longest + u64::from(!fabric.fault(Fault::EqualTimestamps)));
        for block in chunk.blocks(batch.blocks) {
            if batch.writable & block.bit() != 0 {
                // What the old home has to tell of if it stored before the snapshot.
                records.of_mut(block).wr_ts = wr_ts;
            }
            let record = own.of_mut(block);
            (record.rd_ts, record.wr_ts) = (wr_ts, wr_ts);
        }
        for run in chunk.runs(batch.blocks) {
            fabric.post_stamps(batch.from, run, records.run(run)).await;
        }
        wr_ts
    }

    pub(crate) fn set_stamps(&self, chunk: Chunk, blocks: u64, records: &Records) {
        for run in chunk.runs(blocks) {
            self.fabric.set_own_stamps(run, records.run(run));
        }
    }

    /// Leaves what was read of writable homes behind as their twins.
    async fn leave_twins(&self, piece: Extent, batch: Batch, contents: &[u8]) {
        if self.fabric.fault(Fault::NoTwin) {
            return;
        }
        let bytes = self.fabric.block_bytes(piece.first);
        for run in piece.first.chunk().runs(piece.mask() & batch.writable) {
            let offset = (run.first.0 - piece.first.0) as usize * bytes;
            let part = &contents[offset..offset + run.count as usize * bytes];
            self.fabric.post_twin(batch.from, run, part).await;
        }
    }

    /// The chunk is locked.
    fn take_in(&self, piece: Extent, contents: &[u8], from: Rank, becomes: u8) {
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
            if has_twin(state) && replaced & at.bit() == 0 && !fabric.fault(Fault::NoMerge) {
                fabric.merge(run, part, from);
                fabric.drop_twin(run);
                self.stats.blocks_merged.add(count);
            } else {
                fabric.overwrite(run, part);
            }
            if state != becomes {
                fabric.set_state(run, becomes);
            }
            rest = behind;
            at = Block(at.0 + count);
        }
    }

    /// Ends the taker's business at the old home.
    async fn settle_links(&self, chunk: Chunk, batch: Batch) {
        for run in chunk.runs(batch.blocks) {
            self.fabric.post_links(batch.from, run, Link::to(self.me()).encode()).await;
        }
    }
}

/// Whether a block that is not at home in this state has a twin.
pub(crate) fn has_twin(state: u8) -> bool {
    matches!(state, abi::WRITABLE | abi::INVALID_DIRTY)
}
