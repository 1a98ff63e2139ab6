//! Several changes of a chunk's bytes, where the homes of its blocks are, in one call: memory-based operations of the program (T. Matsumoto's Memory-Based Communication
//! Facilities), of which nobody needs the results.
//!
//! What holds for one atomic operation ([`super::update`]) holds for all of them: the records of the chunk are locked from before the first to behind the last, and what others may have copies
//! of gets a version of which the results are part. They are executed in their order, up to the first one that cannot be executed here.

use serde::{Deserialize, Serialize};

use super::actions::Actions;
use crate::Fault;
use crate::fabric::{Fabric, Word};
use crate::link::Link;
use crate::records::Records;
use crate::segment::{Busy, Seen, Segment};
use crate::types::{Block, Chunk, Timestamp};

/// What a requester asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// One at least.
    pub(crate) actions: Actions<'a>,
    /// A new version is at least this.
    pub(crate) at_least: Timestamp,
    /// Blocks of which the requester has a copy that gets the results, too, and nobody else has any. Says nothing in a message.
    pub(crate) only_copies: u64,
}

/// Why the next change was not executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Stop {
    /// There is no next one.
    End,
    /// Its block is write-protected here, since others have copies.
    Shared,
    /// The home of its block is elsewhere.
    Away(Seen),
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Batched {
    /// Changes that were executed.
    pub(crate) count: u64,
    /// Blocks that are in a new version since.
    pub(crate) fresh: u64,
    /// That version.
    pub(crate) version: Timestamp,
    /// Of the records, see [`super::update::Updated`].
    pub(crate) sequence: u64,
    pub(crate) stop: Stop,
}

impl<F: Fabric> Segment<'_, F> {
    /// See the module documentation. `records` become those of the span of the blocks as they were before.
    ///
    /// # Errors
    /// The records are being changed.
    pub(crate) async fn batch(&self, request: &Request<'_>, records: &mut Records) -> Result<Batched, Busy> {
        let Request { actions, at_least, only_copies } = *request;
        let chunk = actions.chunk();
        let mut batched = Batched { count: 0, fresh: 0, version: 0, sequence: 1, stop: Stop::End };
        let mut rest = actions;
        let Some(first) = rest.next() else { return Ok(batched) };
        let seen = self.look(first.block).await;
        if self.decode(seen.link, first.block) != Link::Home {
            return Ok(Batched { stop: Stop::Away(seen), ..batched });
        }
        let checkpoint = self.fabric.checkpoint();
        let sequence = self.try_lock_records(chunk).await?;
        let homes = self.home_records(chunk.span(actions.blocks()), records).await;
        let (mut changed, mut stopped) = (0, None);
        for action in actions {
            let block = action.block;
            if homes.all & block.bit() == 0 && !(changed != 0 && self.fault(Fault::BatchAtFormerHome)) {
                stopped = Some((block, true));
                break;
            }
            if homes.write_protected & !only_copies & block.bit() != 0 {
                stopped = Some((block, false));
                break;
            }
            action.change.apply(self.fabric, self.at, block, action.offset).await;
            changed |= block.bit();
            batched.count += 1;
        }
        batched.sequence = sequence;
        batched.fresh = changed & !only_copies & self.copied(chunk).await;
        if self.fault(Fault::BatchOneVersion) {
            batched.fresh &= batched.fresh.wrapping_neg();
        }
        if batched.fresh != 0 {
            let leases = chunk.blocks(batched.fresh).map(|block| records.of(block).rd_ts);
            batched.version = at_least.max(leases.max().expect("there are blocks") + 1);
            self.renew(chunk, batched.fresh, batched.version).await;
        }
        self.unlock_records(chunk, sequence).await;
        self.fabric.live_since(checkpoint, || batched);
        batched.stop = match stopped {
            None => Stop::End,
            Some((_, false)) => Stop::Shared,
            Some((block, true)) => Stop::Away(self.look(block).await),
        };
        Ok(batched)
    }

    /// Makes what blocks contain a new version, above all leases. The records are locked.
    async fn renew(&self, chunk: Chunk, blocks: u64, version: Timestamp) {
        for run in chunk.runs(blocks) {
            self.fabric.post_stamps(self.at, run, |_| [version; 2]).await;
        }
        self.fabric.post_store(self.at, Word::Lease(chunk), version).await;
    }
}

impl Batched {
    /// The version of which a change of the block is part. `records` are those of [`Segment::batch`].
    pub(crate) fn version_of(&self, block: Block, records: &Records) -> Timestamp {
        if self.fresh & block.bit() != 0 { self.version } else { records.of(block).wr_ts }
    }
}
