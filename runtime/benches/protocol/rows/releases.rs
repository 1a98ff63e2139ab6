//! Releases, and misses before stores.

use dsm_rt::{check, memory, sync};

use super::{MIB, ROUNDS, TURN, heap, peer_copy, publish, report, report_published};
use crate::{barrier, fill, load, median, time};

const BYTES: usize = 64 * MIB;

/// What the protocol costs a process that stores to all of a range: the miss before the stores, by `check`, which may take the homes, and the release.
fn write_and_release(address: usize, bytes: usize, value: u64, check: fn(usize, usize)) -> f64 {
    let miss = time(|| check(address, bytes));
    fill(address, bytes, value);
    miss + time(sync::release)
}

/// Processes take turns in writing 64 MB, so the writer is never the home.
fn elsewhere_samples(check: fn(usize, usize)) -> Vec<f64> {
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

pub fn elsewhere() {
    let ns = median(elsewhere_samples(check::writable));
    let reference = if sync::rank() == 0 { peer_copy(heap(0), BYTES) } else { 0.0 };
    report("release-elsewhere", ns, reference, "<= 4 (copy of 64 MB)");
}

/// Process 1 reads 64 MB in some intervals and stores to all of it in the next, with twins, since the copies are valid: the home does not come before the release. That compares
/// all of it, reads what the home has, and becomes the home. Other memory each time: what is stored to once after it was read comes with its home the next time.
pub fn twinned() {
    const SAMPLES: usize = 5;
    let moved = || counter("bytes_moved");
    let (mut misses, mut releases) = (Vec::new(), Vec::new());
    for at in (0..SAMPLES).map(|round| heap(0) + round * BYTES) {
        if sync::rank() == 0 {
            fill(at, BYTES, 1);
        }
        barrier();
        // What was read where it is stored to is published once more: maybe an interval later, as nobody waits for the reads.
        for _ in 0..3 {
            if sync::rank() == 1 {
                check::readable(at, BYTES);
            }
            barrier();
        }
        if sync::rank() == 1 {
            misses.push(time(|| check::writable(at, BYTES)));
            fill(at, BYTES, 2);
            let before = moved();
            releases.push(time(sync::release));
            assert_eq!(moved() - before, BYTES as u64, "bytes that came with the homes");
        }
        barrier();
    }
    if sync::rank() == 1 {
        let reference = peer_copy(heap(0), BYTES);
        publish(median(releases), reference);
    }
    barrier();
    report_published("release-twinned", "<= 4 (copy of 64 MB)");
    barrier();
    if sync::rank() == 1 {
        publish(median(misses), peer_copy(heap(0), BYTES));
    }
    barrier();
    report_published("miss-twinned", "report (copy of 64 MB)");
}

fn counter(name: &str) -> u64 {
    let shared = memory::shared().expect("several processes");
    let values = shared.coherence.stats().values();
    values.iter().find(|(at, _)| *at == name).expect("a counter").1
}

/// Both processes store to half of every block in each interval, one after the other. Then one releases: it compares all of it, and merges with what the home
/// has, there or here. The release of the other, which is the home, publishes in place, or compares. They take turns, so that none waits for the other's use of
/// the memory.
pub fn merged() {
    const HALF: usize = 32;
    const BLOCKS: u64 = (BYTES / (2 * HALF)) as u64;
    /// Rounds until both know that both store to these blocks.
    const FIRST: u64 = 2;
    let (me, turn) = (u64::from(sync::rank()), TURN.shared(0));
    let in_turn = |number: u64, body: &mut dyn FnMut()| {
        while turn.load() != number {
            std::hint::spin_loop();
        }
        body();
        turn.store(number + 1);
    };
    let merged_blocks = || counter("blocks_merged") + counter("blocks_merged_at_home");
    let [mut misses, mut releases, mut home] = [const { Vec::new() }; 3];
    for round in 0..FIRST + 2 * ROUNDS as u64 {
        let first = round % 2;
        let (mut miss, mut release) = (0.0, 0.0);
        in_turn(4 * round + (me ^ first), &mut || {
            miss = time(|| check::writable(heap(0), BYTES));
            for block in (heap(0) + HALF * me as usize..heap(0) + BYTES).step_by(2 * HALF) {
                for at in (block..block + HALF).step_by(8) {
                    // SAFETY: in the shared heap, aligned; the other process stores to the other halves.
                    unsafe { (at as *mut u64).write(round + 1) }
                }
            }
        });
        let before = merged_blocks();
        in_turn(4 * round + 3 - (me ^ first), &mut || release = time(sync::release));
        if round >= FIRST {
            match merged_blocks() - before {
                0 => home.push(release),
                BLOCKS => {
                    releases.push(release);
                    misses.push(miss);
                }
                other => panic!("process {me} merged {other} blocks in round {round}"),
            }
        }
        barrier();
        for at in (heap(0)..heap(0) + BYTES).step_by(HALF * 2049) {
            assert_eq!(load(at), round + 1);
        }
        barrier();
    }
    for (name, sample) in [("release-merged", releases), ("release-beside", home), ("miss-merged", misses)] {
        // By the process that did more of it.
        if sample.len() + usize::from(me == 0) > ROUNDS {
            publish(median(sample), peer_copy(heap(0), BYTES));
        }
        barrier();
        report_published(name, "report (copy of 64 MB)");
        barrier();
    }
}

/// As [`elsewhere`], when the check knows that all of it is overwritten.
pub fn overwrite() {
    let fetched = median(elsewhere_samples(check::writable));
    let ns = median(elsewhere_samples(check::overwritten));
    barrier();
    assert_eq!(load(heap(0) + 32 * MIB), 2 * ROUNDS as u64);
    let block = memory::get().geometry().block_bytes(memory::get().geometry().block(heap(0)));
    report(&format!("overwrite-{block}"), ns, fetched, "report (the same, fetched)");
}

pub fn at_home() {
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
