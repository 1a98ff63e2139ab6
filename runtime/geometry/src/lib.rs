//! Where things are: addresses, blocks and segment offsets. Pure arithmetic, the same in every process.
//!
//! ```text
//! shared data, in block order        addresses
//!   globals  [0, globals_bytes)      .dsm.data and .dsm.bss of the program and its libraries
//!   heap     arenas of rank 0, 1, …  SHARED_BASE …
//!   stacks   of rank 0, 1, …         behind the arenas
//!
//! segment of each process            data | twins | records | headers | marks | twins' pages | signature buffers | control | pool of twins | paging | arrays
//! ```
//! Every part starts on a chunk boundary of the largest blocks, so that a chunk of blocks has one default home and consecutive addresses.
//! Twins, records and marks are laid out for every block size everywhere; what is not touched takes no memory.

mod address;
pub mod blocks;
pub mod globals;
mod layout;
mod regions;
mod segment;
#[cfg(test)]
mod tests;

pub use layout::{Observed, Shape};

use std::ops::Range;

use dsm_abi::layout::PEER_BASE;
use dsm_abi::state::PAGE_SHIFT;
use dsm_coherence::{CHUNK_BLOCKS, MarkKind};

use blocks::BlockMap;
use globals::Globals;

/// Bytes of the records of a chunk: its blocks' links, then lease and version of each.
pub const RECORDS_BYTES: usize = CHUNK_BLOCKS as usize * 24;
/// Bytes for a chunk as a whole: lock of its records, lease, floor, which of its blocks were replaced, are at home, and ask; and space to spare, so
/// that it is a cache line.
const HEADER_BYTES: usize = 64;
/// Bytes of a notice in a signature buffer.
pub const NOTICE_BYTES: usize = 32;
/// Most levels of the bit sets over blocks.
pub const MARK_LEVELS: usize = 8;
/// Words for each 64 pages of a pager.
pub const PAGING_WORDS: usize = 5;
/// Unit of memory, bytes.
pub const PAGE: usize = 1 << PAGE_SHIFT;
/// Bytes of the counts of twins' pages: a cache line.
const TWIN_COUNTS: usize = 64;
/// Bytes of the control area of each segment; laid out by `sync`.
pub const CONTROL_BYTES: usize = 320 << 20;

/// Where everything is: the computed sizes and segment offsets behind the arithmetic. See the module documentation.
#[derive(Debug)]
pub struct Geometry {
    shape: Shape,
    globals: Globals,
    blocks: BlockMap,
    arena_bytes: usize,
    /// Base-two logarithm of it, if it has one.
    arena_shift: Option<u32>,
    /// Bytes of all arenas.
    arenas_bytes: usize,
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
    twin_slots: usize,
    twin_pool: usize,
    twin_pool_links: usize,
    buffers: [usize; 2],
    control: usize,
    writes: usize,
    sites: usize,
    profile: usize,
    clock: usize,
    paging: usize,
    arrays: usize,
    arrays_bytes: usize,
    segment_bytes: usize,
}

impl Geometry {
    /// Number of processes.
    #[inline]
    pub fn processes(&self) -> u32 {
        self.shape.processes
    }

    /// Which part of the data has which block size.
    #[inline]
    pub fn blocks(&self) -> &BlockMap {
        &self.blocks
    }

    /// Base-two logarithm of the line size.
    #[inline]
    pub fn line_shift(&self) -> u32 {
        self.shape.line_shift
    }

    /// Bytes of a segment.
    #[inline]
    pub fn segment_bytes(&self) -> usize {
        self.segment_bytes
    }

    /// First address of the peers' views.
    #[inline]
    pub fn view_base(&self) -> usize {
        PEER_BASE as usize
    }

    /// Addresses that the views of segments lie in.
    #[inline]
    pub fn views(&self) -> Range<usize> {
        self.view_base()..self.view_base() + layout::VIEW_SPACE
    }

    /// The shared globals.
    #[inline]
    pub fn globals(&self) -> &Globals {
        &self.globals
    }

    /// The address ranges of shared data: globals of each image, then the region.
    #[inline]
    pub fn parts(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.globals.ranges().chain(std::iter::once(self.region()))
    }
}
