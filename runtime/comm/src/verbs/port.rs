//! The agent's ends of the lanes. All report to one completion queue, which only the agent uses. What comes is received by two queues that all peers share: one
//! for requests, with a fixed number of buffers at most, and one for short messages, with a buffer for each credit.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::adapter::{Completion, CompletionQueue, Event, SharedReceiveQueue};
use super::ends::{CREDITS_PER_MESSAGE, LAST_MESSAGES};
use super::queue_pair::QueuePair;
use crate::memory::Memory;
use crate::pause::Pause;
use crate::poll::poll;
use crate::requests::carrier::{LaneKind, Port};
use crate::stream;

/// Numbers of receives of short messages begin here, and those of requests with 0.
pub(super) const FIRST_SHORT: u32 = 1 << 20;

/// A peer's connections to the agent.
pub(super) struct FarEnd {
    /// They end with it: nothing is sent on them.
    pub(super) sockets: [Arc<OwnedFd>; 2],
    /// For requests and replies.
    pub(super) requests: QueuePair,
    /// For short messages, and the credits for them.
    pub(super) shorts: QueuePair,
    /// Where replies are put together.
    pub(super) reply: Range<usize>,
}

/// The two shared queues.
pub(super) struct Shared {
    pub(super) requests: SharedReceiveQueue,
    pub(super) shorts: SharedReceiveQueue,
}

impl Shared {
    fn of(&self, id: u32) -> &SharedReceiveQueue {
        if id < FIRST_SHORT { &self.requests } else { &self.shorts }
    }
}

pub(super) struct VerbsPort {
    queue: CompletionQueue,
    memory: Memory,
    shared: Shared,
    peers: Vec<PeerState>,
    lanes: Vec<VerbsLane>,
    /// Peers by the numbers of their queue pairs.
    by_qpn: BTreeMap<u32, usize>,
    /// Lanes on which something has happened.
    events: VecDeque<usize>,
    /// What to sleep on: the completion queue, then the peers.
    polled: Vec<libc::pollfd>,
}

struct PeerState {
    far: FarEnd,
    state: FarState,
    /// Bytes of a reply that is to be sent.
    unsent: Option<usize>,
    /// Short messages that have been consumed and for which no credit was given back.
    consumed: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FarState {
    Alive,
    /// It ended; when what it sent has come.
    Ending(Instant),
    Lost,
}

#[derive(Default)]
struct VerbsLane {
    /// What has come and is not used: which receive, and the part of its message that is left.
    messages: VecDeque<(u32, Range<usize>)>,
    failure: Option<io::Error>,
}

const LANES: usize = LaneKind::ALL.len();
/// Place of the lane for requests among a peer's.
const REQUESTS: usize = 0;

impl PeerState {
    /// Posts the reply, and credits for short messages, as far as there is something to send and the send queue has space.
    fn post_pending(&mut self) -> io::Result<()> {
        let FarEnd { requests, shorts, reply, .. } = &mut self.far;
        if let Some(bytes) = self.unsent
            && requests.send(&(reply.start..reply.start + bytes), 0)?
        {
            self.unsent = None;
        }
        if self.consumed >= CREDITS_PER_MESSAGE && shorts.send(&(0..0), CREDITS_PER_MESSAGE as u32)? {
            self.consumed -= CREDITS_PER_MESSAGE;
        }
        Ok(())
    }
}

impl VerbsPort {
    /// `peers` are in the order of their ranks.
    pub(super) fn new(
        queue: CompletionQueue,
        memory: Memory,
        shared: Shared,
        peers: Vec<FarEnd>,
    ) -> VerbsPort {
        let wait = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut polled = vec![wait(queue.descriptor())];
        polled.extend(peers.iter().map(|peer| wait(peer.sockets[1].as_raw_fd())));
        let numbers =
            peers.iter().enumerate().flat_map(|(i, peer)| [(peer.requests.qpn, i), (peer.shorts.qpn, i)]);
        let by_qpn = numbers.collect();
        let lanes = (0..LANES * peers.len()).map(|_| VerbsLane::default()).collect();
        let state = |far| PeerState { far, state: FarState::Alive, unsent: None, consumed: 0 };
        let peers = peers.into_iter().map(state).collect();
        VerbsPort { queue, memory, shared, peers, lanes, by_qpn, events: VecDeque::new(), polled }
    }

    /// Takes what has ended.
    fn look(&mut self) {
        let VerbsPort { queue, shared, peers, lanes, by_qpn, events, .. } = self;
        let result = queue.poll(|Completion { qpn, event }| {
            let Some(at) = by_qpn.get(&qpn).copied() else { return };
            let peer = &mut peers[at];
            let is_requests = peer.far.requests.qpn == qpn;
            let first = LANES * at;
            match event {
                Event::Received { id, bytes, immediate } => {
                    // What has other immediate data is no message of the lane that it is taken for, and ends that.
                    let kind = if is_requests { REQUESTS } else { (immediate as usize).clamp(1, LANES - 1) };
                    let lane = first + kind;
                    let start = shared.of(id).place(id).start;
                    lanes[lane].messages.push_back((id, start..start + bytes));
                    events.push_back(lane);
                }
                Event::Sent => {
                    if is_requests { &mut peer.far.requests } else { &mut peer.far.shorts }.sent();
                    if let Err(error) = peer.post_pending() {
                        fail(lanes, events, first, &error);
                    }
                }
                // The agent posts none.
                Event::Read(_) => {}
                Event::Failed(error) => fail(lanes, events, first, &error),
            }
        });
        if let Err(error) = result {
            (0..peers.len()).for_each(|at| fail(lanes, events, LANES * at, &error));
        }
    }

    /// Sleeps until something may have ended.
    fn sleep(&mut self, timeout: Option<Duration>) {
        let now = Instant::now();
        let ending = self.peers.iter().filter_map(|peer| match peer.state {
            FarState::Ending(until) => Some(until.saturating_duration_since(now)),
            _ => None,
        });
        poll(&mut self.polled, ending.chain(timeout).min());
    }

    /// Looks at which peers have ended.
    fn look_at_peers(&mut self) {
        let now = Instant::now();
        for (at, (peer, polled)) in self.peers.iter_mut().zip(&mut self.polled[1..]).enumerate() {
            if polled.revents != 0 {
                (polled.fd, polled.revents) = (-1, 0);
                peer.state = FarState::Ending(now + LAST_MESSAGES);
            }
            if matches!(peer.state, FarState::Ending(until) if until <= now) {
                peer.state = FarState::Lost;
                self.events.extend(LANES * at..LANES * (at + 1));
            }
        }
    }
}

/// A connection of a peer is lost, and with it the lanes from `first` on.
fn fail(lanes: &mut [VerbsLane], events: &mut VecDeque<usize>, first: usize, error: &io::Error) {
    for (at, lane) in lanes.iter_mut().enumerate().skip(first).take(LANES) {
        lane.failure = Some(io::Error::other(error.to_string()));
        events.push_back(at);
    }
}

impl Port for VerbsPort {
    fn wait(&mut self, _paused: &[bool], timeout: Option<Duration>, ready: &mut Vec<usize>) {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let mut pause = Pause::new(true);
        loop {
            self.look();
            if !self.events.is_empty() {
                return ready.extend(self.events.drain(..));
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return;
            }
            if !pause.is_over() {
                continue;
            }
            if let Err(error) = self.queue.arm() {
                let VerbsPort { peers, lanes, events, .. } = self;
                (0..peers.len()).for_each(|at| fail(lanes, events, LANES * at, &error));
            }
            // What has ended before the queue was armed does not wake.
            self.look();
            if self.events.is_empty() {
                self.sleep(left);
                self.look_at_peers();
            }
        }
    }

    fn receive(&mut self, lane: usize) -> io::Result<bool> {
        let VerbsLane { messages, failure } = &mut self.lanes[lane];
        match (failure.take(), messages.is_empty(), self.peers[lane / LANES].state) {
            (Some(failure), ..) => Err(failure),
            (None, false, _) => Ok(true),
            (None, true, FarState::Lost) => Err(io::ErrorKind::UnexpectedEof.into()),
            (None, true, _) => Ok(false),
        }
    }

    fn split(&mut self, lane: usize) -> (&[u8], &mut [u8]) {
        let message = self.lanes[lane].messages.front().map_or(0..0, |(_, part)| part.clone());
        let has_reply = lane % LANES == REQUESTS;
        let reply = if has_reply { self.peers[lane / LANES].far.reply.clone() } else { 0..0 };
        // SAFETY: the memory stays mapped. No receive is posted for what has come before it is consumed. The agent writes a reply only after the next request
        // has come, which shows that the peer has all of the reply before. The two do not overlap.
        unsafe {
            (
                std::slice::from_raw_parts(self.memory.place(&message), message.len()),
                std::slice::from_raw_parts_mut(self.memory.place(&reply), reply.len()),
            )
        }
    }

    fn consume(&mut self, lane: usize, bytes: usize) {
        let at = &mut self.lanes[lane];
        let Some((id, part)) = at.messages.front_mut() else { return };
        part.start += bytes;
        if part.start < part.end {
            return;
        }
        let id = *id;
        at.messages.pop_front();
        let peer = &mut self.peers[lane / LANES];
        peer.consumed += usize::from(lane % LANES != REQUESTS);
        if let Err(error) = self.shared.of(id).post(id).and_then(|()| peer.post_pending()) {
            fail(&mut self.lanes, &mut self.events, lane / LANES * LANES, &error);
        }
    }

    fn is_torn(&self, lane: usize) -> bool {
        !self.lanes[lane].messages.is_empty()
    }

    fn reply(&mut self, lane: usize, bytes: usize) {
        self.peers[lane / LANES].unsent = Some(bytes);
    }

    fn send_pending(&mut self, lane: usize) -> io::Result<bool> {
        let peer = &mut self.peers[lane / LANES];
        if lane % LANES != REQUESTS || peer.unsent.is_none() {
            return Ok(true);
        }
        peer.post_pending()?;
        Ok(peer.unsent.is_none())
    }

    fn close(&mut self, lane: usize) {
        // The peer's threads wait for what will not come.
        self.peers[lane / LANES].far.sockets.iter().for_each(|socket| stream::shut_down(socket));
    }
}
