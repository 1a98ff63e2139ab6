//! A read miss of a single block that no processor of the home takes part in (one-sided, by RDMA), where the home is reached by messages otherwise.
//!
//! It does what [`Segment::copy`](crate::segment::Segment::copy) and [`Segment::lend`](crate::segment::Segment::lend) do, if the block is where its own link leads, if no lease has to be extended, if nobody locks the records meanwhile and if there is space
//! for the mark. Else the general path does it by a call: until the state changes, only a mark has been put into a ring, which promises too much, and contents have come that nobody looks at.
//!
//! What one look reads at a time is read in any order (T. Ziegler et al., "Design Guidelines for Correct, Efficient, and Scalable Synchronization using One-Sided RDMA", SIGMOD 2023), so the looks are:
//!
//! 1. the lock word of the records;
//! 2. the mark; then homes, lease, version and contents;
//! 3. the lock word again. It counts if it is the same, and even.
//!
//! Then nobody had the records locked from before the mark until after the contents were read. So the home was there all the time, what was read belongs together, and no release has taken the mark meanwhile,
//! which it does with the records locked: the next one finds it, and makes a version above the lease of what has been stored since. So no second look at the mark is needed, as other forms of the miss make one,
//! nor at how many marks the home has taken out of the ring, which says that a release has begun, and not whether it has come to the chunk.
//!
//! The first look may have been made long ago: if this process has seen the lock word since it last heard of a new version, as the last look at another block of the chunk, that is the first.

use crate::calls::lend::Lent;
use crate::fabric::{Fabric, Look, MarkKind, Word};
use crate::link::Link;
use crate::migration_on_miss::hint;
use crate::scratch::{Scratch, ScratchGuard};
use crate::types::{Block, Extent, Rank, Record, Timestamp};
use crate::{Coherence, Fault, abi, marks};

/// What was seen of a block at its home, all at one time.
#[derive(Clone, Copy)]
struct Sight {
    homes: u64,
    lease: Timestamp,
    version: Timestamp,
}

impl<F: Fabric> Coherence<F> {
    /// Makes a block readable. Returns false if that takes the general path.
    pub(crate) async fn read_one_sided(&self, block: Block) -> bool {
        if self.fabric.ring_entries() == 0 {
            return false;
        }
        let _locked = self.fabric.lock_chunk(block.chunk()).await;
        let read = self.fetch_one_sided(block, &mut ScratchGuard::new()).await;
        if let Some(is_read) = read {
            let counter = if is_read { &self.stats.reads_one_sided } else { &self.stats.reads_not_one_sided };
            counter.add(1);
        }
        read == Some(true)
    }

    /// `None`: it is no miss for this path. The chunk is locked.
    async fn fetch_one_sided(&self, block: Block, scratch: &mut Scratch) -> Option<bool> {
        let fabric = &self.fabric;
        let (chunk, bit, extent) = (block.chunk(), block.bit(), Extent::single(block));
        let state = fabric.state(block);
        let (_, link) = self.own_link(block);
        let Link::Link { to: home, pending: false } = link else { return None };
        let is_marked = |kind| fabric.own(hint(kind, chunk)) & bit != 0;
        // The general path takes the home of a migratory block, finds what was fetched ahead, and has these two faults.
        if !matches!(state, abi::COLD | abi::NOTICED)
            || !fabric.has_agent(home)
            || is_marked(MarkKind::Migratory)
            || is_marked(MarkKind::Ahead)
            || fabric.fault(Fault::CachedLate)
            || fabric.fault(Fault::MarkAfterRead)
        {
            return None;
        }
        // As in the general path, before the bound is looked at.
        marks::set_own(fabric, MarkKind::Cached, chunk, bit);
        let min = self.signature().min_applied();
        fabric.own_records(extent, scratch.own.run_mut(extent));
        let is_noticed = state == abi::NOTICED;
        let is_bounded = !fabric.fault(Fault::OneSidedUnbounded);
        if is_noticed && scratch.own.of(block).wr_ts < min && is_bounded {
            return None;
        }
        let Some(tail) = self.begin_ring(home).await else { return Some(false) };
        let Some(Sight { homes, lease, version }) = self.look_one_sided(home, block, tail).await else {
            return Some(false);
        };
        let is_there = (homes ^ fabric.default_homes(home, chunk)) & bit != 0;
        if !is_there && !fabric.fault(Fault::OneSidedAnywhere) || !is_noticed && lease < min && is_bounded {
            return Some(false);
        }
        if is_noticed {
            self.count_fetched(block, 1);
            self.note_reread(home, chunk, bit, &scratch.own);
            self.read_noticed(chunk, bit, &mut scratch.own);
        } else {
            self.note_fetched(home, chunk, bit);
            *scratch.peer.of_mut(block) = Record { link: 0, rd_ts: lease, wr_ts: version };
            let lent = Lent { count: 1, fetched: bit };
            self.borrowed(home, extent, lent, abi::READABLE, scratch).await;
        }
        Some(true)
    }

    /// Looks at a block, whose contents go over the own ones. `tail`: marks in the ring there, which this thread has begun to use, and ends to. `None`: what was seen does not belong together.
    async fn look_one_sided(&self, home: Rank, block: Block, tail: u64) -> Option<Sight> {
        let fabric = &self.fabric;
        let chunk = block.chunk();
        let records = (Word::Records(chunk), 0);
        let mut words = [
            records,
            (Word::Homes(chunk), 0),
            (Word::Lease(chunk), 0),
            (Word::ChunkVersion(chunk), 0),
            (Word::Wr(block), 0),
            records,
            (Word::RingConsumed(self.me()), 0),
        ];
        let is_beside = fabric.fault(Fault::OneSidedLookBeside);
        let is_mark_first = fabric.fault(Fault::OneSidedMarkFirst);
        let seen = self.rings().seen(home, chunk, self.clock()).filter(|_| !is_beside && !is_mark_first);
        let with_contents =
            usize::from(!is_beside)..5 + usize::from(fabric.fault(Fault::OneSidedWitnessBeside));
        let (before, rest) = words.split_at_mut(with_contents.start);
        let (beside, behind) = rest.split_at_mut(with_contents.len());
        let mark = self.ring_mark(block, tail);
        let mut writes: [&[(Word, u64)]; 3] = [&[], &mark, &[]];
        match () {
            () if is_mark_first => writes.swap(0, 1),
            () if fabric.fault(Fault::OneSidedMarkLast) => writes.swap(1, 2),
            () if fabric.fault(Fault::OneSidedUnmarked) => writes[1] = &[],
            () => {}
        }
        let mut parts = [
            Look { writes: writes[0], words: before, contents: None },
            Look { writes: writes[1], words: beside, contents: Some(block) },
            Look { writes: writes[2], words: behind, contents: None },
        ];
        let is_known = seen.is_some() || is_beside;
        let is_reached = fabric.look(home, &mut parts[usize::from(is_known)..]).await;
        let [before, homes, lease, chunk_version, version, behind, consumed] = words.map(|word| word.1);
        if !is_reached {
            self.end_ring(home, tail, None);
            return None;
        }
        let has_marked = !fabric.fault(Fault::OneSidedUnmarked);
        self.end_ring(home, tail + u64::from(has_marked), Some(consumed));
        self.rings().see(home, chunk, behind, self.clock());
        let before = seen.unwrap_or(before);
        let has_stayed = before == behind && before.is_multiple_of(2);
        if !has_stayed && !fabric.fault(Fault::OneSidedUnwitnessed) {
            return None;
        }
        let chunk_version = if fabric.fault(Fault::IgnoreChunkVersion) { 0 } else { chunk_version };
        Some(Sight { homes, lease, version: version.max(chunk_version) })
    }
}
