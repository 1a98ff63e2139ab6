//! Block sizes: which part of the shared data has which, and how blocks are numbered.
//!
//! Every size has block numbers of its own that cover all shared data, so a number says size and place, and a change of size changes
//! numbers instead of moving records:
//!
//! ```text
//!   numbers   [ size of DSM_BLOCK | 65536 | 32768 | ... | line ]    each range starts at a multiple of TOP_BLOCKS
//!   offset -> size    one byte for 4 MiB; where that says MIXED, one byte for a granule (4096 bytes, or a line if that is more)
//!   block  -> size    one entry for TOP_BLOCKS blocks
//! ```
//! Blocks are aligned to their size. No block lies partly in a granule of another size. The tables change at start and when all processes
//! are in the runtime, never while a block of the part in question is being used.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use dsm_coherence::{Block, Extent};

/// Base-two logarithm of the largest block.
pub const MAX_BLOCK_SHIFT: u32 = 16;
/// The numbers of each size start at a multiple of this.
pub const TOP_BLOCKS: u64 = 1 << TOP_SHIFT;
const TOP_SHIFT: u32 = 24;
/// Base-two logarithm of the unit of the coarse table: a chunk of the largest blocks. Parts of the data are multiples of it.
pub const UNIT_SHIFT: u32 = MAX_BLOCK_SHIFT + 6;
const MIXED: u8 = 0xff;
const SHIFTS: usize = (MAX_BLOCK_SHIFT as usize + 1).next_power_of_two();

#[derive(Clone, Copy, Debug)]
struct Numbers {
    shift: u32,
    first: u64,
}

/// See the module documentation.
#[derive(Debug)]
pub struct BlockMap {
    granule_shift: u32,
    coarse: Box<[AtomicU8]>,
    fine: Box<[AtomicU8]>,
    /// For each [`TOP_BLOCKS`] block numbers, what they are.
    tops: Box<[Numbers]>,
    /// First block number of each size, by its logarithm; a power of two of them, so that an index needs no check.
    first: [u64; SHIFTS],
    /// Logarithm of the smallest size that any block has had.
    least_shift: AtomicU32,
    changed: AtomicBool,
}

impl BlockMap {
    /// All of `data_bytes`, a multiple of the unit, in blocks of `1 << default_shift` bytes, which is between a line and the largest block.
    pub fn new(data_bytes: usize, line_shift: u32, default_shift: u32) -> BlockMap {
        assert!((line_shift..=MAX_BLOCK_SHIFT).contains(&default_shift));
        assert!(data_bytes.is_multiple_of(1 << UNIT_SHIFT));
        let granule_shift = line_shift.max(12);
        let mut first = [u64::MAX; SHIFTS];
        let mut tops = Vec::new();
        let others = (line_shift..=MAX_BLOCK_SHIFT).rev().filter(|s| *s != default_shift);
        for shift in std::iter::once(default_shift).chain(others) {
            let start = tops.len() as u64 * TOP_BLOCKS;
            first[shift as usize] = start;
            // At least one number stays unused, so that no extent goes from one size to the next.
            let words = (data_bytes as u64 >> shift) / TOP_BLOCKS + 1;
            tops.extend((0..words).map(|_| Numbers { shift, first: start }));
        }
        BlockMap {
            granule_shift,
            coarse: (0..data_bytes >> UNIT_SHIFT).map(|_| AtomicU8::new(default_shift as u8)).collect(),
            fine: zeroed(data_bytes >> granule_shift),
            tops: tops.into(),
            first,
            least_shift: AtomicU32::new(default_shift),
            changed: AtomicBool::new(false),
        }
    }

    /// All block numbers are below this multiple of [`TOP_BLOCKS`].
    #[inline]
    pub fn end(&self) -> u64 {
        self.tops.len() as u64 * TOP_BLOCKS
    }

    /// Logarithm of the block size at an offset of the data.
    #[inline(always)]
    pub fn shift_at(&self, offset: usize) -> u32 {
        match self.coarse[offset >> UNIT_SHIFT].load(Ordering::Relaxed) {
            MIXED => self.fine[offset >> self.granule_shift].load(Ordering::Relaxed).into(),
            shift => shift.into(),
        }
    }

    /// The block that holds an offset of the data.
    #[inline(always)]
    pub fn block(&self, offset: usize) -> Block {
        self.locate(offset).0
    }

    /// The block that holds an offset of the data, and the offset in it.
    #[inline(always)]
    pub fn locate(&self, offset: usize) -> (Block, usize) {
        let (block, start, _) = self.place_at(offset);
        (block, offset - start)
    }

    /// The block that holds an offset of the data, where it starts, and its size in bytes.
    #[inline(always)]
    pub fn place_at(&self, offset: usize) -> (Block, usize, usize) {
        let shift = self.shift_at(offset);
        let block = Block(self.first[shift as usize % SHIFTS] + (offset >> shift) as u64);
        (block, offset >> shift << shift, 1 << shift)
    }

    /// Bytes of the smallest blocks that the data are or were divided into: neighbours nearer than that are in one block, or in two that touch.
    #[inline]
    pub fn least_bytes(&self) -> usize {
        1 << self.least_shift.load(Ordering::Relaxed)
    }

    /// Logarithm of a block's size.
    #[inline]
    pub fn shift_of(&self, block: Block) -> u32 {
        self.tops[(block.0 >> TOP_SHIFT) as usize].shift
    }

    /// Offset of a block in the data.
    #[inline]
    pub fn offset(&self, block: Block) -> usize {
        self.place(block).0
    }

    /// Offset of a block in the data, and its size in bytes.
    #[inline(always)]
    pub fn place(&self, block: Block) -> (usize, usize) {
        let Numbers { shift, first } = self.tops[(block.0 >> TOP_SHIFT) as usize];
        (((block.0 - first) << shift) as usize, 1 << shift)
    }

    /// Whether the data still is in blocks of this one's size. Blocks of a size given up can turn up in old notices.
    #[inline(always)]
    pub fn is_current(&self, block: Block) -> bool {
        !self.changed.load(Ordering::Relaxed) || self.has_current_size(block)
    }

    #[cold]
    fn has_current_size(&self, block: Block) -> bool {
        self.shift_at(self.offset(block)) == self.shift_of(block)
    }

    /// Whether sizes change while the program runs.
    #[inline]
    pub fn is_changing(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// From now on sizes change while the program runs.
    pub fn set_changing(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// The last offset up to `last` that belongs, with everything before it, to blocks of the size at `from`.
    #[inline]
    pub fn run_end(&self, from: usize, last: usize) -> usize {
        let shift = self.shift_at(from);
        let mut at = from;
        loop {
            let unit = self.coarse[at >> UNIT_SHIFT].load(Ordering::Relaxed);
            let step = if unit == MIXED { self.granule_shift } else { UNIT_SHIFT };
            let next = ((at >> step) + 1) << step;
            if next > last {
                return last;
            }
            if self.shift_at(next) != shift {
                return next - 1;
            }
            at = next;
        }
    }

    /// How many numbers from the first one of an extent on are blocks that the data are divided into, in a row.
    pub fn current_run(&self, extent: Extent) -> u64 {
        let (shift, start) = (self.shift_of(extent.first), self.offset(extent.first));
        if extent.count == 0 || self.shift_at(start) != shift {
            return 0;
        }
        let last = start + ((extent.count as usize) << shift) - 1;
        ((self.run_end(start, last) + 1 - start) >> shift) as u64
    }

    /// The range made larger so that it is whole granules and cuts no block, of `1 << shift` bytes or of those that are there.
    #[inline]
    pub fn widen(&self, range: Range<usize>, shift: u32) -> Range<usize> {
        let down = |at: usize, unit: u32| at >> unit << unit;
        let unit = self.granule_shift.max(shift);
        let (mut start, mut last) = (range.start, range.end - 1);
        loop {
            let first = down(start, unit.max(self.shift_at(start)));
            let end = last | ((1 << unit.max(self.shift_at(last))) - 1);
            if (first, end) == (start, last) {
                return start..last + 1;
            }
            (start, last) = (first, end);
        }
    }

    /// Gives a range that [`BlockMap::widen`] returned blocks of `1 << shift` bytes.
    #[inline]
    pub fn set(&self, range: Range<usize>, shift: u32) {
        if range.is_empty() {
            return;
        }
        self.least_shift.fetch_min(shift, Ordering::Relaxed);
        for unit in range.start >> UNIT_SHIFT..=(range.end - 1) >> UNIT_SHIFT {
            let whole = unit << UNIT_SHIFT..(unit + 1) << UNIT_SHIFT;
            if range.start <= whole.start && whole.end <= range.end {
                self.coarse[unit].store(shift as u8, Ordering::Relaxed);
                continue;
            }
            let part = range.start.max(whole.start)..range.end.min(whole.end);
            let before = self.coarse[unit].load(Ordering::Relaxed);
            for granule in whole.start >> self.granule_shift..whole.end >> self.granule_shift {
                let inside = part.contains(&(granule << self.granule_shift));
                if inside || before != MIXED {
                    let value = if inside { shift as u8 } else { before };
                    self.fine[granule].store(value, Ordering::Relaxed);
                }
            }
            self.coarse[unit].store(MIXED, Ordering::Relaxed);
        }
    }
}

/// Bytes that take no memory until they are touched.
fn zeroed(len: usize) -> Box<[AtomicU8]> {
    let bytes = Box::into_raw(vec![0u8; len].into_boxed_slice());
    // SAFETY: `AtomicU8` has the layout of `u8`, and the box was given up just now.
    unsafe { Box::from_raw(bytes as *mut [AtomicU8]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: usize = 1 << UNIT_SHIFT;

    #[test]
    fn numbers_and_offsets_agree_for_all_sizes() {
        let map = BlockMap::new(8 * UNIT, 6, 12);
        assert_eq!(map.block(0x12345), Block(0x12));
        for shift in 6..=16 {
            let range = map.widen(UNIT + 5000..UNIT + 5001, shift);
            assert_eq!(
                range,
                UNIT + (5000 >> shift.max(12) << shift.max(12))..UNIT + (1 << shift.max(12)).max(8192)
            );
            map.set(range.clone(), shift);
            for at in [range.start, range.start + 77, range.end - 1] {
                let block = map.block(at);
                assert_eq!((map.shift_of(block), map.offset(block)), (shift, at >> shift << shift));
            }
            assert_eq!(map.shift_at(range.end), 12);
            map.set(UNIT..2 * UNIT, 12);
        }
    }

    #[test]
    fn the_smallest_size_stays_known() {
        let map = BlockMap::new(2 * UNIT, 6, 12);
        map.set(0..UNIT, 16);
        assert_eq!(map.least_bytes(), 4096);
        map.set(0..0, 6);
        assert_eq!(map.least_bytes(), 4096);
        map.set(4096..8192, 9);
        map.set(0..UNIT, 12);
        assert_eq!(map.least_bytes(), 512);
    }

    #[test]
    fn runs_end_where_the_size_changes() {
        let map = BlockMap::new(16 * UNIT, 6, 12);
        map.set(2 * UNIT + 0x3000..2 * UNIT + 0x5000, 8);
        map.set(5 * UNIT..9 * UNIT, 16);
        assert_eq!(map.run_end(10, 16 * UNIT - 1), 2 * UNIT + 0x2fff);
        assert_eq!(map.run_end(2 * UNIT + 0x3001, 16 * UNIT - 1), 2 * UNIT + 0x4fff);
        assert_eq!(map.run_end(2 * UNIT + 0x3001, 2 * UNIT + 0x3011), 2 * UNIT + 0x3011);
        assert_eq!(map.run_end(3 * UNIT, 16 * UNIT - 1), 5 * UNIT - 1);
        assert_eq!(map.run_end(6 * UNIT, 16 * UNIT - 1), 9 * UNIT - 1);
    }

    #[test]
    fn numbers_beyond_a_change_of_size_are_no_blocks() {
        let map = BlockMap::new(4 * UNIT, 6, 12);
        map.set(0x5000..0x6000, 8);
        let run = |block: u64, count| map.current_run(Extent::new(Block(block), count));
        assert_eq!([run(2, 3), run(2, 10), run(5, 1), run(6, 10), run(6, 0)], [3, 3, 0, 10, 0]);
        let small = map.block(0x5800).0;
        assert_eq!([run(small, 8), run(small, 9), run(small + 8, 1)], [8, 8, 0]);
    }

    #[test]
    fn widening_never_cuts_a_large_block() {
        let map = BlockMap::new(4 * UNIT, 6, 12);
        map.set(0x20000..0x40000, 16);
        assert_eq!(map.widen(0x3f000..0x41000, 8), 0x30000..0x41000);
        assert_eq!(map.widen(0x1f000..0x20001, 6), 0x1f000..0x30000);
        assert_eq!(map.widen(0x40000..0x40001, 13), 0x40000..0x42000);
    }

    #[test]
    fn old_blocks_are_told_apart_after_a_change() {
        let map = BlockMap::new(4 * UNIT, 6, 12);
        let old = map.block(0x5000);
        map.set_changing();
        assert!(map.is_current(old));
        map.set(0x5000..0x6000, 8);
        assert!(!map.is_current(old) && map.is_current(map.block(0x5000)));
    }
}
