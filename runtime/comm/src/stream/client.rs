//! The requester's end of the connections to one peer.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsm_threads::futex;

use super::lost::{lost, or_lost};
use super::random::Random;
use super::wire::{self, HEADER, MAX_PAYLOAD, REPLY, Request};
use super::{Wake, socket};
use crate::transport::section;

/// Connections to one peer.
pub(super) struct Client {
    rank: u32,
    exchange: Mutex<Exchange>,
    wait_requests: Mutex<WaitRequests>,
    waiters: Arc<Waiters>,
}

/// The connection for requests. Locked from a request to its reply.
struct Exchange {
    socket: OwnedFd,
    /// A request, then its reply.
    buffer: Box<[u8]>,
    random: Option<Random>,
}

/// The connection for waits. Locked while one is being asked for.
struct WaitRequests {
    socket: Arc<OwnedFd>,
    random: Option<Random>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    pub(super) fn new(
        rank: u32,
        requests: OwnedFd,
        waits: Arc<OwnedFd>,
        waiters: Arc<Waiters>,
        random: impl Fn(u64) -> Option<Random>,
    ) -> Client {
        let buffer = vec![0; HEADER + MAX_PAYLOAD].into();
        Client {
            rank,
            exchange: Mutex::new(Exchange { socket: requests, buffer, random: random(2 * u64::from(rank)) }),
            wait_requests: Mutex::new(WaitRequests {
                socket: waits,
                random: random(2 * u64::from(rank) + 1),
            }),
            waiters,
        }
    }

    /// Has a request without payload executed; returns the reply's value.
    pub(super) fn call(&self, request: &Request) -> u64 {
        let mut exchange = lock(&self.exchange);
        exchange.buffer[..HEADER].copy_from_slice(&request.header());
        exchange.run(self.rank, 0, 0)
    }

    /// Has a request without payload executed whose reply has one of `bytes` bytes, and hands that to `take`.
    pub(super) fn fetch(&self, request: &Request, bytes: usize, take: impl FnOnce(&[u8])) {
        let mut exchange = lock(&self.exchange);
        exchange.buffer[..HEADER].copy_from_slice(&request.header());
        exchange.run(self.rank, 0, bytes);
        take(&exchange.buffer[REPLY..][..bytes]);
    }

    /// Has a request executed whose payload `fill` puts into the buffer it gets; it says how many bytes that are. `make` makes the request of the payload;
    /// there is none if that is empty.
    pub(super) fn send(
        &self,
        fill: impl FnOnce(&mut [u8]) -> usize,
        make: impl for<'a> FnOnce(&'a [u8]) -> Request<'a>,
    ) {
        let mut exchange = lock(&self.exchange);
        let (header, payload) = exchange.buffer.split_at_mut(HEADER);
        let bytes = fill(payload);
        if bytes != 0 {
            header.copy_from_slice(&make(&payload[..bytes]).header());
            exchange.run(self.rank, bytes, 0);
        }
    }

    /// Has the peer execute a call; returns the length of the reply.
    pub(super) fn ask(&self, request: &[u8], reply: &mut [u8]) -> usize {
        let mut exchange = lock(&self.exchange);
        let (header, payload) = exchange.buffer.split_at_mut(HEADER);
        header.copy_from_slice(&Request::Call { request }.header());
        payload[..request.len()].copy_from_slice(request);
        exchange.run_call(self.rank, request.len(), reply)
    }

    /// Waits until the peer has closed the connection.
    pub(super) fn wait_end(&self) {
        let exchange = lock(&self.exchange);
        // Between exchanges nothing else comes.
        _ = socket::receive(&exchange.socket, &mut [0], None);
    }

    /// Has the peer wait until a word of its segment differs from `seen`; returns its value.
    pub(super) fn wait_change(&self, offset: usize, seen: u32, wake: Wake) -> u32 {
        let (id, waiter) = section(|| {
            let Some((id, waiter)) = self.waiters.enter() else { lost(self.rank, &CLOSED) };
            let request = Request::Wait { offset, seen, wake, id };
            let mut requests = lock(&self.wait_requests);
            let WaitRequests { socket, random } = &mut *requests;
            or_lost(self.rank, socket::send(socket, &request.header(), random.as_mut()));
            (id, waiter)
        });
        match waiter.sleep() {
            Some(value) => {
                section(|| self.waiters.leave(id));
                value
            }
            None => lost(self.rank, &CLOSED),
        }
    }
}

const CLOSED: &str = "it has closed the connection";

impl Exchange {
    /// Sends the call in the buffer and receives its reply; returns the length of that.
    fn run_call(&mut self, rank: u32, payload: usize, reply: &mut [u8]) -> usize {
        let Exchange { socket, buffer, random } = self;
        or_lost(rank, socket::send(socket, &buffer[..HEADER + payload], random.as_mut()));
        let mut receive = |place: &mut [u8]| or_lost(rank, socket::receive(socket, place, random.as_mut()));
        let mut head = [0; REPLY];
        receive(&mut head);
        let length = wire::decode_call_reply(&head)
            .unwrap_or_else(|malformed| lost(rank, &format_args!("malformed reply: {malformed}")));
        receive(&mut reply[..length]);
        length
    }

    /// Sends the request in the buffer and receives its reply there.
    fn run(&mut self, rank: u32, payload: usize, expected: usize) -> u64 {
        let Exchange { socket, buffer, random } = self;
        or_lost(rank, socket::send(socket, &buffer[..HEADER + payload], random.as_mut()));
        let mut receive = |place: &mut [u8]| or_lost(rank, socket::receive(socket, place, random.as_mut()));
        let mut head = [0; REPLY];
        receive(&mut head);
        // The payload follows only if its length is right.
        let value = wire::decode_reply(&head, expected)
            .unwrap_or_else(|malformed| lost(rank, &format_args!("malformed reply: {malformed}")));
        receive(&mut buffer[REPLY..][..expected]);
        value
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
