//! A read of the program, of an atomic variable or a range, where the home is.
//!
//! What is read was current at some time of the call if the block was at home all the while: atomic operations are executed at the home only. It may have left, and have come back with
//! other bytes merged in one by one; then its version has risen. Aligned words of up to 8 bytes are read as one, in order of their addresses; of several blocks each is read by itself.

use super::actions::words;
use crate::Fault;
use crate::fabric::{Fabric, Word};
use crate::link::Link;
use crate::segment::{Seen, Segment};
use crate::types::Block;

/// Bytes of blocks of one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The first block.
    pub(crate) block: Block,
    /// First byte in it.
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

impl Request {
    /// What is left behind the first `done` bytes, which end with a block.
    pub(crate) fn behind(&self, done: usize, block_bytes: usize) -> Request {
        let at = self.offset + done;
        let block = Block(self.block.0 + (at / block_bytes) as u64);
        Request { block, offset: at % block_bytes, bytes: self.bytes - done }
    }
}

impl<F: Fabric> Segment<'_, F> {
    /// Reads into the front of a buffer, up to the first block that is not at home here. Returns how many bytes that were.
    ///
    /// # Errors
    /// The home of the first block is elsewhere, or was for some of the time: the link as it is now.
    pub(crate) async fn read(&self, request: &Request, into: &mut [u8]) -> Result<usize, Seen> {
        let block_bytes = self.fabric.block_bytes(request.block);
        let mut done = 0;
        while done < request.bytes {
            let rest = request.behind(done, block_bytes);
            let bytes = rest.bytes.min(block_bytes - rest.offset);
            match self.read_block(rest.block, rest.offset, &mut into[done..done + bytes]).await {
                Ok(()) => done += bytes,
                Err(seen) if done == 0 => return Err(seen),
                Err(_) => break,
            }
        }
        Ok(done)
    }

    async fn read_block(&self, block: Block, offset: usize, into: &mut [u8]) -> Result<(), Seen> {
        let seen = self.look(block).await;
        if self.decode(seen.link, block) != Link::Home {
            return Err(seen);
        }
        let checkpoint = self.fabric.checkpoint();
        let before = self.load(Word::Wr(block)).await;
        for (place, bytes) in words(offset, into.len()) {
            let value = self.fabric.load_bytes(self.at, block, place, bytes).await;
            into[place - offset..][..bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
        let link = self.load(Word::Link(block)).await;
        let after = self.load(Word::Wr(block)).await;
        let stayed = self.decode(link, block) == Link::Home && before == after;
        let is_current = stayed || self.fault(Fault::AtomicReadUnchecked);
        self.fabric.live_since(checkpoint, || is_current.then(|| into.to_vec()));
        if is_current { Ok(()) } else { Err(self.look(block).await) }
    }
}
