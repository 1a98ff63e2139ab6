//! Where things are: addresses, blocks and segment offsets. Pure arithmetic, the same in every process.
//!
//! ```text
//! shared data, in block order        addresses
//!   globals  [0, globals_bytes)      .dsm.data and .dsm.bss of the program and its libraries
//!   heap     arenas of rank 0, 1, …  SHARED_BASE …
//!   stacks   of rank 0, 1, …         behind the arenas
//!
//! segment of each process            data | twins | records | headers | marks | twins' pages | signature buffers | control
//! ```
//! Every part starts on a chunk boundary of the largest blocks, so that a chunk of blocks has one default home and consecutive addresses.
//! Twins, records and marks are laid out for every block size everywhere; what is not touched takes no memory.

mod segment;

use std::ops::Range;

use dsm_abi::layout::PEER_BASE;
use dsm_coherence::{Block, CHUNK_BLOCKS, Extent, MarkKind, Rank};

use crate::race;

use super::blocks::{BlockMap, MAX_BLOCK_SHIFT, UNIT_SHIFT};
use super::globals::Globals;

/// Bytes of the records of a chunk: its blocks' links, then lease and version of each.
pub const RECORDS_BYTES: usize = CHUNK_BLOCKS as usize * 24;
/// Bytes for a chunk as a whole: lock of its records, lease, floor, which of its blocks were replaced, are at home, and ask; and room to spare, so
/// that it is a cache line.
const HEADER_BYTES: usize = 64;
/// Bytes of a notice in a signature buffer.
pub const NOTICE_BYTES: usize = 32;
/// Most levels of the bit sets over blocks.
pub const MARK_LEVELS: usize = 8;
/// Most words of the highest level: a release looks at all of them, however little was written.
const TOP_WORDS: u64 = 4;
/// Unit of memory, bytes.
pub const PAGE: usize = 4096;
/// Unit of the parts of the data.
const UNIT: usize = 1 << UNIT_SHIFT;
/// Address space for the peers' views, bytes.
const VIEW_SPACE: usize = 64 << 40;
/// Bytes of the counts of twins' pages: a cache line.
const TWIN_COUNTS: usize = 64;
/// Bytes of the control area of each segment; laid out by `sync`.
pub const CONTROL_BYTES: usize = 64 << 20;

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
    /// Whether writes and allocations are remembered for race reports.
    pub race: bool,
}

/// See the module documentation.
#[derive(Debug)]
pub struct Geometry {
    shape: Shape,
    globals: Globals,
    blocks: BlockMap,
    arena_bytes: usize,
    /// Bytes of each part of an arena that has a block size of its own.
    part_bytes: usize,
    stacks_bytes: usize,
    /// Offset of the heap in the shared data.
    heap_offset: usize,
    data_bytes: usize,
    records: usize,
    mark_levels: usize,
    top_words: u64,
    headers: usize,
    /// Bits of each kind.
    marks: [usize; MarkKind::ALL.len()],
    /// Summaries of each level from 1 on.
    summaries: [usize; MARK_LEVELS],
    twin_pages: usize,
    buffers: [usize; 2],
    control: usize,
    writes: usize,
    sites: usize,
    clock: usize,
    segment_bytes: usize,
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
        let room = shape.region.len();
        let processes = shape.processes as usize;
        let stacks_bytes = (shape.stack_bytes.next_multiple_of(PAGE) * shape.stacks).next_multiple_of(UNIT);
        // Twice the data (twins), records and marks: a segment is at most three times the data; four times with what race reports need.
        let times = if shape.race { 4 } else { 3 };
        let most = room.min(VIEW_SPACE / processes / times) / processes;
        if stacks_bytes + UNIT > most {
            return Err(format!(
                "{processes} processes with shared stacks of {stacks_bytes} bytes each do not fit; lower DSM_STACK"
            ));
        }
        let arena_bytes = (shape.arena_bytes.min(most - stacks_bytes) / UNIT * UNIT).max(UNIT);
        // One half for the rest.
        let parts = shape.heap_blocks.len();
        let part_bytes = if parts == 0 { 0 } else { arena_bytes / (2 * parts) / UNIT * UNIT };
        if parts > 0 && part_bytes == 0 {
            return Err(format!(
                "a heap of {arena_bytes} bytes has no room for {parts} further block sizes; set DSM_HEAP to at least {}",
                2 * parts * UNIT
            ));
        }
        let heap_offset = globals.end_offset();
        let data_bytes = heap_offset + (arena_bytes + stacks_bytes) * processes;
        let blocks = BlockMap::new(data_bytes, shape.line_shift, block.trailing_zeros());
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
        // Room for one release more than the bound: the list is cut after it was extended.
        let buffers = std::array::from_fn(|_| place(shape.notices * NOTICE_BYTES, PAGE));
        let control = place(CONTROL_BYTES, PAGE);
        let race = usize::from(shape.race);
        let writes = place(race * blocks.end() as usize * race::WRITE_BYTES, PAGE);
        let sites = place(race * race::sites::AREA_BYTES, PAGE);
        let clock = place(race * (processes + race::clocks::NOTES) * 8, PAGE);
        let geometry = Geometry {
            globals,
            blocks,
            arena_bytes,
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
            buffers,
            control,
            writes,
            sites,
            clock,
            segment_bytes: end.next_multiple_of(PAGE),
            shape,
        };
        for rank in 0..geometry.processes() {
            for part in 0..parts {
                geometry.set_blocks(geometry.arena_part(rank, part + 1), geometry.shape.heap_blocks[part]);
            }
        }
        Ok(geometry)
    }

    /// Number of processes.
    pub fn processes(&self) -> u32 {
        self.shape.processes
    }

    /// Bytes of a block.
    #[inline]
    pub fn block_bytes(&self, block: Block) -> usize {
        1 << self.blocks.shift_of(block)
    }

    /// Which part of the data has which block size.
    pub fn blocks(&self) -> &BlockMap {
        &self.blocks
    }

    /// Gives the blocks that hold `range` another size, and their neighbours as far as they would be cut. `range` lies in one of
    /// [`Geometry::parts`] and is not empty. Returns the offsets concerned. No block there may be in use.
    pub fn set_blocks(&self, range: Range<usize>, bytes: usize) -> Range<usize> {
        let shift = bytes.trailing_zeros();
        let offsets = self.blocks.widen(self.offset(range.start)..self.offset(range.end - 1) + 1, shift);
        self.blocks.set(offsets.clone(), shift);
        offsets
    }

    /// Base-two logarithm of the line size.
    pub fn line_shift(&self) -> u32 {
        self.shape.line_shift
    }

    /// Bytes of a segment.
    pub fn segment_bytes(&self) -> usize {
        self.segment_bytes
    }

    /// First address of the peers' views.
    pub fn view_base(&self) -> usize {
        PEER_BASE as usize
    }

    /// The shared globals.
    pub fn globals(&self) -> &Globals {
        &self.globals
    }

    /// The address ranges of shared data: globals of each image, then the region.
    #[inline]
    pub fn parts(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.globals.ranges().chain(std::iter::once(self.region()))
    }

    /// Address range of heap and stacks.
    pub fn region(&self) -> Range<usize> {
        let start = self.shape.region.start;
        start..start + self.data_bytes - self.heap_offset
    }

    /// Whether heap or stacks hold the address.
    #[inline]
    pub fn is_in_region(&self, address: usize) -> bool {
        address.wrapping_sub(self.shape.region.start) < self.data_bytes - self.heap_offset
    }

    /// Segment offset of the first byte of the region.
    pub fn region_offset(&self) -> usize {
        self.heap_offset
    }

    /// Heap arena of a process.
    pub fn arena(&self, rank: u32) -> Range<usize> {
        let start = self.shape.region.start + rank as usize * self.arena_bytes;
        start..start + self.arena_bytes
    }

    /// Part of a process's arena: 0 has the general block size, the others those of [`Shape::heap_blocks`].
    pub fn arena_part(&self, rank: u32, part: usize) -> Range<usize> {
        let arena = self.arena(rank);
        let end = |part: usize| arena.end - (self.shape.heap_blocks.len() - part) * self.part_bytes;
        if part == 0 { arena.start..end(0) } else { end(part - 1)..end(part) }
    }

    /// Block sizes of the arena parts from 1 on, bytes.
    pub fn heap_blocks(&self) -> &[usize] {
        &self.shape.heap_blocks
    }

    /// Shared stacks of a process.
    pub fn stacks(&self, rank: u32) -> Range<usize> {
        let all = self.shape.region.start + self.shape.processes as usize * self.arena_bytes;
        let start = all + rank as usize * self.stacks_bytes;
        start..start + self.stacks_bytes
    }

    /// Top of a thread's shared stack; `None` if the process has no room for so many threads.
    pub fn stack_top(&self, rank: u32, thread: u32) -> Option<usize> {
        let bytes = self.shape.stack_bytes.next_multiple_of(PAGE);
        let top = self.stacks(rank).start + (thread as usize + 1) * bytes;
        ((thread as usize) < self.shape.stacks).then_some(top)
    }

    /// Whether the address is shared data.
    #[inline]
    pub fn is_shared(&self, address: usize) -> bool {
        self.region().contains(&address) || self.globals.offset(address).is_some()
    }

    /// Offset of a shared address in the data.
    #[inline]
    pub fn offset(&self, address: usize) -> usize {
        match address.checked_sub(self.shape.region.start) {
            Some(offset) if address < self.shape.region.end => self.heap_offset + offset,
            _ => self.globals.offset(address).expect("the address is shared"),
        }
    }

    /// Block of a shared address.
    #[inline]
    pub fn block(&self, address: usize) -> Block {
        self.blocks.block(self.offset(address))
    }

    /// The blocks of one size that hold the shared addresses from `first` on, at most to `last`; both lie in the same part.
    pub fn extent(&self, first: usize, last: usize) -> Extent {
        let (from, to) = (self.offset(first), self.offset(last));
        let block = self.blocks.block(from);
        let end = self.blocks.block(self.blocks.run_end(from, to));
        Extent::new(block, end.0 - block.0 + 1)
    }

    /// The blocks of an extent in one part of the data all of whose bytes are in `[first, last]`, addresses of that part.
    pub fn whole(&self, extent: Extent, first: usize, last: usize) -> Option<Extent> {
        let bytes = self.block_bytes(extent.first);
        let start = self.address(extent.first);
        let before = first.saturating_sub(start).div_ceil(bytes) as u64;
        let end = ((last + 1).saturating_sub(start) / bytes) as u64;
        let end = end.min(extent.count);
        (before < end).then(|| Extent::new(Block(extent.first.0 + before), end - before))
    }

    /// The blocks of `[first, last]` as extents, each of one size; both addresses lie in the same part.
    pub fn extents(&self, first: usize, last: usize) -> impl Iterator<Item = Extent> + '_ {
        let mut at = first;
        std::iter::from_fn(move || {
            let extent = (at <= last).then(|| self.extent(at, last))?;
            at = self.address(Block(extent.end().0 - 1)) + self.block_bytes(extent.first);
            Some(extent)
        })
    }

    /// First address of a block.
    #[inline]
    pub fn address(&self, block: Block) -> usize {
        self.address_at(self.data_offset(block))
    }

    /// Address of the data at a segment offset.
    #[inline(always)]
    pub fn address_at(&self, offset: usize) -> usize {
        if offset >= self.heap_offset {
            self.shape.region.start + (offset - self.heap_offset)
        } else {
            self.globals.address(offset)
        }
    }

    /// Process and thread whose shared stack holds the address.
    pub fn stack_of(&self, address: usize) -> Option<(u32, u32)> {
        let rank = (0..self.shape.processes).find(|rank| self.stacks(*rank).contains(&address))?;
        let thread = (address - self.stacks(rank).start) / self.shape.stack_bytes.next_multiple_of(PAGE);
        Some((rank, thread as u32))
    }

    /// Whose a block is at the start: globals belong to process 0, heap and stacks to their process.
    pub fn default_home(&self, block: Block) -> Rank {
        self.default_home_at(self.data_offset(block))
    }

    /// The same, of the block at an offset of the data.
    #[inline(always)]
    pub fn default_home_at(&self, offset: usize) -> Rank {
        if offset < self.heap_offset {
            return Rank(0);
        }
        let heap = self.arena_bytes * self.shape.processes as usize;
        let in_region = offset - self.heap_offset;
        if in_region < heap {
            // Divisions take longer than all else here.
            match self.arena_bytes.is_power_of_two() {
                true => Rank((in_region >> self.arena_bytes.trailing_zeros()) as u32),
                false => Rank((in_region / self.arena_bytes) as u32),
            }
        } else {
            Rank(((in_region - heap) / self.stacks_bytes) as u32)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsm_abi::layout::{SHARED_BASE, SHARED_END};

    fn geometry(processes: u32) -> Geometry {
        Geometry::new(Shape {
            processes,
            line_shift: 6,
            block_bytes: 256,
            globals: vec![0x400000..0x412345, 0..0],
            region: SHARED_BASE as usize..SHARED_END as usize,
            arena_bytes: 1 << 30,
            heap_blocks: Vec::new(),
            stack_bytes: 1 << 20,
            stacks: 16,
            notices: 1024,
            race: false,
        })
        .unwrap()
    }

    #[test]
    fn addresses_and_blocks_agree() {
        let g = geometry(3);
        for rank in 0..3 {
            for range in [g.arena(rank), g.stacks(rank)] {
                for address in [range.start, range.end - 1] {
                    assert!(g.is_shared(address));
                    assert_eq!(g.default_home(g.block(address)), Rank(rank));
                    assert_eq!(g.address(g.block(address)), address & !255);
                }
            }
        }
        assert_eq!(g.default_home(g.block(0x400100)), Rank(0));
        assert_eq!(g.address(g.block(0x4001ff)), 0x400100);
        assert_eq!(g.extent(0x4001ff, 0x400200).count, 2);
    }

    #[test]
    fn whole_blocks_of_a_range() {
        let g = geometry(2);
        let start = g.arena(1).start;
        let whole = |from: usize, to: usize| {
            let (first, last) = (start + from, start + to - 1);
            let whole = g.whole(g.extent(first, last), first, last);
            whole.map(|e| (g.address(e.first) - start, e.count))
        };
        assert_eq!(whole(0, 256), Some((0, 1)));
        assert_eq!(whole(1, 512), Some((256, 1)));
        assert_eq!(whole(255, 1025), Some((256, 3)));
        assert_eq!(whole(256, 1023), Some((256, 2)));
        assert_eq!((whole(1, 256), whole(0, 255), whole(1, 511), whole(100, 101)), (None, None, None, None));
        // What is left of a range whose first blocks are valid already.
        let rest = g.extent(start + 512, start + 1099);
        assert_eq!(g.whole(rest, start + 100, start + 1099).map(|e| e.count), Some(2));
    }

    #[test]
    fn globals_above_the_region() {
        let mut shape = geometry(2).shape;
        shape.globals[0] = 0x5555_5570_0000..0x5555_5571_0000;
        let g = Geometry::new(shape).unwrap();
        let address = 0x5555_5570_0123;
        assert_eq!(g.offset(address), 0x123);
        assert_eq!(g.address(g.block(address)), 0x5555_5570_0100);
        assert!(g.is_shared(address) && !g.is_shared(0x5555_5571_0000));
    }

    #[test]
    fn libraries_have_globals_too() {
        let mut shape = geometry(2).shape;
        let library = 0x7fff_f7a0_0000..0x7fff_f7e0_0000;
        shape.globals.push(library.clone());
        let g = Geometry::new(shape).unwrap();
        let (program, first, last) = (g.block(0x412344), g.block(library.start), g.block(library.end - 1));
        assert_eq!(
            (g.address(first), g.address(last), g.address(program)),
            (library.start, library.end - 256, 0x412300)
        );
        assert!(g.is_shared(library.end - 1) && !g.is_shared(library.end) && !g.is_shared(library.start - 1));
        assert_eq!(g.default_home(last), Rank(0));
        let arena = g.block(g.arena(0).start);
        for (before, after) in [(program, first), (last, arena)] {
            assert_ne!(before.chunk(), after.chunk());
            assert!(before.0 + 1 < after.0, "no extent goes from one image to the next");
        }
        assert_eq!(g.parts().count(), 3);
    }

    #[test]
    fn arenas_have_parts_with_their_block_sizes() {
        let mut shape = geometry(2).shape;
        shape.heap_blocks = vec![64, 65536];
        let g = Geometry::new(shape).unwrap();
        let bytes = |address| g.block_bytes(g.block(address));
        for rank in 0..2 {
            let parts: Vec<_> = (0..3).map(|part| g.arena_part(rank, part)).collect();
            assert_eq!((parts[0].start, parts[2].end), (g.arena(rank).start, g.arena(rank).end));
            assert!(parts.windows(2).all(|p| p[0].end == p[1].start));
            for (part, expected) in parts.iter().zip([256, 64, 65536]) {
                assert_eq!((bytes(part.start), bytes(part.end - 1)), (expected, expected));
            }
        }
        let end = g.arena_part(0, 0).end;
        let extent = g.extent(end - 1000, end + 1000);
        assert_eq!((extent.count, g.address(extent.end())), (4, end), "an extent has one block size");
    }

    #[test]
    fn parts_do_not_share_chunks() {
        let g = geometry(2);
        assert_ne!(g.block(g.arena(0).end - 1).chunk(), g.block(g.arena(1).start).chunk());
        assert_ne!(g.block(0x412344).chunk(), g.block(g.arena(0).start).chunk());
    }

    #[test]
    fn many_processes_get_smaller_arenas() {
        let mut shape = geometry(1).shape;
        shape.processes = 64;
        shape.arena_bytes = 1 << 39;
        let g = Geometry::new(shape).unwrap();
        assert!(g.segment_bytes() * 64 <= VIEW_SPACE);
        assert!(g.arena(63).end <= SHARED_END as usize);
    }
}
