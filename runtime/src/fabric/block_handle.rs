//! Single blocks whose words are found once, and cache lines that are brought near before they are asked for.

use dsm_abi::state;
use dsm_coherence::{Block, Extent, Near, Rank};
use dsm_comm::{Bytes, Word};

use super::SegmentFabric;
use crate::pages;

/// A block in a process's segment, with the words of its chunk.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub(super) at: Rank,
    pub(super) block: Block,
    pub(super) header: Bytes,
    pub(super) link: Word,
    /// Lease and version.
    pub(super) stamps: Bytes,
    /// Segment offset of the data.
    pub(super) offset: usize,
    pub(super) bytes: usize,
    pub(super) data: Bytes,
}

impl Place {
    #[inline(always)]
    pub(super) fn word(self, word: Near) -> Word {
        let (base, index) = match word {
            Near::Records => (self.header, 0),
            Near::Lease => (self.header, 1),
            Near::Floor => (self.header, 2),
            Near::Replaced => (self.header, 3),
            Near::Homes => (self.header, 4),
            Near::Asking => (self.header, 5),
            Near::Link => return self.link,
            Near::Rd => (self.stamps, 0),
            Near::Wr => (self.stamps, 1),
        };
        // SAFETY: every segment has the words of all chunks and of their blocks, aligned; they are only accessed atomically.
        unsafe { base.word(8 * index) }
    }
}

/// Bytes of a block that are brought nearer before it is asked for.
const PREFETCHED: usize = 256;

impl SegmentFabric {
    /// The words of a block in a process.
    #[inline(always)]
    pub(super) fn place_of(&self, at: Rank, block: Block) -> Place {
        let g = self.geometry;
        let chunk = block.chunk();
        assert!(chunk.0 < g.mark_words(0), "there is no such block");
        let offset = g.data_offset(block);
        let bytes = |offset| self.segments.bytes(at.0, offset);
        Place {
            at,
            block,
            header: bytes(g.header_offset(chunk)),
            link: self.segments.word(at.0, g.link_offset(block)),
            stamps: bytes(g.stamps_offset(block)),
            offset,
            bytes: g.block_bytes(block),
            data: bytes(offset),
        }
    }

    /// State of the block.
    #[inline(always)]
    pub(super) fn state_of(&self, place: Place) -> u8 {
        if !self.geometry.blocks().is_current(place.block) {
            return state::COLD;
        }
        self.table.get(self.geometry.address_at(place.offset))
    }

    /// Sets the state of the block.
    #[inline(always)]
    pub(super) fn set_state_of(&self, place: Place, state: u8) {
        match pages::enabled() {
            true => self.set_states(Extent::single(place.block), state),
            false => self.table.set(self.geometry.address_at(place.offset), place.bytes, state),
        }
    }

    /// Asks for the cache lines that the block needs when it moves.
    #[inline(always)]
    pub(super) fn bring_near(&self, place: Place) {
        place.word(Near::Records).prefetch::<true>();
        place.word(Near::Link).prefetch::<true>();
        match place.at.0 == self.rank {
            true => {
                place.word(Near::Rd).prefetch::<true>();
                place.data.prefetch::<true>();
            }
            // Mostly they are only read.
            false => {
                place.word(Near::Rd).prefetch::<false>();
                place.data.prefetch::<false>();
            }
        }
    }

    /// The same for a run of blocks, as far as it is worth it.
    #[inline]
    pub(super) fn bring_run(&self, from: Rank, extent: Extent) {
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
