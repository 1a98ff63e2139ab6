//! Names of processes, blocks and versions.

/// Number of a process in the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rank(pub u32);

/// Number of a block: its offset in the shared data, in blocks. The same in every process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block(pub u64);

impl Block {
    /// The chunk that holds the block.
    pub fn chunk(self) -> Chunk {
        Chunk(self.0 / CHUNK_BLOCKS)
    }

    /// The block's bit in its chunk's mark words.
    pub fn bit(self) -> u64 {
        1 << (self.0 % CHUNK_BLOCKS)
    }
}

/// Blocks in a chunk: as many as a mark word has bits.
pub const CHUNK_BLOCKS: u64 = 64;

/// An aligned run of [`CHUNK_BLOCKS`] blocks: the unit of local locking and of the mark words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chunk(pub u64);

impl Chunk {
    /// The chunk's block number `index` (below [`CHUNK_BLOCKS`]).
    pub fn block(self, index: u32) -> Block {
        Block(self.0 * CHUNK_BLOCKS + u64::from(index))
    }
}

/// A run of consecutive blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// First block.
    pub first: Block,
    /// Number of blocks.
    pub count: u64,
}

impl Extent {
    /// `count` blocks from `first` on.
    pub fn new(first: Block, count: u64) -> Self {
        Extent { first, count }
    }

    /// One block.
    pub fn single(block: Block) -> Self {
        Extent { first: block, count: 1 }
    }

    /// The block behind the last one.
    pub fn end(self) -> Block {
        Block(self.first.0 + self.count)
    }

    /// The blocks in order.
    pub fn blocks(self) -> impl Iterator<Item = Block> {
        (self.first.0..self.end().0).map(Block)
    }

    /// The extent cut at chunk boundaries.
    pub fn chunks(self) -> impl Iterator<Item = Extent> {
        let mut at = self.first.0;
        let end = self.end().0;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let next = ((at / CHUNK_BLOCKS + 1) * CHUNK_BLOCKS).min(end);
                let part = Extent::new(Block(at), next - at);
                at = next;
                part
            })
        })
    }

    /// Mask of the extent's bits in its chunk's mark words. The extent must lie in one chunk.
    pub fn mask(self) -> u64 {
        debug_assert!(self.count > 0 && self.first.chunk() == Block(self.end().0 - 1).chunk());
        (u64::MAX >> (64 - self.count)) << (self.first.0 % CHUNK_BLOCKS)
    }
}

/// Logical time of a version. 64 bits cannot wrap in practice: a release raises the clock by one more than the longest
/// lease (below 2^17), so 10^6 releases a second need more than four years even if every one hits the longest lease.
pub type Timestamp = u64;

/// In [`crate::fabric::Word::Rd`]: the lease of a copy, or of a home that was taken. Readers extend leases at homes only; whoever takes a home closes
/// its lease in the same step in which it learns it, so that a late reader cannot make the copy left behind look newer than it is.
pub(crate) const CLOSED: Timestamp = 1 << 63;

/// `writer` published the blocks of `extent` as version `wr_ts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Notice {
    /// Who wrote.
    pub writer: Rank,
    /// What was written.
    pub extent: Extent,
    /// Version. Greater than every lease given on an older version of these blocks.
    pub wr_ts: Timestamp,
}
