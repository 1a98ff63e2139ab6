//! An atomic read of the program, where the home of the variable is.
//!
//! What is read was current at some time of the call if the block was at home all the while: atomic operations are executed at the home only. It may have left, and have come back with
//! other bytes merged in one by one; then its version has risen.

use crate::Fault;
use crate::fabric::{Fabric, Word};
use crate::link::Link;
use crate::segment::{Seen, Segment};
use crate::types::Block;

/// 1, 2, 4 or 8 aligned bytes of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) block: Block,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

impl<F: Fabric> Segment<'_, F> {
    /// See the module documentation.
    ///
    /// # Errors
    /// The home is elsewhere, or was for some of the time: the link as it is now.
    pub(crate) async fn read(&self, request: &Request) -> Result<u64, Seen> {
        let Request { block, offset, bytes } = *request;
        let seen = self.look(block).await;
        if self.decode(seen.link, block) != Link::Home {
            return Err(seen);
        }
        let checkpoint = self.fabric.checkpoint();
        let before = self.load(Word::Wr(block)).await;
        let value = self.fabric.load_bytes(self.at, block, offset, bytes).await;
        let link = self.load(Word::Link(block)).await;
        let after = self.load(Word::Wr(block)).await;
        let stayed = self.decode(link, block) == Link::Home && before == after;
        let is_current = stayed || self.fault(Fault::AtomicReadUnchecked);
        self.fabric.live_since(checkpoint, || is_current.then_some(value));
        if is_current { Ok(value) } else { Err(self.look(block).await) }
    }
}
