//! Homes of blocks go from here to the requester.
//!
//! All of it happens with the records of the chunk locked here: whoever finds the new link finds the stamps that the copies left behind have from now on, and the twins
//! of those that stores pass their check for. The requester's own link says that it waits until it has the contents.
//!
//! - *Taken mark* before the snapshot: a release here that misses this mark happened before the snapshot was read.
//! - *Twin*: the snapshot itself. What was stored here before it is in the contents that the requester gets; what is stored behind it differs from the twin.
//! - *Holes*: blocks that take no memory here, of which a miss gets the home for the first time. Nobody has stored to them, so their contents are zeros, which nobody
//!   need copy: the snapshot is the look at the memory, at the place where else the contents are read. Their twins are zeros, too.

use serde::{Deserialize, Serialize};

use super::Landing;
use crate::fabric::{Fabric, MarkKind, Word};
use crate::link::Link;
use crate::migration_on_miss::hint;
use crate::records::{Homes, Records};
use crate::segment::{Busy, Seen, Segment};
use crate::types::{Block, Chunk, Rank, Timestamp};
use crate::{Fault, Part};

/// By what right homes are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Claim {
    /// A miss takes what is free, and neither stored to here in this interval nor contended. The blocks of `whole` are about to be overwritten: without their contents. Those of `if_holes` it takes if they are
    /// holes.
    Miss { whole: u64, if_holes: u64 },
    /// A release takes what is free. `queue`: else it queues behind the holder of the block, the only one wanted then.
    Lock { queue: bool },
    /// The holder has handed over the block, whose link is pending. `writable`: stores to it pass their check here.
    Granted { writable: bool },
}

impl Claim {
    /// The blocks that are about to be overwritten.
    pub(crate) fn whole(self) -> u64 {
        if let Claim::Miss { whole, .. } = self { whole } else { 0 }
    }
}

/// What a requester asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Who it is.
    pub(crate) to: Rank,
    pub(crate) chunk: Chunk,
    /// Blocks that it would like to have.
    pub(crate) wanted: u64,
    /// The new version is at least this, which is above the leases of its own copies.
    pub(crate) at_least: Timestamp,
    pub(crate) claim: Claim,
}

impl Request {
    /// Makes a message of it; returns the length.
    pub(crate) fn encode(&self, into: &mut [u8]) -> usize {
        super::wire::request::take(self, into)
    }
}

/// What it gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Taken {
    /// Blocks whose homes go to the requester.
    pub(crate) blocks: u64,
    /// Of these, the ones that stores pass their check for here.
    pub(crate) writable: u64,
    /// The block that the requester has queued for.
    pub(crate) queued: u64,
    /// Blocks that a miss leaves here because several processes store to them.
    pub(crate) contended: u64,
    /// Of those whose homes go to the requester, the ones that take no memory here: they are zero.
    pub(crate) holes: u64,
    /// A miss finds that the home of the first block is not here, but this link, and has looked at nothing else.
    pub(crate) away: Option<Seen>,
    /// Above every version and every lease of the blocks here.
    pub(crate) version: Timestamp,
}

impl Taken {
    /// Blocks whose contents the requester gets, those of which no thread here can change them first.
    pub(crate) fn contents(&self, claim: Claim) -> [u64; 2] {
        let blocks = self.blocks & !claim.whole() & !self.holes;
        [blocks & !self.writable, blocks & self.writable]
    }
}

impl<F: Fabric> Segment<'_, F> {
    /// The blocks of a miss that have never been at home elsewhere and take no memory here, among those whose contents would be copied.
    async fn holes(&self, Request { chunk, claim, .. }: &Request, blocks: u64, records: &Records) -> u64 {
        let Claim::Miss { whole, .. } = *claim else { return 0 };
        let never_moved = |block: &_| records.of(*block).link == 0;
        let asked =
            chunk.blocks(blocks & !whole).filter(never_moved).fold(0, |mask, block| mask | block.bit());
        if asked == 0 { 0 } else { self.fabric.holes(self.at, *chunk, asked).await }
    }

    /// See the module documentation. `records` become those of the span of the wanted blocks as they were before: links, versions and leases.
    ///
    /// # Errors
    /// The records are being changed.
    pub(crate) async fn take(
        &self,
        request: &Request,
        records: &mut Records,
        landing: &mut Landing<'_>,
    ) -> Result<Taken, Busy> {
        let Request { chunk, wanted, claim, .. } = *request;
        if let Claim::Granted { writable } = claim {
            // The pending link keeps everybody else off the record: the block was never free here.
            self.fabric.read_records(self.at, chunk.span(wanted), records.run_mut(chunk.span(wanted))).await;
            let mut taken = Taken { blocks: wanted, ..Taken::default() };
            taken.writable = if writable { wanted } else { 0 };
            self.hand_out(request, &mut taken, records, landing).await;
            self.lead_on(request, taken.blocks).await;
            self.fabric.flush(self.at).await;
            return Ok(taken);
        }
        let checkpoint = self.fabric.checkpoint();
        let first = chunk.span(wanted).first;
        if let Claim::Miss { .. } = claim {
            let seen = self.look(first).await;
            if self.decode(seen.link, first) != Link::Home && !self.fault(Fault::MigratedFromTaken) {
                self.fabric.live_since(checkpoint, || seen);
                return Ok(Taken { away: Some(seen), ..Taken::default() });
            }
        }
        let early = match self.fault(Fault::HolesBeforeLock) {
            true => self.fabric.holes(self.at, chunk, wanted).await,
            false => 0,
        };
        let sequence = self.try_lock_records(chunk).await?;
        let homes = self.home_records(chunk.span(wanted), records).await;
        let mut taken = self.choose(request, homes, records).await;
        taken.holes = early;
        if taken.queued != 0 {
            let queued = Link::Link { to: request.to, pending: true };
            for run in chunk.runs(taken.queued) {
                self.fabric.post_links(self.at, run, queued.encode()).await;
            }
        }
        let before_contents = self.fault(Fault::LinkBeforeContents);
        if before_contents {
            self.lead_on(request, taken.blocks).await;
            self.leave_home(chunk, taken.blocks, homes).await;
            self.unlock_records(chunk, sequence).await;
        }
        if taken.blocks != 0 {
            self.hand_out(request, &mut taken, records, landing).await;
        }
        if !before_contents {
            self.lead_on(request, taken.blocks).await;
            self.leave_home(chunk, taken.blocks, homes).await;
            self.unlock_records(chunk, sequence).await;
        }
        self.fabric.live_since(checkpoint, || (taken, records.run(chunk.span(wanted)), landing.held()));
        Ok(taken)
    }

    /// The blocks that the requester may have. The records are locked.
    async fn choose(&self, request: &Request, homes: Homes, records: &Records) -> Taken {
        let Request { chunk, wanted, .. } = *request;
        let blocks = wanted & homes.all;
        let mut taken = Taken { blocks, writable: blocks & !homes.write_protected, ..Taken::default() };
        match request.claim {
            Claim::Miss { whole, if_holes } => {
                let one_writer = self.fabric.leaves_out(Part::MultipleWriters);
                if one_writer && self.fault(Fault::TakeFromWriter) {
                    taken.writable = 0;
                }
                if self.fault(Fault::MigratedFromTaken) {
                    let pending = |block: &_| {
                        let link = self.decode(records.of(*block).link, *block);
                        matches!(link, Link::Link { pending: true, .. })
                    };
                    taken.blocks |=
                        chunk.blocks(wanted).filter(pending).fold(0, |mask, block| mask | block.bit());
                }
                if one_writer {
                    taken.blocks &= !taken.writable;
                } else if taken.writable != 0 {
                    let stored_to = self.marked(MarkKind::Dirty, chunk).await & taken.writable;
                    taken.blocks &= !stored_to;
                }
                if taken.blocks & !whole != 0 && !one_writer {
                    let contended = self.load(hint(MarkKind::Contended, chunk)).await;
                    taken.contended = contended & taken.blocks & !whole;
                    taken.blocks &= !taken.contended;
                }
                let asked = taken.blocks & if_holes;
                if asked != 0 {
                    taken.blocks &= !asked | self.holes(request, asked, records).await;
                }
                taken.writable &= taken.blocks;
            }
            Claim::Lock { queue } => {
                let held = |block: &_| self.decode(records.of(*block).link, *block) == Link::Wait;
                let held = chunk.blocks(wanted & !blocks).filter(held);
                if queue {
                    taken.queued = held.fold(0, |mask, block| mask | block.bit());
                }
            }
            Claim::Granted { .. } => unreachable!("nothing is left to choose"),
        }
        taken
    }

    /// Decides on the version, stamps the copies that stay here, and hands out contents, with twins where stores here may go on.
    async fn hand_out(
        &self,
        request: &Request,
        taken: &mut Taken,
        records: &Records,
        landing: &mut Landing<'_>,
    ) {
        let fabric = self.fabric;
        let Request { chunk, claim, .. } = *request;
        if let Claim::Miss { whole, .. } = claim
            && taken.writable & whole != 0
            && !self.fault(Fault::NoReplacedBit)
        {
            fabric.fetch_or(self.at, Word::Replaced(chunk), taken.writable & whole).await;
        }
        if taken.writable != 0 && !self.fault(Fault::NoTakenMark) {
            self.mark(MarkKind::Taken, chunk, taken.writable).await;
        }
        taken.version = self.stamp(request, *taken, records).await;
        let early = taken.holes & taken.blocks;
        let holes = self.holes(request, taken.blocks, records).await;
        taken.holes = if self.fault(Fault::HolesBeforeLock) { holes | early } else { holes };
        for run in chunk.runs(taken.holes & taken.writable) {
            if !self.fault(Fault::NoTwinOfHole) {
                fabric.post_zero_twin(self.at, run).await;
            }
        }
        let [readable, writable] = taken.contents(claim);
        for run in chunk.runs(readable) {
            landing.fetch(self, run, false).await;
        }
        for run in chunk.runs(writable) {
            landing.fetch(self, run, !self.fault(Fault::NoTwin)).await;
        }
        if !self.fault(Fault::NoTwinFlush) {
            fabric.flush(self.at).await;
        }
    }

    /// Decides on the version, and writes to the records what the copies here are from now on.
    async fn stamp(&self, request: &Request, taken: Taken, records: &Records) -> Timestamp {
        let chunk = request.chunk;
        // What this process has checked its copies against, which it did not do with these blocks while it was their home.
        let bound = match self.fault(Fault::IgnoreOldBound) {
            true => 0,
            false => self.load(Word::LogMin).await,
        };
        let mut leases = chunk.blocks(taken.blocks).map(|block| records.of(block).rd_ts);
        let lease = match request.claim {
            // Blocks at home share it.
            Claim::Miss { .. } | Claim::Lock { .. } => leases.next(),
            Claim::Granted { .. } => leases.max(),
        };
        let longest = lease.expect("blocks are taken").max(bound);
        let version = request.at_least.max(longest + u64::from(!self.fault(Fault::EqualTimestamps)));
        for run in chunk.runs(taken.blocks) {
            let stamps = |block: Block| {
                let [rd_ts, wr_ts] = records.of(block).stamps();
                // What this process has to tell of if it stored before the snapshot.
                let is_writable = taken.writable & block.bit() != 0;
                [rd_ts.max(bound), if is_writable { version } else { wr_ts }]
            };
            self.fabric.post_stamps(self.at, run, stamps).await;
        }
        version
    }

    /// Makes the links lead to the requester.
    async fn lead_on(&self, request: &Request, blocks: u64) {
        for run in request.chunk.runs(blocks) {
            self.fabric.post_links(self.at, run, Link::to(request.to).encode()).await;
        }
    }
}
