//! The agent's ends of the connections.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use super::socket;
use crate::poll::poll;
use crate::requests::Random;
use crate::requests::carrier::{ANSWER_BYTES, BATCH, LaneKind, MAX_REPLY, MAX_REQUEST, Port, WAIT_BYTES};

/// Requests to wait, and answers, that are taken at once.
const FEW: usize = 64;

/// Polls the sockets.
pub(super) struct SocketPort {
    connections: Vec<Connection>,
    /// In the order of the connections.
    polled: Vec<libc::pollfd>,
    random: Option<Random>,
}

struct Connection {
    /// `None` once it has ended.
    socket: Option<Arc<OwnedFd>>,
    input: Box<[u8]>,
    received: usize,
    output: Box<[u8]>,
    /// The part of `output` that is still to be sent.
    unsent: std::ops::Range<usize>,
}

impl Connection {
    fn new(socket: Arc<OwnedFd>, kind: LaneKind) -> Connection {
        let (input, output) = match kind {
            LaneKind::Requests => (MAX_REQUEST + BATCH, MAX_REPLY + BATCH),
            LaneKind::Waits => (FEW * WAIT_BYTES, 0),
            LaneKind::Answers => (FEW * ANSWER_BYTES, 0),
        };
        let socket = Some(socket);
        Connection {
            socket,
            input: vec![0; input].into(),
            received: 0,
            output: vec![0; output].into(),
            unsent: 0..0,
        }
    }

    /// What to wait for. A request that is being delayed comes before the next one. While a reply is being sent, short requests are taken that may be behind
    /// the one it is for: their sender may take no reply before they are.
    fn events(&self, is_paused: bool) -> i16 {
        let takes = if self.received < self.input.len() { libc::POLLIN } else { 0 };
        match (is_paused, self.unsent.is_empty()) {
            (true, _) => 0,
            (false, true) => libc::POLLIN,
            (false, false) => libc::POLLOUT | takes,
        }
    }
}

impl SocketPort {
    /// The sockets are in the order of a [`Port`]'s lanes.
    pub(super) fn new(sockets: Vec<Arc<OwnedFd>>, random: Option<Random>) -> SocketPort {
        let polled = |socket: &Arc<OwnedFd>| libc::pollfd { fd: socket.as_raw_fd(), events: 0, revents: 0 };
        let polled = sockets.iter().map(polled).collect();
        let kinds = LaneKind::ALL.into_iter().cycle();
        let connections = sockets.into_iter().zip(kinds).map(|(socket, kind)| Connection::new(socket, kind));
        SocketPort { connections: connections.collect(), polled, random }
    }
}

impl Port for SocketPort {
    fn wait(&mut self, paused: &[bool], timeout: Option<Duration>, ready: &mut Vec<usize>) {
        for ((polled, connection), is_paused) in self.polled.iter_mut().zip(&self.connections).zip(paused) {
            polled.events = connection.events(*is_paused);
            polled.revents = 0;
        }
        poll(&mut self.polled, timeout);
        ready.extend((0..).zip(&self.polled).filter(|(_, polled)| polled.revents != 0).map(|(lane, _)| lane));
    }

    fn receive(&mut self, lane: usize) -> io::Result<bool> {
        let Connection { socket, input, received, unsent, .. } = &mut self.connections[lane];
        let Some(socket) = socket else { return Ok(false) };
        let free = &mut input[*received..];
        if free.is_empty() {
            return Ok(true);
        }
        match socket::receive_now(socket, free, self.random.as_mut())? {
            // There may be more to send.
            None => Ok(unsent.start < unsent.end),
            Some(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Some(bytes) => {
                *received += bytes;
                Ok(true)
            }
        }
    }

    fn has_space(&self, lane: usize) -> bool {
        let Connection { output, unsent, .. } = &self.connections[lane];
        output.len() - unsent.end >= MAX_REPLY
    }

    fn split(&mut self, lane: usize) -> (&[u8], &mut [u8]) {
        let Connection { input, received, output, unsent, .. } = &mut self.connections[lane];
        (&input[..*received], &mut output[unsent.end..])
    }

    fn consume(&mut self, lane: usize, bytes: usize) {
        let Connection { input, received, .. } = &mut self.connections[lane];
        input.copy_within(bytes..*received, 0);
        *received -= bytes;
    }

    fn is_torn(&self, _lane: usize) -> bool {
        false
    }

    fn reply(&mut self, lane: usize, bytes: usize) {
        self.connections[lane].unsent.end += bytes;
    }

    fn send_pending(&mut self, lane: usize) -> io::Result<bool> {
        let Connection { socket, output, unsent, .. } = &mut self.connections[lane];
        let Some(socket) = socket else { return Ok(true) };
        while unsent.start < unsent.end {
            match socket::send_now(socket, &output[unsent.clone()], self.random.as_mut())? {
                None => return Ok(false),
                Some(sent) => unsent.start += sent,
            }
        }
        *unsent = 0..0;
        Ok(true)
    }

    fn close(&mut self, lane: usize) {
        let connection = &mut self.connections[lane];
        if let Some(socket) = connection.socket.take() {
            socket::shut_down(&socket);
        }
        // The descriptor may be another file's soon.
        self.polled[lane].fd = -1;
        connection.unsent = 0..0;
    }
}
