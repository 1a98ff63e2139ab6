//! The requester's end of the lanes to one peer.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsm_threads::futex;

use super::Wake;
use super::bulk::RemoteSegment;
use super::carrier::{BATCH, Exchanges, REPLY_BYTES, RemoteKey, Replies, Sender};
use super::pipeline::{Lane, Window};
use super::wire::{self, HEADER, KEY_BYTES, MAX_PAYLOAD, Malformed, Request};
use crate::lost::{CLOSED, Liveness, Lost};
use crate::transport::{Ask, Look, section};

/// Lanes to one peer.
pub(super) struct Client {
    liveness: Arc<Liveness>,
    requests: Lane,
    /// Locked while a request to wait is being sent.
    waits: Mutex<Box<dyn Sender>>,
    waiters: Arc<Waiters>,
    /// Where the adapter reads the peer's memory.
    memory: Option<RemoteSegment>,
}

/// Puts a call into a buffer; returns its length.
fn put_call(request: &[u8], buffer: &mut [u8]) -> usize {
    let length = HEADER + request.len();
    let (header, payload) = buffer[..length].split_at_mut(HEADER);
    header.copy_from_slice(&Request::Call { request }.header());
    payload.copy_from_slice(request);
    length
}

/// Bytes of the longest of these requests, with its header.
fn longest(requests: &[&[u8]]) -> usize {
    HEADER + requests.iter().map(|request| request.len()).max().unwrap_or_default()
}

/// Puts calls into buffers, one at a time, as [`Lane::exchange_all`] wants it.
fn put_calls(requests: Vec<&[u8]>) -> impl FnMut(&mut [u8]) -> usize {
    let mut requests = requests.into_iter();
    move |buffer| requests.next().map_or(0, |request| put_call(request, buffer))
}

/// A call, and its place among those that it was made with.
pub(super) type Numbered<'a, 'b> = (usize, &'a mut Ask<'b>);

/// How many calls may be under way before a reply is taken: their requests are short, or their replies. At least one.
fn leading(asks: &[Numbered<'_, '_>]) -> usize {
    let (mut requests, mut replies) = (0, 0);
    let fits = |(_, ask): &&Numbered<'_, '_>| {
        requests += HEADER + ask.request.len();
        replies += REPLY_BYTES + ask.reply.len();
        requests <= BATCH || replies <= BATCH
    };
    asks.iter().take_while(fits).count().max(1)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    pub(super) fn new(
        liveness: Liveness,
        requests: Exchanges,
        (waits, waiters): (Box<dyn Sender>, Arc<Waiters>),
        memory: Option<RemoteSegment>,
    ) -> Client {
        let liveness = Arc::new(liveness);
        let requests = Lane::new(liveness.clone(), requests);
        Client { liveness, requests, waits: Mutex::new(waits), waiters, memory }
    }

    /// Whether the adapter reads the peer's memory.
    pub(super) fn reads_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Has the adapter read from the peer's segment, which has `segment` bytes, and what it may not read go by `message`: see [`RemoteSegment::read`].
    ///
    /// # Safety
    /// As for [`RemoteSegment::read`].
    pub(super) unsafe fn read_memory(
        &self,
        place: (usize, usize),
        into: *mut u8,
        segment: usize,
        message: impl FnMut(usize, usize) -> Result<(), Lost>,
    ) -> Result<(), Lost> {
        let Some(memory) = &self.memory else { unreachable!("there is an adapter that reads") };
        // SAFETY: the caller's promise.
        let read = unsafe { memory.read(place, into, |piece| self.ask_key(piece, segment), message) }?;
        self.liveness.or_lost(read)
    }

    /// Has the adapter look at the peer's segment, which has `segment` bytes, if it can.
    ///
    /// # Safety
    /// As for [`Transport::look`](crate::Transport::look).
    pub(super) unsafe fn look(&self, parts: &mut [Look<'_>], segment: usize) -> Result<bool, Lost> {
        let Some(memory) = self.memory.as_ref().filter(|memory| memory.looks()) else { return Ok(false) };
        // SAFETY: the caller's promise.
        match unsafe { memory.look(parts, |piece| self.ask_key(piece, segment)) }? {
            Some(looked) => self.liveness.or_lost(looked).map(|()| true),
            None => Ok(false),
        }
    }

    /// Asks the peer for the key of a piece of its segment, which has `segment` bytes.
    fn ask_key(&self, piece: usize, segment: usize) -> Result<Option<RemoteKey>, Lost> {
        self.exchange_header(&Request::Key { offset: piece }, |replies| {
            self.value(replies, KEY_BYTES)?;
            let key = self.liveness.or_lost(replies.payload(KEY_BYTES))?;
            self.well_formed(wire::decode_key(key, piece, segment))
        })
    }

    /// Has a request without payload executed; returns the reply's value.
    pub(super) fn call(&self, request: &Request) -> Result<u64, Lost> {
        self.exchange_header(request, |replies| self.value(replies, 0))
    }

    /// Has a transfer of so many bytes executed in pieces: `make` makes the request, without payload, for one at an offset of so many bytes, whose contents the reply has. Hands
    /// these, and their offset, to `take`, in their order.
    pub(super) fn fetch<'a>(
        &self,
        bytes: usize,
        make: impl Fn(usize, usize) -> Request<'a>,
        mut take: impl FnMut(usize, &[u8]),
    ) -> Result<(), Lost> {
        let length = |at: usize| MAX_PAYLOAD.min(bytes - at);
        let (mut asked, mut taken) = (0, 0);
        let put = |buffer: &mut [u8]| {
            if asked == bytes {
                return 0;
            }
            buffer.copy_from_slice(&make(asked, length(asked)).header());
            asked += length(asked);
            HEADER
        };
        self.requests.exchange_all(HEADER, put, |replies| {
            let piece = length(taken);
            self.value(replies, piece)?;
            take(taken, self.liveness.or_lost(replies.payload(piece))?);
            taken += piece;
            Ok(())
        })
    }

    /// Has requests executed, those whose payloads of at most `most` bytes `fill` puts into the buffer it gets, one at a time; it says what it is and how many bytes that are. `make`
    /// makes the request of what it says and the payload. One with an empty payload is none, and ends them.
    pub(super) fn send<T>(
        &self,
        most: usize,
        mut fill: impl FnMut(&mut [u8]) -> (T, usize),
        make: impl for<'a> Fn(T, &'a [u8]) -> Request<'a>,
    ) -> Result<(), Lost> {
        let put = |buffer: &mut [u8]| {
            let (header, payload) = buffer.split_at_mut(HEADER);
            let (what, bytes) = fill(payload);
            if bytes == 0 {
                return 0;
            }
            header.copy_from_slice(&make(what, &payload[..bytes]).header());
            HEADER + bytes
        };
        self.requests.exchange_all(HEADER + most, put, |replies| self.value(replies, 0).map(drop))
    }

    /// Has the peer execute a call; returns the length of the reply.
    pub(super) fn ask(&self, request: &[u8], reply: &mut [u8]) -> Result<usize, Lost> {
        let put = |buffer: &mut [u8]| put_call(request, buffer);
        self.requests.exchange(HEADER + request.len(), put, |replies| self.call_reply(replies, reply))
    }

    /// Has the peer execute calls, in their order. For `arrived` see [`Transport::ask_all`](crate::Transport::ask_all).
    pub(super) fn ask_all(
        &self,
        mut asks: &mut [Numbered<'_, '_>],
        arrived: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<(), Lost> {
        while !asks.is_empty() {
            let (group, rest) = asks.split_at_mut(leading(asks));
            // Requests are read while lengths of replies are written: these are different fields.
            let requests: Vec<&[u8]> = group.iter().map(|(_, ask)| ask.request).collect();
            let mut group = group.iter_mut();
            self.requests.exchange_all(longest(&requests), put_calls(requests), |replies| {
                self.take_reply(replies, group.next().expect("as many replies as requests"), arrived)
            })?;
            asks = rest;
        }
        Ok(())
    }

    /// Sends the first of these calls, as many as may be under way before a reply is taken. `None` where each exchange ends before the next one begins.
    pub(super) fn send_calls(&self, asks: &[Numbered<'_, '_>]) -> Option<Window> {
        let requests: Vec<&[u8]> = asks[..leading(asks)].iter().map(|(_, ask)| ask.request).collect();
        self.requests.send_window(longest(&requests), put_calls(requests))
    }

    /// Takes the replies to calls that have been sent, of which `asks` has the first; returns their number. For `arrived` see [`Transport::ask_all`](crate::Transport::ask_all).
    pub(super) fn take_replies(
        &self,
        window: Window,
        asks: &mut [Numbered<'_, '_>],
        arrived: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<usize, Lost> {
        let mut taken = 0;
        self.requests.take_window(window, |replies| {
            self.take_reply(replies, &mut asks[taken], arrived)?;
            taken += 1;
            Ok(())
        })?;
        Ok(taken)
    }

    /// Takes the reply to one of several calls, and hands it to `arrived`.
    fn take_reply(
        &self,
        replies: &mut dyn Replies,
        (number, ask): &mut Numbered<'_, '_>,
        arrived: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<(), Lost> {
        ask.length = self.call_reply(replies, ask.reply)?;
        arrived(*number, &ask.reply[..ask.length]);
        Ok(())
    }

    /// Has the peer execute a call whose reply nobody wants.
    pub(super) fn post(&self, request: &[u8]) -> Result<(), Lost> {
        self.requests.post(&Request::Post { request }, &Request::Call { request }, |replies| {
            let head = self.liveness.or_lost(replies.head())?;
            let length = self.well_formed(wire::decode_call_reply(&head))?;
            self.liveness.or_lost(replies.payload(length)).map(drop)
        })
    }

    /// Waits until the peer has ended.
    pub(super) fn wait_end(&self) {
        self.requests.wait_end();
    }

    /// Has the peer wait until a word of its segment differs from `seen`; returns its value.
    pub(super) fn wait_change(&self, offset: usize, seen: u32, wake: Wake) -> Result<u32, Lost> {
        let (id, waiter) = section(|| {
            self.liveness.check()?;
            let (id, waiter) = self.waiters.enter().ok_or_else(|| self.liveness.lose(&CLOSED))?;
            let request = Request::Wait { offset, seen, wake, id };
            let sent = lock(&self.waits).send(&request.header());
            self.liveness.or_lost(sent).inspect_err(|_| self.waiters.leave(id))?;
            Ok((id, waiter))
        })?;
        let value = waiter.sleep();
        section(|| self.waiters.leave(id));
        value.ok_or_else(|| self.liveness.lose(&CLOSED))
    }

    /// Takes the reply to a call; returns its length.
    fn call_reply(&self, replies: &mut dyn Replies, reply: &mut [u8]) -> Result<usize, Lost> {
        let head = self.liveness.or_lost(replies.head())?;
        let length = self.well_formed(wire::decode_call_reply(&head))?;
        let space = reply.len();
        let Some(reply) = reply.get_mut(..length) else {
            let why = format_args!("malformed reply: {length} bytes to a call with space for {space}");
            return Err(self.liveness.lose(&why));
        };
        self.liveness.or_lost(replies.payload_into(reply))?;
        Ok(length)
    }

    /// Sends a request without payload, and hands the reply to `take`.
    fn exchange_header<R>(
        &self,
        request: &Request,
        take: impl FnOnce(&mut dyn Replies) -> Result<R, Lost>,
    ) -> Result<R, Lost> {
        let put = |buffer: &mut [u8]| {
            buffer.copy_from_slice(&request.header());
            HEADER
        };
        self.requests.exchange(HEADER, put, take)
    }

    /// The value of the reply, which `expected` bytes follow.
    fn value(&self, replies: &mut dyn Replies, expected: usize) -> Result<u64, Lost> {
        let head = self.liveness.or_lost(replies.head())?;
        // The payload follows only if its length is right.
        self.well_formed(wire::decode_reply(&head, expected))
    }

    fn well_formed<T>(&self, decoded: Result<T, Malformed>) -> Result<T, Lost> {
        decoded.map_err(|malformed| self.liveness.lose(&format_args!("malformed reply: {malformed}")))
    }
}

/// The threads that wait for words of one peer.
#[derive(Default)]
pub(super) struct Waiters(Mutex<Table>);

#[derive(Default)]
struct Table {
    /// By the number that a request and its answer have.
    all: Vec<Arc<Waiter>>,
    free: Vec<u32>,
    is_lost: bool,
}

/// One thread that waits.
#[derive(Default)]
struct Waiter {
    state: AtomicU32,
    value: AtomicU32,
}

const IDLE: u32 = 0;
const ASLEEP: u32 = 1;
const ANSWERED: u32 = 2;
const LOST: u32 = 3;

impl Waiter {
    /// Sleeps until there is an answer; `None` if there will be none.
    fn sleep(&self) -> Option<u32> {
        loop {
            match self.state.load(Ordering::Acquire) {
                ASLEEP => futex::wait(&self.state, ASLEEP, futex::ALL),
                ANSWERED => return Some(self.value.load(Ordering::Relaxed)),
                _ => return None,
            }
        }
    }

    fn set(&self, state: u32) {
        self.state.store(state, Ordering::Release);
        futex::wake(&self.state, futex::ALL);
    }
}

impl Waiters {
    /// A place for a thread that is going to wait, and its number; `None` if the peer is lost.
    fn enter(&self) -> Option<(u32, Arc<Waiter>)> {
        let mut table = lock(&self.0);
        if table.is_lost {
            return None;
        }
        let id = table.free.pop().unwrap_or_else(|| {
            table.all.push(Arc::default());
            table.all.len() as u32 - 1
        });
        let waiter = table.all[id as usize].clone();
        waiter.state.store(ASLEEP, Ordering::Relaxed);
        Some((id, waiter))
    }

    fn leave(&self, id: u32) {
        let mut table = lock(&self.0);
        table.all[id as usize].state.store(IDLE, Ordering::Relaxed);
        table.free.push(id);
    }

    /// Hands an answer to the thread that waits for it; whether there is one.
    pub(super) fn answer(&self, id: u32, value: u32) -> bool {
        let table = lock(&self.0);
        match table.all.get(id as usize) {
            Some(waiter) if waiter.state.load(Ordering::Relaxed) == ASLEEP => {
                waiter.value.store(value, Ordering::Relaxed);
                waiter.set(ANSWERED);
                true
            }
            _ => false,
        }
    }

    /// No answer will come any more.
    pub(super) fn lose(&self) {
        let mut table = lock(&self.0);
        table.is_lost = true;
        for waiter in table.all.iter().filter(|w| w.state.load(Ordering::Relaxed) == ASLEEP) {
            waiter.set(LOST);
        }
    }
}
