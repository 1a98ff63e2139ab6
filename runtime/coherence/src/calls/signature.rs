//! Reading what a process has published.

use crate::fabric::{Fabric, Word};
use crate::release_token::{is_read, split_state};
use crate::segment::Segment;
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
            let start = if sequence == read { until } else { 0 };
            let buffer = (sequence % 2) as u8;
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
}
