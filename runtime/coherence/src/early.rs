//! Taking homes at misses, before anything is stored: then no twin is made, nothing is compared, and the release publishes in place.
//!
//! A miss for stores takes every home that it can. A miss for loads does so where this process wrote last time after it had read (a *migratory*
//! block, as what a lock protects), mostly with the permission to store, and stops if it turns out not to store. Homes that others store to at
//! present are left alone, and so are those of blocks that several processes store to all the time (*contended*): they would come back at the
//! next release.
//!
//! A miss never queues: it looks once, takes what is free, with the chunk locked, and what it does not get it reads. It is therefore no link in
//! any circle of waiting processes, and needs no publish gate.

use crate::fabric::{Fabric, MarkKind, Word};
use crate::link::Link;
use crate::overwrite::Purpose;
use crate::queue_lock::Batch;
use crate::records::{Blocked, Scratch};
use crate::types::{Block, Chunk, Extent, Notice, Rank, Timestamp};
use crate::{Coherence, Fault, abi, marks};

/// Blocks of a notice whose moves are prepared at the acquire: more need all the room in caches, and hide the latency by their number.
const EXPECTED: u64 = 4;

/// Whether a miss for loads in this version does not allow stores to what it takes, to see whether they are asked for: one in 16.
pub(crate) fn is_trial(version: Timestamp) -> bool {
    version.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60 == 0
}

pub(crate) fn hint(kind: MarkKind, chunk: Chunk) -> Word {
    Word::Mark { kind, level: 0, index: chunk.0 }
}

impl<F: Fabric> Coherence<F> {
    /// Blocks of a run in a state that is not writable whose homes a miss should take. The chunk is locked.
    fn wanted_early(&self, run: Extent, state: u8, purpose: Purpose) -> u64 {
        let fabric = &self.fabric;
        if fabric.watches_writes() {
            // Then every store needs a twin.
            return 0;
        }
        if state == abi::READABLE {
            return purpose.whole(run);
        }
        let chunk = run.first.chunk();
        let free = run.mask() & (!fabric.own(hint(MarkKind::Contended, chunk)) | purpose.whole(run));
        if purpose.write {
            return free;
        }
        let migratory = fabric.own(hint(MarkKind::Migratory, chunk)) & free;
        if migratory == 0 {
            return 0;
        }
        // Taken last time and not stored to.
        let wrong = migratory & fabric.own(hint(MarkKind::Early, chunk));
        if wrong != 0 {
            for kind in [MarkKind::Migratory, MarkKind::Early] {
                fabric.set_own(hint(kind, chunk), fabric.own(hint(kind, chunk)) & !wrong);
            }
        }
        migratory & !wrong
    }

    /// Takes the homes of blocks of a run in a state that is not writable, as far as that is worth while and they are free. They become
    /// readable, and writable if the purpose is to write or they are likely to be written. Returns them. The chunk is locked.
    pub(crate) async fn take_early(
        &self,
        run: Extent,
        state: u8,
        purpose: Purpose,
        scratch: &mut Scratch,
    ) -> Result<u64, Blocked> {
        let wanted = self.wanted_early(run, state, purpose);
        if wanted == 0 {
            return Ok(0);
        }
        self.fabric.own_links(run, scratch.own.run_mut(run));
        let mut taken = 0;
        let mut at = run.first;
        while at < run.end() {
            let link = scratch.own.of(at).link;
            let rest = Extent::new(at, run.end().0 - at.0);
            let count = rest.blocks().take_while(|b| scratch.own.of(*b).link == link).count() as u64;
            let part = Extent::new(at, count);
            if part.mask() & wanted != 0
                && let Link::Link { to, pending: false } = self.decode(link, self.me(), at)
            {
                let home = if state == abi::NOTICED { to } else { self.find_home(at).await? };
                taken |= self.take_from(home, at.chunk(), part.mask() & wanted, purpose, scratch).await;
            }
            at = part.end();
        }
        Ok(taken)
    }

    async fn take_from(
        &self,
        home: Rank,
        chunk: Chunk,
        wanted: u64,
        purpose: Purpose,
        Scratch { own, peer, room, .. }: &mut Scratch,
    ) -> u64 {
        let fabric = &self.fabric;
        let span = chunk.span(wanted);
        let sequence = self.lock_records(home, chunk).await;
        let homes = self.home_records(home, span, peer).await;
        let blocks = wanted & homes.all;
        let mut batch = Batch { from: home, blocks, writable: blocks & !homes.asking };
        if fabric.fault(Fault::EarlyFromTaken) {
            let taken = |block: &Block| {
                matches!(self.decode(peer.of(*block).link, home, *block), Link::Link { pending: true, .. })
            };
            batch.blocks |= chunk.blocks(wanted).filter(taken).fold(0, |mask, block| mask | block.bit());
        }
        if batch.writable != 0 {
            let stored_to = fabric.load(home, hint(MarkKind::Dirty, chunk)).await & batch.writable;
            batch.blocks &= !stored_to;
            batch.writable &= !stored_to;
        }
        let whole = purpose.whole(span);
        let fetched = batch.blocks & !whole;
        if fetched != 0 {
            let contended = fabric.load(home, hint(MarkKind::Contended, chunk)).await & fetched;
            self.note_contended(chunk, contended, contended);
            batch.blocks &= !contended;
            batch.writable &= !contended;
        }
        self.replace(home, chunk, batch.writable & whole).await;
        let mine = Link::Link { to: self.me(), pending: true };
        for run in chunk.runs(batch.blocks) {
            // Whoever comes here along an old link queues.
            fabric.set_own_links(run, Link::Wait.encode());
            fabric.post_links(home, run, mine.encode()).await;
        }
        self.leave_home(home, chunk, batch.blocks, homes).await;
        self.unlock_records(home, chunk, sequence).await;
        if batch.blocks == 0 {
            return 0;
        }
        let version = self.clock() + 1;
        // What was stored at a writable home is told of by a notice of the version that it gets here, and this process passes no notice of its
        // own on: then it has to publish.
        let write = purpose.write || batch.writable != 0 || !is_trial(version);
        let wr_ts = self.begin_move(chunk, batch, version, own, peer).await;
        self.fabric.or_own(hint(MarkKind::Early, chunk), batch.blocks);
        if write && !fabric.fault(Fault::EarlyNotDirty) {
            marks::set_own(fabric, MarkKind::Dirty, chunk, batch.blocks);
        }
        let state = if write { abi::WRITABLE } else { abi::READABLE };
        // Nobody stores to what is not writable at its home: one copy is enough.
        for run in chunk.runs(batch.blocks & !batch.writable & !whole) {
            self.fetch(home, run).await;
            fabric.set_state(run, state);
        }
        self.move_contents(batch, chunk.runs(batch.writable & !whole), state, room).await;
        for run in chunk.runs(batch.blocks & whole) {
            fabric.not_fetched(run);
            fabric.set_state(run, state);
            self.stats.blocks_overwritten.add(run.count);
            self.stats.bytes_not_fetched.add(run.count * fabric.block_bytes(run.first) as u64);
        }
        self.set_stamps(chunk, batch.blocks, own);
        self.end_move(chunk, batch).await;
        self.unlock(chunk, batch.blocks, write, wr_ts, own).await;
        self.stats.homes_taken_early.add(u64::from(batch.blocks.count_ones()));
        batch.blocks
    }

    /// Which of the blocks that a release publishes came here at a miss: most likely they go on to somebody else. The chunk is locked.
    pub(crate) fn came_early(&self, chunk: Chunk, published: u64) -> u64 {
        let word = hint(MarkKind::Early, chunk);
        let early = self.fabric.own(word);
        if early & published != 0 {
            self.fabric.set_own(word, early & !published);
        }
        early & published
    }

    /// Lets what a move of migratory blocks needs come nearer as soon as a notice of them is seen.
    pub(crate) fn expect_move(&self, notice: Notice) {
        let (writer, extent) = (notice.writer, notice.extent);
        if extent.count > EXPECTED || writer == self.me() {
            return;
        }
        for part in extent.chunks() {
            let chunk = part.first.chunk();
            let migratory = self.fabric.own(hint(MarkKind::Migratory, chunk)) & part.mask();
            chunk.runs(migratory).for_each(|run| self.fabric.expect_move(writer, run));
        }
    }

    /// Of `blocks`, those that others store to in the same intervals as this process. The chunk is locked.
    pub(crate) fn note_contended(&self, chunk: Chunk, blocks: u64, contended: u64) {
        let word = hint(MarkKind::Contended, chunk);
        let old = self.fabric.own(word);
        let new = old & !blocks | contended;
        if new != old {
            self.fabric.set_own(word, new);
        }
    }

    /// Blocks that are written after they were read elsewhere. The chunk is locked.
    pub(crate) fn note_migratory(&self, chunk: Chunk, blocks: u64) {
        if blocks != 0 {
            self.fabric.or_own(hint(MarkKind::Migratory, chunk), blocks);
        }
    }
}
