//! Handles of blocks, which hold the addresses of their words, and prefetching of the cache lines that a migration needs.

use std::ops::Range;

use dsm_abi::atomic::{RmwOp, Update};
use dsm_abi::state;
use dsm_coherence::{self as coherence, Block, BlockWord, Extent, MarkKind, Rank};
use dsm_comm::{Mapped, MappedBytes, MappedWord};

use dsm_threads::atomic::is_direct;

use super::SegmentFabric;
use crate::paging::Store;
use crate::protection;

/// A block in a process's segment, which is mapped, with the words of its chunk.
#[derive(Clone, Copy, Debug)]
pub struct BlockHandle {
    pub(super) at: Rank,
    pub(super) block: Block,
    pub(super) segment: Mapped,
    pub(super) header: MappedBytes,
    pub(super) link: MappedBytes,
    /// Lease and version.
    pub(super) stamps: MappedBytes,
    /// Segment offset of the data.
    pub(super) offset: usize,
    pub(super) bytes: usize,
    pub(super) data: MappedBytes,
}

impl BlockHandle {
    #[inline(always)]
    pub(super) fn word(self, word: BlockWord) -> MappedWord {
        let (base, index) = match word {
            BlockWord::Records => (self.header, 0),
            BlockWord::Lease => (self.header, 1),
            BlockWord::ChunkVersion => (self.header, 2),
            BlockWord::Replaced => (self.header, 3),
            BlockWord::Homes => (self.header, 4),
            BlockWord::WriteProtected => (self.header, 5),
            BlockWord::Link => (self.link, 0),
            BlockWord::Rd => (self.stamps, 0),
            BlockWord::Wr => (self.stamps, 1),
        };
        // SAFETY: every segment has the words of all chunks and of their blocks, aligned; they are only accessed atomically.
        unsafe { base.word(8 * index) }
    }
}

/// Bytes of a block that are prefetched.
const PREFETCHED: usize = 256;

impl SegmentFabric {
    /// The words of a block in a process.
    #[inline(always)]
    pub(super) fn handle_of(&self, at: Rank, block: Block) -> BlockHandle {
        self.handle_in(self.mapped(at), at, block, self.place_of(block))
    }

    /// The words of the block that a shared address lies in, in this process, and the offset in the block; `None` of another address.
    #[inline(always)]
    pub fn own_handle_at(&self, address: usize) -> Option<(BlockHandle, usize)> {
        let offset = self.geometry.shared_offset(address)?;
        let (block, start, bytes) = self.geometry.blocks().place_at(offset);
        Some((self.handle_in(self.own.mapped(), Rank(self.rank), block, (start, bytes)), offset - start))
    }

    /// The segment of a process.
    #[inline(always)]
    pub(super) fn mapped(&self, at: Rank) -> Mapped {
        self.segments.mapped(at.0).expect("blocks of processes that have agents have no handles")
    }

    /// Segment offset of a block's data, and how many bytes it has.
    #[inline(always)]
    pub(super) fn place_of(&self, block: Block) -> (usize, usize) {
        let g = self.geometry;
        assert!(block.chunk().0 < g.mark_words(0), "there is no such block");
        let (offset, bytes) = g.blocks().place(block);
        // Numbers have records whether or not they are blocks.
        assert!(offset < g.data_bytes(), "there is no such block");
        (offset, bytes)
    }

    /// The words of a block in a process, whose segment this is; the data are at `offset` in it, and have so many bytes.
    #[inline(always)]
    pub(super) fn handle_in(
        &self,
        segment: Mapped,
        at: Rank,
        block: Block,
        (offset, bytes): (usize, usize),
    ) -> BlockHandle {
        let (g, chunk) = (self.geometry, block.chunk());
        BlockHandle {
            at,
            block,
            segment,
            header: segment.bytes(g.header_offset(chunk)),
            link: segment.bytes(g.link_offset(block)),
            stamps: segment.bytes(g.stamps_offset(block)),
            offset,
            bytes,
            data: segment.bytes(offset),
        }
    }

    /// The word of a chunk's marks in the process.
    #[inline(always)]
    pub(super) fn mark_of(&self, handle: BlockHandle, kind: MarkKind) -> MappedWord {
        let offset = self.geometry.mark_offset(kind, 0, handle.block.chunk().0);
        // SAFETY: every segment has the mark words of all chunks, aligned; they are only accessed atomically.
        unsafe { handle.segment.bytes(offset).word(0) }
    }

    /// Stores to some bytes of the block, aligned to their number.
    #[inline(always)]
    fn change_part<R>(
        &self,
        handle: BlockHandle,
        offset: usize,
        bytes: usize,
        change: impl FnOnce(MappedBytes) -> R,
    ) -> R {
        assert!(offset + bytes <= handle.bytes && is_direct(offset, bytes));
        let part = handle.data.skip(offset);
        if self.geometry.is_paged() {
            let start = handle.offset + offset;
            return self.change_paged(handle.at, start..start + bytes, || change(part));
        }
        change(part)
    }

    /// Stores at these offsets of what is paged. Not inlined: what it keeps meanwhile has to be dropped, which other stores would have to look for.
    #[cold]
    #[inline(never)]
    fn change_paged<R>(&self, at: Rank, offsets: Range<usize>, change: impl FnOnce() -> R) -> R {
        let _store = self.begin_store(at.0, || offsets);
        change()
    }

    /// Applies an operation to some aligned bytes of a block at once; returns what they were.
    #[inline(always)]
    pub(super) fn update_there(
        &self,
        handle: BlockHandle,
        offset: usize,
        bytes: usize,
        update: Update,
    ) -> u64 {
        self.change_part(
            handle,
            offset,
            bytes,
            #[inline(always)]
            // SAFETY: inside a block and aligned, as blocks start being aligned.
            move |place| unsafe {
                if let Update::Rmw { op: RmwOp::Add, operand } = update {
                    // One instruction, which needs the cache line once.
                    return place.fetch_add(bytes, operand as u64);
                }
                place.update(
                    bytes,
                    #[inline(always)]
                    move |old| update.apply_to_word(bytes, old),
                )
            },
        )
    }

    /// Reads some aligned bytes of a block at once.
    #[inline(always)]
    pub(super) fn load_there(&self, handle: BlockHandle, offset: usize, bytes: usize) -> u64 {
        assert!(offset + bytes <= handle.bytes && is_direct(offset, bytes));
        // SAFETY: inside a block and aligned, as blocks start being aligned.
        unsafe { handle.data.skip(offset).load(bytes) }
    }

    /// Stores to a part of a block that the processor's instructions store to as one.
    #[inline(always)]
    pub(super) fn store_there(&self, handle: BlockHandle, offset: usize, bytes: usize, value: u64) {
        self.change_part(
            handle,
            offset,
            bytes,
            #[inline(always)]
            // SAFETY: as in `update_there`.
            move |place| unsafe { place.store(bytes, value) },
        )
    }

    /// The process is about to store to a word of a block, as [`SegmentFabric::begin_store`].
    #[inline(always)]
    pub(super) fn begin_handle_store(&self, handle: BlockHandle, word: BlockWord) -> Option<Store<'_>> {
        let offset = match word {
            BlockWord::Link => coherence::Word::Link,
            BlockWord::Rd => coherence::Word::Rd,
            BlockWord::Wr => coherence::Word::Wr,
            _ => return None,
        };
        self.begin_word_store(handle.at.0, || self.offset(offset(handle.block)))
    }

    /// State of the block.
    #[inline(always)]
    pub(super) fn state_of(&self, handle: BlockHandle) -> u8 {
        if !self.geometry.blocks().is_current(handle.block) {
            return state::COLD;
        }
        self.table.get(self.geometry.address_at(handle.offset))
    }

    /// Sets the state of the block.
    #[inline(always)]
    pub(super) fn set_state_of(&self, handle: BlockHandle, state: u8) {
        if protection::enabled() || self.geometry.blocks().is_changing() {
            return self.set_states(Extent::single(handle.block), state);
        }
        let address = self.geometry.address_at(handle.offset);
        let restricts = state > self.table.get(address);
        self.table.set(address, handle.bytes, state);
        if restricts {
            self.table.count_restriction();
        }
    }

    /// Prefetches the cache lines that the block's migration needs.
    #[inline(always)]
    pub(super) fn prefetch_lines(&self, handle: BlockHandle) {
        handle.word(BlockWord::Records).prefetch::<true>();
        handle.word(BlockWord::Link).prefetch::<true>();
        match handle.at.0 == self.rank {
            true => {
                handle.word(BlockWord::Rd).prefetch::<true>();
                handle.data.prefetch::<true>();
            }
            // Mostly they are only read.
            false => {
                handle.word(BlockWord::Rd).prefetch::<false>();
                handle.data.prefetch::<false>();
            }
        }
    }

    /// The same for a run of blocks, as far as it is worth it.
    #[inline]
    pub(super) fn prefetch_run(&self, from: Rank, extent: Extent) {
        let g = self.geometry;
        let (there, here) = (self.data(from.0, extent.first), self.data(self.rank, extent.first));
        for at in (0..self.bytes(extent).min(PREFETCHED)).step_by(64) {
            there.skip(at).prefetch::<false>();
            here.skip(at).prefetch::<true>();
        }
        for at in [from.0, self.rank] {
            let records = [
                g.header_offset(extent.first.chunk()),
                g.link_offset(extent.first),
                g.stamps_offset(extent.first),
            ];
            records.into_iter().for_each(|offset| self.segments.bytes(at, offset).prefetch::<true>());
        }
    }
}
