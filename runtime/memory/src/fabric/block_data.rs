//! Blocks' contents: twins, comparing and merging.

use std::ops::Range;

use dsm_abi::atomic::Update;
use dsm_abi::state;
use dsm_coherence::{Block, Extent, Fabric, GROUP, GroupChange, Rank, bytes_in_part};
use dsm_comm::copy::copy;
use dsm_comm::diff;

use super::SegmentFabric;
use crate::paging::Store;
use crate::twins::Piece;
use crate::{profile, race};

impl SegmentFabric {
    /// The process is about to store to a segment, maybe another process's, at these offsets of what is paged, and does so until what this returns is dropped.
    #[inline(always)]
    pub(super) fn begin_store(&self, at: u32, offsets: impl FnOnce() -> Range<usize>) -> Option<Store<'_>> {
        match self.geometry.is_paged() && at != self.rank {
            true => Store::begin(&self.segments, self.geometry, at, offsets()),
            false => None,
        }
    }

    /// Of some bytes from the start of a block on.
    #[inline(always)]
    fn begin_data_store(&self, at: Rank, first: Block, bytes: Range<usize>) -> Option<Store<'_>> {
        self.begin_store(at.0, || {
            let start = self.geometry.data_offset(first);
            start + bytes.start..start + bytes.end
        })
    }

    /// Copies blocks to their twins.
    #[inline]
    pub(super) fn copy_to_twin(&self, extent: Extent) {
        self.twins.begin(self.rank, extent);
        let own = self.own_data(extent.first);
        for Piece { start, twin, bytes } in self.twins.pieces(self.rank, extent) {
            // SAFETY: data and twin are different parts of the own segment, mapped for the length of a piece.
            unsafe { copy(own.add(start), self.own.address(twin), bytes) }
        }
        if race::is_on() {
            extent
                .blocks()
                .for_each(|block| race::intervals::open(&self.segments, self.geometry, self.rank, block));
        }
    }

    /// Writes twins at a process, whose home somebody takes.
    #[inline(always)]
    pub(super) fn leave_twin(&self, to: u32, extent: Extent, contents: &[u8]) {
        self.twins.begin(to, extent);
        let _store = self.begin_store(to, || {
            let start = self.geometry.twin_offset(extent.first);
            start..start + contents.len()
        });
        for Piece { start, twin, bytes } in self.twins.pieces(to, extent) {
            let part = &contents[start..start + bytes];
            // SAFETY: the twins have the length of `contents`; their owner does not use them while the links are pending.
            unsafe { self.segments.bytes(to, twin).write(part.as_ptr(), bytes) }
        }
    }

    /// Which blocks differ from their twins.
    pub(super) fn different(&self, extent: Extent) -> u64 {
        let bytes = self.geometry.block_bytes(extent.first);
        let (own, fixed) = (self.own_data(extent.first), self.own_twin(extent.first));
        let may_be_holes = !self.twins.are_present(self.rank, extent);
        let in_place = !self.twins.may_pool(extent) && !profile::is_on();
        let differs = |block: Block| {
            if may_be_holes && self.is_untouched(Extent::single(block)) {
                return false;
            }
            let before = (block.0 - extent.first.0) as usize * bytes;
            // SAFETY: the block is one of the extent's.
            let own = unsafe { own.add(before) };
            match in_place {
                // SAFETY: block and twin are mapped and aligned to their size.
                true => unsafe { !diff::equal(own, fixed.add(before), bytes) },
                false => self.differs_from_twin(block, own),
            }
        };
        extent.blocks().filter(|block| differs(*block)).fold(0, |mask, block| mask | block.bit())
    }

    /// Whether a block, whose data are at `own`, differs from its twin.
    #[inline]
    fn differs_from_twin(&self, block: Block, own: *const u8) -> bool {
        let mut pieces = self.twins.pieces(self.rank, Extent::single(block));
        // SAFETY: block and twin are mapped for the length of a piece, and aligned to it.
        let same = pieces.all(|Piece { start, twin, bytes }| unsafe {
            diff::equal(own.add(start), self.own.address(twin), bytes)
        });
        if !same && profile::is_on() {
            self.note_changes(block, own);
        }
        !same
    }

    /// Whether aligned bytes of a block differ from those of its twin.
    pub(super) fn part_differs(&self, block: Block, offset: usize, bytes: usize) -> bool {
        let twin = self.twins.offset(self.rank, block, offset);
        // SAFETY: the part is inside a page of the twin, which is used by who holds the chunk.
        let twin = unsafe { self.segments.bytes(self.rank, twin).load(bytes) };
        self.load_part(Rank(self.rank), block, offset, bytes) != twin
    }

    /// Tells the profile what differs from the twin, which it wants in one piece.
    #[cold]
    fn note_changes(&self, block: Block, own: *const u8) {
        let mut whole = vec![0u64; self.geometry.block_bytes(block) / size_of::<u64>()];
        let whole = whole.as_mut_ptr().cast::<u8>();
        for Piece { start, twin, bytes } in self.twins.pieces(self.rank, Extent::single(block)) {
            // SAFETY: the twin is mapped for the length of a piece, and the copy is private and as long as the block.
            unsafe { copy(self.own.address(twin), whole.add(start), bytes) }
        }
        let (address, bytes) = (self.geometry.address(block), self.geometry.block_bytes(block));
        // SAFETY: block and copy have so many bytes.
        unsafe { profile::changed(address, bytes, own, whole) };
    }

    /// Merges what another process had into own contents: where own bytes equal the twin.
    pub(super) fn merge_in(&self, extent: Extent, incoming: &[u8], from: Rank) {
        assert_eq!(incoming.len(), self.bytes(extent));
        if race::is_on() {
            let bytes = self.geometry.block_bytes(extent.first);
            for (block, part) in extent.blocks().zip(incoming.chunks_exact(bytes)) {
                race::check_merge(&self.segments, self.geometry, block, part, (self.rank, from.0));
            }
        }
        self.twins.change(self.rank, extent);
        let own = self.own_data(extent.first);
        for Piece { start, twin, bytes } in self.twins.pieces(self.rank, extent) {
            // SAFETY: blocks and twins are mapped and aligned for the length of a piece, `incoming` is private; the twins are used by who holds the chunk.
            unsafe { diff::merge(own.add(start), self.own.address(twin), &incoming[start..start + bytes]) }
        }
    }

    /// Writes what was changed in own contents since the twins into a peer's.
    pub(super) fn send_changes(&self, to: Rank, extent: Extent) {
        let bytes = self.bytes(extent);
        let (own, there) = (self.own_data(extent.first), self.data(to.0, extent.first));
        let _store = self.begin_data_store(to, extent.first, 0..bytes);
        for Piece { start, twin, bytes } in self.twins.pieces(self.rank, extent) {
            // SAFETY: blocks here and there and twins are mapped and aligned for the length of a piece; the twins are used by who holds the chunk.
            unsafe { there.skip(start).send_diff(own.add(start), self.own.address(twin), bytes) }
        }
    }

    /// Hands on what was changed in own contents since the twin.
    pub(super) fn each_change(&self, block: Block, mut with: impl FnMut(usize, &[u8])) {
        let own = self.own_data(block);
        for Piece { start, twin, bytes } in self.twins.pieces(self.rank, Extent::single(block)) {
            let with = |at, changed: &[u8]| with(start + at, changed);
            // SAFETY: block and twin are mapped and aligned for the length of a piece; the twin is used by who holds the chunk.
            unsafe { diff::each(own.add(start), self.own.address(twin), bytes, with) }
        }
    }

    /// The same in groups.
    pub(super) fn each_changed_group(&self, block: Block, mut with: impl FnMut(&GroupChange<'_>)) {
        let own = self.own_data(block);
        for Piece { start, twin, bytes } in self.twins.pieces(self.rank, Extent::single(block)) {
            let with = |at, changed, new: &_, old: &_| {
                let (new, bytes) = diff::pack(new, changed);
                let (old, old_bytes) = diff::pack(old, bytes_in_part(changed));
                let (new, old) = (&new[..bytes], &old[..old_bytes]);
                with(&GroupChange { offset: start + at, changed, new, old });
            };
            // SAFETY: as above.
            unsafe { diff::each_group(own.add(start), self.own.address(twin), bytes, with) }
        }
    }

    /// Writes those bytes of a group of an own block, or of its twin, that were changed; in the block, but for halves of words that race.
    pub(super) fn put_group(&self, block: Block, twin: bool, change: &GroupChange<'_>) {
        let GroupChange { offset, changed, new, old } = *change;
        assert!(offset.is_multiple_of(GROUP) && offset + GROUP <= self.geometry.block_bytes(block));
        let (place, in_part, old) = match twin {
            true => (self.own.address(self.twins.offset(self.rank, block, offset)), 0, &[][..]),
            // SAFETY: inside the block by the assertion.
            false => (unsafe { self.own_data(block).add(offset) }, bytes_in_part(changed), old),
        };
        // SAFETY: the group is inside the block, or inside the twin, which is used by who holds the chunk, by the assertion.
        unsafe { diff::patch_group(place, changed, new, in_part, old) }
    }

    /// Writes some bytes of an own block.
    pub(super) fn put_bytes(&self, block: Block, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.geometry.block_bytes(block));
        // SAFETY: inside the block by the assertion.
        unsafe { diff::patch(self.own_data(block).add(offset), bytes) }
    }

    /// Writes some bytes of an own twin.
    pub(super) fn put_twin_bytes(&self, block: Block, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.geometry.block_bytes(block));
        let end = offset + bytes.len();
        self.twins.change(self.rank, Extent::single(block));
        for piece in self.twins.pieces(self.rank, Extent::single(block)) {
            let (from, to) = (offset.max(piece.start), end.min(piece.start + piece.bytes));
            if from < to {
                let part = &bytes[from - offset..to - offset];
                let twin = self.own.address(piece.twin + from - piece.start);
                // SAFETY: inside the twin by the assertion, which is used by who holds the chunk; `part` is private.
                unsafe { copy(part.as_ptr(), twin, part.len()) }
            }
        }
    }

    /// Puts other contents in place.
    pub(super) fn replace_by(&self, extent: Extent, contents: &[u8]) {
        assert_eq!(contents.len(), self.bytes(extent));
        self.prefault(extent);
        // SAFETY: the blocks are mapped and have the length of `contents`, which is private.
        unsafe { copy(contents.as_ptr(), self.own_data(extent.first), contents.len()) }
        if race::is_on() {
            // SAFETY: so are their twins.
            unsafe { copy(contents.as_ptr(), self.own_twin(extent.first), contents.len()) }
        }
    }

    /// The blocks are published: what was stored to them is complete, for who looks for races.
    #[inline(always)]
    pub(super) fn close_intervals(&self, extent: Extent) {
        if race::is_on() {
            self.close_each(extent);
        }
    }

    #[cold]
    fn close_each(&self, extent: Extent) {
        for block in extent.blocks() {
            let ended = self.state(block) != state::WRITABLE;
            race::intervals::close(&self.segments, self.geometry, self.rank, block, ended);
        }
    }

    /// Reads some aligned bytes of a block at once.
    #[inline]
    pub(super) fn load_part(&self, at: Rank, block: Block, offset: usize, bytes: usize) -> u64 {
        assert!(offset + bytes <= self.geometry.block_bytes(block) && offset.is_multiple_of(bytes));
        // SAFETY: inside a block and aligned by the assertion, block starts being aligned.
        unsafe { self.data(at.0, block).skip(offset).load(bytes) }
    }

    /// Applies an operation to some aligned bytes of a block at once; returns what they were.
    #[inline(always)]
    pub(super) fn update_part(
        &self,
        at: Rank,
        block: Block,
        (offset, bytes): (usize, usize),
        update: Update,
    ) -> u64 {
        if self.segments.is_mapped(at.0) {
            return self.update_there(self.handle_of(at, block), offset, bytes, update);
        }
        assert!(offset + bytes <= self.geometry.block_bytes(block) && offset.is_multiple_of(bytes));
        let _store = self.begin_data_store(at, block, offset..offset + bytes);
        let place = self.data(at.0, block).skip(offset);
        // SAFETY: inside a block and aligned by the assertion, block starts being aligned.
        unsafe { place.update(bytes, |old| update.apply_to_word(bytes, old)) }
    }

    /// Stores to a part of a block that the processor's instructions store to as one.
    #[inline(always)]
    pub(super) fn store_part(&self, at: Rank, block: Block, (offset, bytes): (usize, usize), value: u64) {
        if self.segments.is_mapped(at.0) {
            return self.store_there(self.handle_of(at, block), offset, bytes, value);
        }
        assert!(offset + bytes <= self.geometry.block_bytes(block) && offset.is_multiple_of(bytes));
        let _store = self.begin_data_store(at, block, offset..offset + bytes);
        let place = self.data(at.0, block).skip(offset);
        // SAFETY: as in `update_part`.
        unsafe { place.store(bytes, value) }
    }
}
