//! The endpoint that the threads of the process share, and their ends of the lanes.
//!
//! A thread starts the operations of its exchange and waits until they have ended. Somebody has to look at the completion queue meanwhile: one of those that
//! wait leads, and looks for all. When its own operations have ended it hands over to another one that waits, if there is one. The others sleep until
//! they are done or called to lead. Who leads, and who sleeps, is decided under `turn`; whoever is done is so by an atomic change of its state, which says
//! whether it has to be woken:
//!
//! ```text
//!           begin         sleeps              is called to lead
//!   IDLE ----------> BUSY --------> SLEEPING -------------------> CALLED
//!                    | ^                                            |
//!              leads | '--------------------------------------------' wakes
//!                    v
//!                 LEADING           all but IDLE ---> DONE (its operations have ended) or LOST (its peer has)
//! ```
//!
//! A leader sleeps in `poll`, and is woken through an eventfd by a thread that finds its operations ended: one that could not start an operation
//! before it had looked at the queue itself.

use std::ffi::c_void;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use dsm_threads::futex;

use super::endpoint::{Completion, Context, Endpoint, PostError};
use super::library::OfiError;
use super::{Known, Parts};
use crate::copy::copy;
use crate::memory::Memory;
use crate::pause::Pause;
use crate::poll::poll;
use crate::requests::carrier::{REPLY_BYTES, Reader, RemotePart, Requester, Sender};
use crate::uncancelled::Uncancelled;

/// How long a thread waits that could not start an operation.
const MOMENT: Duration = Duration::from_micros(100);

/// Which peers have ended, by rank.
pub(super) struct Lives {
    /// A futex: 1 once it has ended.
    ended: Vec<AtomicU32>,
    /// 1 once nothing that it sent before can come any more.
    lost: Vec<AtomicU32>,
}

impl Lives {
    pub(super) fn new(size: u32) -> Lives {
        let all = || (0..size).map(|_| AtomicU32::new(0)).collect();
        Lives { ended: all(), lost: all() }
    }

    /// It has ended.
    pub(super) fn end(&self, rank: u32) {
        let ended = &self.ended[rank as usize];
        ended.store(1, Ordering::Release);
        futex::wake(ended, futex::ALL);
    }

    fn wait_end(&self, rank: u32) {
        let ended = &self.ended[rank as usize];
        while ended.load(Ordering::Acquire) == 0 {
            futex::wait(ended, 0, futex::ALL);
        }
    }

    pub(super) fn is_lost(&self, rank: u32) -> bool {
        self.lost[rank as usize].load(Ordering::Acquire) != 0
    }
}

const IDLE: u32 = 0;
const BUSY: u32 = 1;
const SLEEPING: u32 = 2;
const CALLED: u32 = 3;
const LEADING: u32 = 4;
const DONE: u32 = 5;
const LOST: u32 = 6;

/// The operations that one thread waits for.
struct Ticket {
    rank: u32,
    state: AtomicU32,
    /// Operations that have not ended.
    pending: AtomicU32,
    /// Bytes received.
    received: AtomicUsize,
    /// Why one failed. What may come of it later is nobody's any more.
    error: OnceLock<String>,
    /// Of its receive and of its send.
    contexts: [&'static Context; 2],
}

const RECEIVE: usize = 0;
const SEND: usize = 1;

impl Ticket {
    /// Whether the change was made.
    fn change(&self, from: u32, to: u32) -> bool {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn has_ended(&self) -> bool {
        [DONE, LOST].contains(&self.state.load(Ordering::Acquire))
    }

    /// So many operations begin.
    fn begin(&self, operations: u32) -> io::Result<()> {
        if let Some(why) = self.error.get() {
            return Err(io::Error::other(why.clone()));
        }
        self.pending.store(operations, Ordering::Relaxed);
        self.state.store(BUSY, Ordering::Release);
        Ok(())
    }
}

#[derive(Default)]
struct Turn {
    /// Somebody leads, or has been called to.
    has_leader: bool,
    called: Option<&'static Ticket>,
    sleepers: Vec<&'static Ticket>,
}

impl Turn {
    /// Calls one that sleeps to lead, if there is one.
    fn call(&mut self) {
        self.called = self.sleepers.iter().copied().find(|ticket| ticket.change(SLEEPING, CALLED));
        if let Some(ticket) = self.called {
            self.has_leader = true;
            futex::wake(&ticket.state, futex::ALL);
        }
    }
}

struct Polled {
    endpoint: Endpoint,
    /// By the numbers of their contexts, of which each has two.
    tickets: Vec<&'static Ticket>,
}

/// The endpoint.
pub(super) struct Shared {
    polled: Mutex<Polled>,
    memory: Memory,
    inject_bytes: usize,
    needs_local: bool,
    /// Bytes of a READ at most.
    read_bytes: usize,
    /// What says that there may be completions.
    descriptor: Option<RawFd>,
    lives: Arc<Lives>,
    turn: Mutex<Turn>,
    /// Wakes the leader.
    kick: OwnedFd,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn closed() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

impl Shared {
    pub(super) fn new(endpoint: Endpoint, lives: Arc<Lives>) -> Result<Shared, OfiError> {
        // SAFETY: makes a descriptor.
        let kick = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if kick < 0 {
            let (provider, cause) = (endpoint.provider.clone(), io::Error::last_os_error().to_string());
            return Err(OfiError::Failed { what: "make an eventfd", provider, cause });
        }
        let Endpoint { memory, inject_bytes, needs_local, most_bytes, wait_descriptor: descriptor, .. } =
            endpoint;
        let read_bytes = READ_BYTES.min(most_bytes);
        let polled = Mutex::new(Polled { endpoint, tickets: Vec::new() });
        // SAFETY: it is new, and nobody else's.
        let kick = unsafe { OwnedFd::from_raw_fd(kick) };
        Ok(Shared {
            polled,
            memory,
            inject_bytes,
            needs_local,
            read_bytes,
            descriptor,
            lives,
            turn: Mutex::default(),
            kick,
        })
    }

    fn ticket(&self, rank: u32) -> &'static Ticket {
        let tickets = &mut lock(&self.polled).tickets;
        let number = 2 * tickets.len();
        let ticket: &'static Ticket = Box::leak(Box::new(Ticket {
            rank,
            state: AtomicU32::new(IDLE),
            pending: AtomicU32::new(0),
            received: AtomicUsize::new(0),
            error: OnceLock::new(),
            contexts: [RECEIVE, SEND].map(|kind| Context::new(number + kind)),
        }));
        tickets.push(ticket);
        ticket
    }

    /// A peer is lost: who waits for it need not any more.
    pub(super) fn lose(&self, rank: u32) {
        self.lives.lost[rank as usize].store(1, Ordering::Release);
        for ticket in lock(&self.turn).sleepers.iter().filter(|ticket| ticket.rank == rank) {
            if ticket.change(SLEEPING, LOST) {
                futex::wake(&ticket.state, futex::ALL);
            }
        }
        self.kick();
    }

    /// Has the leader look.
    fn kick(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: eight bytes are read. It only fails if it is readable already.
        unsafe { libc::syscall(libc::SYS_write, self.kick.as_raw_fd(), one.as_ptr(), one.len()) };
    }

    /// Starts an operation, however long the provider cannot take it.
    fn post(&self, rank: u32, operation: impl Fn(&mut Endpoint) -> Result<(), PostError>) -> io::Result<()> {
        loop {
            let mut polled = lock(&self.polled);
            match operation(&mut polled.endpoint) {
                Ok(()) => return Ok(()),
                Err(PostError::Failed(why)) => return Err(io::Error::other(why)),
                Err(PostError::Full) if self.lives.is_lost(rank) => return Err(closed()),
                Err(PostError::Full) => {}
            }
            if !self.look(&mut polled, None) {
                drop(polled);
                poll(&mut [], Some(MOMENT));
            }
        }
    }

    /// Makes progress, and tells whose operations have ended; whether there were any. The leader, if that is who looks, need not be woken.
    fn look(&self, polled: &mut Polled, leader: Option<&Ticket>) -> bool {
        let Polled { endpoint, tickets } = polled;
        endpoint.poll(|Completion { id, result }| {
            let (ticket, kind) = (tickets[id / 2], id % 2);
            let has_failed = match result {
                Ok(bytes) if kind == RECEIVE => {
                    ticket.received.store(bytes, Ordering::Relaxed);
                    false
                }
                Ok(_) => false,
                Err(why) => ticket.error.set(why).is_ok(),
            };
            let was_last = ticket.pending.fetch_sub(1, Ordering::AcqRel) == 1;
            if has_failed || was_last && ticket.error.get().is_none() {
                match ticket.state.swap(DONE, Ordering::AcqRel) {
                    SLEEPING => futex::wake(&ticket.state, futex::ALL),
                    LEADING if leader.is_none_or(|leader| !std::ptr::eq(leader, ticket)) => self.kick(),
                    _ => {}
                }
            }
        })
    }

    /// Waits until the operations of a ticket have ended; returns the bytes received.
    fn wait(&self, ticket: &'static Ticket) -> io::Result<usize> {
        let mut turn = lock(&self.turn);
        while !ticket.has_ended() && !self.lives.is_lost(ticket.rank) {
            if !turn.has_leader {
                turn.has_leader = true;
                drop(turn);
                if ticket.change(BUSY, LEADING) {
                    self.lead(ticket);
                }
                turn = lock(&self.turn);
                turn.has_leader = false;
            } else if ticket.change(BUSY, SLEEPING) {
                turn.sleepers.push(ticket);
                drop(turn);
                while ticket.state.load(Ordering::Acquire) == SLEEPING {
                    futex::wait(&ticket.state, SLEEPING, futex::ALL);
                }
                turn = lock(&self.turn);
                turn.sleepers.retain(|sleeper| !std::ptr::eq(*sleeper, ticket));
                if turn.called.take_if(|called| std::ptr::eq(*called, ticket)).is_some() {
                    turn.has_leader = false;
                    ticket.change(CALLED, BUSY);
                }
            }
        }
        if !turn.has_leader {
            turn.call();
        }
        drop(turn);
        match (ticket.error.get(), ticket.state.load(Ordering::Acquire)) {
            (Some(why), _) => Err(io::Error::other(why.clone())),
            (None, DONE) => Ok(ticket.received.load(Ordering::Relaxed)),
            (None, _) => Err(closed()),
        }
    }

    /// Looks at the queue for all until the own operations have ended.
    fn lead(&self, ticket: &Ticket) {
        let mut pause = Pause::new(self.descriptor.is_some());
        loop {
            let mut polled = lock(&self.polled);
            let has_found = self.look(&mut polled, Some(ticket));
            if ticket.has_ended() || self.lives.is_lost(ticket.rank) {
                // Who is lost, and not done, stays what it is: its operations may end all the same.
                ticket.change(LEADING, LOST);
                return;
            }
            drop(polled);
            if has_found {
                pause = Pause::new(self.descriptor.is_some());
            } else if pause.is_over() && self.may_sleep() {
                self.sleep(&mut pause);
            }
        }
    }

    fn may_sleep(&self) -> bool {
        self.descriptor.is_none() || lock(&self.polled).endpoint.may_sleep()
    }

    fn sleep(&self, pause: &mut Pause) {
        let wait = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut polled = [wait(self.kick.as_raw_fd()), wait(self.descriptor.unwrap_or(-1))];
        poll(&mut polled, pause.nap());
        if polled[0].revents != 0 {
            let mut count = [0; 8];
            // SAFETY: there is space for eight bytes; it does not block.
            unsafe { libc::syscall(libc::SYS_read, self.kick.as_raw_fd(), count.as_mut_ptr(), count.len()) };
        }
    }
}

/// The requester's end of a lane.
pub(super) struct FabricRequester {
    shared: Arc<Shared>,
    rank: u32,
    /// The peer's agent, and the tag that it takes requests by.
    to: (u64, u64),
    /// The tag of replies.
    tag: u64,
    request: Range<usize>,
    reply: Range<usize>,
    ticket: &'static Ticket,
    /// Bytes of the reply.
    received: usize,
}

impl FabricRequester {
    pub(super) fn new(shared: &Arc<Shared>, known: &Known, parts: &Parts) -> FabricRequester {
        FabricRequester {
            shared: Arc::clone(shared),
            rank: known.rank,
            to: (known.agent, known.peer.request),
            tag: known.own.reply,
            request: parts.request.clone(),
            reply: parts.reply.clone(),
            ticket: shared.ticket(known.rank),
            received: 0,
        }
    }

    /// The bytes of the reply behind its beginning.
    fn rest(&self, bytes: usize) -> io::Result<&[u8]> {
        if self.received != REPLY_BYTES + bytes {
            return Err(io::Error::other(format!("a reply of {} bytes", self.received)));
        }
        let start = self.shared.memory.place(&self.reply).wrapping_add(REPLY_BYTES);
        // SAFETY: the memory stays mapped, and no receive is posted for it between exchanges.
        Ok(unsafe { std::slice::from_raw_parts(start, bytes) })
    }
}

impl Requester for FabricRequester {
    fn request(&mut self) -> &mut [u8] {
        // SAFETY: the memory stays mapped; it is this lane's, and nothing is being sent between exchanges.
        unsafe { std::slice::from_raw_parts_mut(self.shared.memory.place(&self.request), self.request.len()) }
    }

    fn exchange(&mut self, bytes: usize) -> io::Result<[u8; REPLY_BYTES]> {
        let FabricRequester { shared, rank, to: (agent, tag), ticket, .. } = self;
        let message = self.request.start..self.request.start + bytes;
        let [receive, send] = ticket.contexts;
        let _whole = Uncancelled::begin();
        let is_short = bytes <= shared.inject_bytes;
        ticket.begin(if is_short { 1 } else { 2 })?;
        shared.post(*rank, |endpoint| endpoint.receive(&self.reply, self.tag, receive))?;
        shared.post(*rank, |endpoint| match is_short {
            true => endpoint.inject(&message, *agent, *tag),
            false => endpoint.send(&message, *agent, *tag, send),
        })?;
        self.received = shared.wait(ticket)?;
        let reply = self.shared.memory.place(&self.reply).cast::<[u8; REPLY_BYTES]>();
        if self.received < REPLY_BYTES {
            return Err(io::Error::other(format!("a reply of {} bytes", self.received)));
        }
        // SAFETY: as in `rest`.
        Ok(unsafe { reply.read() })
    }

    fn payload(&mut self, bytes: usize) -> io::Result<&[u8]> {
        self.rest(bytes)
    }

    fn payload_into(&mut self, into: &mut [u8]) -> io::Result<()> {
        into.copy_from_slice(self.rest(into.len())?);
        Ok(())
    }

    fn wait_end(&mut self) {
        self.shared.lives.wait_end(self.rank);
    }
}

/// The sending end of a lane for short messages, with one credit: one message at a time is under way, and the next goes when the receiver has given the credit back.
pub(super) struct FabricSender {
    shared: Arc<Shared>,
    rank: u32,
    /// The peer's agent, and the tag that it takes these messages by.
    to: (u64, u64),
    /// The tag of credits.
    tag: u64,
    message: Range<usize>,
    sent: &'static Ticket,
    credit: &'static Ticket,
}

impl FabricSender {
    pub(super) fn new(
        shared: &Arc<Shared>,
        known: &Known,
        message: Range<usize>,
        (to, tag): (u64, u64),
    ) -> FabricSender {
        let (sent, credit) = (shared.ticket(known.rank), shared.ticket(known.rank));
        FabricSender {
            shared: Arc::clone(shared),
            rank: known.rank,
            to: (known.agent, to),
            tag,
            message,
            sent,
            credit,
        }
    }
}

impl Sender for FabricSender {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let FabricSender { shared, rank, to: (agent, tag), sent, credit, .. } = self;
        let _whole = Uncancelled::begin();
        if credit.state.load(Ordering::Relaxed) != IDLE {
            shared.wait(credit)?;
        }
        let part = self.message.start..self.message.start + message.len();
        let place = shared.memory.place(&part);
        // SAFETY: the memory stays mapped; it is this lane's, and nothing of it is being sent.
        unsafe { place.copy_from_nonoverlapping(message.as_ptr(), message.len()) };
        credit.begin(1)?;
        shared.post(*rank, |endpoint| {
            endpoint.receive(&(part.start..part.start), self.tag, credit.contexts[RECEIVE])
        })?;
        sent.begin(1)?;
        shared.post(*rank, |endpoint| endpoint.send(&part, *agent, *tag, sent.contexts[SEND]))?;
        shared.wait(sent).map(|_| ())
    }
}

/// READs of a peer that are under way at most.
pub(super) const READS: usize = 4;
/// Bytes of one that lands where it is wanted, and of one that does not.
pub(crate) const READ_BYTES: usize = 2 << 20;
const LANDING_BYTES: usize = 256 << 10;

/// Reads a peer's memory. READs of a thread are under way together; those of several threads, one thread's after another one's: one large transfer keeps the link busy.
pub(super) struct FabricReader {
    shared: Arc<Shared>,
    rank: u32,
    /// The peer's agent.
    from: u64,
    state: Mutex<ReadState>,
}

struct ReadState {
    tickets: [&'static Ticket; READS],
    /// Where the provider wants it, what is read lands in memory of its own, and is copied from there.
    landing: Option<(Memory, *mut c_void)>,
    /// Where what is under way goes, and its bytes: a ring.
    under_way: [(*mut u8, usize); READS],
    has_failed: bool,
}

// SAFETY: the addresses are of memory that a thread lends while it reads, which has the lock.
unsafe impl Send for ReadState {}

impl FabricReader {
    pub(super) fn new(shared: &Arc<Shared>, known: &Known) -> FabricReader {
        let tickets = [(); READS].map(|()| shared.ticket(known.rank));
        let under_way = [(std::ptr::null_mut(), 0); READS];
        let state = Mutex::new(ReadState { tickets, landing: None, under_way, has_failed: false });
        FabricReader { shared: Arc::clone(shared), rank: known.rank, from: known.agent, state }
    }

    /// # Safety
    /// As for [`Reader::read`].
    unsafe fn read_all(
        &self,
        state: &mut ReadState,
        next: &mut dyn FnMut() -> Option<RemotePart>,
    ) -> io::Result<()> {
        let ReadState { tickets, landing, under_way, .. } = state;
        if self.shared.needs_local && landing.is_none() {
            let made = lock(&self.shared.polled).endpoint.landing(READS * LANDING_BYTES);
            *landing = Some(made.map_err(io::Error::other)?);
        }
        let place = |slot: usize, bytes| slot * LANDING_BYTES..slot * LANDING_BYTES + bytes;
        let most = if landing.is_some() { LANDING_BYTES } else { self.shared.read_bytes };
        let (mut oldest, mut posted) = (0, 0);
        let mut rest = next();
        loop {
            while posted - oldest < READS
                && let Some(part) = &mut rest
            {
                let slot = posted % READS;
                let (ticket, bytes) = (tickets[slot], part.bytes.min(most));
                let (into, descriptor) = match landing {
                    Some((memory, descriptor)) => (memory.place(&place(slot, bytes)), *descriptor),
                    None => (part.into, std::ptr::null_mut()),
                };
                let from = (part.address, part.key);
                ticket.begin(1)?;
                // SAFETY: the caller's promise, or memory that is kept for this READ until it has been copied.
                self.shared.post(self.rank, |endpoint| unsafe {
                    endpoint.read((into, bytes, descriptor), self.from, from, ticket.contexts[SEND])
                })?;
                under_way[slot] = (part.into, bytes);
                posted += 1;
                part.address = part.address.wrapping_add(bytes as u64);
                part.into = part.into.wrapping_add(bytes);
                part.bytes -= bytes;
                if part.bytes == 0 {
                    rest = next();
                }
            }
            if oldest == posted {
                return Ok(());
            }
            let slot = oldest % READS;
            self.shared.wait(tickets[slot])?;
            if let Some((memory, _)) = landing {
                let (into, bytes) = under_way[slot];
                // SAFETY: the part has come, and nobody uses it; the destination is the caller's.
                unsafe { copy(memory.place(&place(slot, bytes)), into, bytes) };
            }
            oldest += 1;
        }
    }
}

impl Reader for FabricReader {
    unsafe fn read(&self, next: &mut dyn FnMut() -> Option<RemotePart>) -> io::Result<()> {
        let _whole = Uncancelled::begin();
        let mut state = lock(&self.state);
        // READs of a peer's memory succeed when its agent has ended and its process has not.
        if state.has_failed || self.shared.lives.is_lost(self.rank) {
            return Err(closed());
        }
        // SAFETY: the caller's promise.
        let result = unsafe { self.read_all(&mut state, next) };
        state.has_failed = result.is_err();
        result.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => error,
            _ => io::Error::other(format!("cannot read its memory: {error}")),
        })
    }
}
