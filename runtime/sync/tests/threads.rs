//! Locks, barriers and regions of threads that stand for processes.

mod job;

use std::sync::atomic::{AtomicU64, Ordering};

use dsm_sync::{Process, State};
use job::{Local, job};

fn name(i: u64) -> u64 {
    8 * (i + 1)
}

#[test]
fn free_locks_free_space_and_held_ones_stay() {
    let (job, state) = (job(3), State::new());
    let [holder, other] = [0, 1].map(|rank| Process::new(&state, &job[rank]));
    let held: Vec<_> = (0..20)
        .map(|i| {
            holder.lock(name(i));
            (name(i), holder.turn(name(i)))
        })
        .collect();
    for i in 100..2100 {
        other.lock(name(i));
        other.unlock(name(i));
    }
    for (name, turn) in held {
        assert_eq!(holder.turn(name), turn, "a held lock keeps its slot");
        assert!(!other.try_lock(name), "and is held");
        holder.unlock(name);
    }
    job[0].shared.acquired.lock().expect("no thread panics").clear();
    holder.lock(name(100));
    let acquired = job[0].shared.acquired.lock().expect("no thread panics").clone();
    assert_eq!(acquired, (0..3).collect(), "after evictions anybody may have held a lock");
}

#[test]
fn a_lock_is_acquired_from_its_last_holder() {
    let (job, state) = (job(3), State::new());
    let [first, second] = [2, 1].map(|rank| Process::new(&state, &job[rank]));
    first.lock(8);
    assert!(job[0].shared.acquired.lock().expect("no thread panics").is_empty(), "nobody held it");
    first.unlock(8);
    assert!(second.try_lock(8));
    assert_eq!(*job[0].shared.acquired.lock().expect("no thread panics"), [2].into());
}

#[test]
fn a_variable_that_begins_anew_is_free() {
    let (job, state) = (job(1), State::new());
    let process = Process::new(&state, &job[0]);
    // After different numbers of tickets.
    for i in 0..8 {
        if i % 3 == 0 {
            process.lock(8);
            process.unlock(8);
        }
        process.lock(8);
        process.begin_lock(8);
        assert!(process.try_lock(8), "free");
        process.unlock(8);
    }
    process.end_lock(8);
    assert_eq!(process.turn(8), None);
}

/// Counts under locks, by ways to take one.
fn exclude(take: impl Fn(Process<'_, Local>, u64) + Sync, names: u64, turns: u64) {
    let (job, state) = (job(4), State::new());
    let counts: Vec<AtomicU64> = (0..names).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for local in &job {
            let (counts, state, take) = (&counts, &state, &take);
            scope.spawn(move || {
                let process = Process::new(state, local);
                for i in 0..turns {
                    let which = (i * 7 + u64::from(local.rank) * 13) * 2_654_435_761 % names;
                    take(process, name(which));
                    // Not one operation: a second holder would lose one of the two.
                    let count = counts[which as usize].load(Ordering::Relaxed);
                    std::hint::spin_loop();
                    counts[which as usize].store(count + 1, Ordering::Relaxed);
                    process.unlock(name(which));
                }
            });
        }
    });
    assert_eq!(counts.iter().map(|n| n.load(Ordering::Relaxed)).sum::<u64>(), 4 * turns);
}

#[test]
fn threads_exclude_each_other_while_slots_change_hands() {
    exclude(|process, name| process.lock(name), 300, 2000);
}

#[test]
fn threads_that_only_try_exclude_each_other() {
    let take = |process: Process<'_, Local>, name| {
        while !process.try_lock(name) {
            std::thread::yield_now();
        }
    };
    exclude(take, 2, 1000);
}

#[test]
fn regions_begin_and_end_for_all() {
    let job = job(5);
    let arrived = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for local in &job[1..] {
            let arrived = &arrived;
            scope.spawn(move || {
                let (state, mut message) = (State::new(), Vec::new());
                let process = Process::new(&state, local);
                while process.wait_fork(&mut message).is_some() {
                    arrived.fetch_add(message[0], Ordering::SeqCst);
                    process.barrier(5);
                    process.join(5);
                }
            });
        }
        let state = State::new();
        let process = Process::new(&state, &job[0]);
        for region in 1..100 {
            process.fork(&[region], 5);
            process.barrier(5);
            assert_eq!(arrived.swap(0, Ordering::SeqCst), 4 * region);
            process.join(5);
        }
        process.end_job();
    });
}
