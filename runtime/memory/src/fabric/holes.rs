//! Blocks that take no memory: their homes move without anything being copied, and nothing is allocated where they were.
//!
//! A memory file has pages where somebody has stored, or read through a mapping, and holes elsewhere. A store to a hole makes its page before it is done, so a look at
//! the file is a look at the contents: what is a hole had not been stored to by then.

use std::ops::Range;

use dsm_coherence::{Block, Chunk, Extent, Rank};
use dsm_comm::segment::MemoryFile;

use super::SegmentFabric;
use crate::geometry::PAGE;

/// Least bytes whose pages are made together, before they are written.
const LEAST_PREFAULTED: usize = 16 * PAGE;

/// What twins are made zero with.
static ZEROS: [u8; PAGE] = [0; PAGE];

impl SegmentFabric {
    /// The memory file of a segment. With a pager, what is no page may be on disk.
    fn file(&self, at: u32) -> Option<&'static MemoryFile> {
        if self.geometry.is_paged() { None } else { self.files[at as usize].as_ref() }
    }

    fn offsets(&self, extent: Extent) -> Range<usize> {
        let start = self.geometry.data_offset(extent.first);
        start..start + self.bytes(extent)
    }

    /// Of some blocks of a chunk, those that are holes.
    pub(super) fn holes_of(&self, at: Rank, chunk: Chunk, blocks: u64) -> u64 {
        let Some(file) = self.file(at.0) else { return 0 };
        let is_hole = |extent: &Extent| file.is_hole(self.offsets(*extent));
        let holes = |run: Extent| match is_hole(&run) {
            true => run.mask(),
            false if run.count == 1 => 0,
            false => self.by_page(run).filter(is_hole).fold(0, |holes, part| holes | part.mask()),
        };
        chunk.runs(blocks).fold(0, |all, run| all | holes(run))
    }

    /// A run of blocks of one size, cut where pages end, as far as these hold several blocks.
    fn by_page(&self, run: Extent) -> impl Iterator<Item = Extent> {
        let block_bytes = self.geometry.block_bytes(run.first);
        let in_page = (PAGE / block_bytes).max(1) as u64;
        let before = (self.geometry.data_offset(run.first) / block_bytes) as u64 % in_page;
        let mut at = run.first;
        let mut next = Block(run.first.0 + in_page - before);
        std::iter::from_fn(move || {
            (at < run.end()).then(|| {
                let part = Extent::new(at, next.min(run.end()).0 - at.0);
                (at, next) = (part.end(), Block(next.0 + in_page));
                part
            })
        })
    }

    /// Leaves twins of zeros at a process. The records of the chunk are locked there.
    pub(super) fn leave_zero_twin(&self, to: Rank, extent: Extent) {
        if self.twins.are_holes(to.0, extent) {
            return;
        }
        self.twins.begin(to.0, extent);
        for piece in self.twins.pieces(to.0, extent) {
            for at in (0..piece.bytes).step_by(PAGE) {
                let twin = self.segments.bytes(to.0, piece.twin + at);
                // SAFETY: the twins have so many bytes; their owner does not use them while the records are locked.
                unsafe { twin.write(ZEROS.as_ptr(), PAGE.min(piece.bytes - at)) }
            }
        }
    }

    /// Makes own blocks zero.
    pub(super) fn make_zero(&self, extent: Extent) {
        let is_zero = self.file(self.rank).is_some_and(|file| file.is_hole(self.offsets(extent)));
        if !is_zero {
            // SAFETY: the blocks are mapped; no thread of this process uses what is not valid here.
            unsafe { self.own_data(extent.first).write_bytes(0, self.bytes(extent)) }
        }
    }

    /// Has the system make the pages of own blocks that are about to be written, if there are many and all of them are holes: a page fault for each would take longer.
    pub(super) fn prefault(&self, extent: Extent) {
        let bytes = self.bytes(extent);
        let is_hole = || self.file(self.rank).is_some_and(|file| file.is_hole(self.offsets(extent)));
        if bytes >= LEAST_PREFAULTED && is_hole() {
            // SAFETY: the blocks are mapped, and their contents stay. Where it fails, as in systems before Linux 5.14, pages come one by one.
            unsafe { libc::madvise(self.own_data(extent.first).cast(), bytes, libc::MADV_POPULATE_WRITE) };
        }
    }

    /// Whether an own block and its twin are holes, so that the two do not differ. If not, the twin counts as used from now on.
    pub(super) fn is_untouched(&self, extent: Extent) -> bool {
        if !self.twins.are_holes(self.rank, extent) {
            return false;
        }
        let is_hole = self.file(self.rank).is_some_and(|file| file.is_hole(self.offsets(extent)));
        if !is_hole {
            self.twins.change(self.rank, extent);
        }
        is_hole
    }
}
