//! An atomic operation of the program, where the home of the variable is.
//!
//! The records of the chunk are locked while it is done: the home stays, and nobody reads contents out of which the result is missing and tells them by a version of which it
//! is part. Who may have a copy without the result is seen behind it: a read mark, or a dirty mark, which may stand for a copy from a time when stores here asked. Then the
//! result is a new version, which the requester tells of; a release here takes these marks with the records locked, when it makes a version itself. Without them nobody has a
//! copy of the present version, and it stays. So it does where the requester has the only copy, and stores the result there, too.

use serde::{Deserialize, Serialize};

use dsm_abi::atomic::Update;

use super::lend::Refused;
use crate::Fault;
use crate::fabric::{Fabric, MarkKind, Word};
use crate::link::Link;
use crate::records::Records;
use crate::segment::Segment;
use crate::types::{Block, Chunk, Extent, Timestamp};

/// What to do with 1, 2, 4 or 8 aligned bytes of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) block: Block,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    pub(crate) update: Update,
    /// A new version is at least this.
    pub(crate) at_least: Timestamp,
    /// Whether the records are to be left open behind it, if nobody has copies of the block. Says nothing in a message.
    pub(crate) opens: bool,
    /// Whether the requester has a copy that gets the result, too, and nobody else has any. Says nothing in a message.
    pub(crate) only_copy: bool,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Updated {
    /// Nothing: the home is write-protected, since others have copies.
    Shared,
    Done {
        /// What the bytes were.
        old: u64,
        /// Of the block, of which the result is part.
        version: Timestamp,
        /// Of the records: the same as after the last operation if nobody has come to the chunk in between.
        sequence: u64,
    },
}

impl<F: Fabric> Segment<'_, F> {
    /// See the module documentation.
    ///
    /// # Errors
    /// The records are being changed, or the home is elsewhere.
    pub(crate) async fn update(&self, request: &Request, records: &mut Records) -> Result<Updated, Refused> {
        let Request { block, offset, bytes, update, at_least, opens, only_copy } = *request;
        let (chunk, extent) = (block.chunk(), Extent::single(block));
        let seen = self.look(block).await;
        if self.decode(seen.link, block) != Link::Home {
            return Err(Refused::Away(seen));
        }
        let checkpoint = self.fabric.checkpoint();
        let locked = !self.fault(Fault::UpdateUnlocked);
        let sequence = if locked { self.try_lock_records(chunk).await? } else { 0 };
        let homes = self.home_records(extent, records).await;
        let mut is_free = false;
        let result = if homes.all & block.bit() == 0 {
            None
        } else if homes.write_protected & block.bit() != 0 && !only_copy && !self.fault(Fault::UpdateShared) {
            Some(Updated::Shared)
        } else {
            let old = self.fabric.update_bytes(self.at, block, offset, bytes, update).await;
            let mut version = records.of(block).wr_ts;
            is_free = true;
            if !only_copy
                && update.apply(bytes as u32, old.into()).is_some()
                && self.copied(chunk).await & block.bit() != 0
            {
                let lease = records.of(block).rd_ts;
                is_free = false;
                version = at_least.max(lease + u64::from(!self.fault(Fault::EqualTimestamps)));
                self.fabric.post_stamps(self.at, extent, |_| [version; 2]).await;
                if !self.fault(Fault::LeaseNotRaised) {
                    self.fabric.post_store(self.at, Word::Lease(chunk), version).await;
                }
            }
            Some(Updated::Done { old, version, sequence })
        };
        if locked && opens && is_free {
            self.open_records(chunk, sequence).await;
        } else if locked {
            self.unlock_records(chunk, sequence).await;
        } else {
            self.fabric.flush(self.at).await;
        }
        self.fabric.live_since(checkpoint, || result);
        match result {
            Some(updated) => Ok(updated),
            None => Err(Refused::Away(self.look(block).await)),
        }
    }

    /// The blocks of a chunk of whose present versions others may have copies, though they are writable here. The records are locked.
    pub(super) async fn copied(&self, chunk: Chunk) -> u64 {
        let mut marks = 0;
        for (kind, passed_over) in
            [(MarkKind::Read, Fault::UpdateBesideReader), (MarkKind::Dirty, Fault::UpdateBesideStore)]
        {
            if kind == MarkKind::Read && !self.fault(Fault::UpdateBesideRing) {
                // What is taken out of a ring meanwhile is among the marks behind that.
                marks |= self.marked_in_rings(chunk).await;
            }
            if !self.fault(passed_over) {
                marks |= self.marked(kind, chunk).await;
            }
        }
        marks
    }
}
