//! What the layout depends on, and the pass over the parts of data and segment that gives each its place.

use std::ops::Range;

use dsm_coherence::{CHUNK_BLOCKS, MarkKind};
use dsm_pager::PAGE_BYTES;

use super::{
    CONTROL_BYTES, Geometry, HEADER_BYTES, MARK_LEVELS, NOTICE_BYTES, PAGE, PAGING_WORDS, RECORDS_BYTES,
    TWIN_COUNTS,
};
use crate::blocks::{BlockMap, MAX_BLOCK_SHIFT, UNIT_SHIFT};
use crate::globals::Globals;

/// Unit of the parts of the data.
const UNIT: usize = 1 << UNIT_SHIFT;
/// Address space for the peers' views, bytes.
pub(super) const VIEW_SPACE: usize = 64 << 40;
/// Most address space for the area of relocatable arrays in each segment, bytes.
const ARRAYS_BYTES: usize = 1 << 40;
/// Part of the address space of a segment that the area may take.
const ARRAYS_PART: usize = 16;
/// Most words of the highest level: a release looks at all of them, however little was written.
const TOP_WORDS: u64 = 4;

/// What decides the layout.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Number of processes.
    pub processes: u32,
    /// Base-two logarithm of the line size.
    pub line_shift: u32,
    /// Bytes of a block where nothing else is said.
    pub block_bytes: usize,
    /// Address ranges of the shared globals, one for each image.
    pub globals: Vec<Range<usize>>,
    /// Address range for heap and stacks.
    pub region: Range<usize>,
    /// Heap arena of a process, bytes; shrunk if many processes would not fit.
    pub arena_bytes: usize,
    /// Further block sizes, bytes, for which each arena has a part.
    pub heap_blocks: Vec<usize>,
    /// Shared stack of a thread, bytes.
    pub stack_bytes: usize,
    /// Shared stacks of a process.
    pub stacks: usize,
    /// Notices that a signature buffer holds.
    pub notices: usize,
    /// Pages that each segment has for twins and uses again and again.
    pub twin_pool_pages: usize,
    /// What is remembered for race reports and profiles.
    pub observed: Observed,
    /// Whether memory is limited.
    pub paged: bool,
}

/// Space in each segment for what is remembered of the program's accesses: 0 where nobody asked for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observed {
    /// Bytes for the last write of a block.
    pub write_bytes: usize,
    /// Bytes for allocations.
    pub sites_bytes: usize,
    /// Bytes for a profile's tables.
    pub profile_bytes: usize,
    /// Words of a vector clock, and what belongs to it.
    pub clock_words: usize,
}

impl Shape {
    /// Address space for relocatable arrays in each segment.
    fn arrays_bytes(&self) -> usize {
        ARRAYS_BYTES.min(VIEW_SPACE / self.processes as usize / ARRAYS_PART) / PAGE * PAGE
    }

    /// Bytes of the heap arena of a process whose shared stacks take `stacks_bytes`, and of each of its parts with a block size of its own.
    fn arena(&self, stacks_bytes: usize) -> Result<(usize, usize), String> {
        let processes = self.processes as usize;
        // Twice the data (twins), records and marks: a segment is at most three times the data; four times with what race reports need.
        let times = if self.observed.write_bytes > 0 { 4 } else { 3 };
        let view = (VIEW_SPACE / processes - self.arrays_bytes()).saturating_sub(self.twin_pool_pages * PAGE);
        let most = self.region.len().min(view / times) / processes;
        if stacks_bytes + UNIT > most {
            return Err(format!(
                "{processes} processes with shared stacks of {stacks_bytes} bytes each do not fit; lower DSM_STACK"
            ));
        }
        let arena_bytes = (self.arena_bytes.min(most - stacks_bytes) / UNIT * UNIT).max(UNIT);
        // The general block size keeps one half.
        let parts = self.heap_blocks.len();
        let part_bytes = if parts == 0 { 0 } else { arena_bytes / (2 * parts) / UNIT * UNIT };
        if parts > 0 && part_bytes == 0 {
            return Err(format!(
                "a heap of {arena_bytes} bytes has no space for {parts} further block sizes; set DSM_HEAP to at least {}",
                2 * parts * UNIT
            ));
        }
        Ok((arena_bytes, part_bytes))
    }
}

impl Geometry {
    /// Computes the layout.
    ///
    /// # Errors
    /// A sentence that says what does not fit, and what to change.
    pub fn new(shape: Shape) -> Result<Geometry, String> {
        let block = shape.block_bytes.max(1 << shape.line_shift);
        if !block.is_power_of_two() || block > 1 << MAX_BLOCK_SHIFT {
            return Err(format!(
                "a block of {block} bytes is not possible; set DSM_BLOCK to a power of two up to 65536"
            ));
        }
        let globals = Globals::new(&shape.globals)?;
        let processes = shape.processes as usize;
        let stacks_bytes = (shape.stack_bytes.next_multiple_of(PAGE) * shape.stacks).next_multiple_of(UNIT);
        let (arena_bytes, part_bytes) = shape.arena(stacks_bytes)?;
        let heap_offset = globals.end_offset();
        let data_bytes = heap_offset + (arena_bytes + stacks_bytes) * processes;
        let blocks = BlockMap::new(data_bytes, shape.line_shift, block.trailing_zeros());
        // Twins lie behind the data, in the same order.
        let mut end = 2 * data_bytes;
        let mut place = |bytes: usize, align: usize| {
            let at = end.next_multiple_of(align);
            end = at + bytes;
            at
        };
        let chunks = blocks.end().div_ceil(CHUNK_BLOCKS) as usize;
        let records = place(chunks * RECORDS_BYTES, PAGE);
        let headers = place(chunks * HEADER_BYTES, PAGE);
        let mark_words = |level: usize| blocks.end().div_ceil(64u64.pow(level as u32 + 1));
        let mark_levels = (2..MARK_LEVELS).find(|n| mark_words(n - 1) <= TOP_WORDS).unwrap_or(MARK_LEVELS);
        let top_words = mark_words(mark_levels - 1);
        // Summaries of all kinds side by side, because a release looks at several kinds.
        let mut summaries = [0; MARK_LEVELS];
        for level in (1..mark_levels).rev() {
            summaries[level] = place(8 * MarkKind::SUMMARISED * mark_words(level) as usize, 64);
        }
        let marks = std::array::from_fn(|_| place(8 * mark_words(0) as usize, 64));
        let groups = data_bytes.div_ceil(64 * PAGE);
        let twin_pages = place(TWIN_COUNTS + groups.div_ceil(64) * 8 + groups * 16, PAGE);
        let pool_pages = shape.twin_pool_pages;
        let twin_slots = place(usize::from(pool_pages > 0) * data_bytes.div_ceil(PAGE) * 4, PAGE);
        let twin_pool_links = place(pool_pages * 4, PAGE);
        // Space for one release more than the bound: the list is cut after it was extended.
        let buffers = std::array::from_fn(|_| place(shape.notices * NOTICE_BYTES, PAGE));
        let control = place(CONTROL_BYTES, PAGE);
        let twin_pool = place(pool_pages * PAGE, PAGE);
        let writes = place(blocks.end() as usize * shape.observed.write_bytes, PAGE);
        let sites = place(shape.observed.sites_bytes, PAGE);
        let profile = place(shape.observed.profile_bytes, PAGE);
        let clock = place(shape.observed.clock_words * 8, PAGE);
        let page_groups = usize::from(shape.paged) * headers.div_ceil(64 * PAGE_BYTES);
        let paging = place(8 * (PAGING_WORDS * page_groups + page_groups.div_ceil(64)), PAGE);
        let arrays_bytes = shape.arrays_bytes();
        let arrays = place(arrays_bytes, PAGE);
        let geometry = Geometry {
            globals,
            blocks,
            arena_bytes,
            arena_shift: arena_bytes.is_power_of_two().then(|| arena_bytes.trailing_zeros()),
            arenas_bytes: arena_bytes * processes,
            part_bytes,
            stacks_bytes,
            heap_offset,
            data_bytes,
            records,
            mark_levels,
            top_words,
            headers,
            marks,
            summaries,
            twin_pages,
            twin_slots,
            twin_pool,
            twin_pool_links,
            buffers,
            control,
            writes,
            sites,
            profile,
            clock,
            paging,
            arrays,
            arrays_bytes,
            segment_bytes: end.next_multiple_of(PAGE),
            shape,
        };
        for rank in 0..geometry.processes() {
            for part in 0..geometry.shape.heap_blocks.len() {
                geometry.set_blocks(geometry.arena_part(rank, part + 1), geometry.shape.heap_blocks[part]);
            }
        }
        Ok(geometry)
    }
}
