//! Shortening of ways: a link leads to where the home was found.
//!
//! Links have to lead forward in time, to a process that became home later than this one last was. Who asks has seen the link here, and the home elsewhere after that. If no home of
//! the chunk has come or gone here since, this process was not home in between, and the new link leads forward as well, wherever the home has gone by now.

use crate::Fault;
use crate::fabric::{Fabric, Word};
use crate::link::Link;
use crate::segment::{Seen, Segment};
use crate::types::{Block, Rank};

/// What to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) block: Block,
    pub(crate) seen: Seen,
    /// Where the home was found.
    pub(crate) to: Rank,
}

impl<F: Fabric> Segment<'_, F> {
    /// Returns whether the link was changed. Gives up when anything else goes on here.
    pub(crate) async fn redirect(&self, request: &Request) -> bool {
        let Request { block, seen, to } = *request;
        let locked = !self.fault(Fault::ShortenUnlocked);
        let sequence = match locked {
            true => self.try_lock_records(block.chunk()).await.ok(),
            false => Some(self.load(Word::Records(block.chunk())).await),
        };
        let Some(sequence) = sequence else { return false };
        let mut changed = false;
        if sequence == seen.sequence || self.fault(Fault::ShortenBlindly) {
            let new = Link::to(to).encode();
            changed = self.fabric.cas(self.at, Word::Link(block), seen.link, new).await == seen.link;
        }
        if locked {
            self.unlock_records(block.chunk(), sequence).await;
        }
        changed
    }
}
