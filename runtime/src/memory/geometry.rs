//! Where things are: addresses, blocks and segment offsets. Pure arithmetic, the same in every process.
//!
//! ```text
//! shared data, in block order        addresses
//!   globals  [0, globals_bytes)      the program's .dsm.data and .dsm.bss
//!   heap     arenas of rank 0, 1, …  SHARED_BASE …
//!   stacks   of rank 0, 1, …         behind the arenas
//!
//! segment of each process            data | twins | records | marks | signature buffers | control
//! ```
//! Every part starts on a chunk boundary, so that a chunk of blocks has one default home and consecutive addresses.

use std::ops::Range;

use dsm_abi::layout::{PEER_BASE, SHARED_BASE, SHARED_END};
use dsm_coherence::{Block, CHUNK_BLOCKS, Extent, MarkKind, Rank};

/// Bytes of a block's record: link, lease, version.
pub const RECORD_BYTES: usize = 24;
/// Bytes of a notice in a signature buffer.
pub const NOTICE_BYTES: usize = 32;
/// Levels of the bit sets over blocks.
pub const MARK_LEVELS: usize = 4;
/// Blocks that a word of the highest mark level covers.
const TOP_BLOCKS: u64 = 64u64.pow(MARK_LEVELS as u32);
const PAGE: usize = 4096;
/// Address space for the peers' views, bytes.
const VIEW_SPACE: usize = 64 << 40;
/// Bytes of the control area of each segment; laid out by `sync`.
pub const CONTROL_BYTES: usize = 64 << 20;

/// What decides the layout.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Number of processes.
    pub processes: u32,
    /// Base-two logarithm of the line size.
    pub line_shift: u32,
    /// Bytes of a block.
    pub block_bytes: usize,
    /// Address range of the program's shared globals.
    pub globals: Range<usize>,
    /// Heap arena of a process, bytes; shrunk if many processes would not fit.
    pub arena_bytes: usize,
    /// Shared stack of a thread, bytes.
    pub stack_bytes: usize,
    /// Shared stacks of a process.
    pub stacks: usize,
    /// Notices that a signature buffer holds.
    pub notices: usize,
}

/// See the module documentation.
#[derive(Clone, Debug)]
pub struct Geometry {
    shape: Shape,
    block_shift: u32,
    arena_bytes: usize,
    stacks_bytes: usize,
    /// Offset of the heap in the shared data.
    heap_offset: usize,
    data_bytes: usize,
    records: usize,
    marks: [[usize; MARK_LEVELS]; 4],
    buffers: [usize; 2],
    control: usize,
    segment_bytes: usize,
}

impl Geometry {
    /// Computes the layout.
    ///
    /// # Errors
    /// A sentence that says what does not fit, and what to change.
    pub fn new(shape: Shape) -> Result<Geometry, String> {
        let line = 1usize << shape.line_shift;
        let block = shape.block_bytes.max(line);
        if !block.is_power_of_two() {
            return Err(format!("a block of {block} bytes is not a power of two; set DSM_BLOCK to one"));
        }
        if !shape.globals.start.is_multiple_of(block.min(1 << 16)) {
            return Err(format!(
                "the program's shared globals start at {:#x}, which is no multiple of the block size {block}; \
                 set DSM_BLOCK to at most {}",
                shape.globals.start,
                1usize << shape.globals.start.trailing_zeros()
            ));
        }
        let chunk = block * CHUNK_BLOCKS as usize;
        let room = (SHARED_END - SHARED_BASE) as usize;
        let processes = shape.processes as usize;
        let stacks_bytes = (shape.stack_bytes.next_multiple_of(PAGE) * shape.stacks).next_multiple_of(chunk);
        // Twice the data (twins), records and marks: a segment is at most three times the data.
        let most = room.min(VIEW_SPACE / processes / 3) / processes;
        if stacks_bytes + chunk > most {
            return Err(format!(
                "{processes} processes with shared stacks of {stacks_bytes} bytes each do not fit; lower DSM_STACK"
            ));
        }
        let arena_bytes = (shape.arena_bytes.min(most - stacks_bytes) / chunk * chunk).max(chunk);
        let heap_offset = shape.globals.len().next_multiple_of(chunk);
        let data_bytes = heap_offset + (arena_bytes + stacks_bytes) * processes;
        let blocks = data_bytes as u64 / block as u64;
        let mut end = 2 * data_bytes;
        let mut place = |bytes: usize| {
            let at = end;
            end += bytes.next_multiple_of(PAGE);
            at
        };
        let records = place(blocks as usize * RECORD_BYTES);
        let tops = blocks.div_ceil(TOP_BLOCKS) as usize;
        let marks = std::array::from_fn(|_| {
            std::array::from_fn(|level| place(tops * 8 * 64usize.pow((MARK_LEVELS - 1 - level) as u32)))
        });
        // Room for one release more than the bound: the list is cut after it was extended.
        let buffers = std::array::from_fn(|_| place(shape.notices * NOTICE_BYTES));
        let control = place(CONTROL_BYTES);
        Ok(Geometry {
            block_shift: block.trailing_zeros(),
            arena_bytes,
            stacks_bytes,
            heap_offset,
            data_bytes,
            records,
            marks,
            buffers,
            control,
            segment_bytes: end,
            shape,
        })
    }

    /// Number of processes.
    pub fn processes(&self) -> u32 {
        self.shape.processes
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> usize {
        1 << self.block_shift
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

    /// Address range of the shared globals.
    pub fn globals(&self) -> Range<usize> {
        self.shape.globals.clone()
    }

    /// Address range of heap and stacks.
    pub fn region(&self) -> Range<usize> {
        let start = SHARED_BASE as usize;
        start..start + self.data_bytes - self.heap_offset
    }

    /// Segment offset of the first byte of the region.
    pub fn region_offset(&self) -> usize {
        self.heap_offset
    }

    /// Heap arena of a process.
    pub fn arena(&self, rank: u32) -> Range<usize> {
        let start = SHARED_BASE as usize + rank as usize * self.arena_bytes;
        start..start + self.arena_bytes
    }

    /// Shared stacks of a process.
    pub fn stacks(&self, rank: u32) -> Range<usize> {
        let all = SHARED_BASE as usize + self.shape.processes as usize * self.arena_bytes;
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
        self.region().contains(&address) || self.shape.globals.contains(&address)
    }

    /// Offset of a shared address in the data.
    #[inline]
    pub fn offset(&self, address: usize) -> usize {
        if self.shape.globals.contains(&address) {
            address - self.shape.globals.start
        } else {
            self.heap_offset + (address - SHARED_BASE as usize)
        }
    }

    /// Block of a shared address.
    #[inline]
    pub fn block(&self, address: usize) -> Block {
        Block((self.offset(address) >> self.block_shift) as u64)
    }

    /// The blocks that hold the shared addresses `[first, last]`, both in the globals or both in the region.
    pub fn extent(&self, first: usize, last: usize) -> Extent {
        let block = self.block(first);
        Extent::new(block, self.block(last).0 - block.0 + 1)
    }

    /// First address of a block.
    #[inline]
    pub fn address(&self, block: Block) -> usize {
        let offset = self.data_offset(block);
        if offset >= self.heap_offset {
            SHARED_BASE as usize + (offset - self.heap_offset)
        } else {
            self.shape.globals.start + offset
        }
    }

    /// Segment offset of a block's data.
    #[inline]
    pub fn data_offset(&self, block: Block) -> usize {
        (block.0 as usize) << self.block_shift
    }

    /// Segment offset of a block's twin.
    #[inline]
    pub fn twin_offset(&self, block: Block) -> usize {
        self.data_bytes + self.data_offset(block)
    }

    /// Segment offset of a block's record.
    #[inline]
    pub fn record_offset(&self, block: Block) -> usize {
        self.records + block.0 as usize * RECORD_BYTES
    }

    /// Segment offset of a mark word.
    #[inline]
    pub fn mark_offset(&self, kind: MarkKind, level: u8, index: u64) -> usize {
        let kind = match kind {
            MarkKind::Read => 0,
            MarkKind::Taken => 1,
            MarkKind::Dirty => 2,
            MarkKind::Cached => 3,
        };
        self.marks[kind][level as usize] + index as usize * 8
    }

    /// Words of the highest mark level.
    pub fn top_mark_words(&self) -> u64 {
        (self.data_bytes as u64 >> self.block_shift).div_ceil(TOP_BLOCKS)
    }

    /// Segment offset of a signature buffer.
    pub fn buffer_offset(&self, buffer: u8) -> usize {
        self.buffers[buffer as usize]
    }

    /// Segment offset of the control area.
    pub fn control_offset(&self) -> usize {
        self.control
    }

    /// Whose a block is at the start: globals belong to process 0, heap and stacks to their process.
    pub fn default_home(&self, block: Block) -> Rank {
        let offset = self.data_offset(block);
        if offset < self.heap_offset {
            return Rank(0);
        }
        let heap = self.arena_bytes * self.shape.processes as usize;
        let in_region = offset - self.heap_offset;
        if in_region < heap {
            Rank((in_region / self.arena_bytes) as u32)
        } else {
            Rank(((in_region - heap) / self.stacks_bytes) as u32)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(processes: u32) -> Geometry {
        Geometry::new(Shape {
            processes,
            line_shift: 6,
            block_bytes: 256,
            globals: 0x400000..0x412345,
            arena_bytes: 1 << 30,
            stack_bytes: 1 << 20,
            stacks: 16,
            notices: 1024,
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
    fn globals_above_the_region() {
        let mut shape = geometry(2).shape;
        shape.globals = 0x5555_5570_0000..0x5555_5571_0000;
        let g = Geometry::new(shape).unwrap();
        let address = 0x5555_5570_0123;
        assert_eq!(g.offset(address), 0x123);
        assert_eq!(g.address(g.block(address)), 0x5555_5570_0100);
        assert!(g.is_shared(address) && !g.is_shared(0x5555_5571_0000));
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
