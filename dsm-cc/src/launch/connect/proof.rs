//! How the two ends of a connection prove to each other that they know the job's secret, without sending it:
//!
//! 1. who connects: [`MAGIC`], the two ranks (of hosts, those of their first processes; of the head, [`super::HEAD`]), the kind, a random number;
//! 2. who accepts: a random number, and HMAC-SHA256 of all of these and of its role;
//! 3. who connects: the same with the other role;
//! 4. who accepts: [`ACCEPTED`].
//!
//! Both random numbers are new each time, so nothing that was recorded is of use, and the role keeps answers from being sent back.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::launch::control::SECRET_BYTES;

const MAGIC: [u8; 8] = *b"dsm-tcp1";
pub(super) const ACCEPTED: u8 = 1;
pub(super) const NONCE: usize = 32;
pub(super) const PROOF: usize = 32;
pub(super) const CLAIM: usize = MAGIC.len() + 4 + 4 + 1 + NONCE;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Kind {
    Requests = 0,
    Waits = 1,
    Line = 2,
}

const KINDS: [Kind; 3] = [Kind::Requests, Kind::Waits, Kind::Line];

/// Who a connection is between: `from` sends requests, `to` serves them; or a line, which `from` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pair {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) kind: Kind,
}

/// Which end proves itself.
#[derive(Clone, Copy)]
pub(super) enum Role {
    Connects = b'c' as isize,
    Accepts = b'a' as isize,
}

pub(super) fn nonce() -> io::Result<[u8; NONCE]> {
    let mut nonce = [0; NONCE];
    getrandom::fill(&mut nonce).map_err(|e| io::Error::other(e.to_string()))?;
    Ok(nonce)
}

/// The first message: who connects to whom.
pub(super) fn claim(pair: Pair, nonce: &[u8; NONCE]) -> [u8; CLAIM] {
    let mut bytes = [0; CLAIM];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&pair.from.to_le_bytes());
    bytes[12..16].copy_from_slice(&pair.to.to_le_bytes());
    bytes[16] = pair.kind as u8;
    bytes[17..].copy_from_slice(nonce);
    bytes
}

/// Reads [`claim`]'s bytes.
pub(super) fn read_claim(bytes: &[u8; CLAIM]) -> Option<Pair> {
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let kind = KINDS.into_iter().find(|kind| *kind as u8 == bytes[16])?;
    (bytes[..8] == MAGIC).then(|| Pair { from: word(8), to: word(12), kind })
}

/// What only somebody who knows the secret can say about a connection.
pub(super) fn prove(
    secret: &[u8; SECRET_BYTES],
    role: Role,
    claim: &[u8; CLAIM],
    answer: &[u8; NONCE],
) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
    mac.update(&[role as u8]);
    mac.update(claim);
    mac.update(answer);
    mac
}

pub(super) fn left(until: Instant) -> io::Result<Duration> {
    match until.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => Ok(left),
    }
}

/// Proves who is connecting to who listens, and has that prove itself.
pub(super) fn prove_to(
    secret: &[u8; SECRET_BYTES],
    mut socket: TcpStream,
    pair: Pair,
    until: Instant,
) -> io::Result<TcpStream> {
    let receive = |socket: &mut TcpStream, mut bytes: &mut [u8]| {
        while !bytes.is_empty() {
            socket.set_read_timeout(Some(left(until)?))?;
            match socket.read(bytes) {
                Ok(0) => return Err(io::Error::other("the connection was refused by the daemon there")),
                Ok(count) => bytes = &mut bytes[count..],
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    };
    let claim = claim(pair, &nonce()?);
    socket.write_all(&claim)?;
    let mut answer = [0; NONCE + PROOF];
    receive(&mut socket, &mut answer)?;
    let (nonce, proof) = answer.split_at(NONCE);
    let nonce: &[u8; NONCE] = nonce.try_into().expect("the length is constant");
    if prove(secret, Role::Accepts, &claim, nonce).verify_slice(proof).is_err() {
        return Err(io::Error::other("who listens there does not belong to the job"));
    }
    let proof = prove(secret, Role::Connects, &claim, nonce).finalize().into_bytes();
    socket.write_all(&proof)?;
    let mut accepted = [0];
    receive(&mut socket, &mut accepted)?;
    match accepted {
        [ACCEPTED] => Ok(socket),
        _ => Err(io::Error::other("who listens there does not keep to the protocol")),
    }
}
