//! Where the words and blocks of the processes lie, and records by extent.

use std::sync::atomic::{AtomicU64, Ordering};

use dsm_coherence::{Block, Extent, Record, Word};
use dsm_comm::shm::View;

use super::ShmFabric;
use crate::memory::geometry::MARK_LEVELS;
use crate::sync::layout;

impl ShmFabric {
    #[inline(always)]
    pub(super) fn word(&self, at: u32, word: Word) -> &'static AtomicU64 {
        self.view(at).word(self.offset(word))
    }

    #[inline(always)]
    pub(super) fn own_word(&self, word: Word) -> &'static AtomicU64 {
        match word {
            Word::Mark { kind, level: 0, index } => &self.marks[kind as usize][index as usize],
            Word::Mark { kind, level, index } => {
                &self.summaries[usize::from(level) % MARK_LEVELS][index as usize][kind as usize]
            }
            _ => self.own.word(self.offset(word)),
        }
    }

    #[inline(always)]
    pub(super) fn view(&self, at: u32) -> View {
        if at == self.rank { self.own } else { self.views.view(at) }
    }

    // Which word is known where it is called: nothing but an addition is left.
    #[inline(always)]
    pub(super) fn offset(&self, word: Word) -> usize {
        let g = self.geometry;
        match word {
            Word::Link(block) => g.link_offset(block),
            Word::Rd(block) => g.stamps_offset(block),
            Word::Wr(block) => g.stamps_offset(block) + 8,
            Word::Records(chunk) => g.header_offset(chunk),
            Word::Lease(chunk) => g.header_offset(chunk) + 8,
            Word::Floor(chunk) => g.header_offset(chunk) + 16,
            Word::Replaced(chunk) => g.header_offset(chunk) + 24,
            Word::Homes(chunk) => g.header_offset(chunk) + 32,
            Word::Asking(chunk) => g.header_offset(chunk) + 40,
            Word::Mark { kind, level, index } => g.mark_offset(kind, level, index),
            Word::Grant => g.control_offset() + layout::GRANT,
            Word::LogState => g.control_offset() + layout::LOG_STATE,
            Word::Cursor(peer) => g.control_offset() + layout::CURSORS + 8 * peer.0 as usize,
            Word::LogMin(buffer) => g.control_offset() + layout::LOG_MIN + 8 * buffer as usize,
        }
    }

    #[inline(always)]
    pub(super) fn data(&self, at: u32, block: Block) -> *mut u8 {
        self.view(at).address(self.geometry.data_offset(block))
    }

    #[inline]
    pub(super) fn twin(&self, at: u32, block: Block) -> *mut u8 {
        self.views.address(at, self.geometry.twin_offset(block))
    }

    #[inline]
    pub(super) fn bytes(&self, extent: Extent) -> usize {
        extent.count as usize * self.geometry.block_bytes(extent.first)
    }

    /// The links of an extent in one chunk.
    #[inline(always)]
    pub(super) fn links(&self, at: u32, extent: Extent) -> &'static [AtomicU64] {
        self.view(at).words(self.geometry.link_offset(extent.first), extent.count as usize)
    }

    /// Leases and versions of an extent in one chunk.
    #[inline(always)]
    pub(super) fn stamps(&self, at: u32, extent: Extent) -> &'static [AtomicU64] {
        self.view(at).words(self.geometry.stamps_offset(extent.first), 2 * extent.count as usize)
    }

    #[inline(always)]
    pub(super) fn get_links(&self, at: u32, extent: Extent, into: &mut [Record]) {
        for (record, link) in into.iter_mut().zip(self.links(at, extent)) {
            record.link = link.load(Ordering::Acquire);
        }
    }

    #[inline(always)]
    pub(super) fn get_records(&self, at: u32, extent: Extent, into: &mut [Record]) {
        self.get_links(at, extent, into);
        for (record, stamps) in into.iter_mut().zip(self.stamps(at, extent).chunks_exact(2)) {
            record.rd_ts = stamps[0].load(Ordering::Acquire);
            record.wr_ts = stamps[1].load(Ordering::Acquire);
        }
    }

    #[inline(always)]
    pub(super) fn put_stamps(&self, at: u32, extent: Extent, stamps: &[Record]) {
        for (words, record) in self.stamps(at, extent).chunks_exact(2).zip(stamps) {
            words[0].store(record.rd_ts, Ordering::Release);
            words[1].store(record.wr_ts, Ordering::Release);
        }
    }

    #[inline(always)]
    pub(super) fn put_links(&self, at: u32, extent: Extent, value: u64) {
        for link in self.links(at, extent) {
            link.store(value, Ordering::Release);
        }
    }
}
