//! Locks, barriers and regions of threads that stand for processes, over words under one mutex.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use dsm_coherence::ReleaseToken;
use dsm_sync::{Cell, Edge, Layout, Memory, Process, State, Waiting, Words};

const BYTES: usize = Local::LAYOUT.bytes();

/// The words of all processes.
struct Shared {
    processes: u32,
    halves: Mutex<Vec<u32>>,
    changed: Condvar,
    /// Whom locks were acquired from.
    acquired: Mutex<BTreeSet<u32>>,
}

/// A process.
#[derive(Clone)]
struct Local {
    shared: Arc<Shared>,
    rank: u32,
}

fn job(processes: u32) -> Vec<Local> {
    let halves = Mutex::new(vec![0; processes as usize * BYTES / 4]);
    let shared = Arc::new(Shared { processes, halves, changed: Condvar::new(), acquired: Mutex::default() });
    (0..processes).map(|rank| Local { shared: shared.clone(), rank }).collect()
}

impl Local {
    fn words(&self) -> MutexGuard<'_, Vec<u32>> {
        self.shared.halves.lock().expect("no thread panics")
    }

    fn update(&self, (line, at): (usize, usize), change: impl FnOnce(u64) -> u64) -> u64 {
        let (mut words, at) = (self.words(), (line + at) / 4);
        let old = u64::from(words[at]) | u64::from(words[at + 1]) << 32;
        let new = change(old);
        words[at..at + 2].copy_from_slice(&[new as u32, (new >> 32) as u32]);
        self.shared.changed.notify_all();
        old
    }

    fn update_half(&self, (line, at): (usize, usize), change: impl FnOnce(u32) -> u32) -> u32 {
        let mut words = self.words();
        let word = &mut words[(line + at) / 4];
        let old = *word;
        *word = change(old);
        self.shared.changed.notify_all();
        old
    }
}

impl Words for Local {
    type Line = usize;

    const LAYOUT: Layout = Layout::packed(16, 16, (128, 32, 4), 2);

    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.shared.processes
    }

    fn line(&self, at: u32, offset: usize) -> usize {
        at as usize * BYTES + offset
    }

    fn load(&self, line: usize, at: usize) -> u64 {
        self.update((line, at), |old| old)
    }

    fn store(&self, line: usize, at: usize, value: u64) {
        self.update((line, at), |_| value);
    }

    fn fetch_add(&self, line: usize, at: usize, value: u64) -> u64 {
        self.update((line, at), |old| old + value)
    }

    fn fetch_or(&self, line: usize, at: usize, bits: u64) -> u64 {
        self.update((line, at), |old| old | bits)
    }

    fn compare_exchange(&self, line: usize, at: usize, expected: u64, new: u64) -> u64 {
        self.update((line, at), |old| if old == expected { new } else { old })
    }

    fn load_half(&self, line: usize, at: usize) -> u32 {
        self.update_half((line, at), |old| old)
    }

    fn store_half(&self, line: usize, at: usize, value: u32) {
        self.update_half((line, at), |_| value);
    }

    fn fetch_add_half(&self, line: usize, at: usize, value: u32) -> u32 {
        self.update_half((line, at), |old| old.wrapping_add(value))
    }

    fn read_words(&self, at: u32, offset: usize, into: &mut [u64]) {
        let line = self.line(at, offset);
        into.iter_mut().enumerate().for_each(|(i, word)| *word = self.load(line, 8 * i));
    }

    fn write_words(&self, at: u32, offset: usize, words: &[u64]) {
        let line = self.line(at, offset);
        words.iter().enumerate().for_each(|(i, word)| self.store(line, 8 * i, *word));
    }

    fn post(&self, line: usize, at: usize, value: u64) {
        self.store(line, at, value);
    }

    fn post_half(&self, line: usize, at: usize, value: u32) {
        self.store_half(line, at, value);
    }

    fn post_and_wake(&self, cell: Cell<usize>, value: u32, _mask: u32) {
        self.store_half(cell.line, cell.value, value);
    }

    fn wait(&self, cell: Cell<usize>, _mask: u32, _: Waiting, until: impl Fn(u32) -> bool) -> u32 {
        let mut words = self.words();
        loop {
            let value = words[(cell.line + cell.value) / 4];
            if until(value) {
                return value;
            }
            words = self.shared.changed.wait(words).expect("no thread panics");
        }
    }

    fn add_and_wake(&self, cell: Cell<usize>, value: u32) -> u32 {
        self.fetch_add_half(cell.line, cell.value, value)
    }

    fn store_and_wake(&self, cell: Cell<usize>, value: u32, _mask: u32) {
        self.store_half(cell.line, cell.value, value);
    }

    fn wake(&self, _cell: Cell<usize>) {}

    fn delegate_turn(&self, slot: usize, ticket: u32) {
        let process = self.clone();
        std::thread::spawn(move || Process::new(&State::new(), &process).pass_turn(slot, ticket));
    }

    fn too_many_locks(&self, slots: usize) -> ! {
        panic!("more than {slots} locks")
    }
}

impl Memory for Local {
    fn release(&self) {}

    fn release_then(&self, _: impl FnOnce() -> Edge, then: impl FnOnce(ReleaseToken)) {
        then(ReleaseToken::from(7));
    }

    fn published(&self) -> u64 {
        7
    }

    fn acquire(&self, from: u32, token: ReleaseToken, _: impl FnOnce() -> Edge) {
        assert_eq!(token, ReleaseToken::from(7));
        self.shared.acquired.lock().expect("no thread panics").insert(from);
    }

    fn acquire_published(&self, from: u32) {
        self.acquire(from, ReleaseToken::from(7), || Edge::Lock { slot: 0, ticket: 0 });
    }
}

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
