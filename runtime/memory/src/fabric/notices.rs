//! Write notices in the segments' buffers.

use std::sync::atomic::{Ordering, fence};

use dsm_coherence::{Block, Extent, Notice, Rank};

use super::SegmentFabric;
use crate::geometry::NOTICE_BYTES;

const NOTICE_WORDS: usize = NOTICE_BYTES / 8;

impl SegmentFabric {
    /// Where a notice lies.
    #[inline]
    fn notice_offset(&self, buffer: u8, index: u32) -> usize {
        self.geometry.buffer_offset(buffer) + index as usize * NOTICE_BYTES
    }

    /// Appends notices of a buffer.
    #[inline]
    pub(super) fn get_notices(&self, from: Rank, buffer: u8, start: u32, count: u32, out: &mut Vec<Notice>) {
        let offset = self.notice_offset(buffer, start);
        let take = |_, [place, first, blocks, wr_ts]: [u64; NOTICE_WORDS]| {
            out.push(Notice {
                writer: Rank(place as u32),
                extent: Extent::new(Block(first), blocks),
                wr_ts,
                merged: place >> 32 != 0,
            });
        };
        self.segments.load_groups(from.0, offset, count as usize, take);
        // The state word is read again behind these.
        fence(Ordering::Acquire);
    }

    /// Writes notices to an own buffer.
    #[inline]
    pub(super) fn put_notices(&self, buffer: u8, start: u32, notices: &[Notice]) {
        // Whoever still reads the buffer's former contents and sees these finds another sequence number afterwards.
        fence(Ordering::Release);
        for (index, n) in (start..).zip(notices) {
            let values = [
                u64::from(n.writer.0) | u64::from(n.merged) << 32,
                n.extent.first.0,
                n.extent.count,
                n.wr_ts,
            ];
            self.segments.write_words(self.rank, self.notice_offset(buffer, index), &values);
        }
        fence(Ordering::Release);
    }
}
