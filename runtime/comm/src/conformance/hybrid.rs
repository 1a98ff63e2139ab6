//! The suite over both: processes of a host map each other's segments, and reach those of other hosts by the stream transport. So processors and agents
//! change the same words.
//!
//! The suite chooses between the two here, for each simulated process. What chooses in a real one is installed once for the whole process: the last test is
//! about that.

use std::ops::Range;
use std::sync::atomic::Ordering::SeqCst;

use dsm_threads::wait::Waitable;

use super::shm::{Adapter, files, map};
use super::stream::{ends, serve, sockets};
use super::{Access, Process, Subject};
use crate::Segments;
use crate::requests::{MAX_PAYLOAD, Requests};
use crate::segment::{self, HUGE_PAGE};
use crate::stream::{Peer, carrier};
use crate::transport::{Ask, Transport, Update, Wake, Width};

struct Hybrid;

impl Subject for Hybrid {
    /// Those of handles.
    const UPDATED: &'static [Width] = &[Width::Bits32, Width::Bits64];
    const BOUNDARIES: &'static [usize] = &[64, MAX_PAYLOAD];
    const SEEDS: &'static [Option<u64>] = &[None, Some(3)];
    const ROUNDS: u32 = 100;

    fn start(processes: usize, bytes: usize, perturb: Option<u64>) -> Vec<Process> {
        let all = map(processes, bytes).into_iter().zip(sockets(processes));
        all.zip(0..)
            .map(|((segments, peers), rank)| {
                let host = host(rank);
                let connections = ends(&peers);
                let own = segments.own();
                // SAFETY: the mapping stays, and is used by atomics and copies only.
                let stream = unsafe {
                    serve(rank, carrier(rank, far(peers, &host), perturb), own.address(0), bytes, perturb)
                };
                let peers = Box::new(Peers { host, mapped: Adapter(segments), stream });
                Process { peers, memory: own.words(0, bytes / 8), connections }
            })
            .collect()
    }
}

/// The ranks of a process's host: 0, 1 and 2, 3 and 4 ... So a few processes have peers of both kinds.
fn host(rank: u32) -> Range<u32> {
    let first = rank.next_multiple_of(2).saturating_sub(1);
    first..rank.next_multiple_of(2) + 1
}

/// Without the sockets to the own host.
fn far(peers: Vec<Option<Peer>>, host: &Range<u32>) -> Vec<Option<Peer>> {
    peers.into_iter().zip(0..).map(|(peer, rank)| peer.filter(|_| !host.contains(&rank))).collect()
}

struct Peers {
    host: Range<u32>,
    mapped: Adapter,
    stream: Requests,
}

impl Peers {
    fn to(&self, rank: u32) -> &dyn Access {
        if self.host.contains(&rank) { &self.mapped } else { &self.stream }
    }
}

impl Access for Peers {
    fn transport(&self, rank: u32) -> Option<&dyn Transport> {
        self.to(rank).transport(rank)
    }

    fn identity(&self, rank: u32) -> u64 {
        self.to(rank).identity(rank)
    }

    fn load(&self, rank: u32, offset: usize, width: Width) -> u64 {
        self.to(rank).load(rank, offset, width)
    }

    fn update(
        &self,
        rank: u32,
        offset: usize,
        width: Width,
        update: Update,
        operand: u64,
        wake: Option<Wake>,
    ) -> u64 {
        self.to(rank).update(rank, offset, width, update, operand, wake)
    }

    fn compare_exchange(
        &self,
        rank: u32,
        offset: usize,
        width: Width,
        expected: u64,
        new: u64,
        wake: Option<Wake>,
    ) -> u64 {
        self.to(rank).compare_exchange(rank, offset, width, expected, new, wake)
    }

    fn read_words(&self, rank: u32, offset: usize, into: &mut [u64]) {
        self.to(rank).read_words(rank, offset, into);
    }

    fn write_words(&self, rank: u32, offset: usize, words: &[u64]) {
        self.to(rank).write_words(rank, offset, words);
    }

    unsafe fn read(&self, rank: u32, offset: usize, into: *mut u8, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.to(rank).read(rank, offset, into, bytes) }
    }

    unsafe fn write(&self, rank: u32, offset: usize, from: *const u8, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.to(rank).write(rank, offset, from, bytes) }
    }

    unsafe fn send_diff(&self, rank: u32, offset: usize, own: *const u8, twin: *mut u8, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.to(rank).send_diff(rank, offset, own, twin, bytes) }
    }

    fn ask(&self, rank: u32, request: &[u8], reply: &mut [u8]) -> usize {
        self.to(rank).ask(rank, request, reply)
    }

    fn ask_all(&self, asks: &mut [Ask<'_>], arrived: &mut dyn FnMut(usize, &[u8])) {
        let mut before = 0;
        for asks in asks.chunk_by_mut(|a, b| a.rank == b.rank) {
            self.to(asks[0].rank).ask_all(asks, &mut |number, reply| arrived(before + number, reply));
            before += asks.len();
        }
    }

    fn post(&self, rank: u32, request: &[u8]) {
        self.to(rank).post(rank, request);
    }

    fn wait_change(&self, rank: u32, offset: usize, seen: u32, wake: Wake) -> u32 {
        self.to(rank).wait_change(rank, offset, seen, wake)
    }

    fn wake(&self, rank: u32, offset: usize, wake: Wake) {
        self.to(rank).wake(rank, offset, wake);
    }

    fn store(&self, rank: u32, offset: usize, width: Width, value: u64) {
        self.to(rank).store(rank, offset, width, value);
    }

    fn store_and_wake(&self, rank: u32, offset: usize, value: u32, wake: Wake) {
        self.to(rank).store_and_wake(rank, offset, value, wake);
    }
}

super::conformance!(Hybrid);

/// Process 1 of four, two on each of two hosts, with all kinds of handles. No other test of this program may install a transport.
#[test]
fn each_place_is_reached_as_its_segment_is() {
    const BYTES: usize = 1 << 16;
    const RANK: u32 = 1;
    const MAPPED: Range<u32> = 0..2;
    let mut sockets = sockets(4);
    let third = super::stream::start(2, far(sockets.remove(2), &(2..4)), BYTES, None);
    let fourth = super::stream::start(3, far(sockets.remove(2), &(2..4)), BYTES, None);
    let mut files = files(2, BYTES);
    let base = segment::reserve(4 * HUGE_PAGE).unwrap() as usize;
    // Where process 0 has its own segment.
    let first = segment::reserve(HUGE_PAGE).unwrap() as usize;
    // SAFETY: the ranges have just been reserved; nobody changes the size of a file.
    let (segments, first) = unsafe {
        let first = files[0].as_ref().unwrap().map_at(first, BYTES, 0).unwrap();
        files.extend([None, None]);
        (Segments::map(&files, RANK, base, BYTES).unwrap(), first)
    };
    let own = segments.own();
    // SAFETY: the own segment stays mapped, as are those of `MAPPED`; the others' addresses are used for nothing else.
    unsafe {
        let stream =
            serve(RANK, carrier(RANK, far(sockets.remove(1), &MAPPED), None), own.address(0), BYTES, None);
        segments.connect(MAPPED, Box::new(stream), |body| body());
    }
    assert!(!segments.are_mapped());
    assert_eq!([0, 1, 2, 3].map(|rank| segments.is_mapped(rank)), [true, true, false, false]);
    assert_eq!([0, 1, 2, 3].map(|rank| segments.identity(rank)), [None, None, Some(102), Some(103)]);

    // SAFETY: the file's mapping is as long, and accessed by atomics and copies only.
    let first = unsafe { std::slice::from_raw_parts(first.cast(), BYTES / 8) };
    for (rank, memory) in (0..).zip([first, own.words(0, BYTES / 8), third.memory, fourth.memory]) {
        let handles = Adapter(segments);
        for offset in [0, 4096, BYTES - 8] {
            let value = |at: usize| memory[at / 8].load(SeqCst);
            let (word, half) = (segments.word(rank, offset), segments.half(rank, offset));
            word.store(0x1_0000_0005, SeqCst);
            assert_eq!((value(offset), word.load(SeqCst)), (0x1_0000_0005, 0x1_0000_0005), "{rank}");
            assert_eq!((word.fetch_add(2, SeqCst), word.swap(9, SeqCst)), (0x1_0000_0005, 0x1_0000_0007));
            assert_eq!(word.compare_exchange(9, 6, SeqCst, SeqCst), Ok(9));
            assert_eq!(word.compare_exchange(9, 7, SeqCst, SeqCst), Err(6));
            assert_eq!((half.fetch_or(1, SeqCst), word.low().load(SeqCst), value(offset)), (6, 7, 7));
            assert_eq!(half.is_mapped(), MAPPED.contains(&rank));
        }
        // Sleepers are counted beside the word.
        let (offset, wake) = (512, Wake { sleepers: 520, mask: 1 });
        std::thread::scope(|scope| {
            let slept = scope.spawn(|| handles.wait_change(rank, offset, 0, wake));
            while memory[65].load(SeqCst) == 0 {
                std::thread::yield_now();
            }
            handles.store_and_wake(rank, offset, 3, wake);
            assert_eq!(slept.join().unwrap(), 3, "{rank}");
        });
        let words: Vec<u64> = (1..=700).map(|i| i * u64::from(rank + 1)).collect();
        segments.write_words(rank, 8192, &words);
        assert!(memory[1024..].iter().zip(&words).all(|(w, expected)| w.load(SeqCst) == *expected), "{rank}");
        let mut read = vec![0; words.len()];
        segments.read_words(rank, 8192, &mut read);
        assert!(read == words);
        let (bytes, mut copied) = (segments.bytes(rank, 16384), [0; 700]);
        // SAFETY: the segment has the bytes, and the buffers are as long.
        unsafe {
            bytes.write(words.as_ptr().cast(), 5600);
            bytes.read(copied.as_mut_ptr().cast(), 5600);
            assert_eq!((bytes.load(2), bytes.skip(8).word(0).load(SeqCst)), (words[0], words[1]));
        }
        assert!(copied[..] == words && value_of(&memory[2048..], 700) == words, "{rank}");
    }
}

fn value_of(memory: &[std::sync::atomic::AtomicU64], count: usize) -> Vec<u64> {
    memory[..count].iter().map(|w| w.load(SeqCst)).collect()
}
