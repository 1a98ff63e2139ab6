//! Heap arenas and shared stacks: which address range each process has, and whose home a block has at the start.

use std::ops::Range;

use dsm_coherence::{Block, Rank};

use super::{Geometry, PAGE};

impl Geometry {
    /// Address range of heap and stacks.
    #[inline]
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
    #[inline]
    pub fn region_offset(&self) -> usize {
        self.heap_offset
    }

    /// Heap arena of a process.
    #[inline]
    pub fn arena(&self, rank: u32) -> Range<usize> {
        let start = self.shape.region.start + rank as usize * self.arena_bytes;
        start..start + self.arena_bytes
    }

    /// Part of a process's arena: 0 has the general block size, the others those of [`heap_blocks`][super::Shape::heap_blocks].
    #[inline]
    pub fn arena_part(&self, rank: u32, part: usize) -> Range<usize> {
        let arena = self.arena(rank);
        let end = |part: usize| arena.end - (self.shape.heap_blocks.len() - part) * self.part_bytes;
        if part == 0 { arena.start..end(0) } else { end(part - 1)..end(part) }
    }

    /// Block sizes of the arena parts from 1 on, bytes.
    #[inline]
    pub fn heap_blocks(&self) -> &[usize] {
        &self.shape.heap_blocks
    }

    /// Shared stacks of a process.
    #[inline]
    pub fn stacks(&self, rank: u32) -> Range<usize> {
        let all = self.shape.region.start + self.shape.processes as usize * self.arena_bytes;
        let start = all + rank as usize * self.stacks_bytes;
        start..start + self.stacks_bytes
    }

    /// Top of a thread's shared stack; `None` if the process has no space for so many threads.
    #[inline]
    pub fn stack_top(&self, rank: u32, thread: u32) -> Option<usize> {
        let bytes = self.shape.stack_bytes.next_multiple_of(PAGE);
        let top = self.stacks(rank).start + (thread as usize + 1) * bytes;
        ((thread as usize) < self.shape.stacks).then_some(top)
    }

    /// Process and thread whose shared stack holds the address.
    #[inline]
    pub fn stack_of(&self, address: usize) -> Option<(u32, u32)> {
        let rank = (0..self.shape.processes).find(|rank| self.stacks(*rank).contains(&address))?;
        let thread = (address - self.stacks(rank).start) / self.shape.stack_bytes.next_multiple_of(PAGE);
        Some((rank, thread as u32))
    }

    /// Whose a block is at the start: globals belong to process 0, heap and stacks to their process.
    #[inline]
    pub fn default_home(&self, block: Block) -> Rank {
        self.default_home_at(self.data_offset(block))
    }

    /// The same, of the block at an offset of the data.
    #[inline(always)]
    pub fn default_home_at(&self, offset: usize) -> Rank {
        if offset < self.heap_offset {
            return Rank(0);
        }
        let in_region = offset - self.heap_offset;
        if in_region < self.arenas_bytes {
            // Divisions take longer than all else here.
            match self.arena_shift {
                Some(shift) => Rank((in_region >> shift) as u32),
                None => Rank((in_region / self.arena_bytes) as u32),
            }
        } else {
            Rank(((in_region - self.arenas_bytes) / self.stacks_bytes) as u32)
        }
    }
}
