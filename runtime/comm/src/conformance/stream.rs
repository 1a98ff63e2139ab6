//! The suite over the stream transport.
//!
//! Here the peers' segments are memory of the same process, since all processes of the job are. In production nothing of a peer is mapped: the addresses
//! that [`crate::Segments`] calculates for its places only tell rank and offset.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicU64;

use super::{Job, Process, Subject, calls};
use crate::requests::{Carrier, MAX_PAYLOAD, Requests, Service};
use crate::segment;
use crate::stream::{Peer, carrier};
use crate::transport::Width;

struct Sockets;

impl Subject for Sockets {
    const UPDATED: &'static [Width] = &Width::ALL;
    const BOUNDARIES: &'static [usize] = &[MAX_PAYLOAD];
    const SEEDS: &'static [Option<u64>] = &[None, Some(0), Some(1), Some(0x5eed)];
    const ROUNDS: u32 = 100;

    fn start(processes: usize, bytes: usize, perturb: Option<u64>) -> Vec<Process> {
        let all = sockets(processes).into_iter().enumerate();
        all.map(|(rank, peers)| start(rank as u32, peers, bytes, perturb)).collect()
    }
}

/// Starts a simulated process over sockets.
pub(crate) fn start(rank: u32, peers: Vec<Option<Peer>>, bytes: usize, perturb: Option<u64>) -> Process {
    let connections = ends(&peers);
    Process { connections, ..start_over(rank, carrier(rank, peers, perturb), bytes, perturb) }
}

/// Starts a simulated process. Its agent runs as long as the test's process, and so its memory stays.
pub(crate) fn start_over(rank: u32, carrier: Carrier, bytes: usize, perturb: Option<u64>) -> Process {
    let own = segment::reserve(bytes).unwrap();
    // SAFETY: the memory stays, and is used by atomics and the transport only.
    let requests = unsafe { serve(rank, carrier, own, bytes, perturb) };
    // SAFETY: as above; it begins at a page.
    let memory = unsafe { std::slice::from_raw_parts(own.cast::<AtomicU64>(), bytes / 8) };
    Process { peers: Box::new(requests), memory, connections: Vec::new() }
}

/// Processes whose carriers tell each other their addresses.
pub(crate) fn start_all_over(
    bytes: usize,
    perturb: Option<u64>,
    processes: usize,
    carrier: impl Fn(u32, Vec<Option<Peer>>) -> Carrier + Sync,
) -> Vec<Process> {
    let carrier = &carrier;
    std::thread::scope(|scope| {
        let start = |(rank, peers): (u32, Vec<_>)| {
            scope.spawn(move || {
                let connections = ends(&peers);
                Process { connections, ..start_over(rank, carrier(rank, peers), bytes, perturb) }
            })
        };
        let all: Vec<_> = (0..).zip(sockets(processes)).map(start).collect();
        all.into_iter().map(|process| process.join().unwrap()).collect()
    })
}

/// Serves a segment to the peers.
///
/// # Safety
/// As for [`Requests::start`].
pub(super) unsafe fn serve(
    rank: u32,
    carrier: Carrier,
    own: *mut u8,
    bytes: usize,
    perturb: Option<u64>,
) -> Requests {
    // But for the last page, so that not all goes one way.
    let readable = 0..(bytes - 1) / 4096 * 4096;
    let service = Service { identity: 100 + u64::from(rank), calls: &calls, readable };
    // SAFETY: the caller's promise.
    unsafe { Requests::start(rank, carrier, own, bytes, service, perturb, &spawn) }
}

fn spawn(name: &str, serve: Box<dyn FnOnce() + Send>) {
    std::thread::Builder::new().name(name.into()).spawn(serve).unwrap();
}

/// The sockets of a process, once more.
pub(super) fn ends(peers: &[Option<Peer>]) -> Vec<OwnedFd> {
    let of = |peer: &Peer| {
        let Peer { requests, serves, waits, serves_waits } = peer;
        [requests, serves, waits, serves_waits].map(|socket| socket.try_clone().unwrap())
    };
    peers.iter().flatten().flat_map(of).collect()
}

fn pair() -> (OwnedFd, OwnedFd) {
    let (a, b) = UnixStream::pair().unwrap();
    (a.into(), b.into())
}

/// Sockets of each process to each other.
pub(crate) fn sockets(processes: usize) -> Vec<Vec<Option<Peer>>> {
    let mut all: Vec<Vec<_>> = (0..processes).map(|_| (0..processes).map(|_| None).collect()).collect();
    for b in 1..processes {
        let (before, others) = all.split_at_mut(b);
        for (a, before) in before.iter_mut().enumerate() {
            let ends = [(); 4].map(|()| pair());
            let [
                (requests, serves_b),
                (serves, requests_b),
                (waits, serves_waits_b),
                (serves_waits, waits_b),
            ] = ends;
            before[b] = Some(Peer { requests, serves, waits, serves_waits });
            others[0][a] = Some(Peer {
                requests: requests_b,
                serves: serves_b,
                waits: waits_b,
                serves_waits: serves_waits_b,
            });
        }
    }
    all
}

super::conformance!(Sockets);

#[test]
fn each_process_says_who_it_is() {
    let job = Job::start::<Sockets>(3, 4096, None);
    assert_eq!([job[0].peers.identity(2), job[2].peers.identity(1)], [102, 101]);
}
