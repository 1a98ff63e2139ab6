//! libfabric as a carrier of [`requests`](crate::requests): EFA, Slingshot, Omni-Path and others by one interface, and TCP to test it with.
//!
//! # Endpoints
//! A process has two endpoints for reliable datagrams, whatever the number of its peers. The agent's gets requests, requests to wait and answers, and
//! sends replies; only the agent uses it. The other one, which the threads of the process share ([`shared`]), sends what the peers' agents get, and gets
//! replies. So no thread of the program waits for another one but for those moments, and the agent for none.
//!
//! # Tags
//! Each kind of message from each peer has a receive of its own, posted before the message can be sent: for a request as soon as the one before has been
//! taken, for a reply before its request goes, for the next request to wait, or answer, before an empty message gives the sender its credit. So
//! nothing arrives that no receive waits for, and the number of receives is three times that of the peers at each endpoint. A receive takes the messages
//! with its tag. Tags are random numbers that a process makes and tells the one peer that may use it, on the connection that the launcher has made
//! between the two, which both ends have proved to belong to the job: libfabric's providers authenticate nobody, but what a stranger sends matches no
//! receive.
//!
//! # Bulk reads
//! Where it is asked for, and the provider can (`FI_RMA`), bulk reads of a peer's memory are READs, which its agent's endpoint answers, by keys that the peer has told when it was first asked for them
//! ([`requests`](crate::requests) has what they promise). No order is asked of the provider, among READs or between READs and messages: the thread that reads waits for the replies to what it has asked for before, and then for all its READs.
//! What is read lands where it is wanted, unless the provider has to know that memory. Where applications choose the keys, they are random numbers.
//!
//! # Waiting
//! Providers make progress when a completion queue is looked at. Who waits looks for some microseconds and then sleeps on the queue's descriptor, or, where
//! a provider has none, for longer and longer moments. The connection that addresses were exchanged by stays, and ends with the process: that is how a
//! loss is noticed.

mod endpoint;
mod hello;
mod library;
mod port;
mod shared;
mod sys;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use endpoint::{Endpoint, Wanted};
use hello::Tags;
use library::Library;
pub use library::OfiError;
use port::FabricPort;
#[cfg(test)]
pub(crate) use shared::READ_BYTES;
use shared::{FabricReader, FabricRequester, FabricSender, Lives, READS, Shared};

use crate::requests::carrier::{
    ANSWER_BYTES, Carrier, Ends, Exchanges, MAX_REPLY, MAX_REQUEST, Reader, Registrar, WAIT_BYTES,
};
use crate::stream::{Peer, local_address};

/// Where processes of one host are, unless they have connections to others.
const LOOPBACK: &str = "127.0.0.1";
/// Receives and sends of each endpoint for a peer.
const PER_PEER: usize = 3;

/// The parts of an endpoint's memory that are a peer's: for messages that are sent by one endpoint and received by the other.
struct Parts {
    request: Range<usize>,
    reply: Range<usize>,
    wait: Range<usize>,
    answer: Range<usize>,
}

impl Parts {
    /// Bytes of a peer.
    const BYTES: usize = Parts::rounded(MAX_REQUEST)
        + Parts::rounded(MAX_REPLY)
        + Parts::rounded(WAIT_BYTES)
        + Parts::rounded(ANSWER_BYTES);

    /// Parts begin with a cache line.
    const fn rounded(bytes: usize) -> usize {
        bytes.next_multiple_of(64)
    }

    /// Those of a peer, by its number among the peers.
    fn new(number: usize) -> Parts {
        let mut at = number * Parts::BYTES;
        let mut take = |bytes: usize| {
            let start = at;
            at += Parts::rounded(bytes);
            start..start + bytes
        };
        Parts {
            request: take(MAX_REQUEST),
            reply: take(MAX_REPLY),
            wait: take(WAIT_BYTES),
            answer: take(ANSWER_BYTES),
        }
    }
}

/// A peer, once its addresses are known.
struct Known {
    rank: u32,
    /// The two that stay: they end with the process.
    sockets: [OwnedFd; 2],
    /// Of messages from it.
    own: Tags,
    /// Of messages to it.
    peer: Tags,
    /// Its agent's endpoint, as the shared one knows it.
    agent: u64,
    /// Its shared endpoint, as the agent's knows it.
    client: u64,
}

/// The carrier over libfabric, by a provider (any if empty). Each process calls it at once with the others: they tell each other their addresses on the sockets. `reads`: bulk reads of a peer's memory
/// are done by the provider, where it can.
///
/// # Errors
/// There is no library or provider that can be used.
pub fn carrier(
    rank: u32,
    peers: Vec<Option<Peer>>,
    provider: &str,
    reads: bool,
) -> Result<Carrier, OfiError> {
    let [client, agent] = endpoints(&peers, provider, reads)?;
    connect(rank, peers, client, agent)
}

/// The carrier with READs; `lands_elsewhere`: as with a provider that has to know the memory that is read to.
#[cfg(test)]
pub(crate) fn start_reading(rank: u32, peers: Vec<Option<Peer>>, lands_elsewhere: bool) -> Carrier {
    let provider = crate::conformance::ofi::PROVIDER;
    let [mut client, agent] = endpoints(&peers, provider, true).unwrap();
    assert!(client.reads && agent.reads, "{provider} reads memory");
    client.needs_local |= lands_elsewhere;
    connect(rank, peers, client, agent).unwrap()
}

/// The endpoint that threads share, and the agent's.
fn endpoints(peers: &[Option<Peer>], provider: &str, reads: bool) -> Result<[Endpoint; 2], OfiError> {
    let count = peers.iter().flatten().count();
    let address = peers.iter().flatten().find_map(|peer| local_address(&peer.requests)).map(numeric);
    let wanted = Wanted {
        provider,
        address: Some(address.as_deref().unwrap_or(LOOPBACK)),
        receives: PER_PEER * count,
        sends: PER_PEER * count,
        message: MAX_REQUEST.max(MAX_REPLY),
        memory: count * Parts::BYTES,
        reads: if reads { READS * count } else { 0 },
    };
    Endpoint::open_two(&wanted)
}

/// Makes a carrier of them.
fn connect(
    rank: u32,
    peers: Vec<Option<Peer>>,
    mut client: Endpoint,
    mut agent: Endpoint,
) -> Result<Carrier, OfiError> {
    let size = peers.len() as u32;
    let reads = client.reads;
    let registrar = agent.registrar().map(|registrar| Box::new(registrar) as Box<dyn Registrar>);
    let known = hello::exchange(rank, peers, &mut client, &mut agent)?;
    let lives = Arc::new(Lives::new(size));
    let shared = Arc::new(Shared::new(client, Arc::clone(&lives))?);
    let ends = |(number, known): (usize, &Known)| {
        let parts = Parts::new(number);
        let sender = |part, tags| Box::new(FabricSender::new(&shared, known, part, tags));
        let ends = Ends {
            requests: Exchanges::OneByOne(Box::new(FabricRequester::new(&shared, known, &parts))),
            waits: sender(parts.wait, (known.peer.wait, known.own.wait_credit)),
            answers: sender(parts.answer, (known.peer.answer, known.own.answer_credit)),
            reader: reads.then(|| Box::new(FabricReader::new(&shared, known)) as Box<dyn Reader>),
        };
        (known.rank, ends)
    };
    let mut by_rank: BTreeMap<u32, Ends> = known.iter().enumerate().map(ends).collect();
    let ends = (0..size).map(|rank| by_rank.remove(&rank)).collect();
    let port = Box::new(FabricPort::new(agent, shared, lives, known));
    Ok(Carrier { peers: ends, port, registrar, has_looks_by_requests: false })
}

/// Whether libfabric can be loaded.
///
/// # Errors
/// Why not.
pub fn check(provider: &str) -> Result<(), OfiError> {
    Library::get(provider).map(|_| ())
}

/// The text of an address.
fn numeric(address: SocketAddr) -> String {
    match address {
        SocketAddr::V6(address) if address.scope_id() != 0 => {
            format!("{}%{}", address.ip(), address.scope_id())
        }
        address => IpAddr::to_string(&address.ip()),
    }
}
