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

    /// The blocks whose bits are set in `mask`, in order.
    pub fn blocks(self, mask: u64) -> impl Iterator<Item = Block> {
        ones(mask).map(move |bit| self.block(bit as u32))
    }

    /// The longest runs of blocks whose bits are set in `mask`, in order.
    pub fn runs(self, mut mask: u64) -> impl Iterator<Item = Extent> {
        std::iter::from_fn(move || {
            (mask != 0).then(|| {
                let first = mask.trailing_zeros();
                let count = (mask >> first).trailing_ones();
                let run = Extent::new(self.block(first), u64::from(count));
                mask &= !run.mask();
                run
            })
        })
    }

    /// The shortest extent with all blocks whose bits are set in `mask`, which is not 0.
    pub fn span(self, mask: u64) -> Extent {
        let first = mask.trailing_zeros();
        Extent::new(self.block(first), u64::from(64 - mask.leading_zeros() - first))
    }
}

/// Numbers of the bits that are set.
pub(crate) fn ones(mut word: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros();
            word &= word - 1;
            u64::from(bit)
        })
    })
}

/// The lowest `most` of the bits that are set.
pub(crate) fn first_bits(mask: u64, most: u64) -> u64 {
    if most >= 64 {
        return mask;
    }
    let mut rest = mask;
    for _ in 0..most {
        rest &= rest.wrapping_sub(1);
    }
    mask & !rest
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

    /// The extent cut into pieces of at most `most` blocks.
    pub fn pieces(self, most: u64) -> impl Iterator<Item = Extent> {
        (0..self.count.div_ceil(most))
            .map(move |i| Extent::new(Block(self.first.0 + i * most), most.min(self.count - i * most)))
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

/// What a process knows of a block; peers can read and change it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Record {
    /// See [`crate::Link`].
    pub link: u64,
    /// At a copy: its lease. At a home, the chunk's lease counts, see [`Header::lease`].
    pub rd_ts: Timestamp,
    /// At a home: version, unless [`Header::chunk_version`] is greater. At a copy: version held, or known from a notice when the state is noticed.
    pub wr_ts: Timestamp,
}

impl Record {
    /// Lease and version.
    #[inline]
    pub fn stamps(self) -> [Timestamp; 2] {
        [self.rd_ts, self.wr_ts]
    }
}

/// What a process has of a chunk as a whole, beside the lock of its records; peers can read and change it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// See [`crate::Word::Lease`].
    pub lease: Timestamp,
    /// See [`crate::Word::ChunkVersion`].
    pub chunk_version: Timestamp,
    /// See [`crate::Word::Homes`].
    pub homes: u64,
    /// See [`crate::Word::WriteProtected`].
    pub write_protected: u64,
}

/// The blocks of `extent` were published as version `wr_ts`, which is at `writer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Notice {
    /// Who wrote, or the home that the changes were merged into.
    pub writer: Rank,
    /// What was written.
    pub extent: Extent,
    /// Version. Greater than every lease given on an older version of these blocks.
    pub wr_ts: Timestamp,
    /// Another process than `writer` published it, by merging its changes into the contents there.
    pub merged: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_runs_agree() {
        let chunk = Chunk(3);
        for mask in [1, 1 << 63, u64::MAX, 0b1011_0011, 0xf000_0000_0000_000f] {
            let runs: Vec<Extent> = chunk.runs(mask).collect();
            assert_eq!(runs.iter().fold(0, |all, run| all | run.mask()), mask);
            assert!(runs.windows(2).all(|w| w[0].end() < w[1].first), "{runs:?} are longest runs, in order");
            let blocks: Vec<Block> = runs.iter().flat_map(|run| run.blocks()).collect();
            assert_eq!(chunk.blocks(mask).collect::<Vec<_>>(), blocks);
            let span = chunk.span(mask);
            assert_eq!((span.first, span.end().0 - 1), (blocks[0], blocks.last().unwrap().0));
        }
    }

    #[test]
    fn the_first_bits_are_the_lowest() {
        let mask = 0b1011_0100;
        for (most, first) in [(0, 0), (1, 0b100), (3, 0b11_0100), (4, mask), (100, mask)] {
            assert_eq!(first_bits(mask, most), first);
        }
        assert_eq!(first_bits(u64::MAX, 64), u64::MAX);
    }

    #[test]
    fn pieces_cover_an_extent() {
        let pieces: Vec<u64> = Extent::new(Block(70), 10).pieces(4).map(|p| p.count).collect();
        assert_eq!(pieces, [4, 4, 2]);
        assert_eq!(Extent::new(Block(70), 8).pieces(4).last(), Some(Extent::new(Block(74), 4)));
    }
}
