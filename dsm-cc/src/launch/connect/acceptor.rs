//! The listening side of a host: it accepts the connections that are expected, from those who prove themselves ([`super::proof`]).
//!
//! Whoever sends anything else, or too slowly, is dropped; so is a second connection of a pair and kind. Those who have not proved themselves are bounded in
//! number: further ones wait in the system's queue.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use hmac::{Hmac, Mac};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use sha2::Sha256;

use super::Limits;
use super::proof::{ACCEPTED, CLAIM, PROOF, Pair, Role, nonce, prove, read_claim};
use crate::launch::control::SECRET_BYTES;

/// Accepts what is expected.
pub(super) struct Acceptor<'a> {
    secret: &'a [u8; SECRET_BYTES],
    expected: BTreeSet<Pair>,
    limits: Limits,
    pub(super) candidates: Vec<Candidate>,
    pub(super) accepted: BTreeMap<Pair, TcpStream>,
}

/// Somebody who has not proved to belong to the job.
pub(super) struct Candidate {
    socket: TcpStream,
    until: Instant,
    bytes: Vec<u8>,
    challenge: Option<Challenge>,
}

struct Challenge {
    pair: Pair,
    /// What proves the claim.
    proof: Hmac<Sha256>,
}

/// How far somebody has come.
enum Progress {
    Waits,
    Refused,
    Proved(Pair),
}

impl<'a> Acceptor<'a> {
    pub(super) fn new(
        secret: &'a [u8; SECRET_BYTES],
        expected: BTreeSet<Pair>,
        limits: Limits,
    ) -> Acceptor<'a> {
        Acceptor { secret, expected, limits, candidates: Vec::new(), accepted: BTreeMap::new() }
    }

    /// A pair that has not connected.
    pub(super) fn missing(&self) -> Option<Pair> {
        self.expected.iter().find(|pair| !self.accepted.contains_key(pair)).copied()
    }

    /// Waits at most so long for somebody to do something, and answers.
    pub(super) fn wait(&mut self, listener: &TcpListener, timeout: Duration) -> Result<(), String> {
        let mut fds: Vec<_> =
            self.candidates.iter().map(|u| PollFd::new(u.socket.as_fd(), PollFlags::POLLIN)).collect();
        if self.candidates.len() < self.limits.candidates {
            fds.push(PollFd::new(listener.as_fd(), PollFlags::POLLIN));
        }
        let _ = poll(&mut fds, PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX));
        drop(fds);
        while self.candidates.len() < self.limits.candidates {
            let until = Instant::now() + self.limits.handshake;
            match listener.accept() {
                Ok((socket, _)) if socket.set_nonblocking(true).is_ok() => {
                    self.candidates.push(Candidate { socket, until, bytes: Vec::new(), challenge: None });
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                // Whoever connected has left already.
                Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    return Err(format!("cannot accept a connection: {e} (ulimit -n limits the number)"));
                }
            }
        }
        let now = Instant::now();
        for mut candidate in std::mem::take(&mut self.candidates) {
            match self.progress(&mut candidate) {
                Progress::Proved(pair) => {
                    let written = candidate.socket.write(&[ACCEPTED]);
                    if written.is_ok_and(|count| count == 1) {
                        self.accepted.insert(pair, candidate.socket);
                    }
                }
                Progress::Waits if now < candidate.until => self.candidates.push(candidate),
                Progress::Waits | Progress::Refused => {}
            }
        }
        Ok(())
    }

    fn is_open(&self, pair: &Pair) -> bool {
        self.expected.contains(pair) && !self.accepted.contains_key(pair)
    }

    fn progress(&self, candidate: &mut Candidate) -> Progress {
        if candidate.challenge.is_none() {
            match candidate.receive::<CLAIM>() {
                Ok(None) => return Progress::Waits,
                Ok(Some(claim)) => match self.challenge(candidate, &claim) {
                    Some(challenge) => candidate.challenge = Some(challenge),
                    None => return Progress::Refused,
                },
                Err(_) => return Progress::Refused,
            }
        }
        match candidate.receive::<PROOF>() {
            Ok(None) => Progress::Waits,
            Ok(Some(proof)) => {
                let proved = candidate.challenge.take().and_then(|challenge| {
                    challenge.proof.verify_slice(&proof).is_ok().then_some(challenge.pair)
                });
                proved.filter(|pair| self.is_open(pair)).map_or(Progress::Refused, Progress::Proved)
            }
            Err(_) => Progress::Refused,
        }
    }

    /// Answers a claim.
    fn challenge(&self, candidate: &mut Candidate, claim: &[u8; CLAIM]) -> Option<Challenge> {
        let pair = read_claim(claim).filter(|pair| self.is_open(pair))?;
        let nonce = nonce().ok()?;
        let own = prove(self.secret, Role::Accepts, claim, &nonce).finalize().into_bytes();
        let answer: Vec<u8> = nonce.iter().chain(&own).copied().collect();
        // A new connection's buffers take this much.
        let sent = candidate.socket.write(&answer).ok()?;
        let proof = prove(self.secret, Role::Connects, claim, &nonce);
        (sent == answer.len()).then_some(Challenge { pair, proof })
    }
}

impl Candidate {
    /// So many bytes, once they are all there. Takes no byte that comes after them.
    fn receive<const COUNT: usize>(&mut self) -> io::Result<Option<[u8; COUNT]>> {
        while self.bytes.len() < COUNT {
            let mut buffer = [0; COUNT];
            let missing = COUNT - self.bytes.len();
            match self.socket.read(&mut buffer[..missing]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.bytes.extend_from_slice(&buffer[..count]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(std::mem::take(&mut self.bytes).try_into().ok())
    }
}
