//! One function per row of the table.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use dsm_comm::copy::copy;
use dsm_rt::{check, memory, sync};

use crate::{barrier, fill, job, load, median, store, time};

/// Rounds of what takes less than a microsecond: each is over before the system takes a core away, so that most are undisturbed.
const SHORT_ROUNDS: usize = 101;
const MIB: usize = 1 << 20;
const ROUNDS: usize = 9;

struct Row {
    name: &'static str,
    processes: u32,
    block: usize,
    body: fn(),
}

const fn row(name: &'static str, processes: u32, block: usize, body: fn()) -> Row {
    Row { name, processes, block, body }
}

const ROWS: &[Row] = &[
    row("private-data", 2, 64, private_data),
    row("private-sweep", 2, 64, private_sweep),
    row("read-miss", 2, 4096, read_miss),
    row("bulk-read", 2, 64, bulk_read),
    row("release-elsewhere", 2, 64, release_elsewhere),
    row("release-at-home", 2, 64, release_at_home),
    row("overwrite-64", 2, 64, overwrite),
    row("overwrite-1024", 2, 1024, overwrite),
    row("bound", 2, 64, bound),
    row("barrier", 2, 64, empty_barrier),
    row("lock-hand-off", 2, 64, lock_hand_off),
    row("busy-home", 2, 4096, busy_home),
    row("lock-2", 2, 64, lock_contended),
    row("lock-8", 8, 64, lock_contended),
    row("false-sharing", 2, 64, false_sharing),
];

/// Measures all rows, or one.
pub fn start_all(only: Option<&str>) {
    println!("{:18} {:>14} {:>14} {:>8}  bar", "row", "ns", "reference ns", "ratio");
    for row in ROWS.iter().filter(|r| only.is_none_or(|name| name == r.name)) {
        job::start(row.name, row.processes, row.block);
    }
}

/// In a process of the job.
pub fn run(name: &str) {
    let row = ROWS.iter().find(|r| r.name == name).expect("a known row");
    (row.body)();
    barrier();
}

fn report(name: &str, ns: f64, reference: f64, bar: &str) {
    if sync::rank() == 0 {
        println!("{name:18} {ns:14.0} {reference:14.0} {:8.2}  {bar}", ns / reference);
    }
}

/// Round trip of a flag between processes 0 and 1, nanoseconds.
fn ping_pong() -> f64 {
    const TRIPS: u64 = 200;
    // Two control words on different cache lines.
    let (there, back) = (512, 576);
    let rounds = (0..SHORT_ROUNDS).map(|_| {
        barrier();
        let base = sync::control_load(there);
        barrier();
        time(|| {
            for i in base + 1..=base + TRIPS {
                if sync::rank() == 0 {
                    sync::control_store(there, i);
                    while sync::control_load(back) != i {
                        std::hint::spin_loop();
                    }
                } else if sync::rank() == 1 {
                    while sync::control_load(there) != i {
                        std::hint::spin_loop();
                    }
                    sync::control_store(back, i);
                }
            }
        }) / TRIPS as f64
    });
    let ns = median(rounds.collect());
    barrier();
    ns
}

/// Copying `bytes` from the peer's memory, nanoseconds.
fn peer_copy(address: usize, bytes: usize) -> f64 {
    let shared = memory::shared().expect("several processes");
    let mut to = vec![0u8; bytes];
    let from = shared.views.address(1 - sync::rank().min(1), memory::get().geometry().offset(address));
    median(
        (0..ROUNDS)
            .map(|_| {
                // SAFETY: the peer's view has these bytes, `to` has room; nobody writes meanwhile.
                time(|| unsafe { copy(from, to.as_mut_ptr(), bytes) })
            })
            .collect(),
    )
}

fn heap(rank: u32) -> usize {
    memory::arena(rank).start
}

/// Release and barrier while each process holds private data that it has written: intervals with one store each, after all of it was written once.
fn private_data() {
    const INTERVALS: usize = 1001;
    let sample = |bytes: usize| {
        fill(heap(sync::rank()), bytes, 1);
        barrier();
        let intervals = (0..INTERVALS).map(|i| {
            // Over all of it, a page and a line further each time.
            store(heap(sync::rank()) + (i * (4096 + 64) * 61) % bytes, i as u64);
            time(barrier)
        });
        median(intervals.collect())
    };
    let (small, large) = (sample(MIB), sample(256 * MIB));
    report("private-data", large, small, "<= 2 (256 MB against 1 MB)");
}

/// The first release and barrier after all of the private data was written: caches hold nothing else, and processes come apart by as much
/// as one of them needs longer for 256 MB.
fn private_sweep() {
    let sample = |bytes: usize| {
        let sweeps = (0..ROUNDS as u64).map(|round| {
            fill(heap(sync::rank()), bytes, round);
            barrier();
            time(barrier)
        });
        median(sweeps.collect())
    };
    let (small, large) = (sample(MIB), sample(256 * MIB));
    report("private-sweep", large, small, "report (256 MB against 1 MB)");
}

fn read_miss() {
    const BLOCKS: usize = 1000;
    let mut samples = Vec::new();
    for round in 0..ROUNDS as u64 {
        if sync::rank() == 0 {
            fill(heap(0), BLOCKS * 4096, round);
        }
        barrier();
        if sync::rank() == 1 {
            let ns = time(|| (0..BLOCKS).for_each(|i| _ = black_box(load(heap(0) + i * 4096))));
            samples.push(ns / BLOCKS as f64);
        }
        barrier();
    }
    let trip = ping_pong();
    if sync::rank() == 1 {
        let miss = median(samples);
        let reference = peer_copy(heap(0), 4096) + trip;
        publish(miss, reference);
    }
    barrier();
    report_published("read-miss", "<= 3 (4 KiB copy plus a round trip)");
}

/// Process 1 hands its figures to process 0, which prints.
fn publish(ns: f64, reference: f64) {
    sync::control_store(1024, ns.to_bits());
    sync::control_store(1025, reference.to_bits());
}

fn report_published(name: &str, bar: &str) {
    let [ns, reference] = [1024, 1025].map(|i| f64::from_bits(sync::control_load(i)));
    report(name, ns, reference, bar);
}

fn bulk_read() {
    const BYTES: usize = 64 * MIB;
    let mut samples = Vec::new();
    for round in 0..ROUNDS as u64 {
        if sync::rank() == 0 {
            fill(heap(0), BYTES, round);
        }
        barrier();
        if sync::rank() == 1 {
            samples.push(time(|| check::readable(heap(0), BYTES)));
            assert_eq!(load(heap(0) + BYTES - 8), round);
        }
        barrier();
    }
    if sync::rank() == 1 {
        publish(median(samples), peer_copy(heap(0), BYTES));
    }
    barrier();
    report_published("bulk-read", "<= 2 (copy of 64 MB)");
}

/// What the protocol costs a process that stores to all of a range: the miss before the stores, by `check`, which may take the homes, and the release.
fn write_and_release(address: usize, bytes: usize, value: u64, check: fn(usize, usize)) -> f64 {
    let miss = time(|| check(address, bytes));
    fill(address, bytes, value);
    miss + time(sync::release)
}

/// Processes take turns in writing 64 MB, so the writer is never the home.
fn elsewhere_samples(check: fn(usize, usize)) -> Vec<f64> {
    const BYTES: usize = 64 * MIB;
    let mut samples = Vec::new();
    for round in 0..2 * ROUNDS as u64 {
        let mine = round % 2 == u64::from(sync::rank());
        if mine {
            samples.push(write_and_release(heap(0), BYTES, round + 1, check));
        }
        barrier();
    }
    samples
}

fn release_elsewhere() {
    let ns = median(elsewhere_samples(check::writable));
    let reference = if sync::rank() == 0 { peer_copy(heap(0), 64 * MIB) } else { 0.0 };
    report("release-elsewhere", ns, reference, "<= 4 (copy of 64 MB)");
}

/// As [`release_elsewhere`], when the check knows that all of it is overwritten.
fn overwrite() {
    let fetched = median(elsewhere_samples(check::writable));
    let ns = median(elsewhere_samples(check::overwritten));
    barrier();
    assert_eq!(load(heap(0) + 32 * MIB), 2 * ROUNDS as u64);
    let block = memory::get().geometry().block_bytes(memory::get().geometry().block(heap(0)));
    report(&format!("overwrite-{block}"), ns, fetched, "report (the same, fetched)");
}

fn release_at_home() {
    const BYTES: usize = 64 * MIB;
    let elsewhere = median(elsewhere_samples(check::writable));
    let mut samples = Vec::new();
    for round in 0..ROUNDS as u64 {
        if sync::rank() == 0 {
            samples.push(write_and_release(heap(0) + 2 * BYTES, BYTES, round, check::writable));
        }
        barrier();
        if sync::rank() == 1 {
            check::readable(heap(0) + 2 * BYTES, BYTES);
        }
        barrier();
    }
    if sync::rank() == 0 {
        report("release-at-home", median(samples), elsewhere, "<= 0.2 (release-elsewhere)");
    }
}

/// A barrier that brings a bound while the process holds copies, most of which it leaves valid: process 0 publishes more single blocks in each interval
/// than its list has room for.
fn bound() {
    const SINGLE: usize = 1200;
    const INTERVALS: u64 = 61;
    let (has_read, has_published) = (4096, 4160);
    let meet = |flag: usize, interval: u64| {
        while sync::control_load(flag) != interval {
            std::hint::spin_loop();
        }
    };
    let sample = |bytes: usize, from: u64| {
        let (blocks, copies) = (heap(0), heap(0) + MIB);
        let mut samples = Vec::new();
        for interval in from..from + INTERVALS {
            if sync::rank() == 1 {
                (0..SINGLE).for_each(|i| _ = black_box(load(blocks + i * 128)));
                check::readable(copies, bytes);
                sync::control_store(has_read, interval);
                meet(has_published, interval);
            } else {
                // No meeting, which would take the marks of what was read before the stores.
                meet(has_read, interval);
                (0..SINGLE).for_each(|i| store(blocks + i * 128, interval));
                sync::release();
                sync::control_store(has_published, interval);
            }
            samples.push(time(barrier));
        }
        median(samples)
    };
    let (small, large) = (sample(MIB, 1), sample(64 * MIB, 1 + INTERVALS));
    if sync::rank() == 1 {
        publish(large, small);
    }
    barrier();
    report_published("bound", "<= 2 (64 MB of copies against 1 MB)");
}

fn empty_barrier() {
    const COUNT: usize = 200;
    let samples =
        (0..SHORT_ROUNDS).map(|_| time(|| (0..COUNT).for_each(|_| barrier())) / COUNT as f64).collect();
    let ns = median(samples);
    report("barrier", ns, ping_pong(), "<= 3 (flag ping-pong)");
}

/// Strict alternation: each takes the lock, stores to one block, gives the lock away and waits for its turn.
fn lock_hand_off() {
    const COUNT: u64 = 200;
    let turn = 2048;
    let samples = (0..SHORT_ROUNDS as u64).map(|round| {
        barrier();
        let base = round * 2 * COUNT;
        time(|| {
            for i in 0..COUNT {
                let mine = base + 2 * i + u64::from(sync::rank());
                while sync::control_load(turn) != mine {
                    std::hint::spin_loop();
                }
                sync::lock(1);
                store(heap(0), load(heap(0)) + 1);
                sync::control_store(turn, mine + 1);
                sync::unlock(1);
            }
        }) / (2 * COUNT) as f64
    });
    let ns = median(samples.collect());
    barrier();
    assert_eq!(load(heap(0)), 2 * COUNT * SHORT_ROUNDS as u64);
    report("lock-hand-off", ns, ping_pong(), "<= 5 (flag ping-pong)");
}

fn busy_home() {
    const BLOCKS: usize = 500;
    static STOP: AtomicBool = AtomicBool::new(false);
    let misses = |busy: bool, round: u64| {
        if sync::rank() == 0 {
            fill(heap(0), BLOCKS * 4096, round);
        }
        barrier();
        let mut ns = 0.0;
        if sync::rank() == 1 {
            ns = time(|| (0..BLOCKS).for_each(|i| _ = black_box(load(heap(0) + i * 4096)))) / BLOCKS as f64;
            sync::control_store(3072, 2 * round + u64::from(busy) + 1);
        } else if busy {
            // Computes without ever entering the runtime's protocol.
            let mut x = 1u64;
            while sync::control_load(3072) != 2 * round + 2 && !STOP.load(Ordering::Relaxed) {
                x = black_box(x.wrapping_mul(3));
            }
        }
        barrier();
        ns
    };
    let (mut idle, mut busy) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS as u64 {
        idle.push(misses(false, round));
        busy.push(misses(true, round));
    }
    if sync::rank() == 1 {
        publish(median(busy), median(idle));
    }
    barrier();
    report_published("busy-home", "<= 2 (miss at an idle home)");
}

/// All processes take one lock as fast as they can for a fixed time. Reports hand-offs, the smallest and greatest share of a process in what an
/// even split would give, and the longest wait in turns of others: a FIFO lock lets each of the others pass once (more
/// pass only if the process loses its core on the way into the queue).
fn lock_contended() {
    const MS: u128 = 300;
    let (size, rank) = (u64::from(sync::size()), u64::from(sync::rank()));
    let counter = heap(0);
    let entries = 4095;
    let (mut turns, mut longest) = (0, 0);
    barrier();
    let start = Instant::now();
    let ns = time(|| {
        while turns == 0 || start.elapsed().as_millis() < MS {
            let before = sync::control_load(entries);
            sync::lock(2);
            longest = longest.max(sync::control_fetch_add(entries, 1) - before);
            store(counter, load(counter) + 1);
            sync::unlock(2);
            turns += 1;
        }
    });
    let results = 4096;
    sync::control_store(results + 2 * rank as usize, turns);
    sync::control_store(results + 2 * rank as usize + 1, longest);
    barrier();
    let each: Vec<[u64; 2]> =
        (0..size as usize).map(|r| [0, 1].map(|i| sync::control_load(results + 2 * r + i))).collect();
    let total: u64 = each.iter().map(|e| e[0]).sum();
    assert_eq!(load(counter), total);
    if sync::rank() == 0 {
        let share = |turns: u64| (turns * size) as f64 / total as f64;
        let (least, most) = (each.iter().map(|e| e[0]).min(), each.iter().map(|e| e[0]).max());
        println!(
            "{:18} {:14.0} {:>14} {:>8}  {:.0} hand-offs a second, shares {:.2} to {:.2}, longest wait {} turns",
            format!("lock-{size}"),
            ns / total as f64,
            "-",
            "-",
            1e9 * total as f64 / ns,
            share(least.unwrap_or(0)),
            share(most.unwrap_or(0)),
            each.iter().map(|e| e[1]).max().unwrap_or(0),
        );
    }
}

fn false_sharing() {
    const COUNT: usize = 20_000;
    let updates = |address: usize| {
        barrier();
        let ns = time(|| {
            for _ in 0..COUNT {
                sync::lock(3 + u64::from(sync::rank()));
                store(address, load(address) + 1);
                sync::unlock(3 + u64::from(sync::rank()));
            }
        });
        barrier();
        ns / COUNT as f64
    };
    let rank = sync::rank() as usize;
    let (shared, separate) = (updates(heap(0) + 8 * rank), updates(heap(0) + 4096 * (1 + rank)));
    assert_eq!(load(heap(0) + 8 * rank) as usize, COUNT);
    report("false-sharing", shared, separate, "report (separate blocks)");
}
