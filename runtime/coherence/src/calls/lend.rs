//! A read miss at a home.
//!
//! The reader's mark is set before anything is read, so that the home publishes what it writes later. What was read is current if the block was at home all the
//! time: whoever takes it later publishes a version above the label that the copy gets, and what was stored here after that, which may be stored back
//! before a release and published in no version, is not in the copy. See [`Witness`].

use super::Landing;
use crate::fabric::{Fabric, MarkKind, Word};
use crate::link::Link;
use crate::records::Records;
use crate::segment::{Busy, Seen, Segment};
use crate::types::{Block, Extent, Timestamp};
use crate::{Fault, Part};

/// Shortest and longest lease, in versions.
const LEASE_MIN: Timestamp = 16;
const LEASE_MAX: Timestamp = 1 << 16;

/// What a reader asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// Blocks of one chunk.
    pub(crate) part: Extent,
    /// What the reader's copies have been checked against: the lease has to cover it.
    pub(crate) min: Timestamp,
    /// Versions of expired copies that the reader has: those that are the home's are renewed without contents.
    pub(crate) held: Option<&'a Records>,
}

impl Request<'_> {
    /// Makes a message of it; returns the length.
    pub(crate) fn encode(&self, into: &mut [u8]) -> usize {
        super::wire::request::lend(self, into)
    }
}

/// What it gets: records of the first blocks, which are at home here, and contents. Those that have moved while they were read are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lent {
    pub(crate) count: u64,
    /// Blocks whose contents were fetched; the others are renewed.
    pub(crate) fetched: u64,
}

/// Why a reader gets nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Busy(Busy),
    /// The home of the first block is not here, but this link.
    Away(Seen),
}

impl From<Busy> for Refused {
    fn from(busy: Busy) -> Refused {
        Refused::Busy(busy)
    }
}

/// What shows that blocks of a chunk have not left their home since: nobody has locked the records, or the versions are the same. A home that comes back
/// brings a greater one.
#[derive(Clone, Copy)]
pub(super) struct Witness<'a> {
    /// Of the records, when the blocks were seen there.
    pub(super) sequence: u64,
    pub(super) versions: &'a Records,
}

impl<F: Fabric> Segment<'_, F> {
    /// Sets the read marks, gets leases and copies contents, up to the first block that is not at home here. `records` become those of the home.
    pub(crate) async fn lend(
        &self,
        request: &Request<'_>,
        records: &mut Records,
        landing: &mut Landing<'_>,
    ) -> Result<Lent, Refused> {
        let first = request.part.first;
        let seen = self.look(first).await;
        if self.decode(seen.link, first) != Link::Home {
            return Err(Refused::Away(seen));
        }
        let checkpoint = self.fabric.checkpoint();
        let (part, sequence) = self.leases(request, records).await?;
        let renew = |block: Block| {
            request.held.is_some_and(|held| {
                held.of(block).wr_ts == records.of(block).wr_ts || self.fault(Fault::RenewBlindly)
            })
        };
        let stale = part.blocks().filter(|block| !renew(*block)).fold(0, |mask, block| mask | block.bit());
        let mut lent = Lent { count: part.count, fetched: 0 };
        for run in first.chunk().runs(stale) {
            landing.fetch(self, run, false).await;
            let stayed = match self.fault(Fault::FetchWhileTaken) {
                true => run.mask(),
                false => self.stayed(run, Witness { sequence, versions: records }).await,
            };
            lent.fetched |= run.mask() & stayed;
            if let Some(moved) = run.blocks().find(|block| stayed & block.bit() == 0) {
                lent.count = moved.0 - first.0;
                break;
            }
        }
        if lent.count == 0 {
            return Err(Refused::Away(self.look(first).await));
        }
        let lent = Lent { fetched: lent.fetched & Extent::new(first, lent.count).mask(), ..lent };
        self.fabric.live_since(checkpoint, || (lent, records.run(part), landing.held()));
        Ok(lent)
    }

    /// Sets the read marks and gets leases, up to the first block that is not there. Returns the part that is, at least one block, and the sequence
    /// number of the records.
    async fn leases(&self, request: &Request<'_>, records: &mut Records) -> Result<(Extent, u64), Refused> {
        let Request { part, min, .. } = *request;
        let chunk = part.first.chunk();
        let unmarked = self.fault(Fault::MarkAfterRead) || self.fault(Fault::NoReadMark);
        let checkpoint = self.fabric.checkpoint();
        loop {
            self.fabric.live_since(checkpoint, || ());
            if !unmarked {
                self.mark(MarkKind::Read, chunk, part.mask()).await;
            }
            let (mut sequence, _) = self.read_records(part, records).await?;
            let mut there = self.at_home(part, records)?;
            if records.of(part.first).rd_ts < min {
                (there, sequence) = self.extend_lease(there, min, records).await?;
            }
            // A release of the home may have taken the mark before the lease was read: then a later release would see neither a mark
            // nor a need for a version above this lease.
            if self.fault(Fault::NoMarkRecheck)
                || unmarked
                || self.marked(MarkKind::Read, chunk).await & there.mask() == there.mask()
            {
                self.fabric.live_since(checkpoint, || (there, sequence, records.run(there)));
                return Ok((there, sequence));
            }
        }
    }

    /// The blocks from the first on whose home is here.
    fn at_home(&self, part: Extent, records: &Records) -> Result<Extent, Refused> {
        let is_home = |block: &Block| {
            self.decode(records.of(*block).link, *block) == Link::Home || self.fault(Fault::NoLinkRecheck)
        };
        match part.blocks().take_while(is_home).count() as u64 {
            0 => Err(Refused::Away(Seen { link: records.of(part.first).link, sequence: 1 })),
            count => Ok(Extent::new(part.first, count)),
        }
    }

    /// Makes the lease cover at least what the reader's copies are checked against.
    async fn extend_lease(
        &self,
        part: Extent,
        min: Timestamp,
        records: &mut Records,
    ) -> Result<(Extent, u64), Refused> {
        let fabric = self.fabric;
        let chunk = part.first.chunk();
        let locked = !self.fault(Fault::ExtendUnlocked);
        let sequence = if locked { self.try_lock_records(chunk).await? } else { 0 };
        self.home_records(part, records).await;
        let there = self.at_home(part, records);
        let record = *records.of(part.first);
        if let Ok(there) = there
            && record.rd_ts < min
        {
            let length = 2 * (record.rd_ts - record.wr_ts.min(record.rd_ts));
            let beyond = match fabric.leaves_out(Part::Leases) {
                true => 0,
                false => length.clamp(LEASE_MIN, LEASE_MAX),
            };
            let lease = min + beyond;
            records.run_mut(there).iter_mut().for_each(|record| record.rd_ts = lease);
            fabric.post_store(self.at, Word::Lease(chunk), lease).await;
        }
        if locked {
            self.unlock_records(chunk, sequence).await;
        } else {
            fabric.flush(self.at).await;
        }
        there.map(|there| (there, sequence + 2))
    }

    /// Blocks of an extent in one chunk that have been at home ever since a witness saw them there.
    pub(super) async fn stayed(&self, part: Extent, witness: Witness<'_>) -> u64 {
        let checkpoint = self.fabric.checkpoint();
        let sequence = self.load(Word::Records(part.first.chunk())).await;
        if sequence == witness.sequence && sequence.is_multiple_of(2) {
            self.fabric.live_since(checkpoint, || part.mask());
            return part.mask();
        }
        let scratch = &mut *crate::scratch::ScratchGuard::new();
        let Ok((_, homes)) = self.read_records(part, &mut scratch.peer).await else { return 0 };
        let same = |block: &Block| scratch.peer.of(*block).wr_ts == witness.versions.of(*block).wr_ts;
        let stayed = homes.all & part.blocks().filter(same).fold(0, |mask, block| mask | block.bit());
        self.fabric.live_since(checkpoint, || stayed);
        stayed
    }
}
