//! Shared addresses, offsets in the data, blocks and extents, each from the others.

use std::ops::Range;

use dsm_coherence::{Block, Extent};

use super::Geometry;

impl Geometry {
    /// Bytes of a block.
    #[inline]
    pub fn block_bytes(&self, block: Block) -> usize {
        1 << self.blocks.shift_of(block)
    }

    /// Gives the blocks that hold `range` another size, and their neighbours as far as they would be cut. `range` lies in one of
    /// [`Geometry::parts`] and is not empty. Returns the offsets concerned. No block there may be in use.
    pub fn set_blocks(&self, range: Range<usize>, bytes: usize) -> Range<usize> {
        let shift = bytes.trailing_zeros();
        let offsets = self.blocks.widen(self.offset(range.start)..self.offset(range.end - 1) + 1, shift);
        self.blocks.set(offsets.clone(), shift);
        offsets
    }

    /// Whether the address is shared data.
    #[inline(always)]
    pub fn is_shared(&self, address: usize) -> bool {
        self.region().contains(&address) || self.globals.offset(address).is_some()
    }

    /// Offset of a shared address in the data.
    #[inline(always)]
    pub fn offset(&self, address: usize) -> usize {
        match address.checked_sub(self.shape.region.start) {
            Some(offset) if address < self.shape.region.end => self.heap_offset + offset,
            _ => self.globals.offset(address).expect("the address is shared"),
        }
    }

    /// Block of a shared address.
    #[inline(always)]
    pub fn block(&self, address: usize) -> Block {
        self.blocks.block(self.offset(address))
    }

    /// Block of a shared address, and the offset in it.
    #[inline(always)]
    pub fn locate(&self, address: usize) -> (Block, usize) {
        self.blocks.locate(self.offset(address))
    }

    /// As [`Geometry::locate`] of an address that may not be shared; `None` then.
    #[inline(always)]
    pub fn locate_shared(&self, address: usize) -> Option<(Block, usize)> {
        Some(self.blocks.locate(self.shared_offset(address)?))
    }

    /// Segment offset of the data at an address; `None` if it is not shared.
    #[inline(always)]
    pub fn shared_offset(&self, address: usize) -> Option<usize> {
        let in_region = address.wrapping_sub(self.shape.region.start);
        match in_region < self.data_bytes - self.heap_offset {
            true => Some(self.heap_offset + in_region),
            false => self.globals.offset(address),
        }
    }

    /// First address of a block.
    #[inline(always)]
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

    /// The blocks of one size that hold the shared addresses from `first` on, at most to `last`; both lie in the same part.
    #[inline]
    pub fn extent(&self, first: usize, last: usize) -> Extent {
        let (from, to) = (self.offset(first), self.offset(last));
        let block = self.blocks.block(from);
        let end = self.blocks.block(self.blocks.run_end(from, to));
        Extent::new(block, end.0 - block.0 + 1)
    }

    /// The blocks of `[first, last]` as extents, each of one size; both addresses lie in the same part.
    #[inline]
    pub fn extents(&self, first: usize, last: usize) -> impl Iterator<Item = Extent> + '_ {
        let mut at = first;
        std::iter::from_fn(move || {
            let extent = (at <= last).then(|| self.extent(at, last))?;
            at = self.address(Block(extent.end().0 - 1)) + self.block_bytes(extent.first);
            Some(extent)
        })
    }

    /// The blocks of an extent in one part of the data all of whose bytes are in `[first, last]`, addresses of that part.
    #[inline]
    pub fn whole(&self, extent: Extent, first: usize, last: usize) -> Option<Extent> {
        let bytes = self.block_bytes(extent.first);
        let start = self.address(extent.first);
        let before = first.saturating_sub(start).div_ceil(bytes) as u64;
        let end = ((last + 1).saturating_sub(start) / bytes) as u64;
        let end = end.min(extent.count);
        (before < end).then(|| Extent::new(Block(extent.first.0 + before), end - before))
    }
}
