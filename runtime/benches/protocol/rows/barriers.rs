//! Barriers, empty and with data behind them.

use std::hint::black_box;

use dsm_rt::control::Watched;
use dsm_rt::{check, sync};

use super::{ANSWER, MIB, ROUNDS, TURN, heap, publish, report, report_published, with_ping_pong};
use crate::{barrier, fill, load, median, store, time};

pub fn empty() {
    const COUNT: usize = 200;
    let (ns, trip) = with_ping_pong(|_| time(|| (0..COUNT).for_each(|_| barrier())) / COUNT as f64);
    report("barrier", ns, trip, "<= 3 (flag ping-pong)");
}

/// Both processes store to a word of their own and look at the other's between barriers: words of one block, and of two.
pub fn contended() {
    const COUNT: u64 = 200;
    let me = sync::rank() as usize;
    let interval = |distance: usize, round: u64| {
        let words = [heap(0) + MIB, heap(0) + MIB + distance];
        time(|| {
            for i in 0..COUNT {
                let value = COUNT * round + i + 1;
                store(words[me], value);
                barrier();
                assert_eq!(load(words[1 - me]), value);
                barrier();
            }
        }) / COUNT as f64
    };
    let samples = (0..ROUNDS as u64).map(|round| (interval(8, 2 * round), interval(4096, 2 * round + 1)));
    let (shared, separate): (Vec<_>, Vec<_>) = samples.unzip();
    report("contended", median(shared), median(separate), "report (an interval, separate blocks)");
}

/// Release and barrier while each process holds private data that it has written: intervals with one store each, after all of it was written once.
pub fn private_data() {
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
pub fn private_sweep() {
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

/// A barrier that brings a bound while the process holds copies, most of which it leaves valid: process 0 publishes more single blocks in each interval
/// than its list has space for.
pub fn bound() {
    const SINGLE: usize = 1200;
    const INTERVALS: u64 = 61;
    let (has_read, has_published) = (TURN.shared(0), ANSWER.shared(0));
    let wait_for = |flag: Watched, interval: u64| {
        while flag.load() != interval {
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
                has_read.store(interval);
                wait_for(has_published, interval);
            } else {
                // No barrier, which would take the marks of what was read before the stores.
                wait_for(has_read, interval);
                (0..SINGLE).for_each(|i| store(blocks + i * 128, interval));
                sync::release();
                has_published.store(interval);
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
