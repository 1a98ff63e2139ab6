//! RDMA by verbs as a carrier of [`requests`](crate::requests): InfiniBand, and RoCE in networks of Ethernet, by libibverbs, which is loaded when it is asked for.
//!
//! # Queue pairs
//! Between each ordered pair of processes there are two reliable connections: one for requests and their replies, and one for short messages, requests to
//! wait and answers. All messages go by SEND and are received by a posted receive, so no process can read or write another one's memory by these. The requester's
//! ends belong to who holds the lane, and have a completion queue each; those of the agent share one, and two shared receive queues.
//!
//! # Flow control
//! A requester posts the receive for the reply before it sends a request, and sends none before that has come. The agent's receives for requests are at
//! most [`REQUESTS`], so that memory does not grow with the peers; a request that finds none is sent again by the sender's adapter ("receiver not ready"), until
//! there is one: the agent never keeps one for long. Each peer has [`ends::CREDITS`] credits for short messages, for which there are receives, and gets
//! credits back from the agent as that consumes them.
//!
//! # Bulk reads
//! Where it is asked for, there is a third connection for READs of the peer's memory (`read`), by a key for each piece that the peer has registered to be read, and not written, when it was first asked for it
//! ([`requests`](crate::requests) has what that promises). A key that the peer's adapter refuses, which would be an error of one of the two processes, puts this queue pair into error, and ends the process with a message that says so.
//!
//! # Looks
//! By the same queue pair go looks ([`Transport::look`](crate::Transport::look)), where they are asked for: a list of WRITEs and READs, with a fence before each later part. What is written is a part of the peer's segment that it has registered for that, without relaxed ordering.
//!
//! # Waiting
//! Who waits looks at its completion queue for some microseconds, then has it report what ends, looks once more, and sleeps on the descriptor of the queue and
//! on the connection that addresses were exchanged by. That stays, and ends with the process: so a loss is noticed at once. What a
//! queue pair in error says comes later, and ends the process in the same way.
//!
//! `sys` and `library` are the library's interface, `device` chooses a port, `adapter` and `queue_pair` have the objects, `hello` connects them, `ends` and `port` are the lanes, `read` is for READs.

mod adapter;
mod device;
mod ends;
mod hello;
mod library;
#[cfg(test)]
mod litmus;
mod port;
mod queue_pair;
mod read;
mod sys;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use adapter::{Adapter, CompletionQueue, SharedReceiveQueue};
use ends::{CREDIT_MESSAGES, CREDITS, End, SHORT, ShortEnd, ShortSender, VerbsRequester};
use hello::{ConnectedPeer, QueuePairs};
use library::Library;
pub use library::VerbsError;
use port::{FIRST_SHORT, FarEnd, Shared, VerbsPort};
use queue_pair::{QueuePair, SEND_ENTRIES, SENDS};
#[cfg(test)]
pub(crate) use read::PART_BYTES as READ_PART_BYTES;
use read::{VerbsReader, VerbsRegistrar};

use crate::requests::carrier::{
    Carrier, Ends, Exchanges, LaneKind, MAX_REPLY, MAX_REQUEST, Reader, Registrar,
};
use crate::stream::{Peer, local_address};

/// Most requests that the agent has space for at a time. Tests have more peers than that.
const REQUESTS: usize = if cfg!(test) { 1 } else { 64 };
/// Places begin with a cache line.
const LINE: usize = 64;

/// Where everything is in the memory that the adapter uses.
struct Layout {
    peers: usize,
}

impl Layout {
    const REQUEST: usize = MAX_REQUEST.next_multiple_of(LINE);
    const REPLY: usize = MAX_REPLY.next_multiple_of(LINE);
    /// Of a peer: requests to it, its replies, replies to it, short messages to it.
    const PEER: usize = Layout::REQUEST + 2 * Layout::REPLY + SENDS * SHORT;

    fn request(&self, peer: usize) -> Range<usize> {
        part(peer * Layout::PEER, MAX_REQUEST)
    }

    fn reply(&self, peer: usize) -> Range<usize> {
        part(peer * Layout::PEER + Layout::REQUEST, MAX_REPLY)
    }

    fn own_reply(&self, peer: usize) -> Range<usize> {
        part(peer * Layout::PEER + Layout::REQUEST + Layout::REPLY, MAX_REPLY)
    }

    fn shorts(&self, peer: usize) -> Range<usize> {
        part(peer * Layout::PEER + Layout::REQUEST + 2 * Layout::REPLY, SENDS * SHORT)
    }

    /// How many requests the agent has space for.
    fn requests(&self) -> usize {
        self.peers.min(REQUESTS)
    }

    /// Where those that come are put.
    fn shared_requests(&self) -> usize {
        self.peers * Layout::PEER
    }

    /// Where short messages that come are put.
    fn shared_shorts(&self) -> usize {
        self.shared_requests() + self.requests() * Layout::REQUEST
    }

    fn bytes(&self) -> usize {
        self.shared_shorts() + self.peers * CREDITS * SHORT
    }
}

fn part(start: usize, bytes: usize) -> Range<usize> {
    start..start + bytes
}

/// The carrier over a device (any if empty; `DEVICE` or `DEVICE:PORT`). Each process calls it at once with the others: they tell each other their addresses on the sockets.
/// `reads`: bulk reads of a peer's memory go by READ, where both have that.
///
/// # Errors
/// There is no library or device that can be used.
pub fn carrier(
    rank: u32,
    peers: Vec<Option<Peer>>,
    device: &str,
    reads: bool,
) -> Result<Carrier, VerbsError> {
    carrier_for(rank, peers, device, reads, false)
}

/// As [`carrier`], with bulk reads, and one-sided looks ([`Transport::look`](crate::Transport::look)), where all have them.
///
/// # Errors
/// As for [`carrier`].
pub fn one_sided_carrier(rank: u32, peers: Vec<Option<Peer>>, device: &str) -> Result<Carrier, VerbsError> {
    carrier_for(rank, peers, device, true, true)
}

fn carrier_for(
    rank: u32,
    peers: Vec<Option<Peer>>,
    device: &str,
    reads: bool,
    writes: bool,
) -> Result<Carrier, VerbsError> {
    let size = peers.len();
    let peers: Vec<(u32, Peer)> =
        (0..).zip(peers).filter_map(|(peer, sockets)| Some((peer, sockets?))).collect();
    let layout = Layout { peers: peers.len() };
    let adapter = open(&peers, device, &layout, reads)?;
    let reads = reads && !adapter.reads().contains(&0);
    let (shared, queue) = agent(adapter, &layout)?;
    let mut queues = Vec::new();
    let mut connected = Vec::new();
    for (peer, sockets) in peers {
        let (mine, pairs) = pairs(adapter, &queue, &shared, (reads, writes))?;
        queues.push(mine);
        connected.push((peer, sockets, pairs));
    }
    let known = hello::connect(rank, adapter, connected)?;
    let (mut by_rank, mut far_ends) = (BTreeMap::new(), Vec::new());
    for (number, (ConnectedPeer { rank, sockets, pairs }, queues)) in
        known.into_iter().zip(queues).enumerate()
    {
        let sockets = sockets.map(Arc::new);
        let QueuePairs { requests, shorts, serves, serves_shorts, reads } = pairs;
        let reply = layout.own_reply(number);
        far_ends.push(FarEnd { sockets: sockets.clone(), requests: serves, shorts: serves_shorts, reply });
        let Queues { requests: for_requests, shorts: for_shorts, reads: for_reads } = queues;
        let reader = reads.zip(for_reads).map(|([pair, _], queue)| {
            let end = End::new(queue, pair, &sockets[0]);
            Box::new(VerbsReader::new(end, adapter, writes)) as Box<dyn Reader>
        });
        let requests = End::new(for_requests, requests, &sockets[0]);
        let shorts = End::new(for_shorts, shorts, &sockets[0]);
        let shorts = ShortEnd::new(shorts, adapter, layout.shorts(number))
            .map_err(|_| adapter.failed("post receives"))?;
        let short = Arc::new(Mutex::new(shorts));
        let sender = |kind| Box::new(ShortSender { short: Arc::clone(&short), kind });
        let (request, reply) = (layout.request(number), layout.reply(number));
        let ends = Ends {
            requests: Exchanges::OneByOne(Box::new(VerbsRequester::new(
                requests,
                adapter.memory,
                request,
                reply,
            ))),
            waits: sender(LaneKind::Waits),
            answers: sender(LaneKind::Answers),
            reader,
        };
        by_rank.insert(rank, ends);
    }
    let port = VerbsPort::new(queue, adapter.memory, shared, far_ends);
    let registrar = reads.then(|| Box::new(VerbsRegistrar(adapter)) as Box<dyn Registrar>);
    let peers = (0..size as u32).map(|rank| by_rank.remove(&rank)).collect();
    Ok(Carrier { peers, port: Box::new(port), registrar, has_looks_by_requests: false })
}

/// Opens the port that leads to the peers.
fn open(
    peers: &[(u32, Peer)],
    device: &str,
    layout: &Layout,
    reads: bool,
) -> Result<&'static Adapter, VerbsError> {
    let library = Library::get()?;
    let own = peers.iter().find_map(|(_, peer)| local_address(&peer.requests));
    let port = device::choose(library, device, own.map(|address| IpAddr::to_canonical(&address.ip())))?;
    let message = MAX_REQUEST.max(MAX_REPLY);
    if port.message < message {
        let what = "bytes in a message";
        return Err(VerbsError::Limit { device: port.name, what, limit: port.message, needed: message });
    }
    let adapter = Adapter::open(library, port, layout.bytes())?;
    adapter.check_limits(layout.peers, reads).map(|()| adapter)
}

/// What the agent has for all peers.
fn agent(adapter: &'static Adapter, layout: &Layout) -> Result<(Shared, CompletionQueue), VerbsError> {
    let shorts = layout.peers * CREDITS;
    let queue = CompletionQueue::open(adapter, layout.requests() + shorts + 2 * layout.peers * SEND_ENTRIES)?;
    let requests = (0, layout.requests());
    let shared = Shared {
        requests: SharedReceiveQueue::open(
            adapter,
            requests,
            layout.shared_requests(),
            (MAX_REQUEST, Layout::REQUEST),
        )?,
        shorts: SharedReceiveQueue::open(
            adapter,
            (FIRST_SHORT, shorts),
            layout.shared_shorts(),
            (SHORT, SHORT),
        )?,
    };
    Ok((shared, queue))
}

/// Completion queues of the requester's queue pairs.
struct Queues {
    requests: CompletionQueue,
    shorts: CompletionQueue,
    reads: Option<CompletionQueue>,
}

/// The queue pairs of a peer, and the completion queues of those that are the requester's. `writes`: the one for READs is also for WRITEs.
fn pairs(
    adapter: &'static Adapter,
    queue: &CompletionQueue,
    shared: &Shared,
    (reads, writes): (bool, bool),
) -> Result<(Queues, QueuePairs), VerbsError> {
    let requests = CompletionQueue::open(adapter, SEND_ENTRIES + 1)?;
    let shorts = CompletionQueue::open(adapter, SEND_ENTRIES + CREDIT_MESSAGES)?;
    let for_reads = reads.then(|| CompletionQueue::open(adapter, SEND_ENTRIES)).transpose()?;
    let answers =
        || if writes { QueuePair::open_for_all(queue) } else { QueuePair::open_for_reads(queue, true) };
    let pair_for_reads = |own| Ok([QueuePair::open_for_reads(own, false)?, answers()?]);
    let pairs = QueuePairs {
        requests: QueuePair::open(&requests, None, 1)?,
        shorts: QueuePair::open(&shorts, None, CREDIT_MESSAGES)?,
        serves: QueuePair::open(queue, Some(&shared.requests), 0)?,
        serves_shorts: QueuePair::open(queue, Some(&shared.shorts), 0)?,
        reads: for_reads.as_ref().map(pair_for_reads).transpose()?,
    };
    Ok((Queues { requests, shorts, reads: for_reads }, pairs))
}

/// Whether there is a device that can be used (any if empty).
///
/// # Errors
/// Why not.
pub fn check(device: &str) -> Result<(), VerbsError> {
    device::check(device)
}
