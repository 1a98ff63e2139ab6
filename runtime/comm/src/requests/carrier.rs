//! What a carrier of messages does.
//!
//! Between each ordered pair of processes there are two *lanes*: one for requests and their replies, whose replies come in the order of the requests, and one for requests to
//! wait, which come at any time, and their answers, which come at any time and in any order. The requester's end of a lane belongs to all threads
//! of the process ([`super::pipeline`]); the serving ends of all lanes, and the one for answers to own waits, belong to the agent.
//!
//! A message arrives whole or not at all, those of one lane in their order. What carries them knows nothing of their contents but the lengths that this
//! module names. It bounds what is under way: a sender waits until there is space for its message at the receiver, and space for a reply, or for the next
//! message, is made by who takes the one before.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::wire::{ANSWER, HEADER, MAX_CALL_REPLY, MAX_PAYLOAD, REPLY};

/// Bytes of the longest request.
pub(crate) const MAX_REQUEST: usize = HEADER + MAX_PAYLOAD;
/// Bytes of the longest reply.
pub(crate) const MAX_REPLY: usize = REPLY + MAX_CALL_REPLY;
/// Bytes of a request to wait.
pub(crate) const WAIT_BYTES: usize = HEADER;
/// Bytes of an answer.
pub(crate) const ANSWER_BYTES: usize = ANSWER;
/// Bytes of short requests, and of replies, that go together besides the longest.
pub(crate) const BATCH: usize = 16 << 10;
/// Bytes that each reply begins with.
pub(crate) const REPLY_BYTES: usize = REPLY;

/// The ends of the lanes between this process and a peer, but for the agent's.
pub(crate) struct Ends {
    /// For requests to the peer.
    pub(crate) requests: Exchanges,
    /// For requests to wait at the peer.
    pub(crate) waits: Box<dyn Sender>,
    /// For answers to the peer's waits.
    pub(crate) answers: Box<dyn Sender>,
    /// For the peer's memory, if the adapter reads that.
    pub(crate) reader: Option<Box<dyn Reader>>,
}

/// The requester's end of the lane for requests.
pub(crate) enum Exchanges {
    /// Each exchange ends before the next one begins.
    OneByOne(Box<dyn Requester>),
    /// Requests may follow each other before there are replies, which come in the same order.
    InOrder(Box<dyn RequestSender>, Box<dyn Replies>),
}

/// What a process has of what carries messages: ends of lanes to its peers.
pub struct Carrier {
    /// By rank; none for the own one.
    pub(crate) peers: Vec<Option<Ends>>,
    /// The agent's.
    pub(crate) port: Box<dyn Port>,
    /// Lets the peers' adapters read own memory, where they do that.
    pub(crate) registrar: Option<Box<dyn Registrar>>,
    /// Whether looks that are asked for, which no adapter executes, are made of requests: for tests.
    pub(crate) has_looks_by_requests: bool,
}

/// What a peer's adapter needs to read a part of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteKey {
    pub(crate) key: u64,
    /// What the owner's adapter knows the first byte by.
    pub(crate) address: u64,
    /// Offsets in the segment.
    pub(crate) offsets: Range<usize>,
}

/// Registers own memory with the adapter. What is registered stays so as long as the process lives.
pub(crate) trait Registrar: Send {
    /// Lets the peers read `bytes` bytes; returns the key and what the adapter knows the first byte by. `None` if the system or the adapter refuses: it may not be willing to hold on to more memory.
    ///
    /// # Safety
    /// The bytes are mapped for the life of the process.
    unsafe fn register(&mut self, start: *mut u8, bytes: usize) -> Option<(u64, u64)>;
    /// The same, and lets them write, too.
    ///
    /// # Safety
    /// As for [`Registrar::register`]; who uses the bytes does so by atomics.
    unsafe fn register_writable(&mut self, _start: *mut u8, _bytes: usize) -> Option<(u64, u64)> {
        None
    }
}

/// A part of a peer's memory, and where it goes.
pub(crate) struct RemotePart {
    pub(crate) key: u64,
    /// What the peer's adapter knows the first byte by.
    pub(crate) address: u64,
    pub(crate) into: *mut u8,
    pub(crate) bytes: usize,
}

/// What an adapter does at a place in a peer's memory.
pub(crate) struct RemoteStep {
    pub(crate) key: u64,
    /// What the peer's adapter knows the first byte by.
    pub(crate) address: u64,
    pub(crate) action: RemoteAction,
    /// Whether it begins when all before it have ended.
    pub(crate) is_next_part: bool,
}

pub(crate) enum RemoteAction {
    /// Writes a word.
    Write(u64),
    /// Reads so many bytes.
    Read(*mut u8, usize),
}

/// Most steps of a look.
pub(crate) const MOST_STEPS: usize = 16;
/// Most bytes that a step reads.
pub(crate) const STEP_BYTES: usize = 64 << 10;

/// Has the adapter read a peer's memory (RDMA READ). An error says that the peer is lost, or that a key is none.
pub(crate) trait Reader: Send + Sync {
    /// Reads the parts that `next` names until it names none, several of them at a time, in any order. Returns when all have been read.
    ///
    /// # Safety
    /// The destinations are writable, and nobody else uses them meanwhile.
    unsafe fn read(&self, next: &mut dyn FnMut() -> Option<RemotePart>) -> io::Result<()>;
    /// Whether it writes, too.
    fn looks(&self) -> bool {
        false
    }
    /// Executes at most [`MOST_STEPS`] steps, the writes in their order, and reads that follow these after them, in any order. Returns when all have ended.
    ///
    /// # Safety
    /// As for [`Reader::read`].
    unsafe fn look(&self, _steps: &[RemoteStep]) -> io::Result<()> {
        unreachable!("this adapter does not write")
    }
}

/// The requester's end of the lane for requests. An error says that the peer is lost.
pub(crate) trait Requester: Send {
    /// Where the next request is put together: [`MAX_REQUEST`] bytes.
    fn request(&mut self) -> &mut [u8];
    /// Sends the first `bytes` bytes of it, and waits for the reply, of which it returns the beginning.
    fn exchange(&mut self, bytes: usize) -> io::Result<[u8; REPLY_BYTES]>;
    /// What follows in the reply, `bytes` bytes. Once.
    fn payload(&mut self, bytes: usize) -> io::Result<&[u8]>;
    /// The same, put elsewhere.
    fn payload_into(&mut self, into: &mut [u8]) -> io::Result<()>;
    /// Waits until the peer has ended. Between exchanges.
    fn wait_end(&mut self);
}

/// Sends requests of a lane on which they may follow each other. An error says that the peer is lost.
pub(crate) trait RequestSender: Send {
    /// Sends whole requests.
    fn send(&mut self, requests: &[u8]) -> io::Result<()>;
}

/// Receives replies in their order. An error says that the peer is lost.
pub(crate) trait Replies: Send {
    /// The beginning of the next reply. Once.
    fn head(&mut self) -> io::Result<[u8; REPLY_BYTES]>;
    /// What follows in it, `bytes` bytes. Once.
    fn payload(&mut self, bytes: usize) -> io::Result<&[u8]>;
    /// The same, put elsewhere.
    fn payload_into(&mut self, into: &mut [u8]) -> io::Result<()>;
}

/// The sending end of a lane for short messages. An error says that the peer is lost.
pub(crate) trait Sender: Send {
    /// Sends one, once there is space for it.
    fn send(&mut self, message: &[u8]) -> io::Result<()>;
}

/// What the agent does with a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneKind {
    /// Executes requests of the peer and replies.
    Requests,
    /// Takes requests to wait.
    Waits,
    /// Takes answers to own waits.
    Answers,
}

impl LaneKind {
    /// All, in the order of a peer's lanes at a [`Port`].
    pub(crate) const ALL: [LaneKind; 3] = [LaneKind::Requests, LaneKind::Waits, LaneKind::Answers];
}

/// The agent's ends of all lanes. They are numbered: peer by peer in the order of their ranks, and of each as [`LaneKind::ALL`] has them.
pub(crate) trait Port: Send {
    /// Waits until something has come on a lane, or what did not go at once goes, or a lane has ended; at most for `timeout`, if there is one. Puts
    /// the numbers of these lanes into `ready`. Lanes that are `paused` count only when they have ended or not at all.
    fn wait(&mut self, paused: &[bool], timeout: Option<Duration>, ready: &mut Vec<usize>);
    /// Takes what has come and there is space for, also while replies have still to be sent if requests may follow each other; whether there may be something to decode or to send. An error says that the lane has ended.
    fn receive(&mut self, lane: usize) -> io::Result<bool>;
    /// Whether there is space for a reply behind what is still to be sent.
    fn has_space(&self, _lane: usize) -> bool {
        false
    }
    /// What has been taken, and the place for a reply of [`MAX_REPLY`] bytes (only with [`LaneKind::Requests`], if there is space).
    fn split(&mut self, lane: usize) -> (&[u8], &mut [u8]);
    /// Forgets so many bytes of what was taken: space for what comes next.
    fn consume(&mut self, lane: usize, bytes: usize);
    /// Whether what was taken, and is no whole message, will never be: messages are not torn on their way.
    fn is_torn(&self, lane: usize) -> bool;
    /// So many bytes of the reply are to be sent, with the next [`Port::send_pending`].
    fn reply(&mut self, lane: usize, bytes: usize);
    /// Sends what is to be sent as far as it goes at once; whether that is all.
    fn send_pending(&mut self, lane: usize) -> io::Result<bool>;
    /// Ends a lane in both directions.
    fn close(&mut self, lane: usize);
}

/// Who answers to a peer's waits: the threads of a pool, one at a time.
pub(crate) type Answerer = Arc<Mutex<Box<dyn Sender>>>;
