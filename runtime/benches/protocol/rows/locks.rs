//! Locks, and blocks that change hands with them.

use std::time::Instant;

use dsm_rt::sync;

use super::{ENTRIES, RESULTS, SHORT_ROUNDS, TURN, heap, report, with_ping_pong};
use crate::{barrier, load, median, store, time};

/// Strict alternation: each takes the lock, stores to one block, gives the lock away and waits for its turn.
pub fn hand_off() {
    const COUNT: u64 = 200;
    let turn = TURN.shared(0);
    let (ns, trip) = with_ping_pong(|round| {
        let base = round * 2 * COUNT;
        time(|| {
            for i in 0..COUNT {
                let mine = base + 2 * i + u64::from(sync::rank());
                while turn.load() != mine {
                    std::hint::spin_loop();
                }
                sync::lock(1);
                store(heap(0), load(heap(0)) + 1);
                turn.store(mine + 1);
                sync::unlock(1);
            }
        }) / (2 * COUNT) as f64
    });
    assert_eq!(load(heap(0)), 2 * COUNT * SHORT_ROUNDS as u64);
    report("lock-hand-off", ns, trip, "<= 5 (flag ping-pong)");
}

/// All processes take one lock as fast as they can for a fixed time. Reports hand-offs, the smallest and greatest share of a process in what an
/// even split would give, and the longest wait in turns of others: a FIFO lock lets each of the others pass once (more
/// pass only if the process loses its core on the way into the queue).
pub fn contended() {
    const MS: u128 = 300;
    let (size, rank) = (u64::from(sync::size()), u64::from(sync::rank()));
    let counter = heap(0);
    let entries = ENTRIES.shared(0);
    let (mut turns, mut longest) = (0, 0);
    barrier();
    let start = Instant::now();
    let ns = time(|| {
        while turns == 0 || start.elapsed().as_millis() < MS {
            let before = entries.load();
            sync::lock(2);
            longest = longest.max(entries.fetch_add(1) - before);
            store(counter, load(counter) + 1);
            sync::unlock(2);
            turns += 1;
        }
    });
    RESULTS.shared(2 * rank as usize).store(turns);
    RESULTS.shared(2 * rank as usize + 1).store(longest);
    barrier();
    let each: Vec<[u64; 2]> =
        (0..size as usize).map(|r| [0, 1].map(|i| RESULTS.shared(2 * r + i).load())).collect();
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

/// Two writers on alternate words of one block, each under its own lock: per update with 10^5 of them each, and whether that is what it was with 10^4.
pub fn false_sharing() {
    const FEW: usize = 10_000;
    const MANY: usize = 100_000;
    const SAMPLES: usize = 5;
    /// Words of a block that each process updates in turn.
    const WORDS: usize = 4;
    let (here, come) = (sync::rank() as usize, ENTRIES.shared(0));
    let updates = |count: usize, samples: usize, first: usize| {
        let lock = 3 + here as u64;
        let run = || {
            barrier();
            // Looks without sleeping, so that both begin at the same moment.
            let all = (come.fetch_add(1) / 2 + 1) * 2;
            while come.load() < all {
                std::hint::spin_loop();
            }
            let ns = time(|| {
                for i in 0..count {
                    let address = first + 16 * (i % WORDS);
                    sync::lock(lock);
                    store(address, load(address) + 1);
                    sync::unlock(lock);
                }
            });
            ns / count as f64
        };
        median((0..samples).map(|_| run()).collect())
    };
    let (shared, separate) = (heap(0) + 8 * here, heap(0) + 4096 * (1 + here));
    let few = updates(FEW, SAMPLES * MANY / FEW, shared);
    let [many, apart] = [shared, separate].map(|first| updates(MANY, SAMPLES, first));
    barrier();
    let sum = |first: usize| (0..WORDS).map(|i| load(first + 16 * i) as usize).sum::<usize>();
    assert_eq!([sum(shared), sum(separate)], [2 * SAMPLES * MANY, SAMPLES * MANY]);
    report("false-sharing", many, apart, "report (an update of 10^5, separate blocks)");
    report("false-linear", many, few, "<= 1.5 (an update of 10^4)");
}
