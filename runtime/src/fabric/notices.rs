//! Write notices in the segments' buffers.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use dsm_coherence::{Block, Extent, Notice, Rank};

use super::ShmFabric;
use crate::memory::geometry::NOTICE_BYTES;

impl ShmFabric {
    /// The words of a notice.
    #[inline]
    pub(super) fn notice_words(&self, at: u32, buffer: u8, index: u32) -> &'static [AtomicU64] {
        let base = self.geometry.buffer_offset(buffer) + index as usize * NOTICE_BYTES;
        self.view(at).words(base, NOTICE_BYTES / 8)
    }

    /// Appends notices of a buffer.
    pub(super) fn get_notices(&self, from: Rank, buffer: u8, start: u32, count: u32, out: &mut Vec<Notice>) {
        for index in start..start + count {
            let words = self.notice_words(from.0, buffer, index);
            let [place, first, blocks, wr_ts] = std::array::from_fn(|i| words[i].load(Ordering::Relaxed));
            out.push(Notice {
                writer: Rank(place as u32),
                extent: Extent::new(Block(first), blocks),
                wr_ts,
                merged: place >> 32 != 0,
            });
        }
        // The state word is read again behind these.
        fence(Ordering::Acquire);
    }

    /// Writes notices to an own buffer.
    pub(super) fn put_notices(&self, buffer: u8, start: u32, notices: &[Notice]) {
        // Whoever still reads the buffer's former contents and sees these finds another sequence number afterwards.
        std::sync::atomic::fence(Ordering::Release);
        for (index, n) in (start..).zip(notices) {
            let words = self.notice_words(self.rank, buffer, index);
            let values = [
                u64::from(n.writer.0) | u64::from(n.merged) << 32,
                n.extent.first.0,
                n.extent.count,
                n.wr_ts,
            ];
            for (word, value) in words.iter().zip(values) {
                word.store(value, Ordering::Relaxed);
            }
        }
        fence(Ordering::Release);
    }
}
