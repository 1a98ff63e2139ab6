//! Requests to the owner of a segment: nothing of a peer is mapped; each operation on a peer's segment is a request that an *agent*, a thread of the
//! peer, executes there and replies to. What carries them, sockets or a fabric, stands behind [`carrier`].
//!
//! # Lanes
//! Each ordered pair of processes has two. The one for requests carries exchanges in their order: the thread that calls sends its
//! request, or leaves that to a thread that is sending, and receives the reply itself. As the reply is sent behind the operation, which the target's processor has executed, the call returns when
//! its effect is placed. The one for waits carries numbered requests, of any number of threads, and answers in any order, as late as they come: at the
//! target a thread of a pool sleeps on the word for each wait, and here the agent hands the answer to the thread that waits for it.
//!
//! Transfers go in pieces of at most 256 KiB, which bounds the buffers and lets other threads of the process come in between. Where requests may follow each
//! other, a thread sends a *window* of pieces before it takes their replies.
//!
//! # No deadlock
//! Each wait ends, since the waits-for relation has no cycle:
//!
//! 1. An agent waits in its port's `wait` only, never for a reply, another process, or a lock whose holder waits: the pool's queue, the table of
//!    waiters and the allocator are locked for moments.
//! 2. A caller waits for its target's agent and for callers queued before it. Of those that wait for replies, the one whose request is the
//!    first takes what the agent sends.
//! 3. A sender, be it of requests of others, waits until the agent takes the message, which the agent does once it owes no reply on that lane or
//!    has space for one more, or while it reads the rest of a window into its buffer. The replies that it owes are to requests sent before, whose
//!    threads take them, or to pieces of the same window.
//! 4. A window holds requests of one thread only, and the next is sent after its replies are taken; for windows to several peers see `fan_out`.
//!    Replies to its pieces have no contents, and the connection has space for them, or answer requests whose rest the agent reads also
//!    while it cannot reply.
//! 5. The callback for each of several replies waits for nobody.
//! 6. A pool thread waits for the requester's agent, which always takes answers.
//! 7. A thread that has an adapter read waits for the adapter and for threads that do so before it. The keys it needs are requested before.
//!
//! # Trust
//! A request is executed only if it lies in the segment, is aligned and has its operation's form. One that does not gets one message and ends its
//! lane, and nothing else. A thread whose peer is gone gets [`Lost`], as do all others that have something under way at it and all that come later; a lane stays in order, with nothing on it.
//!
//! `wire` encodes and decodes, `memory` executes, `client`, `pipeline` and `fan_out` are the requester's end, `agent` and `pool` the target's. Where adapters read the peers' memory by themselves, `bulk` has them do so, and `pieces` lets them.

mod agent;
mod bulk;
pub(crate) mod carrier;
mod client;
mod fan_out;
mod memory;
mod pieces;
mod pipeline;
mod pool;
mod random;
mod slice;
#[cfg(test)]
mod tests;
mod wire;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agent::{Agent, Lane, Purpose};
#[cfg(test)]
pub(crate) use bulk::LEAST as LEAST_BULK;
use bulk::RemoteSegment;
pub use carrier::Carrier;
use carrier::{Ends, LaneKind};
use client::{Client, Waiters};
use fan_out::FanOut;
use memory::Segment;
use pieces::Pieces;
use pool::Pool;
pub(crate) use random::Random;
#[cfg(test)]
pub(crate) use wire::PIECE;
pub(crate) use wire::{MAX_CALL_REPLY, MAX_PAYLOAD, MAX_POST};
use wire::{Patch, Request};

use crate::copy::copy;
use crate::diff;
use crate::lost::{Liveness, Lost};
use crate::transport::{Ask, Look, Transport, Update, Wake, Width};

/// Starts a thread of a name that runs a function.
pub type Spawn = &'static (dyn Fn(&str, Box<dyn FnOnce() + Send>) + Sync);

/// Executes the call of a peer ([`Transport::ask`]), and puts the reply, whose length it returns, into a buffer; `None` if there is no such call. It must not wait for
/// another process.
pub type Calls = &'static (dyn Fn(&[u8], &mut [u8]) -> Option<usize> + Sync);

/// What a process does for its peers besides operations on its segment.
#[derive(Clone)]
pub struct Service {
    /// What they get that ask who this is.
    pub identity: u64,
    /// Executes their calls.
    pub calls: Calls,
    /// Two parts of its segment that peers' adapters may read by themselves, where the carrier has them do that: pages there are never given back to the system.
    pub readable: [Range<usize>; 2],
    /// Offsets that they may write to as well. Empty: [`Transport::look`] is not possible.
    pub writable: Range<usize>,
}

/// What reaches the peers.
pub struct Requests {
    peers: Vec<Option<Client>>,
    fan_out: FanOut,
    /// Bytes of each segment.
    bytes: usize,
    /// Looks so far, where they are made of requests.
    looks: Option<AtomicUsize>,
}

impl Requests {
    /// Starts to serve the peers, and returns what reaches them. All segments have `bytes` bytes. The peers get `service` besides. `spawn` is
    /// called here for the agent, and later by the agent for threads that wait on behalf of peers; it must not wait for another process. With a seed
    /// in `perturb`, some requests are delayed, and those that are ready are executed in any order.
    ///
    /// # Safety
    /// The `bytes` bytes from `own` on, aligned to a page, are mapped for the life of the process, and accessed by atomics and [`copy`] only.
    pub unsafe fn start(
        rank: u32,
        carrier: Carrier,
        own: *mut u8,
        bytes: usize,
        service: Service,
        perturb: Option<u64>,
        spawn: Spawn,
    ) -> Requests {
        let Service { identity, calls, readable, writable } = service;
        let is_inside = |part: &Range<usize>| part.start <= part.end && part.end <= bytes;
        let are_inside = readable.iter().chain([&writable]).all(is_inside);
        assert!(are_inside, "{readable:?} and {writable:?} of {bytes} bytes");
        let looks = (carrier.has_looks_by_requests && !writable.is_empty()).then(AtomicUsize::default);
        // SAFETY: the caller's promise.
        let (segment, pieces) = unsafe {
            (
                Segment::new(own, bytes, identity, calls),
                Pieces::new(own, (readable, writable), carrier.registrar),
            )
        };
        let pool = Pool::new(segment, spawn);
        let mut lanes = Vec::new();
        let clients = carrier.peers.into_iter().zip(0..).map(|(ends, peer)| {
            let Ends { requests, waits, answers, reader } = ends?;
            let waiters = Arc::<Waiters>::default();
            let answers = Arc::new(Mutex::new(answers));
            lanes.extend(LaneKind::ALL.map(|kind| {
                let purpose = match kind {
                    LaneKind::Requests => Purpose::Requests,
                    LaneKind::Waits => Purpose::Waits(answers.clone()),
                    LaneKind::Answers => Purpose::Answers(waiters.clone()),
                };
                Lane::new(peer, purpose)
            }));
            let memory = reader.map(RemoteSegment::new);
            Some(Client::new(Liveness::new(rank, peer), requests, (waits, waiters), memory))
        });
        let requests = Requests { peers: clients.collect(), fan_out: FanOut::default(), bytes, looks };
        let random = perturb.map(|seed| Random::new(seed, u64::from(rank) << 32 | u64::from(u32::MAX)));
        let agent = Agent::new(rank, (segment, pieces), pool, random, carrier.port, lanes);
        spawn("dsm-agent", Box::new(move || agent.serve()));
        requests
    }

    fn peer(&self, rank: u32) -> &Client {
        let client = self.peers.get(rank as usize).and_then(Option::as_ref);
        client.unwrap_or_else(|| panic!("no connection to process {rank}"))
    }

    /// The request, which the target would refuse if it were not in order.
    fn checked<'a>(&self, request: Request<'a>) -> Request<'a> {
        if let Err(malformed) = request.check(self.bytes) {
            panic!("{malformed}: {request:?}");
        }
        request
    }

    fn call(&self, rank: u32, request: Request) -> Result<u64, Lost> {
        self.peer(rank).call(&self.checked(request))
    }

    /// A part of a look, each word a request of its own, in another order for each number.
    ///
    /// # Safety
    /// As for [`Transport::look`].
    unsafe fn look_by_requests(&self, rank: u32, part: &mut Look<'_>, number: usize) -> Result<(), Lost> {
        for &(offset, value) in part.writes {
            self.update(rank, offset, Width::Bits64, Update::Swap, value, None)?;
        }
        let words = part.words.len();
        let count = words + usize::from(part.bytes.is_some());
        for i in 0..count {
            let i = if number.is_multiple_of(2) { i } else { count - 1 - i };
            let at = (i + number / 2) % count;
            match (part.words.get_mut(at), part.bytes) {
                (Some((offset, value)), _) => *value = self.load(rank, *offset, Width::Bits64)?,
                // SAFETY: the caller's promise.
                (None, Some((offset, into, bytes))) => unsafe { self.read(rank, offset, into, bytes)? },
                (None, None) => {}
            }
        }
        Ok(())
    }
}

impl Transport for Requests {
    fn wait_end(&self, rank: u32) {
        self.peer(rank).wait_end();
    }

    fn identity(&self, rank: u32) -> Result<u64, Lost> {
        self.call(rank, Request::Identity)
    }

    fn load(&self, rank: u32, offset: usize, width: Width) -> Result<u64, Lost> {
        self.call(rank, Request::Load { offset, width })
    }

    fn update(
        &self,
        rank: u32,
        offset: usize,
        width: Width,
        update: Update,
        value: u64,
        wake: Option<Wake>,
    ) -> Result<u64, Lost> {
        let value = value & width.mask();
        self.call(rank, Request::Update { offset, width, update, value, wake })
    }

    fn compare_exchange(
        &self,
        rank: u32,
        offset: usize,
        width: Width,
        expected: u64,
        new: u64,
        wake: Option<Wake>,
    ) -> Result<u64, Lost> {
        let (expected, new) = (expected & width.mask(), new & width.mask());
        self.call(rank, Request::CompareExchange { offset, width, expected, new, wake })
    }

    fn read_words(&self, rank: u32, offset: usize, into: &mut [u64]) -> Result<(), Lost> {
        let make = |at, bytes| self.checked(Request::ReadWords { offset: offset + at, bytes });
        self.peer(rank).fetch(size_of_val(into), make, |at, payload| {
            for (word, bytes) in into[at / 8..].iter_mut().zip(payload.as_chunks::<8>().0) {
                *word = u64::from_le_bytes(*bytes);
            }
        })
    }

    fn write_words(&self, rank: u32, offset: usize, words: &[u64]) -> Result<(), Lost> {
        let mut pieces = words.chunks(MAX_PAYLOAD / 8);
        let mut at = offset;
        let fill = |buffer: &mut [u8]| {
            let piece = pieces.next().unwrap_or_default();
            for (bytes, word) in buffer.as_chunks_mut::<8>().0.iter_mut().zip(piece) {
                *bytes = word.to_le_bytes();
            }
            let offset = at;
            at += size_of_val(piece);
            (offset, size_of_val(piece))
        };
        let most = MAX_PAYLOAD.min(size_of_val(words));
        self.peer(rank).send(most, fill, |offset, words| self.checked(Request::WriteWords { offset, words }))
    }

    unsafe fn read(&self, rank: u32, offset: usize, into: *mut u8, bytes: usize) -> Result<(), Lost> {
        let peer = self.peer(rank);
        let message = |from: usize, bytes| {
            let make = |at, bytes| self.checked(Request::Read { offset: offset + from + at, bytes });
            peer.fetch(bytes, make, |at, payload| {
                // SAFETY: the pieces are parts of the caller's memory, behind each other.
                unsafe { copy(payload.as_ptr(), into.add(from + at), payload.len()) };
            })
        };
        if bytes < bulk::LEAST || !peer.reads_memory() {
            return message(0, bytes);
        }
        assert!(
            offset.checked_add(bytes).is_some_and(|end| end <= self.bytes),
            "{bytes} bytes at {offset:#x}"
        );
        // SAFETY: the caller's promise.
        unsafe { peer.read_memory((offset, bytes), into, self.bytes, message) }
    }

    unsafe fn look(&self, rank: u32, parts: &mut [Look<'_>]) -> Result<bool, Lost> {
        let peer = self.peer(rank);
        if let Some(looks) = &self.looks {
            let number = looks.fetch_add(1, Ordering::Relaxed);
            for part in parts {
                // SAFETY: the caller's promise.
                unsafe { self.look_by_requests(rank, part, number)? };
            }
            return Ok(true);
        }
        // SAFETY: the caller's promise.
        unsafe { peer.look(parts, self.bytes) }
    }

    unsafe fn write(&self, rank: u32, offset: usize, from: *const u8, bytes: usize) -> Result<(), Lost> {
        let mut at = 0;
        let fill = |buffer: &mut [u8]| {
            let start = at;
            let piece = MAX_PAYLOAD.min(bytes - start);
            let buffer = &mut buffer[..piece];
            // SAFETY: the piece is part of the caller's memory, and the buffer is as long.
            unsafe { copy(from.add(start), buffer.as_mut_ptr(), piece) };
            at += piece;
            (offset + start, piece)
        };
        let most = MAX_PAYLOAD.min(bytes);
        self.peer(rank).send(most, fill, |offset, contents| self.checked(Request::Write { offset, contents }))
    }

    unsafe fn send_diff(
        &self,
        rank: u32,
        offset: usize,
        own: *const u8,
        twin: *mut u8,
        bytes: usize,
    ) -> Result<(), Lost> {
        assert!(bytes.is_multiple_of(diff::GROUP), "a difference of {bytes} bytes");
        let mut at = 0;
        // A piece with many changes takes more than one patch: each ends where the next may not fit.
        let fill = |buffer: &mut [u8]| {
            let mut length = 0;
            let mut start = at;
            while at < bytes && length == 0 {
                start = at;
                let mut patch = Patch::new(&mut buffer[..MAX_PAYLOAD]);
                // SAFETY: the caller's memory up to the end of the piece.
                at = unsafe { add_changes(&mut patch, own, twin, start..bytes.min(start + MAX_PAYLOAD)) };
                length = patch.len();
            }
            (offset + start, length)
        };
        self.peer(rank).send(MAX_PAYLOAD, fill, |offset, runs| self.checked(Request::Patch { offset, runs }))
    }

    fn ask(&self, rank: u32, request: &[u8], reply: &mut [u8]) -> Result<usize, Lost> {
        assert!(request.len() <= MAX_PAYLOAD && reply.len() >= MAX_CALL_REPLY, "a call without space");
        self.peer(rank).ask(request, reply)
    }

    fn ask_all(&self, asks: &mut [Ask<'_>], arrived: &mut dyn FnMut(usize, &[u8])) -> Result<(), Lost> {
        assert!(asks.iter().all(|ask| ask.request.len() <= MAX_PAYLOAD), "a call without space");
        let mut asks: Vec<_> = asks.iter_mut().enumerate().collect();
        asks.sort_by_key(|(_, ask)| ask.rank);
        let groups = asks.chunk_by_mut(|(_, a), (_, b)| a.rank == b.rank);
        self.fan_out.ask_all(groups.map(|asks| (self.peer(asks[0].1.rank), asks)).collect(), arrived)
    }

    fn post(&self, rank: u32, request: &[u8]) -> Result<(), Lost> {
        assert!(request.len() <= MAX_POST, "a call without space");
        self.peer(rank).post(request)
    }

    fn wait_change(&self, rank: u32, offset: usize, seen: u32, wake: Wake) -> Result<u32, Lost> {
        self.checked(Request::Wait { offset, seen, wake, id: 0 });
        self.peer(rank).wait_change(offset, seen, wake)
    }

    fn wake(&self, rank: u32, offset: usize, wake: Wake) -> Result<(), Lost> {
        self.call(rank, Request::Wake { offset, wake }).map(drop)
    }
}

/// Adds changes of `own` against `twin` in a range of both, at offsets from its start, as far as there is space, and makes them in the twin; where the rest begins.
///
/// # Safety
/// As [`Transport::send_diff`], of memory that ends with the range.
unsafe fn add_changes(patch: &mut Patch, own: *const u8, twin: *mut u8, range: Range<usize>) -> usize {
    let mut at = range.start;
    while at < range.end {
        // SAFETY: the group that begins here, or the rest of one, is inside the caller's memory, and aligned. What other threads write
        // may be anything, but is read once.
        unsafe {
            if at.is_multiple_of(diff::GROUP) && diff::equal(own.add(at), twin.add(at), diff::GROUP) {
                at += diff::GROUP;
                continue;
            }
            if patch.is_full() {
                break;
            }
            let twin = twin.add(at).cast::<u64>();
            let (new, old) = (own.add(at).cast::<u64>().read_volatile(), twin.read());
            if new != old {
                patch.add(at - range.start, new, old);
                twin.write(new);
            }
        }
        at += 8;
    }
    at
}
