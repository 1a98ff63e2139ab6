//! Tasks and reductions of threads that stand for processes.

mod job;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use dsm_sync::{Process, State, Wish, Worker};
use job::{Local, job};

#[test]
fn reductions_gather_the_numbers_of_all() {
    const ROUNDS: u64 = 100;
    let job = job(6);
    std::thread::scope(|scope| {
        for local in &job {
            scope.spawn(move || {
                let (state, rank) = (State::new(), u64::from(local.rank));
                let process = Process::new(&state, local);
                for round in 0..ROUNDS {
                    let mut sum = [round, (rank + 1) * (round + 1)];
                    for child in process.reduction_children(6) {
                        let mut message = [0; 2];
                        process.receive_reduction(child, &mut message);
                        assert_eq!(message[0], round);
                        sum[1] += message[1];
                    }
                    match rank {
                        0 => assert_eq!(sum[1], 21 * (round + 1)),
                        _ => process.send_reduction(&sum),
                    }
                }
            });
        }
    });
}

/// A process's tasks: numbers.
struct Pool<'a> {
    process: Process<'a, Local>,
    queue: Mutex<Vec<u64>>,
    /// Tasks that have not ended.
    pending: AtomicU32,
    /// Slots whose tasks are in other processes.
    away: Mutex<Vec<u32>>,
    /// Slots so far.
    slots: AtomicU32,
    /// Who ran which task.
    ran: &'a Mutex<Vec<(u32, u64)>>,
}

const TASKS: u64 = 200;
const PROCESSES: u32 = 3;

impl Pool<'_> {
    fn give(&self, thief: u32) -> bool {
        let slot = self.slots.fetch_add(1, Ordering::SeqCst) % 16;
        if self.away.lock().expect("no thread panics").contains(&slot) {
            return false;
        }
        let Some(task) = self.queue.lock().expect("no thread panics").pop() else { return false };
        self.process.clear_slot(slot);
        self.away.lock().expect("no thread panics").push(slot);
        self.process.hand_over(thief, &[u64::from(self.process.words.rank) << 32 | u64::from(slot), task]);
        true
    }

    fn end(&self) {
        self.pending.fetch_sub(1, Ordering::SeqCst);
        self.process.notify_workers();
    }
}

impl Worker for Pool<'_> {
    type Batch = (u64, u64);
    type Task = u64;

    fn wish(&self) -> Option<Wish> {
        Some(Wish::Any)
    }

    fn adopt(&self, word: impl Fn(usize) -> u64) -> (u64, u64) {
        self.pending.fetch_add(1, Ordering::SeqCst);
        (word(0), word(1))
    }

    fn run_batch(&self, (origin, task): (u64, u64)) {
        self.ran.lock().expect("no thread panics").push((self.process.words.rank, task));
        self.process.report((origin >> 32) as u32, origin as u32);
        self.end();
    }

    fn complete_reported(&self) -> bool {
        let mut reported = Vec::new();
        self.away.lock().expect("no thread panics").retain(|slot| {
            let by = self.process.reported(*slot);
            reported.extend(by);
            by.is_none()
        });
        for by in &reported {
            self.process.acquire_reported(*by);
            self.end();
        }
        !reported.is_empty()
    }

    fn serve(&self) {
        let has_spare = |_| !self.queue.lock().expect("no thread panics").is_empty();
        self.process.serve(PROCESSES, has_spare, |_, _| true, |thief, _| self.give(thief));
    }

    fn take(&self) -> Option<u64> {
        self.queue.lock().expect("no thread panics").pop()
    }

    fn run(&self, task: u64) {
        // One of them waits until the others have run some.
        let ran_elsewhere = || self.ran.lock().expect("no thread panics").iter().any(|(rank, _)| *rank != 0);
        while task == TASKS - 1 && !ran_elsewhere() {
            self.serve();
            std::thread::yield_now();
        }
        self.ran.lock().expect("no thread panics").push((self.process.words.rank, task));
        self.end();
    }

    fn rest(&self, wait: impl FnOnce()) {
        wait();
    }

    fn pause(&self) {
        std::thread::yield_now();
    }
}

#[test]
fn each_task_runs_once_and_some_in_processes_without_any() {
    let (job, ran) = (job(PROCESSES), Mutex::default());
    std::thread::scope(|scope| {
        for local in &job {
            let ran = &ran;
            scope.spawn(move || {
                let (state, made) = (State::new(), if local.rank == 0 { TASKS } else { 0 });
                let pool = Pool {
                    process: Process::new(&state, local),
                    queue: Mutex::new((0..made).collect()),
                    pending: AtomicU32::new(made as u32),
                    away: Mutex::default(),
                    slots: AtomicU32::new(0),
                    ran,
                };
                let is_empty = || pool.pending.load(Ordering::SeqCst) == 0;
                pool.process.barrier_with_tasks(&pool, PROCESSES, is_empty);
                assert_eq!(ran.lock().expect("no thread panics").len() as u64, TASKS, "all have ended");
            });
        }
    });
    let mut ran = ran.into_inner().expect("no thread panics");
    assert!(ran.iter().any(|(rank, _)| *rank != 0));
    ran.sort_by_key(|(_, task)| *task);
    assert!(ran.iter().map(|(_, task)| *task).eq(0..TASKS), "each once");
}
