//! Stream sockets as a carrier of [`requests`](crate::requests): each lane between two processes is a connection.
//!
//! # No deadlock
//! Sockets take what they have space for, so a sender may block while the receiver does not read. Threads that call send to agents only, and an agent
//! reads from a connection whenever it has no reply left to send on it, and as far as its buffer goes while it has; then a thread that waits for it takes what it sends. A thread of the pool
//! that sends an answer waits for the agent of the process that asked, which always reads. That two processes write to each other at once, more than
//! sockets hold, changes nothing: threads of the program wait for agents, and agents for nobody.

mod port;
mod socket;

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use port::SocketPort;
pub(crate) use socket::shut_down;

use crate::requests::Random;
use crate::requests::carrier::{
    BATCH, Carrier, Ends, Exchanges, MAX_REPLY, REPLY_BYTES, Replies, RequestSender, Sender,
};

/// Sockets to one peer.
#[derive(Debug)]
pub struct Peer {
    /// For requests to the peer.
    pub requests: OwnedFd,
    /// For the peer's requests: the other end of its `requests`.
    pub serves: OwnedFd,
    /// For waits at the peer.
    pub waits: OwnedFd,
    /// For the peer's waits: the other end of its `waits`.
    pub serves_waits: OwnedFd,
}

/// The carrier over these sockets, by rank; none for the own one. With a seed in `perturb`, messages go in pieces.
pub fn carrier(rank: u32, peers: Vec<Option<Peer>>, perturb: Option<u64>) -> Carrier {
    let random = |user| perturb.map(|seed| Random::new(seed, u64::from(rank) << 32 | user));
    let mut served = Vec::new();
    let ends = peers.into_iter().zip(0..).map(|(sockets, peer)| {
        let Peer { requests, serves, waits, serves_waits } = sockets?;
        let [requests, waits, serves_waits] = [requests, waits, serves_waits].map(Arc::new);
        served.extend([Arc::new(serves), serves_waits.clone(), waits.clone()]);
        let sender = |socket, random| Box::new(SocketSender { socket, random });
        Some(Ends {
            requests: Exchanges::InOrder(
                sender(requests.clone(), random(4 * peer)),
                Box::new(SocketReplies::new(requests, random(4 * peer + 2))),
            ),
            waits: sender(waits, random(4 * peer + 1)),
            answers: sender(serves_waits, None),
            reader: None,
        })
    });
    let peers = ends.collect();
    Carrier {
        peers,
        port: Box::new(SocketPort::new(served, random(u64::from(u32::MAX) - 1))),
        registrar: None,
        has_looks_by_requests: true,
    }
}

/// Receives replies, as many at a time as there are.
struct SocketReplies {
    socket: Arc<OwnedFd>,
    buffer: Box<[u8]>,
    /// The part of the buffer that nobody has taken.
    received: Range<usize>,
    random: Option<Random>,
}

impl SocketReplies {
    fn new(socket: Arc<OwnedFd>, random: Option<Random>) -> SocketReplies {
        SocketReplies { socket, buffer: vec![0; MAX_REPLY + BATCH].into(), received: 0..0, random }
    }

    /// The next `bytes` bytes, which are no more than a reply has.
    fn take(&mut self, bytes: usize) -> io::Result<&[u8]> {
        let SocketReplies { socket, buffer, received, random } = self;
        if received.start == received.end || received.start + bytes > buffer.len() {
            buffer.copy_within(received.clone(), 0);
            *received = 0..received.len();
        }
        while received.len() < bytes {
            received.end += socket::receive_some(socket, &mut buffer[received.end..], random.as_mut())?;
        }
        let start = received.start;
        received.start += bytes;
        Ok(&buffer[start..][..bytes])
    }
}

impl Replies for SocketReplies {
    fn head(&mut self) -> io::Result<[u8; REPLY_BYTES]> {
        self.take(REPLY_BYTES).map(|head| head.try_into().expect("as long"))
    }

    fn payload(&mut self, bytes: usize) -> io::Result<&[u8]> {
        self.take(bytes)
    }

    fn payload_into(&mut self, into: &mut [u8]) -> io::Result<()> {
        let bytes = self.received.len().min(into.len());
        let (first, rest) = into.split_at_mut(bytes);
        first.copy_from_slice(self.take(bytes)?);
        socket::receive(&self.socket, rest, self.random.as_mut())
    }
}

struct SocketSender {
    socket: Arc<OwnedFd>,
    random: Option<Random>,
}

impl RequestSender for SocketSender {
    fn send(&mut self, requests: &[u8]) -> io::Result<()> {
        socket::send(&self.socket, requests, self.random.as_mut())
    }
}

impl Sender for SocketSender {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        socket::send(&self.socket, message, self.random.as_mut())
    }
}

/// Sends all bytes.
pub(crate) fn send(socket: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    socket::send(socket, bytes, None)
}

/// Receives as many bytes as fit.
pub(crate) fn receive(socket: &OwnedFd, bytes: &mut [u8]) -> io::Result<()> {
    socket::receive(socket, bytes, None)
}

/// The own address of a connection between hosts.
pub(crate) fn local_address(socket: &OwnedFd) -> Option<SocketAddr> {
    TcpStream::from(socket.try_clone().ok()?).local_addr().ok()
}
