//! The requesters' ends of the lanes. Each has a queue pair and a completion queue of its own: the thread that uses a lane polls them itself, and sleeps on their
//! descriptor.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::adapter::{Adapter, Completion, CompletionQueue, Event};
use super::queue_pair::{QueuePair, SENDS};
use crate::memory::Memory;
use crate::pause::Pause;
use crate::poll::poll;
use crate::requests::carrier::{LaneKind, REPLY_BYTES, Requester, Sender};
use crate::stream;
use crate::uncancelled::Uncancelled;

/// After a peer has ended: for what it sent before, which comes another way.
pub(super) const LAST_MESSAGES: Duration = Duration::from_millis(200);
/// How often an end looks whether the peer has ended while nothing else would tell it.
const LIVENESS_INTERVAL: Duration = Duration::from_millis(10);
/// Place of a short message.
pub(super) const SHORT: usize = 64;
/// Short messages that may be sent before the peer's agent has given credits back.
pub(super) const CREDITS: usize = 8;
/// Credits that the agent gives back at a time.
pub(super) const CREDITS_PER_MESSAGE: usize = CREDITS / 2;
/// Messages with credits that may be under way.
pub(super) const CREDIT_MESSAGES: usize = CREDITS / CREDITS_PER_MESSAGE;

/// What has come, or the last of what has been read.
pub(super) struct Arrival {
    pub(super) id: u32,
    bytes: usize,
    immediate: u32,
}

/// A queue pair with its completion queue.
pub(super) struct End {
    queue: CompletionQueue,
    pub(super) pair: QueuePair,
    /// It ends with the peer.
    socket: Arc<OwnedFd>,
    arrived: VecDeque<Arrival>,
    /// When the socket was last looked at by [`End::expect_peer`].
    looked: Option<Instant>,
}

pub(super) fn closed() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

fn readable(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

impl End {
    pub(super) fn new(queue: CompletionQueue, pair: QueuePair, socket: &Arc<OwnedFd>) -> End {
        let arrived = VecDeque::with_capacity(CREDIT_MESSAGES);
        End { queue, pair, socket: Arc::clone(socket), arrived, looked: None }
    }

    /// An error if the peer has ended, which is noticed within [`LIVENESS_INTERVAL`]. An adapter goes on to read the memory of a peer whose agent has ended and whose
    /// process has not, so READs that succeed do not show that the peer is there.
    pub(super) fn expect_peer(&mut self) -> io::Result<()> {
        let now = Instant::now();
        if self.looked.is_some_and(|looked| now.duration_since(looked) < LIVENESS_INTERVAL) {
            return Ok(());
        }
        self.looked = Some(now);
        let mut polled = [readable(self.socket.as_raw_fd())];
        poll(&mut polled, Some(Duration::ZERO));
        if polled[0].revents == 0 { Ok(()) } else { Err(closed()) }
    }

    /// Takes what has ended; whether there was something.
    fn look(&mut self) -> io::Result<bool> {
        let End { queue, pair, arrived, .. } = self;
        let mut failure = None;
        let has_found = queue.poll(|Completion { event, .. }| match event {
            Event::Sent => pair.sent(),
            Event::Received { id, bytes, immediate } => arrived.push_back(Arrival { id, bytes, immediate }),
            Event::Read(id) => arrived.push_back(Arrival { id, bytes: 0, immediate: 0 }),
            Event::Failed(error) => failure = failure.take().or(Some(error)),
        })?;
        failure.map_or(Ok(has_found), Err)
    }

    /// Waits until something has ended. When the peer has, there is no use in waiting.
    fn wait(&mut self) -> io::Result<()> {
        let mut pause = Pause::new(true);
        let mut end: Option<Instant> = None;
        loop {
            if self.look()? {
                return Ok(());
            }
            if !pause.is_over() {
                continue;
            }
            self.queue.arm()?;
            // What has ended before it was armed does not wake.
            if self.look()? {
                return Ok(());
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(closed());
            }
            // Nothing is sent on the socket: whatever comes is its end.
            let socket = if end.is_none() { self.socket.as_raw_fd() } else { -1 };
            let mut polled = [readable(self.queue.descriptor()), readable(socket)];
            poll(&mut polled, left);
            if polled[1].revents != 0 {
                end = Some(Instant::now() + LAST_MESSAGES);
            }
        }
    }

    /// Waits for a message, or what has been read.
    pub(super) fn next(&mut self) -> io::Result<Arrival> {
        loop {
            match self.arrived.pop_front() {
                Some(arrival) => return Ok(arrival),
                None => self.wait()?,
            }
        }
    }

    /// Sends a part of the memory once there is space for another send.
    fn send(&mut self, part: &Range<usize>, immediate: u32) -> io::Result<()> {
        while !self.pair.send(part, immediate)? {
            self.wait()?;
        }
        Ok(())
    }
}

/// The requester's end of a lane for requests.
pub(super) struct VerbsRequester {
    end: End,
    memory: Memory,
    request: Range<usize>,
    reply: Range<usize>,
    /// Bytes of the reply.
    received: usize,
}

impl VerbsRequester {
    pub(super) fn new(
        end: End,
        memory: Memory,
        request: Range<usize>,
        reply: Range<usize>,
    ) -> VerbsRequester {
        VerbsRequester { end, memory, request, reply, received: 0 }
    }

    /// The bytes of the reply behind its beginning.
    fn rest(&self, bytes: usize) -> io::Result<&[u8]> {
        if self.received != REPLY_BYTES + bytes {
            return Err(self.malformed());
        }
        let start = self.memory.place(&self.reply).wrapping_add(REPLY_BYTES);
        // SAFETY: the memory stays mapped, and no receive is posted for it between exchanges.
        Ok(unsafe { std::slice::from_raw_parts(start, bytes) })
    }

    fn malformed(&self) -> io::Error {
        io::Error::other(format!("a reply of {} bytes", self.received))
    }
}

impl Requester for VerbsRequester {
    fn request(&mut self) -> &mut [u8] {
        // SAFETY: the memory stays mapped; it is this lane's. The peer had the whole request before when it replied, so the adapter may read it again
        // for a packet whose acknowledgement is lost, but what it reads does not count any more.
        unsafe { std::slice::from_raw_parts_mut(self.memory.place(&self.request), self.request.len()) }
    }

    fn exchange(&mut self, bytes: usize) -> io::Result<[u8; REPLY_BYTES]> {
        let _whole = Uncancelled::begin();
        self.end.pair.receive(&self.reply, 0)?;
        self.end.send(&(self.request.start..self.request.start + bytes), 0)?;
        self.received = self.end.next()?.bytes;
        if self.received < REPLY_BYTES {
            return Err(self.malformed());
        }
        // SAFETY: as in `rest`.
        Ok(unsafe { self.memory.place(&self.reply).cast::<[u8; REPLY_BYTES]>().read() })
    }

    fn payload(&mut self, bytes: usize) -> io::Result<&[u8]> {
        self.rest(bytes)
    }

    fn payload_into(&mut self, into: &mut [u8]) -> io::Result<()> {
        into.copy_from_slice(self.rest(into.len())?);
        Ok(())
    }

    fn wait_end(&mut self) {
        // Nothing else comes.
        _ = stream::receive(&self.end.socket, &mut [0]);
    }
}

/// The sending end of both lanes for short messages to a peer. Each message takes a credit; the peer's agent gives credits back as it consumes messages, by the
/// immediate data of empty ones.
pub(super) struct ShortEnd {
    end: End,
    memory: Memory,
    /// A place for each send.
    places: Range<usize>,
    next: usize,
    /// Messages that may be sent.
    credits: usize,
}

impl ShortEnd {
    /// With receives for messages with credits.
    pub(super) fn new(end: End, adapter: &Adapter, places: Range<usize>) -> io::Result<ShortEnd> {
        let short = ShortEnd { end, memory: adapter.memory, places, next: 0, credits: CREDITS };
        (0..CREDIT_MESSAGES as u32).try_for_each(|id| short.post(id)).map(|()| short)
    }

    fn post(&self, id: u32) -> io::Result<()> {
        self.end.pair.receive(&(0..0), id)
    }

    /// Takes the credits that have come.
    fn take_credits(&mut self) -> io::Result<()> {
        while let Some(Arrival { id, immediate, .. }) = self.end.arrived.pop_front() {
            self.credits += immediate as usize;
            if self.credits > CREDITS {
                return Err(io::Error::other(format!("{} credits for short messages", self.credits)));
            }
            self.post(id)?;
        }
        Ok(())
    }

    fn send(&mut self, kind: LaneKind, message: &[u8]) -> io::Result<()> {
        let _whole = Uncancelled::begin();
        self.end.look()?;
        self.take_credits()?;
        while self.credits == 0 {
            self.end.wait()?;
            self.take_credits()?;
        }
        let start = self.places.start + self.next * SHORT;
        let part = start..start + message.len();
        while !self.end.pair.has_space() {
            self.end.wait()?;
        }
        // SAFETY: the memory stays mapped; it is this lane's, and the send from this place was more than all that may be under way ago.
        unsafe { self.memory.place(&part).copy_from_nonoverlapping(message.as_ptr(), message.len()) };
        self.end.send(&part, immediate_of(kind))?;
        self.next = (self.next + 1) % SENDS;
        self.credits -= 1;
        Ok(())
    }
}

/// The immediate data that tell an agent on which lane a message came.
fn immediate_of(kind: LaneKind) -> u32 {
    LaneKind::ALL.iter().position(|other| *other == kind).expect("one of all") as u32
}

/// One of the two lanes.
pub(super) struct ShortSender {
    pub(super) short: Arc<Mutex<ShortEnd>>,
    pub(super) kind: LaneKind,
}

impl Sender for ShortSender {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.short.lock().unwrap_or_else(PoisonError::into_inner).send(self.kind, message)
    }
}
