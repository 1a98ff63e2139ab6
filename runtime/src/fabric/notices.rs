//! Write notices in the segments' buffers.

use std::sync::atomic::{Ordering, fence};

use dsm_coherence::{Block, Extent, Notice, Rank};

use super::ShmFabric;
use crate::memory::geometry::NOTICE_BYTES;

const NOTICE_WORDS: usize = NOTICE_BYTES / 8;

impl ShmFabric {
    /// Where a notice lies.
    #[inline]
    fn notice_offset(&self, buffer: u8, index: u32) -> usize {
        self.geometry.buffer_offset(buffer) + index as usize * NOTICE_BYTES
    }

    /// Appends notices of a buffer.
    pub(super) fn get_notices(&self, from: Rank, buffer: u8, start: u32, count: u32, out: &mut Vec<Notice>) {
        const PIECE: u32 = 32;
        let end = start + count;
        for first in (start..end).step_by(PIECE as usize) {
            let mut words = [0; NOTICE_WORDS * PIECE as usize];
            let words = &mut words[..NOTICE_WORDS * PIECE.min(end - first) as usize];
            self.segments.read_words(from.0, self.notice_offset(buffer, first), words);
            out.extend(words.as_chunks::<NOTICE_WORDS>().0.iter().map(|[place, first, blocks, wr_ts]| {
                Notice {
                    writer: Rank(*place as u32),
                    extent: Extent::new(Block(*first), *blocks),
                    wr_ts: *wr_ts,
                    merged: place >> 32 != 0,
                }
            }));
        }
        // The state word is read again behind these.
        fence(Ordering::Acquire);
    }

    /// Writes notices to an own buffer.
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
