//! Single blocks. What a lock protects is often one block, and what follows the lock from one holder to the next should cost little more than
//! the cache lines that have to change hands. The steps are those of `release`, `acquire` and `early`, in the same order, without masks and lists; what
//! needs more than that is left to them.

use crate::early::{hint, is_trial};
use crate::fabric::{Fabric, MarkKind, Word};
use crate::link::Link;
use crate::release::Progress;
use crate::types::{Block, Extent, Notice, Rank, Record, Timestamp};
use crate::{Coherence, Fault, abi, marks};

impl<F: Fabric> Coherence<F> {
    /// Publishes a block that a release found to be the only one marked in its chunk, as stored to, in place. Returns false if its home is not here.
    pub(crate) async fn publish_lone(&self, block: Block, exclusive: bool, progress: &mut Progress) -> bool {
        let fabric = &self.fabric;
        let chunk = block.chunk();
        let _locked = fabric.lock_chunk(chunk).await;
        let sequence = self.lock_records(self.me(), chunk).await;
        let home = self.own_homes(chunk).all & block.bit() != 0 || fabric.fault(Fault::LoneNotAtHome);
        let mut wr_ts = 0;
        if home {
            wr_ts = self.next_version(chunk, progress.version);
            fabric.set_own_stamps(Extent::single(block), &[Record { link: 0, rd_ts: wr_ts, wr_ts }]);
            self.raise_lease(chunk, wr_ts);
            let early = self.came_early(chunk, block.bit()) != 0;
            if exclusive && (early || fabric.watches_writes()) {
                self.share(chunk, block.bit());
            }
        }
        self.unlock_records(self.me(), chunk, sequence).await;
        if home {
            self.stats.published_in_place.add(1);
            self.list_extent(Extent::single(block), wr_ts, progress);
        }
        home
    }

    /// Takes in a notice of one block that is migratory: its home comes here at once, as at the load that is about to come. Returns false if
    /// nothing was done: the block is not cached here, or it is not migratory, or its home is not free at the writer.
    pub(crate) async fn take_lone(&self, notice: Notice) -> bool {
        let fabric = &self.fabric;
        let (home, block) = (notice.writer, notice.extent.first);
        let chunk = block.chunk();
        let kind = |kind| fabric.own(hint(kind, chunk));
        // One that was taken last time and not stored to is for the miss to judge.
        if fabric.watches_writes() || kind(MarkKind::Migratory) & !kind(MarkKind::Early) & block.bit() == 0 {
            return false;
        }
        let _locked = fabric.lock_chunk(chunk).await;
        let state = fabric.state(block);
        if !matches!(state, abi::READABLE | abi::EXPIRED | abi::NOTICED) {
            return false;
        }
        let extent = Extent::single(block);
        let mut here = [Record::default()];
        fabric.own_records(extent, &mut here);
        let [Record { link, rd_ts: lease, .. }] = here;
        let away = matches!(self.decode(link, self.me(), block), Link::Link { pending: false, .. });
        if !away || (state != abi::NOTICED && notice.wr_ts <= lease) {
            return false;
        }
        let Some(there) = self.take_record(home, block).await else { return false };
        let version = self.clock().max(notice.wr_ts) + 1;
        let write = !is_trial(version);
        let wr_ts = self.stamp_lone(home, block, there, lease, version).await;
        fabric.set_own(hint(MarkKind::Early, chunk), kind(MarkKind::Early) | block.bit());
        // What is not stored to stays as a copy when the home goes on.
        marks::set_own(fabric, if write { MarkKind::Dirty } else { MarkKind::Cached }, chunk, block.bit());
        self.fetch(home, extent).await;
        fabric.set_state(extent, if write { abi::WRITABLE } else { abi::READABLE });
        fabric.set_own_stamps(extent, &[Record { link: 0, rd_ts: wr_ts, wr_ts }]);
        self.not_replaced(chunk, block.bit()).await;
        fabric.flush(home).await;
        fabric.post_links(home, extent, Link::to(self.me()).encode()).await;
        self.unlock_lone(block, write, wr_ts).await;
        self.stats.homes_taken.add(1);
        self.stats.homes_taken_early.add(1);
        true
    }

    /// Makes the link of a block at its home lead here, if it is free there and nobody may store to it. Returns what its record there was.
    async fn take_record(&self, home: Rank, block: Block) -> Option<Record> {
        let fabric = &self.fabric;
        let (chunk, extent) = (block.chunk(), Extent::single(block));
        let sequence = self.lock_records(home, chunk).await;
        let (header, homes) = self.read_homes(home, chunk).await;
        let free = homes.all & homes.asking & block.bit() != 0;
        let record = if free || fabric.fault(Fault::LoneNotFree) {
            let wr_ts = fabric.load(home, Word::Wr(block)).await.max(header.floor);
            // Whoever comes here along an old link queues.
            fabric.set_own_links(extent, Link::Wait.encode());
            let mine = Link::Link { to: self.me(), pending: true };
            fabric.post_links(home, extent, mine.encode()).await;
            self.leave_home(home, chunk, block.bit(), homes).await;
            Some(Record { link: 0, rd_ts: header.lease, wr_ts })
        } else {
            None
        };
        self.unlock_records(home, chunk, sequence).await;
        record
    }

    /// Writes to the record at the old home, `there`, what its copy is from now on. Returns the block's version here, where `lease` is that of the copy.
    async fn stamp_lone(
        &self,
        home: Rank,
        block: Block,
        there: Record,
        lease: Timestamp,
        at_least: Timestamp,
    ) -> Timestamp {
        let fabric = &self.fabric;
        // What the old home has checked its copies against, which it did not do with this one.
        let bound = fabric.load(home, Word::LogMin(0)).await;
        let stamps = Record { rd_ts: there.rd_ts.max(bound), ..there };
        fabric.post_stamps(home, Extent::single(block), &[stamps]).await;
        at_least.max(stamps.rd_ts.max(lease) + 1)
    }

    /// [`Coherence::unlock`] for one block.
    async fn unlock_lone(&self, block: Block, writable: bool, wr_ts: Timestamp) {
        let fabric = &self.fabric;
        let chunk = block.chunk();
        let sequence = self.lock_records(self.me(), chunk).await;
        let (word, link) = self.own_link(block);
        self.raise_lease(chunk, wr_ts);
        if link == Link::Wait {
            fabric.set_own_links(Extent::single(block), Link::Home.encode());
            self.come_home(chunk, block.bit(), !writable);
        }
        self.unlock_records(self.me(), chunk, sequence).await;
        if link != Link::Wait {
            self.hand_over(block, word, writable).await;
        }
    }
}
