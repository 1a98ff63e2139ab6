//! Differences of the requester's copies go into the contents of homes here, which stay.
//!
//! That is locking the blocks, merging and unlocking them in one, with the records of the chunk locked: nobody takes the home, runs a critical section there or gets a lease meanwhile, and
//! the new version is above all leases that were given before. The home may store to the blocks all the time, and need not know: its stores are other bytes, and it publishes them in a
//! version above.

use serde::{Deserialize, Serialize};

use super::difference::{Change, Differences};
use crate::fabric::{Fabric, MarkKind, Word};
use crate::migration_on_miss::{hint, is_trial};
use crate::records::{Homes, Records};
use crate::segment::{Busy, Segment};
use crate::types::{Chunk, Timestamp};
use crate::{Fault, Part};

/// What a requester asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) chunk: Chunk,
    /// Blocks that it has changed.
    pub(crate) wanted: u64,
    /// The new version is at least this, which is above the leases of its own copies.
    pub(crate) at_least: Timestamp,
    /// Of its copies.
    pub(crate) versions: &'a Records,
}

/// Bytes of the longest reply.
pub(crate) const REPLY_BYTES: usize = super::RESULT_BYTES;

/// Where the changes are.
pub(crate) enum Source<'a> {
    /// In the requester's own blocks, which are those of the fabric that runs the call.
    Blocks,
    /// In a message, for each wanted block.
    Message(Differences<'a>),
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Merged {
    /// Blocks that the changes went into.
    pub(crate) blocks: u64,
    /// Their new version.
    pub(crate) version: Timestamp,
}

impl<F: Fabric> Segment<'_, F> {
    /// See the module documentation. `records` become those of the span of the wanted blocks as they were before: links, versions and leases.
    ///
    /// # Errors
    /// The records are being changed.
    pub(crate) async fn merge_diff(
        &self,
        request: &Request<'_>,
        source: Source<'_>,
        records: &mut Records,
    ) -> Result<Merged, Busy> {
        let fabric = self.fabric;
        let Request { chunk, wanted, at_least, .. } = *request;
        let span = chunk.span(wanted);
        let checkpoint = fabric.checkpoint();
        let locked = !self.fault(Fault::DiffUnlocked);
        let sequence = if locked { self.try_lock_records(chunk).await? } else { 0 };
        let homes = self.home_records(span, records).await;
        let mut merged = Merged { blocks: self.mergeable(request, homes, records).await, version: 0 };
        if merged.blocks != 0 {
            let leases = chunk.blocks(merged.blocks).map(|block| records.of(block).rd_ts);
            let longest = leases.max().expect("there are blocks");
            merged.version = at_least.max(longest + u64::from(!self.fault(Fault::EqualTimestamps)));
            self.place(request, source, merged.blocks).await;
            self.raise_version(chunk, merged).await;
        }
        if locked {
            self.unlock_records(chunk, sequence).await;
        } else {
            fabric.flush(self.at).await;
        }
        fabric.live_since(checkpoint, || (merged, records.run(span)));
        Ok(merged)
    }

    /// The blocks that stay here: those at home that somebody else stores to as well, since the requester has read them, or now, or so far: the requester may only be the faster one
    /// in this interval. From time to time that does not count, as the others may not store to the block any more.
    async fn mergeable(&self, request: &Request<'_>, homes: Homes, records: &Records) -> u64 {
        let there = match self.fault(Fault::MergeAtFormerHome) {
            true => request.wanted,
            false => request.wanted & homes.all,
        };
        if self.fabric.leaves_out(Part::MovingHomes) {
            return there;
        }
        let is_unchanged = |block: &_| request.versions.of(*block).wr_ts == records.of(*block).wr_ts;
        let unchanged = request.chunk.blocks(there & homes.write_protected).filter(is_unchanged);
        let unchanged = unchanged.fold(0, |mask, block| mask | block.bit());
        if unchanged == 0 || is_trial(request.at_least) {
            return there & !unchanged;
        }
        there & !(unchanged & !self.load(hint(MarkKind::Contended, request.chunk)).await)
    }

    /// Writes the changes of `blocks` into the contents.
    async fn place(&self, request: &Request<'_>, source: Source<'_>, blocks: u64) {
        let fabric = self.fabric;
        match source {
            Source::Blocks => {
                for run in request.chunk.runs(blocks) {
                    fabric.post_diff(self.at, run).await;
                }
            }
            Source::Message(mut differences) => {
                for block in request.chunk.blocks(request.wanted) {
                    for change in differences.next_block().filter(|_| blocks & block.bit() != 0) {
                        match change {
                            Change::Run(offset, bytes) => {
                                fabric.post_bytes(self.at, block, offset, bytes).await;
                            }
                            Change::Group(change) => fabric.post_group(self.at, block, &change).await,
                        }
                    }
                }
            }
        }
    }

    /// The contents are of a new version. The records are locked.
    async fn raise_version(&self, chunk: Chunk, Merged { blocks, version }: Merged) {
        if !self.fault(Fault::MergeVersionStays) {
            for run in chunk.runs(blocks) {
                self.fabric.post_stamps(self.at, run, |_| [version; 2]).await;
            }
        }
        if !self.fault(Fault::LeaseNotRaised) && !self.fault(Fault::MergeLeaseStays) {
            self.fabric.post_store(self.at, Word::Lease(chunk), version).await;
        }
    }
}
