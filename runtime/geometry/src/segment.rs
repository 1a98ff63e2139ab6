//! Offsets in a segment.

use std::ops::Range;

use dsm_coherence::{Block, CHUNK_BLOCKS, Chunk, MarkKind};
use dsm_pager::PAGE_BYTES;

use super::{Geometry, HEADER_BYTES, PAGE, RECORDS_BYTES, TWIN_COUNTS};

impl Geometry {
    /// Whether all blocks of a chunk lie in the data.
    #[inline]
    pub fn has_chunk(&self, chunk: Chunk) -> bool {
        let Some(end) = chunk.0.checked_add(1).and_then(|next| next.checked_mul(CHUNK_BLOCKS)) else {
            return false;
        };
        end <= self.blocks.end() && {
            let last = Block(end - 1);
            self.blocks.offset(last) + self.block_bytes(last) <= self.data_bytes
        }
    }

    /// Bytes of the data, which begin at offset 0.
    #[inline(always)]
    pub fn data_bytes(&self) -> usize {
        self.data_bytes
    }

    /// Segment offset of a block's data.
    #[inline]
    pub fn data_offset(&self, block: Block) -> usize {
        self.blocks.offset(block)
    }

    /// Segment offset of a block's twin.
    #[inline]
    pub fn twin_offset(&self, block: Block) -> usize {
        self.data_bytes + self.data_offset(block)
    }

    /// Segment offset of a block's link. Links of a chunk lie behind each other.
    #[inline]
    pub fn link_offset(&self, block: Block) -> usize {
        self.records_offset(block) + (block.0 % CHUNK_BLOCKS) as usize * 8
    }

    /// Segment offset of a block's lease, which its version follows. Those of a chunk lie behind each other.
    #[inline]
    pub fn stamps_offset(&self, block: Block) -> usize {
        self.records_offset(block) + (CHUNK_BLOCKS + 2 * (block.0 % CHUNK_BLOCKS)) as usize * 8
    }

    #[inline]
    fn records_offset(&self, block: Block) -> usize {
        self.records + block.chunk().0 as usize * RECORDS_BYTES
    }

    /// Segment offset of the words of a chunk: lock of its records, lease, floor, which blocks are at home, which of them ask.
    #[inline]
    pub fn header_offset(&self, chunk: Chunk) -> usize {
        self.headers + chunk.0 as usize * HEADER_BYTES
    }

    /// Segment offset of a mark word.
    #[inline]
    pub fn mark_offset(&self, kind: MarkKind, level: u8, index: u64) -> usize {
        match level {
            0 => self.marks[kind as usize] + index as usize * 8,
            _ => self.summaries_offset(level, index) + kind as usize * 8,
        }
    }

    /// Segment offset of the summary words of number `index` in a level from 1 on, one for each kind that has them.
    #[inline]
    pub fn summaries_offset(&self, level: u8, index: u64) -> usize {
        self.summaries[level as usize % self.summaries.len()] + index as usize * MarkKind::SUMMARISED * 8
    }

    /// Words of a mark level.
    #[inline(always)]
    pub fn mark_words(&self, level: usize) -> u64 {
        self.blocks.end().div_ceil(1 << (6 * (level + 1)))
    }

    /// Number of levels of the bit sets.
    #[inline]
    pub fn mark_levels(&self) -> u8 {
        self.mark_levels as u8
    }

    /// Words of the highest mark level.
    #[inline]
    pub fn top_mark_words(&self) -> u64 {
        self.top_words
    }

    /// Number of groups of 64 pages of twins.
    #[inline]
    pub fn twin_groups(&self) -> usize {
        self.data_bytes.div_ceil(64 * PAGE)
    }

    /// Segment offset of the number of pages of twins that exist, and of the greatest number so far.
    #[inline]
    pub fn twin_count_offset(&self) -> usize {
        self.twin_pages
    }

    /// Segment offset of the bits for groups with pages that exist.
    #[inline]
    pub fn twin_summary_offset(&self) -> usize {
        self.twin_pages + TWIN_COUNTS
    }

    /// Segment offset of two words for each group.
    #[inline]
    pub fn twin_bits_offset(&self) -> usize {
        self.twin_summary_offset() + self.twin_groups().div_ceil(64) * 8
    }

    /// Pages of the pool of twins; 0 if there is none.
    #[inline]
    pub fn twin_pool_pages(&self) -> usize {
        self.shape.twin_pool_pages
    }

    /// Segment offset of the head of the list of the pool's free pages, and of the number of its pages that have been in use.
    #[inline]
    pub fn twin_pool_heads_offset(&self) -> usize {
        self.twin_pages + 16
    }

    /// Segment offset of the half word that tells which page of the pool has the twin of the page of data at an offset.
    #[inline]
    pub fn twin_slot_offset(&self, data_offset: usize) -> usize {
        debug_assert!(self.twin_pool_pages() > 0, "there is no pool");
        self.twin_slots + data_offset / PAGE * 4
    }

    /// Segment offset of a page of the pool.
    #[inline]
    pub fn twin_pool_offset(&self, page: u32) -> usize {
        self.twin_pool + page as usize * PAGE
    }

    /// Segment offset of the half word that leads from a free page of the pool to the next.
    #[inline]
    pub fn twin_pool_link_offset(&self, page: u32) -> usize {
        self.twin_pool_links + page as usize * 4
    }

    /// Parts of a segment that hold the program's data and what the protocol knows of its blocks, as ranges of offsets.
    #[inline]
    pub fn data_and_metadata(&self) -> (Range<usize>, Range<usize>) {
        (0..self.data_bytes, self.records..self.buffers[0])
    }

    /// Segment offset of a signature buffer.
    #[inline]
    pub fn buffer_offset(&self, buffer: u8) -> usize {
        self.buffers[buffer as usize]
    }

    /// Segment offset of the control area.
    #[inline]
    pub fn control_offset(&self) -> usize {
        self.control
    }

    /// Segment offset of a block's last write, where races are looked for.
    #[inline]
    pub fn write_offset(&self, block: Block) -> usize {
        self.writes + block.0 as usize * self.shape.observed.write_bytes
    }

    /// Segment offset of the rings of allocations, where races are looked for or a profile is made.
    #[inline]
    pub fn sites_offset(&self) -> usize {
        self.sites
    }

    /// Segment offset of the tables of a profile, where one is made.
    #[inline]
    pub fn profile_offset(&self) -> usize {
        self.profile
    }

    /// Segment offset of a word of the vector clock, where races are looked for.
    #[inline]
    pub fn clock_offset(&self, i: u32) -> usize {
        self.clock + i as usize * 8
    }

    /// Whether memory is limited.
    #[inline]
    pub fn is_paged(&self) -> bool {
        self.shape.paged
    }

    /// What a pager keeps a part of in memory: data, twins, and the records of blocks.
    #[inline]
    pub fn paged(&self) -> Range<usize> {
        0..self.headers
    }

    /// Groups of 64 pages that a pager has.
    #[inline]
    pub fn paging_groups(&self) -> usize {
        self.paged().end.div_ceil(64 * PAGE_BYTES)
    }

    /// Segment offset of the [`super::PAGING_WORDS`] words of a pager for each group.
    #[inline]
    pub fn paging_offset(&self) -> usize {
        self.paging
    }

    /// Segment offset of a bit for each group: whether one of its pages is wanted.
    #[inline]
    pub fn paging_summary_offset(&self) -> usize {
        self.paging + 8 * super::PAGING_WORDS * self.paging_groups()
    }

    /// The area of relocatable arrays, as a range of segment offsets.
    #[inline]
    pub fn arrays(&self) -> Range<usize> {
        self.arrays..self.arrays + self.arrays_bytes
    }
}
