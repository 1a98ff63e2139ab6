use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::*;

const MEGABYTE: usize = 1 << 20;
/// Bytes of a segment.
const BYTES: usize = 16 * MEGABYTE;
/// Without irregularity, and with some.
const SEEDS: [Option<u64>; 4] = [None, Some(0), Some(1), Some(0x5eed)];

/// A process that is simulated in the one of the test. Its agent runs as long as the test's process, and so its memory stays.
struct Process {
    stream: Stream,
    memory: &'static [AtomicU64],
}

impl Process {
    fn start(rank: u32, peers: Vec<Option<Peer>>, bytes: usize, perturb: Option<u64>) -> Process {
        let words: Vec<AtomicU64> = (0..bytes / 8).map(|_| AtomicU64::new(0)).collect();
        let memory: &'static [AtomicU64] = words.leak();
        let own = memory.as_ptr().cast::<u8>().cast_mut();
        // SAFETY: the memory stays, and is used by atomics and the transport only.
        let stream =
            unsafe { Stream::start(rank, peers, own, bytes, 100 + u64::from(rank), perturb, &spawn) };
        Process { stream, memory }
    }

    fn byte(&self, at: usize) -> &AtomicU8 {
        // SAFETY: inside the word, and only ever accessed atomically.
        unsafe { AtomicU8::from_ptr(self.memory[at / 8].as_ptr().cast::<u8>().add(at % 8)) }
    }

    fn word32(&self, at: usize) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(self.memory[at / 8].as_ptr().cast::<u32>().add(at % 8 / 4)) }
    }

    fn fill(&self, value: impl Fn(usize) -> u8) {
        (0..8 * self.memory.len()).for_each(|at| self.byte(at).store(value(at), Ordering::Relaxed));
    }
}

fn spawn(name: &str, serve: Box<dyn FnOnce() + Send>) {
    std::thread::Builder::new().name(name.into()).spawn(serve).unwrap();
}

fn pair() -> (OwnedFd, OwnedFd) {
    let (a, b) = UnixStream::pair().unwrap();
    (a.into(), b.into())
}

/// Sockets of each process to each other.
fn sockets(processes: usize) -> Vec<Vec<Option<Peer>>> {
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

fn job(processes: usize, bytes: usize, perturb: Option<u64>) -> Vec<Process> {
    let all = sockets(processes).into_iter().enumerate();
    all.map(|(rank, peers)| Process::start(rank as u32, peers, bytes, perturb)).collect()
}

#[test]
fn atomic_operations_of_all_widths() {
    for seed in SEEDS {
        let job = job(3, 4096, seed);
        let (here, there) = (&job[0].stream, &job[2]);
        for width in Width::ALL {
            let context = format!("{width:?}, seed {seed:?}");
            let (ones, at) = (width.mask(), 64);
            let load = || here.load(2, at, width);
            let update = |update, value| here.update(2, at, width, update, value, None);
            there.memory[8].store(u64::MAX, Ordering::SeqCst);
            there.memory[9].store(u64::MAX, Ordering::SeqCst);
            assert_eq!(load(), ones, "{context}");
            assert_eq!(update(Update::Swap, 5), ones, "{context}");
            assert_eq!(update(Update::Swap, 0x21), 5, "{context}");
            assert_eq!(update(Update::Or, 0x4e), 0x21, "{context}");
            assert_eq!(update(Update::And, 0x47), 0x6f, "{context}");
            assert_eq!(update(Update::Max, 0x46), 0x47, "{context}");
            assert_eq!(update(Update::Max, 0x48), 0x47, "{context}");
            assert_eq!(update(Update::Add, ones), 0x48, "{context}");
            assert_eq!(here.compare_exchange(2, at, width, 1, 2, None), 0x47, "{context}");
            assert_eq!(here.compare_exchange(2, at, width, 0x47, ones, None), 0x47, "{context}");
            assert_eq!(update(Update::Swap, !0 - 1), ones, "{context}");
            assert_eq!(load(), ones - 1, "{context}");
            // The bytes behind it are as they were.
            assert_eq!(there.memory[8].load(Ordering::SeqCst), u64::MAX - 1, "{context}");
            assert_eq!(there.memory[9].load(Ordering::SeqCst), u64::MAX, "{context}");
            assert!(job[0].memory.iter().all(|w| w.load(Ordering::SeqCst) == 0), "{context}");
        }
    }
}

#[test]
fn each_process_says_who_it_is() {
    let job = job(3, 4096, None);
    assert_eq!([job[0].stream.identity(2), job[2].stream.identity(1)], [102, 101]);
}

#[test]
fn an_operation_is_placed_when_it_returns() {
    for seed in SEEDS {
        let job = job(3, 4096, seed);
        for i in 1..=200 {
            // Told by the third process, which gets to know after the first is done.
            job[0].stream.update(1, 8, Width::Word64, Update::Swap, i, None);
            job[0].stream.update(2, 16, Width::Word64, Update::Swap, i, None);
            let told = job[1].stream.load(2, 16, Width::Word64);
            assert_eq!((told, job[1].memory[1].load(Ordering::SeqCst)), (i, i), "seed {seed:?}");
        }
    }
}

#[test]
fn words_are_read_and_written_in_order() {
    for seed in SEEDS {
        let job = job(2, BYTES, seed);
        const COUNT: usize = 100_000;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=5 {
                    job[0].stream.write_words(1, 64, &vec![round; COUNT]);
                }
            });
            let mut words = vec![0; COUNT];
            let own = &job[1].memory[8..][..COUNT];
            while own[COUNT - 1].load(Ordering::Acquire) != 5 {
                // From the last on: none before one that was seen is older.
                let mut newest = 0;
                for word in own.iter().rev().step_by(97) {
                    let value = word.load(Ordering::Acquire);
                    assert!(value >= newest, "{value} before {newest}, seed {seed:?}");
                    newest = value;
                }
            }
            job[0].stream.read_words(1, 64, &mut words);
            assert!(words.iter().all(|w| *w == 5), "seed {seed:?}");
        });
        // The other way round: the owner writes from the last word to the first, and the reader reads from the first on.
        std::thread::scope(|scope| {
            let own = &job[1].memory[..COUNT];
            own.iter().for_each(|w| w.store(0, Ordering::SeqCst));
            scope.spawn(|| {
                for round in 1..=5 {
                    own.iter().rev().for_each(|w| w.store(round, Ordering::Release));
                }
            });
            let mut words = vec![0; COUNT];
            while words[0] != 5 {
                job[0].stream.read_words(1, 0, &mut words);
                assert!(words.is_sorted(), "an older word behind a newer one, seed {seed:?}");
            }
        });
    }
}

#[test]
fn additions_of_many_threads_all_count() {
    const ROUNDS: u64 = 500;
    for seed in SEEDS {
        let job = job(3, 4096, seed);
        std::thread::scope(|scope| {
            for process in &job[1..] {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..ROUNDS {
                            process.stream.update(0, 24, Width::Word64, Update::Add, 1, None);
                            let mut seen = process.stream.load(0, 32, Width::Word32);
                            loop {
                                let old = process.stream.compare_exchange(
                                    0,
                                    32,
                                    Width::Word32,
                                    seen,
                                    seen + 1,
                                    None,
                                );
                                if old == seen {
                                    break;
                                }
                                seen = old;
                            }
                        }
                    });
                }
            }
            scope.spawn(|| {
                (0..ROUNDS).for_each(|_| _ = job[0].memory[3].fetch_add(1, Ordering::SeqCst));
            });
        });
        assert_eq!(job[0].memory[3].load(Ordering::SeqCst), 9 * ROUNDS, "seed {seed:?}");
        assert_eq!(job[0].memory[4].load(Ordering::SeqCst), 8 * ROUNDS, "seed {seed:?}");
    }
}

/// Two threads of two processes pass a turn to and fro by a word of the third, each asleep until it is its own.
#[test]
fn no_wake_is_lost() {
    for seed in SEEDS {
        let job = job(3, 4096, seed);
        let wake = |turn: u32| Wake { sleepers: 8, mask: 1 << turn };
        let rounds = if seed.is_some() { 500 } else { 3000 };
        let play = |process: &Process, turn: u32, rounds: u32| {
            for round in 0..rounds {
                let expected = 2 * round + turn;
                let mut value = process.stream.load(0, 4, Width::Word32) as u32;
                while value != expected {
                    value = process.stream.wait_change(0, 4, value, wake(turn));
                }
                let next = u64::from(value) + 1;
                match round % 3 {
                    0 => {
                        process.stream.update(0, 4, Width::Word32, Update::Swap, next, Some(wake(1 - turn)));
                    }
                    1 => {
                        let old = process.stream.compare_exchange(
                            0,
                            4,
                            Width::Word32,
                            value.into(),
                            next,
                            Some(wake(1 - turn)),
                        );
                        assert_eq!(old, u64::from(value));
                    }
                    _ => {
                        process.stream.update(0, 4, Width::Word32, Update::Add, 1, None);
                        process.stream.wake(0, 4, wake(1 - turn));
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| play(&job[1], 0, rounds));
            scope.spawn(|| play(&job[2], 1, rounds));
        });
        assert_eq!(job[0].word32(4).load(Ordering::SeqCst), 2 * rounds);
        assert_eq!(job[0].word32(8).load(Ordering::SeqCst), 0, "nobody sleeps any more");
    }
}

/// Many waits at once block neither each other nor requests, and answers find their threads.
#[test]
fn many_threads_wait() {
    const THREADS: usize = 24;
    for seed in SEEDS {
        let job = job(2, 4096, seed);
        let wake = Wake { sleepers: 2048, mask: 1 };
        for round in 0..20 {
            std::thread::scope(|scope| {
                for i in 0..THREADS {
                    let process = &job[0];
                    scope.spawn(move || {
                        let value = process.stream.wait_change(1, 4 * i, round, wake);
                        assert_eq!(value, round + 1, "thread {i}, seed {seed:?}");
                    });
                }
                for i in (0..THREADS).rev() {
                    // Asleep or not yet, by a request or by the owner.
                    if i % 2 == 0 {
                        job[0].stream.update(1, 4 * i, Width::Word32, Update::Add, 1, Some(wake));
                    } else {
                        job[1].word32(4 * i).fetch_add(1, Ordering::SeqCst);
                        dsm_threads::wait::wake(
                            &dsm_threads::futex::Futex,
                            job[1].word32(4 * i),
                            job[1].word32(2048),
                            1,
                        );
                    }
                }
            });
        }
        assert_eq!(job[1].word32(2048).load(Ordering::SeqCst), 0);
    }
}

/// Threads that all are asleep before the word changes: requests are executed meanwhile, which they would not be if a wait kept the agent.
#[test]
fn a_wait_does_not_keep_the_agent() {
    for seed in SEEDS {
        let job = job(2, 4096, seed);
        let wake = Wake { sleepers: 0, mask: 4 };
        std::thread::scope(|scope| {
            for _ in 0..5 {
                scope.spawn(|| assert_eq!(job[0].stream.wait_change(1, 8, 0, wake), 9));
            }
            while job[0].stream.load(1, 0, Width::Word32) != 5 {
                std::thread::yield_now();
            }
            assert_eq!(job[0].stream.compare_exchange(1, 8, Width::Word32, 1, 2, Some(wake)), 0);
            job[0].stream.update(1, 8, Width::Word32, Update::Swap, 9, Some(wake));
        });
    }
}

#[test]
fn bulk_in_both_directions_at_once() {
    for seed in SEEDS {
        let job = job(2, BYTES, seed);
        let start = Barrier::new(4);
        let transfer = |process: &Process, to: u32, base: usize, user: u64| {
            start.wait();
            let mut random = Random::new(seed.unwrap_or(99), user);
            for bytes in [8, 64, 1000, 4096, MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 8, 4 * MEGABYTE] {
                let offset = base + random.below(1000);
                let sent: Vec<u8> = (0..bytes).map(|_| random.next() as u8).collect();
                let mut got = vec![0_u8; bytes + 2];
                // SAFETY: the buffers have as many bytes.
                unsafe {
                    process.stream.write(to, offset, sent.as_ptr(), bytes);
                    process.stream.read(to, offset, got.as_mut_ptr().add(1), bytes);
                }
                assert!(got[1..=bytes] == sent, "{bytes} bytes, seed {seed:?}");
                assert_eq!((got[0], got[bytes + 1]), (0, 0), "{bytes} bytes, seed {seed:?}");
            }
        };
        let guard = 6 * MEGABYTE;
        std::thread::scope(|scope| {
            for (to, process) in job.iter().rev().enumerate() {
                let (to, transfer) = (to as u32, &transfer);
                // Two threads of each process: the mutex of the connection is contended, too.
                scope.spawn(move || transfer(process, to, 0, 1));
                scope.spawn(move || transfer(process, to, 8 * MEGABYTE, 2));
            }
        });
        for process in &job {
            assert!(process.memory[guard / 8..MEGABYTE].iter().all(|w| w.load(Ordering::SeqCst) == 0));
        }
    }
}

#[repr(align(64))]
#[derive(Clone)]
struct Group([u8; 64]);

#[test]
fn a_difference_leaves_other_bytes_alone() {
    for seed in SEEDS {
        let job = job(2, 2 * MEGABYTE, seed);
        for density in [0, 1, 3, 50, 99, 100] {
            let mut random = Random::new(seed.unwrap_or(7), density as u64);
            let groups = 1 + random.below(12_000);
            let mut own = vec![Group([0; 64]); groups];
            own.iter_mut().flat_map(|g| &mut g.0).for_each(|b| *b = random.next() as u8);
            let mut twin = own.clone();
            let mut changed = vec![false; 64 * groups];
            for (at, byte) in own.iter_mut().flat_map(|g| &mut g.0).enumerate() {
                if random.below(100) < density {
                    *byte ^= 1 + random.below(255) as u8;
                    changed[at] = true;
                }
            }
            let offset = 64 * random.below(500);
            job[1].fill(|at| at as u8 ^ 0x55);
            // SAFETY: both have as many bytes, aligned.
            unsafe {
                job[0].stream.send_diff(1, offset, own.as_ptr().cast(), twin.as_mut_ptr().cast(), 64 * groups)
            };
            for at in 0..2 * MEGABYTE {
                let found = job[1].byte(at).load(Ordering::Relaxed);
                let sent = at.checked_sub(offset).filter(|i| changed.get(*i) == Some(&true));
                let expected = sent.map_or(at as u8 ^ 0x55, |i| own[i / 64].0[i % 64]);
                assert_eq!(found, expected, "byte {at}, {density} percent, seed {seed:?}");
            }
            assert!(own.iter().zip(&twin).all(|(a, b)| a.0 == b.0), "the twin has what was sent");
        }
    }
}

/// Two processes that change neighbouring bytes of the third: no store is wider than a change.
#[test]
fn differences_of_neighbouring_bytes_do_not_disturb_each_other() {
    const ROUNDS: u8 = 100;
    for seed in SEEDS {
        let job = job(3, 4096, seed);
        std::thread::scope(|scope| {
            for (rank, process) in job.iter().enumerate().skip(1) {
                scope.spawn(move || {
                    let (mut own, mut twin) = (Group([0; 64]), Group([0; 64]));
                    for round in 1..=ROUNDS {
                        own.0.iter_mut().skip(rank - 1).step_by(2).for_each(|b| *b = round);
                        // SAFETY: both have 64 bytes, aligned.
                        unsafe { process.stream.send_diff(0, 64, own.0.as_ptr(), twin.0.as_mut_ptr(), 64) };
                        for at in (64 + rank - 1..128).step_by(2) {
                            assert_eq!(process.stream.load(0, at, Width::Byte), round.into(), "byte {at}");
                        }
                    }
                });
            }
        });
    }
}

#[test]
fn a_malformed_request_ends_its_connection_only() {
    for seed in SEEDS {
        let mut all = sockets(3);
        // The second process is the test itself.
        let second = all[1][0].take().unwrap();
        let mut requests = UnixStream::from(second.requests);
        let mut waits = UnixStream::from(second.waits);
        let mut all = all.into_iter();
        let first = Process::start(0, all.next().unwrap(), 4096, seed);
        let third = Process::start(2, all.nth(1).unwrap(), 4096, seed);
        let works = |value| {
            third.stream.update(0, 8, Width::Word64, Update::Swap, value, None);
            assert_eq!(first.memory[1].load(Ordering::SeqCst), value);
            let wake = Wake { sleepers: 64, mask: 1 };
            assert_eq!(third.stream.wait_change(0, 8, 0, wake), value as u32);
        };
        works(1);
        let load = Request::Load { offset: 8, width: Width::Word64 };
        requests.write_all(&load.header()).unwrap();
        let mut reply = [0; wire::REPLY];
        requests.read_exact(&mut reply).unwrap();
        assert_eq!(wire::decode_reply(&reply, 0), Ok(1));
        // Behind the end of the segment.
        let store = Request::Update {
            offset: 4096,
            width: Width::Word64,
            update: Update::Swap,
            value: 77,
            wake: None,
        };
        requests.write_all(&store.header()).unwrap();
        assert_eq!(requests.read(&mut reply).unwrap_or(0), 0, "the connection has ended, seed {seed:?}");
        works(2);
        // The second's other connection stays; then it gets what it does not carry.
        let wait = Request::Wait { offset: 8, seen: 0, wake: Wake { sleepers: 64, mask: 1 }, id: 5 };
        waits.write_all(&wait.header()).unwrap();
        let mut answer = [0; wire::ANSWER];
        waits.read_exact(&mut answer).unwrap();
        assert_eq!(wire::decode_answer(&answer), (5, 2));
        waits.write_all(&load.header()).unwrap();
        assert_eq!(waits.read(&mut answer).unwrap_or(0), 0, "the connection has ended, seed {seed:?}");
        works(3);
    }
}

/// Whatever is decoded is executed inside the segment.
#[test]
fn no_request_touches_what_is_outside() {
    const SEGMENT: usize = 4096;
    const GUARD: u64 = 0x6a6a_6a6a_6a6a_6a6a;
    let words: Vec<AtomicU64> = (0..3 * SEGMENT / 8).map(|_| AtomicU64::new(GUARD)).collect();
    let middle = words[SEGMENT / 8..].as_ptr().cast::<u8>().cast_mut();
    // SAFETY: the middle third of the words, which outlive their use and are accessed by atomics only.
    let segment = unsafe { Segment::new(middle, SEGMENT, 0) };
    let mut reply = vec![0; MAX_PAYLOAD];
    let mut executed = 0;
    for seed in 0..100_000 {
        let mut random = Random::new(seed, 3);
        // Mostly in form, so that many are executed: places at and beyond both ends.
        let near = |random: &mut Random| {
            let place = [0, SEGMENT as u64, 2 * SEGMENT as u64, u64::MAX, random.next()][random.below(5)];
            place.wrapping_add(random.below(130) as u64).wrapping_sub(65)
        };
        let mut bytes = vec![0; wire::HEADER];
        bytes[0] = random.below(12) as u8;
        bytes[1] = random.below(6) as u8 * u8::from(bytes[0] <= 3);
        bytes[2] = random.below(8) as u8 * u8::from(bytes[0] == 2);
        bytes[3] = u8::from(bytes[0] >= 9 || random.below(2) == 0 && [2, 3].contains(&bytes[0]));
        bytes[8..16].copy_from_slice(&near(&mut random).to_le_bytes());
        if [2, 3, 4, 6].contains(&bytes[0]) {
            let value = [random.below(200) as u64, near(&mut random)][random.below(2)];
            bytes[16..24].copy_from_slice(&value.to_le_bytes());
        }
        if bytes[3] == 1 {
            bytes[32..40].copy_from_slice(&near(&mut random).to_le_bytes());
            bytes[40] = 1;
        }
        if [5, 7, 8].contains(&bytes[0]) {
            let length = random.below(200);
            bytes[4] = length as u8;
            bytes.extend((0..length).map(|_| random.next() as u8));
            if bytes[0] == 8 && length > 8 {
                let at = near(&mut random) as u32;
                bytes[wire::HEADER..][..4].copy_from_slice(&at.to_le_bytes());
                bytes[wire::HEADER + 4..][..4].copy_from_slice(&(length as u32 - 8).to_le_bytes());
            }
        }
        if let Ok(Some((request, _))) = Request::decode(&bytes, SEGMENT) {
            executed += u32::from(segment.execute(&request, &mut reply).is_ok());
        }
        let is_whole = |part: &[AtomicU64]| part.iter().all(|w| w.load(Ordering::Relaxed) == GUARD);
        let (before, after) = (&words[..SEGMENT / 8], &words[2 * SEGMENT / 8..]);
        assert!(is_whole(before) && is_whole(after), "seed {seed}: {bytes:?}");
    }
    assert!(executed > 2000, "{executed} requests were executed");
    assert!(words.iter().any(|w| w.load(Ordering::Relaxed) != GUARD), "and none wrote anything");
}

/// Variable that says what a copy of this test program loses its peer in.
const LOSES: &str = "DSM_TEST_LOSES";

#[test]
#[ignore = "the test below runs it in a process that it ends"]
fn lose_a_peer() {
    let how = std::env::var(LOSES).expect("how to lose the peer");
    let mut all = sockets(3).into_iter();
    let (first, mut second) = (all.next().unwrap(), all.next().unwrap());
    let process = Process::start(0, first, 4096, None);
    let peer = second[0].take().unwrap();
    let wait = || process.stream.wait_change(1, 8, 0, Wake { sleepers: 0, mask: 1 });
    std::thread::scope(|scope| {
        match how.as_str() {
            "gone before" => drop(peer),
            "malformed request" => {
                let mut requests = UnixStream::from(peer.requests);
                requests.write_all(&[0xff; wire::HEADER]).unwrap();
                assert_eq!(requests.read(&mut [0]).unwrap_or(0), 0, "the connection has ended");
                drop(peer.serves);
            }
            "gone in a request" => {
                scope.spawn(move || {
                    let mut serves = UnixStream::from(peer.serves);
                    serves.read_exact(&mut [0; wire::HEADER]).unwrap();
                    serves.write_all(&[1; wire::REPLY - 1]).unwrap();
                });
            }
            "malformed reply" => {
                scope.spawn(move || {
                    let mut serves = UnixStream::from(peer.serves);
                    serves.read_exact(&mut [0; wire::HEADER]).unwrap();
                    serves.write_all(&wire::reply(1, 1)).unwrap();
                    serves.read_exact(&mut [0]).unwrap_err();
                });
            }
            "gone in a wait" => {
                scope.spawn(wait);
                scope.spawn(move || {
                    let mut serves = UnixStream::from(peer.serves_waits);
                    serves.read_exact(&mut [0; wire::HEADER]).unwrap();
                });
                wait();
            }
            "wrong answer" => {
                scope.spawn(move || {
                    let mut serves = UnixStream::from(peer.serves_waits);
                    serves.read_exact(&mut [0; wire::HEADER]).unwrap();
                    serves.write_all(&wire::answer(1, 1)).unwrap();
                    serves.read_exact(&mut [0]).unwrap_err();
                });
                wait();
            }
            unknown => panic!("{unknown}"),
        }
        for _ in 0..3 {
            scope.spawn(|| process.stream.load(1, 0, Width::Word64));
        }
    });
    println!("an operation returned");
}

#[test]
fn who_loses_a_peer_ends_with_one_message() {
    for (how, said) in [
        ("gone before", ""),
        ("gone in a request", ""),
        ("gone in a wait", ""),
        ("malformed request", "dsm: error: process 0: malformed request from process 1: "),
        ("malformed reply", "lost the connection to process 1: malformed reply: "),
        ("wrong answer", "dsm: error: process 0: malformed answer from process 1: "),
    ] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture", "stream::tests::lose_a_peer"])
            .env(LOSES, how)
            .output()
            .unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{how}: {out}{err}");
        assert_eq!(err.matches("lost the connection to process 1: ").count(), 1, "{how}: {err}");
        assert_eq!(err.matches("malformed").count(), usize::from(!said.is_empty()), "{how}: {err}");
        assert!(err.contains(said) && !err.contains("panicked"), "{how}: {err}");
        assert!(!out.contains("an operation returned"), "{how}: {out}");
    }
}
