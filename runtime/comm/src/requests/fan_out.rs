//! Calls to several peers that are under way together: a window to each peer is sent before the replies of any are taken.
//!
//! # No deadlock
//! A thread that has sent a window and takes no reply keeps the threads behind it on that lane from their replies, and the peer's agent from their requests. Two that do so on two lanes
//! in different orders would wait for each other. So threads send windows to several peers one after the other: a thread's windows are, on all lanes, before those of
//! the next, and are sent before anything of the next is. A thread that takes replies then waits, besides for threads that take replies of one lane and wait for nothing else, only for threads before it in
//! that order. All of these have sent their windows, as the next may only then begin to send. A thread that sends waits for such threads, too, and never for one that sends: there is no
//! other. The order is the same on all lanes, so nobody waits in a circle.
//!
//! How much a window may be is a matter of its own lane: see [`super::pipeline`].

use std::mem;
use std::sync::Mutex;

use super::client::{Client, Numbered, lock};
use crate::lost::Lost;

/// The order of the threads that send to several peers.
#[derive(Default)]
pub(super) struct FanOut {
    sending: Mutex<()>,
}

impl FanOut {
    /// Has each peer execute its calls, in their order, and beside the others. For `arrived` see [`Transport::ask_all`](crate::Transport::ask_all). Of peers that are lost it names one, when the others
    /// have executed theirs.
    pub(super) fn ask_all(
        &self,
        mut groups: Vec<(&Client, &mut [Numbered<'_, '_>])>,
        arrived: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<(), Lost> {
        if let [(peer, asks)] = &mut groups[..] {
            return peer.ask_all(asks, arrived);
        }
        let mut result = Ok(());
        while !groups.is_empty() {
            let sending = lock(&self.sending);
            let windows: Vec<_> = groups.iter().map(|(peer, asks)| peer.send_calls(asks)).collect();
            drop(sending);
            for ((peer, asks), window) in groups.iter_mut().zip(windows) {
                let asks_left = mem::take(asks);
                let executed = match window {
                    Some(window) => peer
                        .take_replies(window, asks_left, arrived)
                        .map(|taken| *asks = &mut asks_left[taken..]),
                    // No carrier has lanes of both kinds, so nothing else is under way.
                    None => peer.ask_all(asks_left, arrived),
                };
                result = result.and(executed);
            }
            groups.retain(|(_, asks)| !asks.is_empty());
        }
        result
    }
}
