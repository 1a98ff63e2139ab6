//! Names of a block's words for handles ([`Fabric::Handle`](crate::Fabric::Handle)): a handle looks up once where the words of a block and of its chunk are at a process.

use crate::fabric::Word;
use crate::types::Block;

/// Names a word of a block or of its chunk, see [`Fabric::handle`](crate::Fabric::handle).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockWord {
    /// [`Word::Records`].
    Records,
    /// [`Word::Lease`].
    Lease,
    /// [`Word::ChunkVersion`].
    ChunkVersion,
    /// [`Word::Replaced`].
    Replaced,
    /// [`Word::Homes`].
    Homes,
    /// [`Word::WriteProtected`].
    WriteProtected,
    /// [`Word::Link`].
    Link,
    /// [`Word::Rd`].
    Rd,
    /// [`Word::Wr`].
    Wr,
}

impl BlockWord {
    /// The word's full name.
    pub fn of(self, block: Block) -> Word {
        let chunk = block.chunk();
        match self {
            BlockWord::Records => Word::Records(chunk),
            BlockWord::Lease => Word::Lease(chunk),
            BlockWord::ChunkVersion => Word::ChunkVersion(chunk),
            BlockWord::Replaced => Word::Replaced(chunk),
            BlockWord::Homes => Word::Homes(chunk),
            BlockWord::WriteProtected => Word::WriteProtected(chunk),
            BlockWord::Link => Word::Link(block),
            BlockWord::Rd => Word::Rd(block),
            BlockWord::Wr => Word::Wr(block),
        }
    }
}
