//! A block at a process, with the words of its chunk there: where they are is looked up once, for steps that come to many of them.

use crate::fabric::Word;
use crate::types::Block;

/// Names a word of a block or of its chunk, see [`Fabric::place`](crate::Fabric::place).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Near {
    /// [`Word::Records`].
    Records,
    /// [`Word::Lease`].
    Lease,
    /// [`Word::Floor`].
    Floor,
    /// [`Word::Replaced`].
    Replaced,
    /// [`Word::Homes`].
    Homes,
    /// [`Word::Asking`].
    Asking,
    /// [`Word::Link`].
    Link,
    /// [`Word::Rd`].
    Rd,
    /// [`Word::Wr`].
    Wr,
}

impl Near {
    /// The word's full name.
    pub fn of(self, block: Block) -> Word {
        let chunk = block.chunk();
        match self {
            Near::Records => Word::Records(chunk),
            Near::Lease => Word::Lease(chunk),
            Near::Floor => Word::Floor(chunk),
            Near::Replaced => Word::Replaced(chunk),
            Near::Homes => Word::Homes(chunk),
            Near::Asking => Word::Asking(chunk),
            Near::Link => Word::Link(block),
            Near::Rd => Word::Rd(block),
            Near::Wr => Word::Wr(block),
        }
    }
}
