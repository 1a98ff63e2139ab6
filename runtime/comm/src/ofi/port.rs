//! The agent's ends of the lanes, and its endpoint, which only the agent uses.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::endpoint::{Completion, Context, Endpoint, PostError};
use super::shared::{Lives, Shared};
use super::{Known, Parts};
use crate::pause::Pause;
use crate::poll::poll;
use crate::requests::carrier::{LaneKind, Port};
use crate::stream;

/// After a peer has ended: for what it sent before, which comes another way.
const LAST_MESSAGES: Duration = Duration::from_millis(200);
/// How long to wait with an operation that the provider could not take.
const MOMENT: Duration = Duration::from_micros(100);

pub(super) struct FabricPort {
    endpoint: Endpoint,
    shared: Arc<Shared>,
    lives: Arc<Lives>,
    peers: Vec<FarEnd>,
    lanes: Vec<FabricLane>,
    /// Lanes on which something has happened.
    events: VecDeque<usize>,
    /// Lanes with operations that the provider could not take.
    held_up: Vec<usize>,
    /// What to sleep on: the completion queue, then the peers.
    polled: Vec<libc::pollfd>,
}

struct FarEnd {
    rank: u32,
    sockets: [OwnedFd; 2],
    state: FarState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FarState {
    Alive,
    /// It ended; when what it sent has come.
    Ending(Instant),
    Lost,
}

struct FabricLane {
    /// The number of the peer.
    peer: usize,
    /// The peer's shared endpoint.
    to: u64,
    /// The tag of what comes on it.
    tag: u64,
    /// The tag of what goes back: replies, or credits.
    back: u64,
    input: Range<usize>,
    output: Range<usize>,
    /// The part of the message that has come and is not consumed.
    message: Option<Range<usize>>,
    todo: Todo,
    /// A reply that the provider still reads.
    is_sending: bool,
    failure: Option<io::Error>,
    contexts: [&'static Context; 2],
}

const RECEIVE: usize = 0;
const SEND: usize = 1;

/// Operations to be started, in this order.
#[derive(Default)]
struct Todo {
    receive: bool,
    /// Grants the sender a credit: the next message may come.
    credit: bool,
    /// Sends so many bytes.
    reply: Option<usize>,
}

impl Todo {
    fn is_empty(&self) -> bool {
        !self.receive && !self.credit && self.reply.is_none()
    }
}

impl FabricPort {
    pub(super) fn new(
        endpoint: Endpoint,
        shared: Arc<Shared>,
        lives: Arc<Lives>,
        known: Vec<Known>,
    ) -> FabricPort {
        let wait = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut polled = vec![wait(endpoint.wait_descriptor.unwrap_or(-1))];
        let (mut peers, mut lanes) = (Vec::new(), Vec::new());
        for (number, known) in known.into_iter().enumerate() {
            let Parts { request, reply, wait: asked, answer } = Parts::new(number);
            let (own, peer) = (known.own, known.peer);
            for kind in LaneKind::ALL {
                let (tag, back, input, output) = match kind {
                    LaneKind::Requests => (own.request, peer.reply, request.clone(), reply.clone()),
                    LaneKind::Waits => (own.wait, peer.wait_credit, asked.clone(), 0..0),
                    LaneKind::Answers => (own.answer, peer.answer_credit, answer.clone(), 0..0),
                };
                let id = 2 * lanes.len();
                lanes.push(FabricLane {
                    peer: number,
                    to: known.client,
                    tag,
                    back,
                    input,
                    output,
                    message: None,
                    todo: Todo { receive: true, ..Todo::default() },
                    is_sending: false,
                    failure: None,
                    contexts: [RECEIVE, SEND].map(|kind| Context::new(id + kind)),
                });
            }
            let [requests, serves] = known.sockets;
            // The other one says the same at the peer.
            polled.push(wait(serves.as_raw_fd()));
            peers.push(FarEnd { rank: known.rank, sockets: [requests, serves], state: FarState::Alive });
        }
        let held_up = (0..lanes.len()).collect();
        let events = VecDeque::new();
        let mut port = FabricPort { endpoint, shared, lives, peers, lanes, events, held_up, polled };
        port.post_held_up();
        port
    }

    /// Makes progress; whether something has ended.
    fn look(&mut self) -> bool {
        let FabricPort { endpoint, lanes, events, .. } = self;
        endpoint.poll(|Completion { id, result }| {
            let (at, kind) = (id / 2, id % 2);
            let lane = &mut lanes[at];
            match result {
                Ok(bytes) if kind == RECEIVE => lane.message = Some(0..bytes),
                Ok(_) => lane.is_sending = false,
                Err(why) => lane.failure = Some(io::Error::other(why)),
            }
            events.push_back(at);
        })
    }

    /// Posts a lane's pending operations; false if the provider could not take all.
    fn post_pending(&mut self, at: usize) -> io::Result<bool> {
        let FabricPort { endpoint, lanes, .. } = self;
        match lanes[at].post_pending(endpoint) {
            Ok(()) => Ok(true),
            Err(PostError::Failed(why)) => Err(io::Error::other(why)),
            Err(PostError::Full) => {
                if !self.held_up.contains(&at) {
                    self.held_up.push(at);
                }
                Ok(false)
            }
        }
    }

    /// Posts the operations of the lanes that the provider held up.
    fn post_held_up(&mut self) {
        for at in std::mem::take(&mut self.held_up) {
            if let Err(error) = self.post_pending(at) {
                self.lanes[at].failure = Some(error);
                self.events.push_back(at);
            }
        }
    }

    fn sleep(&mut self, nap: Option<Duration>) {
        let now = Instant::now();
        let ending = self.peers.iter().filter_map(|peer| match peer.state {
            FarState::Ending(until) => Some(until.saturating_duration_since(now)),
            _ => None,
        });
        let held_up = (!self.held_up.is_empty()).then_some(MOMENT);
        poll(&mut self.polled, ending.chain(nap).chain(held_up).min());
    }

    /// Looks at which peers have ended.
    fn look_at_peers(&mut self) {
        let now = Instant::now();
        for (number, (peer, polled)) in self.peers.iter_mut().zip(&mut self.polled[1..]).enumerate() {
            if polled.revents != 0 {
                // Nothing is sent on it: whatever comes is its end.
                (polled.fd, polled.revents) = (-1, 0);
                peer.state = FarState::Ending(now + LAST_MESSAGES);
                self.lives.end(peer.rank);
            }
            if matches!(peer.state, FarState::Ending(until) if until <= now) {
                peer.state = FarState::Lost;
                self.shared.lose(peer.rank);
                let first = number * LaneKind::ALL.len();
                self.events.extend(first..first + LaneKind::ALL.len());
            }
        }
    }
}

impl FabricLane {
    fn post_pending(&mut self, endpoint: &mut Endpoint) -> Result<(), PostError> {
        let [receive, send] = self.contexts;
        if self.todo.receive {
            endpoint.receive(&self.input, self.tag, receive)?;
            self.todo.receive = false;
        }
        if self.todo.credit {
            endpoint.inject(&(0..0), self.to, self.back)?;
            self.todo.credit = false;
        }
        if let Some(bytes) = self.todo.reply {
            let message = self.output.start..self.output.start + bytes;
            if bytes <= endpoint.inject_bytes {
                endpoint.inject(&message, self.to, self.back)?;
            } else {
                endpoint.send(&message, self.to, self.back, send)?;
                self.is_sending = true;
            }
            self.todo.reply = None;
        }
        Ok(())
    }
}

impl Port for FabricPort {
    fn wait(&mut self, _paused: &[bool], timeout: Option<Duration>, ready: &mut Vec<usize>) {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let mut pause = Pause::new(self.endpoint.wait_descriptor.is_some());
        loop {
            self.post_held_up();
            let has_found = self.look();
            if !self.events.is_empty() {
                return ready.extend(self.events.drain(..));
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return;
            }
            let has_descriptor = self.endpoint.wait_descriptor.is_some();
            if !has_found && pause.is_over() && (!has_descriptor || self.endpoint.may_sleep()) {
                self.sleep(pause.nap().into_iter().chain(left).min());
                self.look_at_peers();
            }
        }
    }

    fn receive(&mut self, lane: usize) -> io::Result<bool> {
        let FabricLane { message, failure, peer, .. } = &mut self.lanes[lane];
        match (failure.take(), message, self.peers[*peer].state) {
            (Some(failure), ..) => Err(failure),
            (None, Some(_), _) => Ok(true),
            (None, None, FarState::Lost) => Err(io::ErrorKind::UnexpectedEof.into()),
            (None, None, _) => Ok(false),
        }
    }

    fn split(&mut self, lane: usize) -> (&[u8], &mut [u8]) {
        let FabricLane { input, output, message, .. } = &self.lanes[lane];
        let memory = self.endpoint.memory;
        let message = message.clone().unwrap_or(0..0);
        let came = input.start + message.start..input.start + message.end;
        // SAFETY: the memory stays mapped. No receive is posted for what has come before it is consumed, and the agent writes a reply only when the
        // one before has been sent. The two do not overlap.
        unsafe {
            (
                std::slice::from_raw_parts(memory.place(&came), came.len()),
                std::slice::from_raw_parts_mut(memory.place(output), output.len()),
            )
        }
    }

    fn consume(&mut self, lane: usize, bytes: usize) {
        let at = &mut self.lanes[lane];
        if let Some(message) = &mut at.message {
            message.start += bytes;
            if message.start >= message.end {
                at.message = None;
                at.todo.receive = true;
                at.todo.credit = at.output.is_empty();
            }
        }
    }

    fn is_torn(&self, lane: usize) -> bool {
        self.lanes[lane].message.is_some()
    }

    fn reply(&mut self, lane: usize, bytes: usize) {
        self.lanes[lane].todo.reply = Some(bytes);
    }

    fn send_pending(&mut self, lane: usize) -> io::Result<bool> {
        if self.lanes[lane].is_sending {
            return Ok(false);
        }
        if self.lanes[lane].todo.is_empty() { Ok(true) } else { self.post_pending(lane) }
    }

    fn close(&mut self, lane: usize) {
        // The peer's threads wait for what will not come.
        self.peers[self.lanes[lane].peer].sockets.iter().for_each(stream::shut_down);
    }
}
