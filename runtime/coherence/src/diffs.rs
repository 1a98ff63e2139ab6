//! Releases of contended blocks: the home stays where it is, and gets what was changed here.
//!
//! Two processes that store to a block in the same intervals would pull its home to and fro, with all that is in the block. Where a block is noted as
//! *contended* and its home is free, a release instead writes the bytes that differ from the twin into the home's contents, with the
//! records of the chunk locked there, and raises the version. That is locking the block, merging and unlocking it in one: nobody takes the home, runs a
//! critical section there or gives a lease meanwhile, and the version is above all leases given before.
//!
//! The notice names the home, whose contents are this version, and says that another process published it (`merged`). The home itself has not listed it:
//! it passes such a notice on like anybody's. It need not look at its copy, which is the current one, or was taken away after that, with a
//! lease that covers it.
//!
//! The home may store to the block all the time, and need not know: its stores are other bytes, and it publishes them in a version above.
//! The copy here is as good as this version if its lease covered the one before. Else it lacks what others have published, and is invalid, as if the notice had come
//! from somebody else: it comes back from those that acquire here, and may be all that they tell of the block.

use crate::early::hint;
use crate::fabric::{Fabric, MarkKind, Word};
use crate::link::Link;
use crate::moving::has_twin;
use crate::records::Records;
use crate::release::{Progress, Work};
use crate::types::{Block, Chunk, Extent, Notice, Rank, Record, Timestamp};
use crate::{Coherence, Fault, Part, abi, marks};

impl<F: Fabric> Coherence<F> {
    /// Publishes those of `changed` at their homes that several processes store to, and returns them. All have twins and links without obligations, which
    /// are in `own`, as the rest of their records. The chunk is locked.
    pub(crate) async fn publish_diffs(
        &self,
        work: Work,
        changed: u64,
        own: &Records,
        peer: &mut Records,
        progress: &mut Progress,
    ) -> u64 {
        let chunk = work.chunk;
        // A merge at the home finds no races.
        let fixed = self.fabric.leaves_out(Part::MovingHomes);
        if !(progress.meeting || fixed) || self.fabric.watches_writes() {
            return 0;
        }
        let contended = if fixed { u64::MAX } else { self.fabric.own(hint(MarkKind::Contended, chunk)) };
        let mut left = changed & contended;
        let mut published = 0;
        while left != 0 {
            let home = self.linked(own, chunk.blocks(left).next().expect("some are left"));
            let there = |block: &Block| self.linked(own, *block) == home;
            let blocks = chunk.blocks(left).filter(there).fold(0, |mask, block| mask | block.bit());
            left &= !blocks;
            published |= self.publish_diffs_at(home, work, blocks, (own, peer), progress).await;
        }
        published
    }

    fn linked(&self, own: &Records, block: Block) -> Rank {
        match self.decode(own.of(block).link, self.me(), block) {
            Link::Link { to, pending: false } => to,
            other => unreachable!("{block:?} is {other:?}, not away"),
        }
    }

    async fn publish_diffs_at(
        &self,
        home: Rank,
        work: Work,
        wanted: u64,
        (own, peer): (&Records, &mut Records),
        progress: &mut Progress,
    ) -> u64 {
        let fabric = &self.fabric;
        let chunk = work.chunk;
        let span = chunk.span(wanted);
        if fabric.asks(home) {
            return 0;
        }
        self.stats.calls.add(1);
        let segment = self.segment(home);
        let locked = !fabric.fault(Fault::DiffUnlocked);
        let sequence = if locked { fabric.lock_word(home, Word::Records(chunk)).await } else { 0 };
        let homes = segment.home_records(span, peer).await;
        let fixed = fabric.leaves_out(Part::MovingHomes);
        let stored_to = |block: &Block| {
            fixed || homes.asking & block.bit() == 0 || own.of(*block).wr_ts != peer.of(*block).wr_ts
        };
        let blocks = chunk.blocks(wanted & homes.all).filter(stored_to);
        let blocks = blocks.fold(0, |mask, block| mask | block.bit());
        if blocks != 0 {
            let behind = |block: &Block| own.of(*block).rd_ts < peer.of(*block).wr_ts;
            let behind = chunk.blocks(blocks).filter(behind).fold(0, |mask, block| mask | block.bit());
            let leases = chunk.blocks(blocks).map(|block| own.of(block).rd_ts.max(peer.of(block).rd_ts));
            let longest = leases.max().expect("there are blocks");
            let wr_ts = progress.version.max(longest + u64::from(!fabric.fault(Fault::EqualTimestamps)));
            for run in chunk.runs(blocks) {
                fabric.post_diff(home, run).await;
                let stamps = peer.run_mut(run);
                stamps.iter_mut().for_each(|record| *record = Record { rd_ts: wr_ts, wr_ts, ..*record });
                fabric.post_stamps(home, run, stamps).await;
            }
            if !fabric.fault(Fault::LeaseNotRaised) {
                fabric.post_store(home, Word::Lease(chunk), wr_ts).await;
            }
            self.list_merged(home, chunk, blocks, wr_ts, progress);
            self.keep_copies(work, blocks, behind, wr_ts).await;
        }
        if locked {
            segment.unlock_records(chunk, sequence).await;
        } else {
            fabric.flush(home).await;
        }
        blocks
    }

    /// Lists blocks of one version whose home is elsewhere. Nobody is told before they are placed: the signature is published at the end of the release.
    fn list_merged(&self, home: Rank, chunk: Chunk, blocks: u64, wr_ts: Timestamp, progress: &mut Progress) {
        self.list_run(progress);
        progress.version = wr_ts;
        let count = u64::from(blocks.count_ones());
        self.stats.blocks_merged_at_home.add(count);
        self.stats.notices_out.add(count);
        let mut signature = self.signature();
        for extent in chunk.runs(blocks) {
            self.fabric.published(extent, wr_ts);
            let notice = Notice { writer: home, extent, wr_ts, merged: true };
            signature.add_own(notice, &self.fabric);
        }
    }

    /// What becomes of the copies here whose changes are at home now, in version `wr_ts`. Those that are `behind` lack what others have published. The chunk is
    /// locked.
    async fn keep_copies(&self, work: Work, blocks: u64, behind: u64, wr_ts: Timestamp) {
        let fabric = &self.fabric;
        for block in work.chunk.blocks(blocks) {
            let (extent, state) = (Extent::single(block), fabric.state(block));
            debug_assert!(has_twin(state));
            self.clean(work, block, state).await;
            if behind & block.bit() == 0 || fabric.fault(Fault::DiffAhead) {
                fabric.set_own_stamps(extent, &[Record { link: 0, rd_ts: wr_ts, wr_ts }]);
            } else if work.exclusive && state == abi::WRITABLE {
                // As the notice of this version would have it, which will come back to here.
                fabric.set_own(Word::Wr(block), wr_ts);
                fabric.set_state(extent, abi::NOTICED);
            }
        }
    }

    /// Others have merged into blocks whose home is here, as their notice says: they will again, and after the next release stores here should ask, so that
    /// who reads then makes no version necessary.
    pub(crate) async fn merged_here(&self, notice: Notice) {
        let fabric = &self.fabric;
        for part in notice.extent.chunks() {
            let chunk = part.first.chunk();
            let _locked = fabric.lock_chunk(chunk).await;
            let blocks = part.mask() & self.own_homes(chunk).all;
            self.note_contended(chunk, blocks, blocks);
            if blocks != 0 {
                fabric.or_own(hint(MarkKind::Early, chunk), blocks);
            }
        }
    }

    /// A block whose home is elsewhere has nothing any more that is not published: no twin, if no thread is about to store to it. The chunk is locked.
    pub(crate) async fn clean(&self, work: Work, block: Block, state: u8) {
        let fabric = &self.fabric;
        let extent = Extent::single(block);
        if work.exclusive {
            let clean = if state == abi::WRITABLE { abi::READABLE } else { abi::COLD };
            marks::set_own(fabric, MarkKind::Cached, block.chunk(), block.bit());
            // The contents may be older than the version told of: never renew them without data.
            if !fabric.fault(Fault::CleanKeepsVersion) {
                fabric.set_own(Word::Wr(block), 0);
            }
            fabric.set_state(extent, clean);
            fabric.drop_twin(extent);
        } else {
            // Another thread may be about to store: look again next time.
            marks::set(fabric, self.me(), MarkKind::Taken, block.chunk(), block.bit()).await;
        }
    }
}
