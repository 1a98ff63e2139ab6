//! Reading what a process has published.

use crate::Fault;
use crate::fabric::{Fabric, Word};
use crate::release_token::{is_read, split_state};
use crate::segment::Segment;
use crate::signature::carried;
use crate::types::{Notice, Timestamp};

/// What an acquirer asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The state word up to which it has read.
    pub(crate) cursor: u64,
    /// The state word up to which it has to read, if it knows that; else what is published by now.
    pub(crate) state: Option<u64>,
}

impl<F: Fabric> Segment<'_, F> {
    /// Puts what has not been read yet into `fresh`; returns the `min_wr_ts`, and how far that is. None: nothing.
    pub(crate) async fn signature(
        &self,
        request: &Request,
        fresh: &mut Vec<Notice>,
    ) -> Option<(Timestamp, u64)> {
        let (read, until) = split_state(request.cursor);
        let mut state = match request.state {
            Some(state) => state,
            None => self.load(Word::LogState).await,
        };
        let checkpoint = self.fabric.checkpoint();
        loop {
            self.fabric.live_since(checkpoint, || state);
            if is_read(request.cursor, state) {
                return None;
            }
            let (sequence, length) = split_state(state);
            let buffer = (sequence % 2) as u8;
            let start = match sequence.wrapping_sub(read) {
                0 => until,
                1 => self.carried(buffer, until).await.min(length),
                _ => 0,
            };
            fresh.clear();
            self.fabric.read_notices(self.at, buffer, start, length - start, fresh).await;
            let min_wr_ts = self.load(Word::LogMin).await;
            let after = self.load(Word::LogState).await;
            if split_state(after).0 == sequence {
                self.fabric.live_since(checkpoint, || (&*fresh, min_wr_ts, state));
                return Some((min_wr_ts, state));
            }
            state = after;
        }
    }

    /// Place in the published list where a process goes on that has read so many notices of the list before.
    async fn carried(&self, buffer: u8, until: u32) -> u32 {
        let buffer = if self.fabric.fault(Fault::CarriedInPlace) { 0 } else { buffer };
        let length = carried::length(self.load(Word::LogCarried { buffer, word: 0 }).await);
        let until = if self.fabric.fault(Fault::CarriedUnread) { length } else { until };
        match carried::word(length, until) {
            Some(word) => carried::place(self.load(Word::LogCarried { buffer, word }).await),
            None => 0,
        }
    }
}
