//! The thread that serves the peers: it executes their requests on the own segment, hands their waits to the pool, and hands answers to own waits to the
//! threads that wait for them.
//!
//! It blocks nowhere but in `poll`: what a socket does not take or give at once is continued when it does.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::client::Waiters;
use super::memory::Segment;
use super::pool::{Asker, Pool, Wait};
use super::random::Random;
use super::socket;
use super::wire::{self, ANSWER, HEADER, MAX_CALL_REPLY, MAX_PAYLOAD, Malformed, REPLY, Request};

/// Requests that are small: those for waits.
const FEW: usize = 64;

pub(super) struct Agent {
    rank: u32,
    segment: Segment,
    pool: Arc<Pool>,
    random: Option<Random>,
    connections: Vec<Connection>,
    /// What `poll` looks at, in the order of the connections.
    polled: Vec<libc::pollfd>,
    /// Connections to serve now.
    ready: Vec<usize>,
}

struct Connection {
    peer: u32,
    purpose: Purpose,
    /// `None` once it has ended.
    socket: Option<Arc<OwnedFd>>,
    input: Box<[u8]>,
    received: usize,
    output: Box<[u8]>,
    /// The part of `output` that is still to be sent.
    unsent: std::ops::Range<usize>,
    /// When the request at the start of `input` is to be executed, if it is being delayed.
    due: Option<Instant>,
    /// The request at the start of `input` has been delayed, or need not be.
    is_due: bool,
}

pub(super) enum Purpose {
    /// Requests of the peer, and their replies.
    Requests,
    /// Waits of the peer; the pool answers them.
    Waits(Arc<Asker>),
    /// Answers to own waits.
    Answers(Arc<Waiters>),
}

/// Why a connection ends.
enum End {
    Closed,
    Malformed(Malformed),
}

impl From<Malformed> for End {
    fn from(malformed: Malformed) -> End {
        End::Malformed(malformed)
    }
}

impl From<std::io::Error> for End {
    fn from(_: std::io::Error) -> End {
        End::Closed
    }
}

impl Connection {
    pub(super) fn new(peer: u32, socket: Arc<OwnedFd>, purpose: Purpose) -> Connection {
        let (input, output) = match purpose {
            Purpose::Requests => (HEADER + MAX_PAYLOAD, REPLY + MAX_CALL_REPLY),
            Purpose::Waits(_) => (FEW * HEADER, 0),
            Purpose::Answers(_) => (FEW * ANSWER, 0),
        };
        Connection {
            peer,
            purpose,
            socket: Some(socket),
            input: vec![0; input].into(),
            received: 0,
            output: vec![0; output].into(),
            unsent: 0..0,
            due: None,
            is_due: false,
        }
    }

    /// What to wait for. A request that is being delayed, and a reply that is being sent, come before the next request.
    fn events(&self) -> i16 {
        match (self.due, self.unsent.is_empty()) {
            (Some(_), _) => 0,
            (None, true) => libc::POLLIN,
            (None, false) => libc::POLLOUT,
        }
    }

    fn consume(&mut self, bytes: usize) {
        self.input.copy_within(bytes..self.received, 0);
        self.received -= bytes;
        self.is_due = false;
    }
}

impl Agent {
    pub(super) fn new(
        rank: u32,
        segment: Segment,
        pool: Arc<Pool>,
        random: Option<Random>,
        connections: impl IntoIterator<Item = (u32, Arc<OwnedFd>, Purpose)>,
    ) -> Agent {
        let connections: Vec<_> = connections
            .into_iter()
            .map(|(peer, socket, purpose)| Connection::new(peer, socket, purpose))
            .collect();
        let polled = connections
            .iter()
            .map(|c| libc::pollfd {
                fd: c.socket.as_ref().map_or(-1, |s| s.as_raw_fd()),
                events: 0,
                revents: 0,
            })
            .collect();
        let ready = Vec::with_capacity(connections.len());
        Agent { rank, segment, pool, random, connections, polled, ready }
    }

    /// Serves as long as the process lives.
    pub(super) fn serve(mut self) {
        loop {
            self.wait();
            for i in 0..self.ready.len() {
                let at = self.ready[i];
                if let Err(end) = self.serve_one(at) {
                    self.end(at, end);
                }
            }
        }
    }

    /// Waits until connections can be served; puts them in `ready`.
    fn wait(&mut self) {
        for (polled, connection) in self.polled.iter_mut().zip(&self.connections) {
            polled.events = connection.events();
            polled.revents = 0;
        }
        let now = Instant::now();
        let next = self.connections.iter().filter_map(|c| c.due).min();
        poll(&mut self.polled, next.map(|due| due.saturating_duration_since(now)));
        let now = Instant::now();
        self.ready.clear();
        for (at, (polled, connection)) in self.polled.iter().zip(&self.connections).enumerate() {
            // The end of a connection shows when the next request is read; a request before that is executed.
            let is_ready = match connection.due {
                Some(due) => due <= now,
                None => polled.revents != 0,
            };
            if is_ready {
                self.ready.push(at);
            }
        }
        if let Some(random) = &mut self.random {
            random.shuffle(&mut self.ready);
        }
    }

    /// Goes on with a connection as far as that is possible at once.
    fn serve_one(&mut self, at: usize) -> Result<(), End> {
        let connection = &mut self.connections[at];
        let Some(socket) = connection.socket.clone() else { return Ok(()) };
        if connection.due.take().is_some() {
            connection.is_due = true;
        } else if connection.unsent.is_empty() {
            let free = &mut connection.input[connection.received..];
            match socket::receive_now(&socket, free, self.random.as_mut())? {
                None => return Ok(()),
                Some(0) => return Err(End::Closed),
                Some(received) => connection.received += received,
            }
        }
        loop {
            while !connection.unsent.is_empty() {
                let bytes = &connection.output[connection.unsent.clone()];
                match socket::send_now(&socket, bytes, self.random.as_mut())? {
                    None => return Ok(()),
                    Some(sent) => connection.unsent.start += sent,
                }
            }
            let input = &connection.input[..connection.received];
            if let Purpose::Answers(waiters) = &connection.purpose {
                let Some(answer) = input.first_chunk::<ANSWER>() else { return Ok(()) };
                let (id, value) = wire::decode_answer(answer);
                if !waiters.answer(id, value) {
                    return Err(Malformed::Fields.into());
                }
                connection.consume(ANSWER);
                continue;
            }
            let Some((request, length)) = Request::decode(input, self.segment.bytes)? else { return Ok(()) };
            if let Some(delay) = self.random.as_mut().filter(|_| !connection.is_due).and_then(Random::delay) {
                connection.due = Some(Instant::now() + delay);
                return Ok(());
            }
            match &connection.purpose {
                Purpose::Waits(asker) => {
                    let Request::Wait { offset, seen, wake, id } = request else {
                        return Err(Malformed::Connection.into());
                    };
                    self.pool.submit(Wait { asker: asker.clone(), offset, seen, wake, id });
                }
                _ => {
                    let (head, payload) = connection.output.split_at_mut(REPLY);
                    let (value, bytes) = self.segment.execute(&request, payload)?;
                    head.copy_from_slice(&wire::reply(value, bytes));
                    connection.unsent = 0..REPLY + bytes;
                }
            }
            connection.consume(length);
        }
    }

    /// Ends a connection; the others stay.
    fn end(&mut self, at: usize, end: End) {
        let connection = &mut self.connections[at];
        let peer = connection.peer;
        if let End::Malformed(malformed) = end {
            let what = if let Purpose::Answers(_) = connection.purpose { "answer" } else { "request" };
            eprintln!("dsm: error: process {}: malformed {what} from process {peer}: {malformed}", self.rank);
        }
        if let Purpose::Answers(waiters) = &connection.purpose {
            waiters.lose();
        }
        if let Some(socket) = connection.socket.take() {
            socket::shut_down(&socket);
        }
        // The descriptor may be another file's soon.
        self.polled[at].fd = -1;
        connection.unsent = 0..0;
        connection.due = None;
    }
}

/// Waits for events, at most for a time if there is one. An interruption is no event.
fn poll(polled: &mut [libc::pollfd], timeout: Option<Duration>) {
    let time = timeout
        .map(|t| libc::timespec { tv_sec: t.as_secs() as libc::time_t, tv_nsec: t.subsec_nanos().into() });
    // SAFETY: the array and the time live for the call; the signal mask stays as it is.
    let result = unsafe {
        libc::syscall(
            libc::SYS_ppoll,
            polled.as_mut_ptr(),
            polled.len(),
            time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
            std::ptr::null::<libc::sigset_t>(),
            0,
        )
    };
    let error = std::io::Error::last_os_error();
    if result < 0 && error.kind() != std::io::ErrorKind::Interrupted {
        eprintln!("dsm: error: cannot wait for requests of other processes: {error}");
        // SAFETY: ends the process without handlers; other threads may hold any lock.
        unsafe { libc::_exit(1) }
    }
}
