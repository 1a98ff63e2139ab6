//! Single blocks whose words are found once, and cache lines that are brought near before they are asked for.

use std::sync::atomic::AtomicU64;

use dsm_abi::state;
use dsm_coherence::{Block, Extent, Near, Rank};

use super::ShmFabric;
use crate::guard;

/// A block in a process's segment, with the words of its chunk.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub(super) at: Rank,
    pub(super) block: Block,
    pub(super) header: &'static [AtomicU64; HEADER_WORDS],
    pub(super) link: &'static AtomicU64,
    /// Lease and version.
    pub(super) stamps: &'static [AtomicU64; 2],
    /// Segment offset of the data.
    pub(super) offset: usize,
    pub(super) bytes: usize,
    pub(super) data: *mut u8,
}

/// Words of a chunk.
const HEADER_WORDS: usize = 6;

impl Place {
    #[inline(always)]
    pub(super) fn word(self, word: Near) -> &'static AtomicU64 {
        match word {
            Near::Records => &self.header[0],
            Near::Lease => &self.header[1],
            Near::Floor => &self.header[2],
            Near::Replaced => &self.header[3],
            Near::Homes => &self.header[4],
            Near::Asking => &self.header[5],
            Near::Link => self.link,
            Near::Rd => &self.stamps[0],
            Near::Wr => &self.stamps[1],
        }
    }
}

/// Bytes of a block that are brought nearer before it is asked for.
const PREFETCHED: usize = 256;

/// Brings a cache line near, to be stored to if `STORE`.
#[inline]
fn prefetch<const STORE: bool>(address: *const u8) {
    // SAFETY: prefetches access nothing: any address is good.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        if STORE {
            std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
        } else {
            std::arch::asm!("prefetcht0 [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

impl ShmFabric {
    /// The words of a block in a process.
    #[inline(always)]
    pub(super) fn place_of(&self, at: Rank, block: Block) -> Place {
        let (g, view) = (self.geometry, self.view(at.0));
        let chunk = block.chunk();
        assert!(chunk.0 < g.mark_words(0), "there is no such block");
        let offset = g.data_offset(block);
        let words = |offset: usize| view.start().wrapping_add(offset);
        // SAFETY: every segment has the words of all chunks and of their blocks, aligned; it is mapped for good, and they are only accessed atomically.
        let (header, link, stamps) = unsafe {
            (
                &*words(g.header_offset(chunk)).cast(),
                AtomicU64::from_ptr(words(g.link_offset(block)).cast()),
                &*words(g.stamps_offset(block)).cast(),
            )
        };
        Place { at, block, header, link, stamps, offset, bytes: g.block_bytes(block), data: words(offset) }
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
        match guard::enabled() {
            true => self.set_states(Extent::single(place.block), state),
            false => self.table.set(self.geometry.address_at(place.offset), place.bytes, state),
        }
    }

    /// Asks for the cache lines that the block needs when it moves.
    #[inline(always)]
    pub(super) fn bring_near(&self, place: Place) {
        prefetch::<true>(place.word(Near::Records).as_ptr().cast());
        prefetch::<true>(place.word(Near::Link).as_ptr().cast());
        match place.at.0 == self.rank {
            true => {
                prefetch::<true>(place.word(Near::Rd).as_ptr().cast());
                prefetch::<true>(place.data);
            }
            // Mostly they are only read.
            false => {
                prefetch::<false>(place.word(Near::Rd).as_ptr().cast());
                prefetch::<false>(place.data);
            }
        }
    }

    /// The same for a run of blocks, as far as it is worth it.
    #[inline]
    pub(super) fn bring_run(&self, from: Rank, extent: Extent) {
        let g = self.geometry;
        let (there, here) = (self.data(from.0, extent.first), self.data(self.rank, extent.first));
        for at in (0..self.bytes(extent).min(PREFETCHED)).step_by(64) {
            prefetch::<false>(there.wrapping_add(at));
            prefetch::<true>(here.wrapping_add(at));
        }
        for at in [from.0, self.rank] {
            let records = [
                g.header_offset(extent.first.chunk()),
                g.link_offset(extent.first),
                g.stamps_offset(extent.first),
            ];
            let view = self.view(at);
            records.into_iter().for_each(|offset| prefetch::<true>(view.address(offset)));
        }
    }
}
