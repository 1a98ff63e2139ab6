//! The tests. They are generic in what reaches the peers.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use dsm_threads::futex::Futex;

use super::{Job, MEGABYTE, Process, Subject, call, counting_call};
use crate::requests::{MAX_PAYLOAD, Random};
use crate::transport::{Ask, Transport, Update, Wake, Width};
use crate::{CALL_REPLY_BYTES, Lost};

pub(super) fn loads_of_all_widths<S: Subject>() {
    for &seed in S::SEEDS {
        let job = Job::start::<S>(3, 4096, seed);
        job[2].fill(|at| (at * 7 + 1) as u8);
        for width in Width::ALL {
            for at in (64..96).step_by(width.bytes()) {
                let bytes = (0..width.bytes()).rev().map(|i| ((at + i) * 7 + 1) as u8);
                let expected = bytes.fold(0, |value, byte| value << 8 | u64::from(byte));
                assert_eq!(job[0].peers.load(2, at, width), expected, "{width:?} at {at}, seed {seed:?}");
            }
        }
    }
}

/// Requests and replies of all lengths arrive whole, also when several threads call at once.
pub(super) fn calls_are_executed<S: Subject>() {
    let most = CALL_REPLY_BYTES;
    for &seed in S::SEEDS {
        let job = Job::start::<S>(3, 4096, seed);
        std::thread::scope(|scope| {
            for thread in 0..3_u8 {
                let peers = &*job[usize::from(thread % 2)].peers;
                scope.spawn(move || {
                    let mut reply = vec![0; most];
                    for (asked, length) in [(0, 0), (1, most), (700, 5), (700, 1616), (MAX_PAYLOAD - 8, 4096)]
                    {
                        let request = call(length, &vec![thread; asked]);
                        assert_eq!(peers.ask(2, &request, &mut reply), length, "seed {seed:?}");
                        let expected = (asked as u8).wrapping_mul(thread);
                        assert!(reply[..length].iter().all(|byte| *byte == expected), "seed {seed:?}");
                    }
                });
            }
        });
    }
}

/// Calls of several threads, many at once: with long requests, with long replies, and with both.
pub(super) fn calls_of_a_batch_are_executed_in_order<S: Subject>() {
    let lengths = |thread: usize| match thread % 3 {
        0 => (20, MAX_PAYLOAD),
        1 => (MAX_PAYLOAD - 8, 600),
        _ => (100_000, 70_000),
    };
    for &seed in S::SEEDS {
        let job = Job::start::<S>(2, 4096, seed);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let peers = &*job[thread % 2].peers;
                scope.spawn(move || {
                    let count = Box::leak(Box::new(AtomicU64::new(0)));
                    let (asked, length) = lengths(thread);
                    let requests: Vec<_> = (0..20)
                        .map(|i| match i % 2 {
                            0 => counting_call(count, i / 2),
                            _ => call(length - i as usize, &vec![i as u8; asked]),
                        })
                        .collect();
                    let mut replies = vec![vec![0; length]; requests.len()];
                    let rank = 1 - thread as u32 % 2;
                    let asks = requests.iter().zip(&mut replies);
                    let mut asks: Vec<_> = asks
                        .map(|(request, reply)| Ask { rank, request, reply, length: usize::MAX })
                        .collect();
                    peers.ask_all(&mut asks, &mut |_, _| ());
                    assert_eq!(count.load(Ordering::SeqCst), 10, "seed {seed:?}");
                    for (i, Ask { reply, length: got, .. }) in asks.iter().enumerate() {
                        assert_eq!(*got, if i % 2 == 0 { 0 } else { length - i }, "seed {seed:?}");
                        let expected = (asked as u8).wrapping_mul(i as u8);
                        assert!(reply[..*got].iter().all(|byte| *byte == expected), "seed {seed:?}");
                    }
                });
            }
        });
    }
}

/// Threads of each process have all others execute calls at once, in different orders, beside threads that want something of one only: with long requests, with long replies, and with both.
pub(super) fn calls_at_several_peers_are_executed<S: Subject>() {
    const PROCESSES: usize = 3;
    for &seed in S::SEEDS {
        let job = Job::start::<S>(PROCESSES, 5 * MEGABYTE, seed);
        std::thread::scope(|scope| {
            for thread in 0..4 * PROCESSES {
                let (me, kind) = (thread % PROCESSES, thread / PROCESSES);
                let process = &job[me];
                let mut random = Random::new(seed.unwrap_or(7), thread as u64);
                scope.spawn(move || match kind {
                    3 => {
                        let to = (me + 1) % PROCESSES;
                        transfer(process, to as u32, me * MEGABYTE, &[MAX_PAYLOAD - 1000; 6], random);
                    }
                    _ => (0..8).for_each(|_| ask_several(process, me, PROCESSES, kind, &mut random)),
                });
            }
        });
    }
}

/// Makes calls at all processes of so many but this one: with long requests, with long replies, or with either.
fn ask_several(process: &Process, me: usize, processes: usize, kind: usize, random: &mut Random) {
    let calls: Vec<_> = (0..16_u8)
        .map(|i| {
            let rank = (me + 1 + random.below(processes - 1)) % processes;
            let (asked, length) = [(MAX_PAYLOAD - 8, 600), (20, MAX_PAYLOAD), (70_000, 70_000)]
                [if kind == 2 { random.below(3) } else { kind }];
            (rank as u32, (asked as u8).wrapping_mul(i), call(length, &vec![i; asked]), length)
        })
        .collect();
    let mut replies: Vec<_> = calls.iter().map(|(.., length)| vec![0; *length]).collect();
    let mut asks = Vec::new();
    for ((rank, _, request, _), reply) in calls.iter().zip(&mut replies) {
        asks.push(Ask { rank: *rank, request, reply, length: usize::MAX });
    }
    let mut arrivals = vec![0; calls.len()];
    process.peers.ask_all(&mut asks, &mut |number, reply| {
        let (_, expected, _, length) = &calls[number];
        assert!(reply.len() == *length && reply.iter().all(|byte| byte == expected), "process {me}");
        arrivals[number] += 1;
    });
    assert!(arrivals.iter().all(|count| *count == 1), "process {me}: each has come once");
    for ((_, expected, ..), Ask { reply, length, .. }) in calls.iter().zip(&asks) {
        assert_eq!(*length, reply.len());
        assert!(reply.iter().all(|byte| byte == expected), "process {me}, kind {kind}");
    }
}

/// Nobody waits for a posted call, and each is executed behind what its thread has had executed before: among long requests and replies of other threads.
pub(super) fn posted_calls_are_executed_in_order<S: Subject>() {
    const POSTS: u64 = 300;
    for &seed in S::SEEDS {
        let job = Job::start::<S>(2, 5 * MEGABYTE, seed);
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let process = &job[thread % 2];
                let to = 1 - thread as u32 % 2;
                let random = Random::new(seed.unwrap_or(3), thread as u64);
                scope.spawn(move || {
                    if thread < 2 {
                        return transfer(process, to, thread * MEGABYTE, &[MAX_PAYLOAD - 1000; 6], random);
                    }
                    let count = Box::leak(Box::new(AtomicU64::new(0)));
                    for value in 0..POSTS {
                        process.peers.post(to, &counting_call(count, value));
                        if value % 50 == 49 {
                            assert_eq!(
                                process.peers.ask(to, &call(3, b"x"), &mut vec![0; CALL_REPLY_BYTES]),
                                3
                            );
                            assert_eq!(count.load(Ordering::SeqCst), value + 1, "seed {seed:?}");
                        }
                    }
                });
            }
        });
    }
}

pub(super) fn atomic_updates<S: Subject>() {
    for &seed in S::SEEDS {
        let job = Job::start::<S>(3, 4096, seed);
        let (here, there) = (&*job[0].peers, &job[2]);
        for &width in S::UPDATED {
            for at in [64, 64 + width.bytes()] {
                let context = format!("{width:?} at {at}, seed {seed:?}");
                let ones = width.mask();
                let load = || here.load(2, at, width);
                let update = |update, value| here.update(2, at, width, update, value, None);
                there.fill(|_| 0xff);
                assert_eq!(load(), ones, "{context}");
                assert_eq!(update(Update::Swap, 5), ones, "{context}");
                assert_eq!(update(Update::Swap, 0x21), 5, "{context}");
                assert_eq!(update(Update::Or, 0x4e), 0x21, "{context}");
                assert_eq!(update(Update::And, 0x47), 0x6f, "{context}");
                assert_eq!(update(Update::Max, 0x46), 0x47, "{context}");
                assert_eq!(update(Update::Max, 0x48), 0x47, "{context}");
                // Numbers have no sign, and wrap.
                assert_eq!(update(Update::Add, ones), 0x48, "{context}");
                assert_eq!(update(Update::Max, ones - 7), 0x47, "{context}");
                assert_eq!(update(Update::Add, 0x4f), ones - 7, "{context}");
                assert_eq!(here.compare_exchange(2, at, width, 1, 2, None), 0x47, "{context}");
                assert_eq!(here.compare_exchange(2, at, width, 0x47, ones, None), 0x47, "{context}");
                assert_eq!(update(Update::Swap, 0x33), ones, "{context}");
                here.store(2, at, width, ones - 1);
                assert_eq!(load(), ones - 1, "{context}");
                // The bytes around it are as they were.
                for byte in 0..4096 {
                    let expected = if byte == at { 0xfe } else { 0xff };
                    assert_eq!(there.byte(byte).load(Ordering::SeqCst), expected, "byte {byte}, {context}");
                }
            }
        }
        let others = [&job[0], &job[1]].map(|process| process.memory);
        assert!(others.iter().all(|m| m.iter().all(|w| w.load(Ordering::SeqCst) == 0)), "seed {seed:?}");
    }
}

/// The owner sees it as soon as it has returned, and so does whoever hears of it through a third process.
pub(super) fn an_operation_is_placed_when_it_returns<S: Subject>() {
    const ROUNDS: u8 = 200;
    // Places of the words, and of what tells that they are written.
    let (offsets, signal) = ([64, 128, 192, 256], 16);
    for &seed in S::SEEDS {
        let job = Job::start::<S>(3, 4096, seed);
        // Only their lowest bytes ever change, so that no value is torn.
        let value = |offset: usize| job[1].byte(offset).load(Ordering::SeqCst);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let peers = &*job[0].peers;
                let mut twin = Group([0; 64]);
                for round in 1..=ROUNDS {
                    let mut word = Group([0; 64]);
                    word.0[0] = round;
                    peers.update(1, offsets[0], Width::Bits64, Update::Swap, round.into(), None);
                    peers.write_words(1, offsets[1], &[round.into()]);
                    // SAFETY: eight bytes are read, and all of both groups, which are aligned.
                    unsafe {
                        peers.write(1, offsets[2], word.0.as_ptr(), 8);
                        peers.send_diff(1, offsets[3], word.0.as_ptr(), twin.0.as_mut_ptr(), 64);
                    }
                    assert_eq!(offsets.map(value), [round; 4], "seed {seed:?}");
                    peers.store(2, signal, Width::Bits64, round.into());
                }
            });
            let mut round = 0;
            while round != ROUNDS {
                round = job[1].peers.load(2, signal, Width::Bits64) as u8;
                for (offset, value) in offsets.map(|offset| (offset, value(offset))) {
                    assert!(value >= round, "{value} at {offset} in round {round}, seed {seed:?}");
                }
            }
        });
    }
}

pub(super) fn any_number_of_words<S: Subject>() {
    for &seed in S::SEEDS {
        let job = Job::start::<S>(2, 2 * MEGABYTE, seed);
        let boundaries = S::BOUNDARIES.iter().map(|bytes| bytes / 8);
        let around = boundaries.flat_map(|words| [words - 1, words, words + 1, 2 * words, 2 * words + 1]);
        for (i, count) in [0, 1, 2, 127, 128, 129].into_iter().chain(around).enumerate() {
            let context = format!("{count} words, seed {seed:?}");
            let mut random = Random::new(seed.unwrap_or(5), i as u64);
            let first = 1 + random.below(1000);
            let sent: Vec<u64> = (0..count).map(|_| random.next() | 1).collect();
            job[0].peers.write_words(1, 8 * first, &sent);
            let found: Vec<u64> = job[1].memory.iter().map(|w| w.swap(0, Ordering::SeqCst)).collect();
            assert!(found[first..first + count] == sent, "{context}");
            assert_eq!(found.iter().filter(|word| **word != 0).count(), count, "{context}");
            job[1].memory.iter().zip(&found).for_each(|(w, value)| w.store(*value, Ordering::SeqCst));
            let mut got = vec![0; count];
            job[0].peers.read_words(1, 8 * first, &mut got);
            assert!(got == sent, "{context}");
            job[1].memory.iter().for_each(|w| w.store(0, Ordering::SeqCst));
        }
    }
}

pub(super) fn words_are_read_and_written_in_order<S: Subject>() {
    const COUNT: usize = 40_000;
    const LAST: u64 = 15;
    for &seed in S::SEEDS {
        let job = Job::start::<S>(2, MEGABYTE, seed);
        let start = &Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                for round in 1..=LAST {
                    job[0].peers.write_words(1, 64, &vec![round; COUNT]);
                }
            });
            let own = &job[1].memory[8..][..COUNT];
            start.wait();
            while own[COUNT - 1].load(Ordering::Acquire) != LAST {
                // From the last on: none before one that was seen is older.
                let mut newest = 0;
                for word in own.iter().rev().step_by(97) {
                    let value = word.load(Ordering::Acquire);
                    assert!(value >= newest, "{value} before {newest}, seed {seed:?}");
                    newest = value;
                }
            }
            let mut words = vec![0; COUNT];
            job[0].peers.read_words(1, 64, &mut words);
            assert!(words.iter().all(|w| *w == LAST), "seed {seed:?}");
        });
        // The other way round: the owner writes from the last word to the first, and the reader reads from the first on.
        std::thread::scope(|scope| {
            let own = &job[1].memory[..COUNT];
            own.iter().for_each(|w| w.store(0, Ordering::SeqCst));
            scope.spawn(|| {
                start.wait();
                for round in 1..=LAST {
                    own.iter().rev().for_each(|w| w.store(round, Ordering::Release));
                }
            });
            let mut words = vec![0; COUNT];
            start.wait();
            while words[0] != LAST {
                job[0].peers.read_words(1, 0, &mut words);
                assert!(words.is_sorted(), "an older word behind a newer one, seed {seed:?}");
            }
        });
    }
}

/// Threads of two processes and the owner.
pub(super) fn updates_of_1_to_8_threads_all_count<S: Subject>() {
    let rounds = u64::from(S::ROUNDS);
    for &seed in S::SEEDS {
        let job = Job::start::<S>(3, 4096, seed);
        for threads in 1..=8 {
            job[0].fill(|_| 0);
            std::thread::scope(|scope| {
                for thread in 0..threads {
                    let peers = &*job[1 + thread % 2].peers;
                    scope.spawn(move || {
                        for _ in 0..rounds {
                            peers.update(0, 24, Width::Bits64, Update::Add, 1, None);
                            let mut seen = peers.load(0, 32, Width::Bits32);
                            loop {
                                let old = peers.compare_exchange(0, 32, Width::Bits32, seen, seen + 1, None);
                                if old == seen {
                                    break;
                                }
                                seen = old;
                            }
                        }
                    });
                }
                scope.spawn(|| {
                    (0..rounds).for_each(|_| _ = job[0].memory[3].fetch_add(1, Ordering::SeqCst));
                });
            });
            let counts = [3, 4].map(|word: usize| job[0].memory[word].load(Ordering::SeqCst));
            let threads = threads as u64;
            assert_eq!(counts, [(threads + 1) * rounds, threads * rounds], "seed {seed:?}");
        }
    }
}

/// Two threads of two processes pass a turn to and fro by a word of the third, each asleep until it is its own.
pub(super) fn no_wake_is_lost<S: Subject>() {
    const TURN: usize = 8;
    const SLEEPERS: usize = 20;
    for &seed in S::SEEDS {
        let job = Job::start::<S>(3, 4096, seed);
        let rounds = if seed.is_some() { 400 } else { S::WAKES };
        let play = |process: &Process, turn: u32| {
            let peers = &*process.peers;
            let wake = |turn: u32| Wake { sleepers: SLEEPERS, mask: 1 << turn };
            let other = wake(1 - turn);
            for round in 0..rounds {
                let expected = 2 * round + turn;
                let mut value = peers.load(0, TURN, Width::Bits32) as u32;
                while value != expected {
                    value = peers.wait_change(0, TURN, value, wake(turn));
                }
                let (old, next) = (u64::from(value), value + 1);
                // All that wakes.
                let found = match round % 6 {
                    0 => peers.update(0, TURN, Width::Bits32, Update::Swap, next.into(), Some(other)),
                    1 => peers.update(0, TURN, Width::Bits32, Update::Add, 1, Some(other)),
                    2 => peers.update(0, TURN, Width::Bits64, Update::Add, 1, Some(other)),
                    3 => peers.compare_exchange(0, TURN, Width::Bits32, old, next.into(), Some(other)),
                    4 => {
                        peers.store_and_wake(0, TURN, next, other);
                        old
                    }
                    _ => {
                        let found = peers.update(0, TURN, Width::Bits32, Update::Add, 1, None);
                        peers.wake(0, TURN, other);
                        found
                    }
                };
                assert_eq!(found, old, "seed {seed:?}");
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| play(&job[1], 0));
            scope.spawn(|| play(&job[2], 1));
        });
        assert_eq!(job[0].word32(TURN).load(Ordering::SeqCst), 2 * rounds);
        assert_eq!(job[0].word32(SLEEPERS).load(Ordering::SeqCst), 0, "nobody sleeps any more");
    }
}

/// Many waits at once block neither each other nor other operations, and each thread gets its own word.
pub(super) fn many_threads_wait<S: Subject>() {
    for &seed in S::SEEDS {
        let job = Job::start::<S>(2, 4096, seed);
        let wake = Wake { sleepers: 2048, mask: 1 };
        for (threads, rounds) in (1..=8).map(|threads| (threads, 4)).chain([(24, 15)]) {
            job[1].fill(|_| 0);
            for round in 0..rounds {
                std::thread::scope(|scope| {
                    for i in 0..threads {
                        let peers = &*job[0].peers;
                        scope.spawn(move || {
                            let value = peers.wait_change(1, 4 * i, round, wake);
                            assert_eq!(value, round + 1, "thread {i} of {threads}, seed {seed:?}");
                        });
                    }
                    for i in (0..threads).rev() {
                        // Asleep or not yet, by another process or by the owner.
                        if i % 2 == 0 {
                            job[0].peers.update(1, 4 * i, Width::Bits32, Update::Add, 1, Some(wake));
                        } else {
                            let [word, sleepers] = [4 * i, wake.sleepers].map(|at| job[1].word32(at));
                            word.fetch_add(1, Ordering::SeqCst);
                            dsm_threads::wait::wake(&Futex, word, sleepers, wake.mask);
                        }
                    }
                });
            }
            assert_eq!(job[1].word32(2048).load(Ordering::SeqCst), 0);
        }
    }
}

/// Threads that all are asleep before the word changes: operations are executed meanwhile, which requests would not be if a wait kept the agent.
pub(super) fn a_wait_keeps_no_operation<S: Subject>() {
    for &seed in S::SEEDS {
        let job = Job::start::<S>(2, 4096, seed);
        let wake = Wake { sleepers: 0, mask: 4 };
        let peers = &*job[0].peers;
        std::thread::scope(|scope| {
            for _ in 0..5 {
                scope.spawn(|| assert_eq!(peers.wait_change(1, 8, 0, wake), 9));
            }
            while peers.load(1, 0, Width::Bits32) != 5 {
                std::thread::yield_now();
            }
            assert_eq!(peers.compare_exchange(1, 8, Width::Bits32, 1, 2, Some(wake)), 0);
            peers.update(1, 8, Width::Bits32, Update::Swap, 9, Some(wake));
        });
    }
}

/// Writes to a peer and reads it back, of each length.
fn transfer(process: &Process, to: u32, base: usize, lengths: &[usize], mut random: Random) {
    for &bytes in lengths {
        let offset = base + random.below(1000);
        let mut sent = vec![0_u8; bytes];
        sent.chunks_mut(8).for_each(|c| c.copy_from_slice(&random.next().to_ne_bytes()[..c.len()]));
        let mut got = vec![0_u8; bytes + 2];
        // SAFETY: the buffers have as many bytes.
        unsafe {
            process.peers.write(to, offset, sent.as_ptr(), bytes);
            process.peers.read(to, offset, got.as_mut_ptr().add(1), bytes);
        }
        assert!(got[1..=bytes] == sent, "{bytes} bytes at {offset}");
        assert_eq!((got[0], got[bytes + 1]), (0, 0), "{bytes} bytes at {offset}");
    }
}

fn lengths<S: Subject>(most: usize) -> Vec<usize> {
    let around = S::BOUNDARIES.iter().flat_map(|bytes| [bytes - 1, *bytes, bytes + 1, bytes + 8]);
    let all = [8, 24, 1000, 4096, 65_536, 4 * MEGABYTE, 64 * MEGABYTE].into_iter().chain(around);
    all.filter(|bytes| *bytes <= most).collect()
}

/// Two processes write to each other at once, more than sockets hold.
pub(super) fn bulk_in_both_directions_at_once<S: Subject>() {
    const SECOND: usize = 5 * MEGABYTE;
    for &seed in S::SEEDS {
        let most = if seed.is_some() { 4 * MEGABYTE } else { 64 * MEGABYTE };
        let job = Job::start::<S>(2, SECOND + most + MEGABYTE, seed);
        let start = &Barrier::new(4);
        std::thread::scope(|scope| {
            for (to, process) in job.0.iter().rev().enumerate() {
                // Two threads of each process: what they share is contended, too.
                for (user, base, most) in [(1, 0, 4 * MEGABYTE), (2, SECOND, most)] {
                    let random = Random::new(seed.unwrap_or(99), user);
                    scope.spawn(move || {
                        let lengths = lengths::<S>(most);
                        start.wait();
                        transfer(process, to as u32, base, &lengths, random);
                    });
                }
            }
        });
        // What follows their places.
        for end in [4 * MEGABYTE, SECOND + most] {
            for process in &job.0 {
                let behind = &process.memory[end / 8 + 125..][..(MEGABYTE - 1000) / 8];
                assert!(behind.iter().all(|w| w.load(Ordering::SeqCst) == 0), "seed {seed:?}");
            }
        }
    }
}

/// Places of threads follow each other closely.
pub(super) fn bulk_of_1_to_8_threads<S: Subject>() {
    const MOST: usize = 65_536;
    // Each leaves less than 1000 bytes in front of what it writes.
    const PLACE: usize = MOST + 1000;
    for &seed in S::SEEDS {
        let job = Job::start::<S>(2, 8 * PLACE, seed);
        for threads in 1..=8 {
            let start = &Barrier::new(2 * threads);
            std::thread::scope(|scope| {
                for (to, process) in job.0.iter().rev().enumerate() {
                    for thread in 0..threads {
                        let random = Random::new(seed.unwrap_or(3), (8 * threads + thread) as u64);
                        scope.spawn(move || {
                            let lengths = lengths::<S>(MOST);
                            start.wait();
                            transfer(process, to as u32, PLACE * thread, &lengths, random);
                        });
                    }
                }
            });
        }
    }
}

/// Transfers of many pieces, which may be under way at once, between requests of other threads: long replies, which the agent has no space for behind others, long
/// requests, and short ones.
pub(super) fn many_pieces_among_requests_of_others<S: Subject>() {
    const PLACE: usize = 3 * MEGABYTE;
    for &seed in S::SEEDS {
        let job = Job::start::<S>(2, 5 * PLACE, seed);
        let start = &Barrier::new(10);
        std::thread::scope(|scope| {
            for (to, process) in job.0.iter().rev().enumerate() {
                for thread in 0..5 {
                    let random = Random::new(seed.unwrap_or(7), thread as u64);
                    scope.spawn(move || {
                        start.wait();
                        let (to, base) = (to as u32, PLACE * thread);
                        match thread {
                            0 | 1 => transfer(process, to, base, &[PLACE - 1000, 9 * MEGABYTE / 4], random),
                            2 => send_differences(process, to, base, PLACE, random),
                            3 => transfer(process, to, base, &[MAX_PAYLOAD; 8], random),
                            _ => (0..100).for_each(|count| {
                                let before =
                                    process.peers.update(to, base, Width::Bits64, Update::Add, 1, None);
                                assert_eq!(before, count, "seed {seed:?}");
                            }),
                        }
                    });
                }
            }
        });
    }
}

/// Whatever threads want of a process that dies ends in that, what is under way and all that comes later; what they want of others goes on.
pub(super) fn a_peer_that_dies<S: Subject>() {
    const SLEEPERS: usize = 16;
    const WAKE: Wake = Wake { sleepers: SLEEPERS, mask: 1 };
    for &seed in S::SEEDS {
        for threads in [1, 3, 8] {
            let job = Job::start::<S>(3, 4 * MEGABYTE, seed);
            // A process whose segment is mapped leaves it behind.
            let Some(transport) = job[0].peers.transport(1) else { return };
            let executed: Vec<_> = (0..threads).map(|_| AtomicU64::new(0)).collect();
            std::thread::scope(|scope| {
                let under_way: Vec<_> = (0..threads)
                    .map(|thread| {
                        let executed = &executed[thread];
                        scope.spawn(move || {
                            loop {
                                want_of(transport, thread)?;
                                executed.fetch_add(1, Ordering::SeqCst);
                            }
                        })
                    })
                    .collect();
                let waiter = scope.spawn(|| transport.wait_change(1, 8, 0, WAKE));
                let is_under_way = || {
                    executed.iter().all(|count| count.load(Ordering::SeqCst) != 0)
                        && job[1].word32(SLEEPERS).load(Ordering::SeqCst) == 1
                };
                while !is_under_way() {
                    std::thread::yield_now();
                }
                job[1].die();
                assert_eq!(waiter.join().unwrap().unwrap_err().rank(), 1, "seed {seed:?}");
                for thread in under_way {
                    let Err::<(), Lost>(lost) = thread.join().unwrap() else { unreachable!() };
                    assert_eq!(lost.rank(), 1, "seed {seed:?}");
                }
            });
            for thread in 0..5 {
                assert_eq!(want_of(transport, thread).unwrap_err().rank(), 1, "seed {seed:?}");
            }
            assert_eq!(transport.wait_change(1, 8, 0, WAKE).unwrap_err().rank(), 1, "seed {seed:?}");
            let count = Box::leak(Box::new(AtomicU64::new(0)));
            let (requests, mut reply) = ([call(4, &[1]), counting_call(count, 0)], [[0; 4]; 2]);
            let asks = (1..).zip(&requests).zip(&mut reply);
            let mut asks: Vec<_> =
                asks.map(|((rank, request), reply)| Ask { rank, request, reply, length: 0 }).collect();
            assert_eq!(transport.ask_all(&mut asks, &mut |_, _| ()).unwrap_err().rank(), 1, "seed {seed:?}");
            assert_eq!(count.load(Ordering::SeqCst), 1, "the other one has executed its call");
            transfer(&job[0], 2, 0, &[8, 3 * MEGABYTE], Random::new(3, 3));
            transfer(&job[2], 0, 0, &[8, 3 * MEGABYTE], Random::new(3, 4));
        }
    }
}

/// Something that threads want of process 1, one of five.
fn want_of(transport: &dyn Transport, thread: usize) -> Result<(), Lost> {
    let mut bytes = vec![0; 3 * MEGABYTE / 2];
    match thread % 5 {
        0 => transport.load(1, 0, Width::Bits64).map(drop),
        // SAFETY: there are as many bytes.
        1 => unsafe { transport.write(1, MEGABYTE, bytes.as_ptr(), bytes.len()) },
        // SAFETY: as above.
        2 => unsafe { transport.read(1, MEGABYTE, bytes.as_mut_ptr(), bytes.len()) },
        3 => {
            let request = call(4, &[1]);
            let mut replies = [[0; 4]; 2];
            let asks = (1..).zip(&mut replies);
            let mut asks: Vec<_> =
                asks.map(|(rank, reply)| Ask { rank, request: &request, reply, length: 0 }).collect();
            transport.ask_all(&mut asks, &mut |_, _| ())
        }
        _ => transport.post(1, &call(0, &[1])),
    }
}

/// Sends changes of some groups of long memory to a peer, and reads all of it back.
fn send_differences(process: &Process, to: u32, base: usize, bytes: usize, mut random: Random) {
    let mut own = vec![Group([0; 64]); bytes / 64];
    let mut twin = own.clone();
    let mut got = own.clone();
    // Many in the first half, and few behind.
    let some = own.iter_mut().enumerate().filter(|(at, _)| *at < bytes / 128 || at % 9973 == 0);
    some.for_each(|(_, group)| group.0.fill_with(|| random.next() as u8));
    let start = |groups: &mut [Group]| groups.as_mut_ptr().cast::<u8>();
    // SAFETY: all have as many bytes, and groups are aligned.
    unsafe {
        process.peers.send_diff(to, base, start(&mut own), start(&mut twin), bytes);
        process.peers.read(to, base, start(&mut got), bytes);
    }
    let equal = |one: &[Group], other: &[Group]| one.iter().zip(other).all(|(a, b)| a.0 == b.0);
    assert!(equal(&own, &got) && equal(&own, &twin), "{bytes} bytes at {base}");
}

#[repr(align(64))]
#[derive(Clone)]
struct Group([u8; 64]);

pub(super) fn a_difference_leaves_other_bytes_alone<S: Subject>() {
    for &seed in S::SEEDS {
        let job = Job::start::<S>(2, 2 * MEGABYTE, seed);
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
            // Where nothing races, the other side has changed other bytes.
            let initial_byte = |at: usize| {
                let sent = at.checked_sub(offset).filter(|i| changed.get(*i) == Some(&true));
                sent.map_or(at as u8 ^ 0x55, |i| twin[i / 64].0[i % 64])
            };
            job[1].fill(initial_byte);
            let (from, to) = (own.as_ptr().cast(), twin.as_mut_ptr().cast());
            // SAFETY: both have as many bytes, aligned.
            unsafe { job[0].peers.send_diff(1, offset, from, to, 64 * groups) };
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
pub(super) fn differences_of_neighbouring_bytes_do_not_disturb_each_other<S: Subject>() {
    const VALUES: u32 = 250;
    for &seed in S::SEEDS {
        let job = Job::start::<S>(3, 4096, seed);
        let start = &Barrier::new(2);
        std::thread::scope(|scope| {
            for (rank, process) in job.0.iter().enumerate().skip(1) {
                scope.spawn(move || {
                    let (mut own, mut twin) = (Group([0; 64]), Group([0; 64]));
                    start.wait();
                    for round in 0..S::ROUNDS {
                        let value = 1 + (round % VALUES) as u8;
                        own.0.iter_mut().skip(rank - 1).step_by(2).for_each(|b| *b = value);
                        // SAFETY: both have 64 bytes, aligned.
                        unsafe { process.peers.send_diff(0, 64, own.0.as_ptr(), twin.0.as_mut_ptr(), 64) };
                        for at in (64 + rank - 1..128).step_by(2) {
                            let found = process.peers.load(0, at, Width::Bits8);
                            assert_eq!(found, value.into(), "byte {at}, seed {seed:?}");
                        }
                    }
                });
            }
        });
    }
}
