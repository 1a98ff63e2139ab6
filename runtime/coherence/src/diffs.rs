//! Releases of contended blocks: the home stays where it is, and gets what was changed here.
//!
//! Two processes that store to a block in the same intervals would pull its home to and fro, with all that is in the block. Where a block is noted as
//! *contended* and its home is free, a release instead has the home merge the bytes that differ from the twin into its contents, and raise the version
//! ([`crate::calls::merge_diff`]).
//!
//! The notice names the home, whose contents are this version, and says that another process published it (`merged`). The home itself has not listed it:
//! it passes such a notice on like anybody's. It need not look at its copy, which is the current one, or was taken away after that, with a
//! lease that covers it.
//!
//! The copy here is as good as this version if its lease covered the one before. Else it lacks what others have published, and is invalid, as if the notice had come
//! from somebody else: it comes back from those that acquire here, and may be all that they tell of the block.

use crate::calls::merge_diff::{Merged, Request};
use crate::fabric::{Fabric, MarkKind, Word};
use crate::home_migration::has_twin;
use crate::link::Link;
use crate::migration_on_miss::hint;
use crate::records::Records;
use crate::release::{Progress, Work};
use crate::segment::Busy;
use crate::types::{Block, CHUNK_BLOCKS, Chunk, Extent, Notice, Rank, Timestamp};
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
        let mut left = changed & self.merged_at_homes(chunk, progress);
        let mut published = 0;
        let mut homes = [self.me(); CHUNK_BLOCKS as usize];
        let home_of = |block: Block| (block.0 % CHUNK_BLOCKS) as usize;
        chunk.blocks(left).for_each(|block| homes[home_of(block)] = self.linked(own, block));
        while let Some(first) = chunk.blocks(left).next() {
            let at = homes[home_of(first)];
            let there = chunk.blocks(left).filter(|block| homes[home_of(*block)] == at);
            let wanted = there.fold(0, |mask, block| mask | block.bit());
            let at_least = self.above_own_leases(chunk, wanted, progress.version, own);
            self.list_before_merge(at, chunk, wanted, at_least, progress);
            let request = Request { chunk, wanted, at_least, versions: own };
            let (sent, merged) = match self.call_merge_diff(at, &request, peer).await {
                Ok(merged) => merged,
                Err(Busy { word, seen }) => {
                    self.wait_for(at, word, seen).await;
                    continue;
                }
            };
            if merged.blocks != 0 {
                self.list_merged(at, chunk, merged, progress);
                self.keep_copies(work, merged, own, peer).await;
            }
            published |= merged.blocks;
            left &= !sent;
            for block in chunk.blocks(sent & !merged.blocks) {
                // Blocks that are held, or are to migrate, have to be locked.
                if let Link::Link { to, .. } = self.decode(peer.of(block).link, at, block) {
                    assert!(to != self.me(), "links lead forward in time");
                    self.stats.link_hops.add(1);
                    self.point_to(to, block);
                    homes[home_of(block)] = to;
                    left |= block.bit();
                }
            }
        }
        published
    }

    /// The blocks of a chunk whose changes their homes merge.
    pub(crate) fn merged_at_homes(&self, chunk: Chunk, progress: &Progress) -> u64 {
        // A merge at the home finds no races.
        let fixed = self.fabric.leaves_out(Part::MovingHomes);
        if !(progress.global_sync || fixed) || self.fabric.watches_writes() {
            return 0;
        }
        if fixed { u64::MAX } else { self.fabric.own(hint(MarkKind::Contended, chunk)) }
    }

    fn linked(&self, own: &Records, block: Block) -> Rank {
        match self.decode(own.of(block).link, self.me(), block) {
            Link::Link { to, pending: false } => to,
            other => unreachable!("{block:?} is {other:?}, not away"),
        }
    }

    fn list_before_merge(
        &self,
        home: Rank,
        chunk: Chunk,
        blocks: u64,
        version: Timestamp,
        progress: &mut Progress,
    ) {
        if self.fabric.fault(Fault::MergeNoticeEarly) {
            self.list_merged(home, chunk, Merged { blocks, version }, progress);
            self.publish(progress);
        }
    }

    /// Lists blocks of one version whose home is elsewhere. No acquirer sees the notices before the contents are placed: the signature is published at the end of the release.
    pub(crate) fn list_merged(&self, home: Rank, chunk: Chunk, merged: Merged, progress: &mut Progress) {
        let Merged { blocks, version: wr_ts } = merged;
        self.list_run(progress);
        // Merges that are under way together come back in versions of any order.
        progress.version = progress.version.max(wr_ts);
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

    /// What becomes of the copies here whose changes are at home now. Those whose leases, in `own`, did not cover the version before, in `peer`, lack what others have
    /// published. The chunk is locked.
    pub(crate) async fn keep_copies(&self, work: Work, merged: Merged, own: &Records, peer: &Records) {
        let fabric = &self.fabric;
        let Merged { blocks, version: wr_ts } = merged;
        for block in work.chunk.blocks(blocks) {
            let (extent, state) = (Extent::single(block), fabric.state(block));
            debug_assert!(has_twin(state));
            self.clean(work, block, state).await;
            if own.of(block).rd_ts >= peer.of(block).wr_ts || fabric.fault(Fault::DiffAhead) {
                fabric.set_own_stamps(extent, |_| [wr_ts; 2]);
            } else if work.exclusive && state == abi::WRITABLE {
                // As the notice of this version would have it, which will come back to here.
                fabric.set_own(Word::Wr(block), wr_ts);
                self.not_ahead(block.chunk(), block.bit());
                fabric.set_state(extent, abi::NOTICED);
                if let (_, Link::Link { to, pending: false }) = self.own_link(block) {
                    self.expect_read(to, block.chunk(), block.bit());
                }
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
                fabric.or_own(hint(MarkKind::MigratedOnMiss, chunk), blocks);
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
            // The contents may be older than the version of the notice: never renew them without data.
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
