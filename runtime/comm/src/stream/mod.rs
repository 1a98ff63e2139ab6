//! Stream sockets as a carrier of [`requests`](crate::requests): each lane between two processes is a connection.
//!
//! # No deadlock
//! Sockets take what they have room for, so a sender may block while the receiver does not read. Threads that call send to agents only, and an agent
//! reads from a connection whenever it has no reply left to send on it; while it has, the thread that calls takes what it sends. A thread of the pool
//! that sends an answer waits for the agent of the process that asked, which always reads. That two processes write to each other at once, more than
//! sockets hold, changes nothing: threads of the program wait for agents, and agents for nobody.

mod port;
mod socket;

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use port::SocketPort;
pub(crate) use socket::shut_down;

use crate::requests::Random;
use crate::requests::carrier::{Carrier, Ends, MAX_REPLY, MAX_REQUEST, REPLY_BYTES, Requester, Sender};

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
        let (waits, serves_waits) = (Arc::new(waits), Arc::new(serves_waits));
        served.extend([Arc::new(serves), serves_waits.clone(), waits.clone()]);
        let sender = |socket, random| Box::new(SocketSender { socket, random });
        Some(Ends {
            requests: Box::new(SocketRequester::new(requests, random(2 * peer))),
            waits: sender(waits, random(2 * peer + 1)),
            answers: sender(serves_waits, None),
        })
    });
    let peers = ends.collect();
    Carrier { peers, port: Box::new(SocketPort::new(served, random(u64::from(u32::MAX) - 1))) }
}

struct SocketRequester {
    socket: OwnedFd,
    /// A request, then the contents of its reply.
    buffer: Box<[u8]>,
    random: Option<Random>,
}

impl SocketRequester {
    fn new(socket: OwnedFd, random: Option<Random>) -> SocketRequester {
        SocketRequester { socket, buffer: vec![0; MAX_REQUEST.max(MAX_REPLY)].into(), random }
    }
}

impl Requester for SocketRequester {
    fn request(&mut self) -> &mut [u8] {
        &mut self.buffer[..MAX_REQUEST]
    }

    fn exchange(&mut self, bytes: usize) -> io::Result<[u8; REPLY_BYTES]> {
        let mut head = [0; REPLY_BYTES];
        socket::send(&self.socket, &self.buffer[..bytes], self.random.as_mut())?;
        socket::receive(&self.socket, &mut head, self.random.as_mut())?;
        Ok(head)
    }

    fn payload(&mut self, bytes: usize) -> io::Result<&[u8]> {
        let SocketRequester { socket, buffer, random } = self;
        socket::receive(socket, &mut buffer[..bytes], random.as_mut())?;
        Ok(&self.buffer[..bytes])
    }

    fn payload_into(&mut self, into: &mut [u8]) -> io::Result<()> {
        socket::receive(&self.socket, into, self.random.as_mut())
    }

    fn wait_end(&mut self) {
        // Between exchanges nothing else comes.
        _ = socket::receive(&self.socket, &mut [0], None);
    }
}

struct SocketSender {
    socket: Arc<OwnedFd>,
    random: Option<Random>,
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
