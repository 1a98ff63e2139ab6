//! The suite over the stream transport.
//!
//! Here the peers' segments are memory of the same process, since all processes of the job are. In production nothing of a peer is mapped: the addresses
//! that [`crate::Segments`] calculates for its places only tell rank and offset.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Job, Process, Subject, calls};
use crate::requests::{Carrier, MAX_PAYLOAD, PIECE, Requests, Service};
use crate::segment;
use crate::stream::{Peer, carrier};
use crate::transport::{Look, Width};

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
    let readable = [0..(bytes - 1) / 4096 * 4096, 0..0];
    let service = Service { identity: 100 + u64::from(rank), calls: &calls, readable, writable: 0..0 };
    // SAFETY: the caller's promise.
    unsafe { Requests::start(rank, carrier, own, bytes, service, perturb, &spawn) }
}

/// Two processes, with carriers that are made at the same time, of whose segments two pieces may be read by looks, and the one between them written.
pub(crate) fn start_with_looks(carrier: impl Fn(u32, Vec<Option<Peer>>) -> Carrier + Sync) -> Vec<Process> {
    let carrier = &carrier;
    let start = |rank: u32, peers: Vec<_>| {
        let connections = ends(&peers);
        let own = segment::reserve(3 * PIECE).unwrap();
        let (readable, writable) = ([0..PIECE, 2 * PIECE..3 * PIECE], PIECE + 64..PIECE + 4096);
        let service = Service { identity: 0, calls: &calls, readable, writable };
        // SAFETY: the memory stays, and is used by atomics and the transport only; it begins at a page.
        let (peers, memory) = unsafe {
            let requests = Requests::start(rank, carrier(rank, peers), own, 3 * PIECE, service, None, &spawn);
            (Box::new(requests), std::slice::from_raw_parts(own.cast::<AtomicU64>(), 3 * PIECE / 8))
        };
        Process { peers, memory, connections }
    };
    std::thread::scope(|scope| {
        let all = (0..).zip(sockets(2)).map(|(rank, peers)| scope.spawn(move || start(rank, peers)));
        all.collect::<Vec<_>>().into_iter().map(|process| process.join().unwrap()).collect()
    })
}

/// Looks at a process: in three parts, of which the second one stores what the third one reads, and at what has no key.
pub(crate) fn look_at_a_peer(all: &[Process], has_keys: bool) {
    let transport = all[0].peers.transport(1).expect("it is not mapped");
    let there = all[1].memory;
    for round in 1..=20_u64 {
        for (word, value) in [(3, 30), (5, 50), (6, 60), (100, 1000), (2 * PIECE / 8 + 9, 90)] {
            there[word].store(value + round, Ordering::SeqCst);
        }
        let written = PIECE / 8 + 10;
        let writes = [(8 * written, 7 * round), (8 * (written + 40), 8 * round)];
        let mut first = [(24, 0), (800, 0)];
        let mut second = [(40, 0), (48, 0), (2 * PIECE + 72, 0)];
        let mut third = [(8 * written, 0), (8 * (written + 40), 0)];
        let mut bytes = [0_u64; 512];
        let contents = Some((4096, bytes.as_mut_ptr().cast(), 4096));
        there[512 + 17].store(round, Ordering::SeqCst);
        let mut parts = [
            Look { writes: &[], words: &mut first, bytes: None },
            Look { writes: &writes, words: &mut second, bytes: contents },
            Look { writes: &[], words: &mut third, bytes: None },
        ];
        // SAFETY: the buffer is as long.
        assert!(unsafe { transport.look(1, &mut parts) }.unwrap());
        assert_eq!([first[0].1, first[1].1], [30 + round, 1000 + round]);
        assert_eq!(second.map(|word| word.1), [50 + round, 60 + round, 90 + round]);
        assert_eq!(third.map(|word| word.1), [7 * round, 8 * round]);
        assert_eq!(bytes[17], round);
        assert_eq!(there[written].load(Ordering::SeqCst), 7 * round);
    }
    // In front of what may be written.
    let mut parts = [Look { writes: &[(PIECE, 1)], words: &mut [], bytes: None }];
    // SAFETY: nothing is copied.
    let reached = unsafe { transport.look(1, &mut parts) }.unwrap();
    assert_eq!((reached, there[PIECE / 8].load(Ordering::SeqCst)), (!has_keys, u64::from(!has_keys)));
}

#[test]
fn a_look_is_made_of_requests() {
    look_at_a_peer(&start_with_looks(|rank, peers| carrier(rank, peers, None)), false);
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
