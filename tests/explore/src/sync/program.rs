//! Small programs on locks, barriers, regions, conditions, tasks and reductions.

use std::fmt;

use dsm_sync::Fault;

use super::tasks::Shape;
use crate::hash::Random;

/// An operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Takes the lock of a name, and gives it back.
    Critical(u64),
    /// The same if the lock is free.
    TryCritical(u64),
    /// Takes the lock of the first name, and inside that of the second.
    Nested(u64, u64),
    /// The variable of the name ends: nobody uses it any more, but for the threads that do so by themselves.
    End(u64),
    /// A barrier of all processes.
    Barrier,
    /// Process 0 starts a region of so many processes with so many barriers, and waits for its end.
    Region(u32, u32),
    /// The same, each of whose threads makes so many tasks; it ends at a barrier.
    TaskRegion(u32, u32),
    /// Process 0 ends the job.
    EndJob,
    /// The other processes take part in regions until the job ends.
    Serve,
    /// Waits for the condition of a name, under the lock of the next one.
    Await(u64),
    /// Notifies it.
    Notify(u64),
    /// Makes a task.
    Make(Shape),
    /// Waits for the tasks that the thread has made.
    TaskWait,
    /// Polls, in the program's own code, until somebody has begun the last task that the thread has made.
    Poll,
    /// A barrier of all threads, which ends when all tasks have.
    TaskBarrier,
    /// The process's service thread: it does nothing else, and has no end.
    ServeCalls,
    /// Adds up a number of each process at process 0.
    Reduce,
}

/// Threads with their operations.
#[derive(Clone, Debug)]
pub struct Program {
    /// Number of processes.
    pub processes: u32,
    /// Process and operations of each thread.
    pub threads: Vec<(u32, Vec<Op>)>,
    /// Whether the words of other processes are not at hand.
    pub asks: bool,
    /// After how many turns in a row a process caches a lock, if it ever does.
    pub caches_after: Option<u64>,
    /// Whether somebody wants to know of each order between processes.
    pub is_traced: bool,
    /// The rule that is broken.
    pub fault: Option<Fault>,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} processes, asks: {}, caches locks after: {:?}, fault: {:?}",
            self.processes, self.asks, self.caches_after, self.fault
        )?;
        for (number, (rank, ops)) in self.threads.iter().enumerate() {
            writeln!(f, "t{number}: process {rank}: {ops:?}")?;
        }
        Ok(())
    }
}

/// A name: some have the same home.
fn name(i: usize) -> u64 {
    8 * (i as u64 + 1)
}

/// Threads that take locks, of which there are more than slots or few.
fn locks(random: &mut Random) -> Vec<(u32, Vec<Op>)> {
    let names = [1, 2, 6, 9][random.below(4)];
    let threads = 2 + random.below(3);
    let op = |random: &mut Random| {
        let i = random.below(names);
        match random.below(12) {
            0 | 1 => Op::TryCritical(name(i)),
            2 if names == 2 => Op::Nested(name(0), name(1)),
            3 => Op::End(name(i)),
            _ => Op::Critical(name(i)),
        }
    };
    let mut threads: Vec<_> = (0..threads)
        .map(|t| (t as u32 % 3, (0..2 + random.below(5)).map(|_| op(random)).collect::<Vec<_>>()))
        .collect();
    threads.sort_by_key(|(rank, _)| *rank);
    threads
}

fn barriers(random: &mut Random) -> Vec<(u32, Vec<Op>)> {
    let (processes, count) = (2 + random.below(4) as u32, 1 + random.below(4));
    (0..processes).map(|rank| (rank, vec![Op::Barrier; count])).collect()
}

fn regions(random: &mut Random) -> Vec<(u32, Vec<Op>)> {
    let processes = 2 + random.below(5) as u32;
    let count = 1 + random.below(4);
    let mut root: Vec<_> = (0..count)
        .map(|_| match random.below(3) {
            0 => {
                let fewer = if random.chance(50) { random.below(processes as usize) as u32 } else { 0 };
                Op::TaskRegion(processes - fewer, random.below(3) as u32)
            }
            _ => Op::Region(1 + random.below(processes as usize) as u32, random.below(2) as u32),
        })
        .collect();
    root.push(Op::EndJob);
    let serve = (1..processes).map(|rank| (rank, vec![Op::Serve]));
    std::iter::once((0, root)).chain(serve).collect()
}

fn conditions(random: &mut Random) -> Vec<(u32, Vec<Op>)> {
    let mut threads = vec![(0, vec![Op::Notify(8)]), (1, vec![Op::Await(8)])];
    (0..random.below(2)).for_each(|_| threads.push((1, vec![Op::Await(8)])));
    if random.chance(50) {
        threads[0].1.push(Op::Notify(24));
        threads[1].1.push(Op::Await(24));
    }
    threads
}

/// Tasks that make others, in processes with and without some, between barriers.
fn tasks(random: &mut Random) -> Vec<(u32, Vec<Op>)> {
    let (processes, barriers) = (2 + random.below(2) as u32, 1 + random.below(2));
    let mut threads = Vec::new();
    for rank in 0..processes {
        for _ in 0..1 + random.below(2) {
            let mut ops = Vec::new();
            for _ in 0..barriers {
                for _ in 0..random.below(if rank == 0 { 4 } else { 2 }) {
                    ops.push(Op::Make(Shape { depth: random.below(3) as u32, waits: random.chance(40) }));
                }
                ops.extend(random.chance(30).then_some(Op::TaskWait));
                ops.push(Op::TaskBarrier);
            }
            threads.push((rank, ops));
        }
        threads.extend(random.chance(50).then(|| (rank, vec![Op::ServeCalls])));
    }
    threads
}

fn reductions(random: &mut Random) -> Vec<(u32, Vec<Op>)> {
    let (processes, count) = (2 + random.below(4) as u32, 1 + random.below(5));
    let ops: Vec<Op> = (0..count).map(|_| if random.chance(25) { Op::Barrier } else { Op::Reduce }).collect();
    (0..processes).map(|rank| (rank, ops.clone())).collect()
}

/// A program that is a function of its seed.
pub fn generate(seed: u64) -> Program {
    let mut random = Random::new(seed);
    let threads = match random.below(14) {
        0 | 1 => barriers(&mut random),
        2 | 3 => regions(&mut random),
        4 => conditions(&mut random),
        5 => reductions(&mut random),
        6..=9 => tasks(&mut random),
        _ => locks(&mut random),
    };
    let processes = threads.iter().map(|(rank, _)| rank + 1).max().expect("a thread");
    let (asks, is_traced) = (random.chance(40), random.chance(20));
    let caches_after = [None, Some(0), Some(0), Some(1)][random.below(4)];
    Program { processes, threads, asks, caches_after, is_traced, fault: None }
}

fn of(asks: bool, threads: &[(u32, &[Op])]) -> Program {
    Program {
        processes: threads.iter().map(|(rank, _)| rank + 1).max().expect("a thread"),
        threads: threads.iter().map(|(rank, ops)| (*rank, ops.to_vec())).collect(),
        asks,
        caches_after: None,
        is_traced: false,
        fault: None,
    }
}

/// Small programs of tasks and reductions.
pub fn task_programs() -> Vec<Program> {
    use Op::{Barrier, EndJob, Make, Poll, Reduce, Serve, ServeCalls, TaskBarrier, TaskRegion, TaskWait};
    let leaf = Make(Shape { depth: 0, waits: false });
    let waits = Make(Shape { depth: 1, waits: true });
    vec![
        of(false, &[(0, &[leaf, leaf, TaskBarrier]), (1, &[TaskBarrier])]),
        of(false, &[(0, &[leaf, TaskBarrier, leaf, TaskBarrier]), (1, &[TaskBarrier, TaskBarrier])]),
        // Who gets the task makes more, and waits for these.
        of(false, &[(0, &[waits, TaskBarrier]), (1, &[TaskBarrier])]),
        of(false, &[(0, &[leaf, leaf, TaskWait, TaskBarrier]), (1, &[leaf, TaskBarrier])]),
        // Nobody is there to give the task away but the service thread.
        of(false, &[(0, &[leaf, Poll, TaskBarrier]), (0, &[ServeCalls]), (1, &[TaskBarrier])]),
        // Two that have tasks for the one that asks, and two that ask in one process.
        of(false, &[(0, &[leaf, TaskBarrier]), (1, &[leaf, TaskBarrier]), (2, &[TaskBarrier])]),
        of(false, &[(0, &[leaf, leaf, TaskBarrier]), (1, &[TaskBarrier]), (1, &[TaskBarrier])]),
        // A region behind one whose last barrier a process has not left yet.
        of(false, &[(0, &[TaskRegion(2, 0), TaskRegion(2, 1), EndJob]), (1, &[Serve])]),
        of(false, &[(0, &[Reduce, Reduce, Reduce]), (1, &[Reduce, Reduce, Reduce])]),
        of(false, &[(0, &[Reduce, Reduce]), (1, &[Reduce, Reduce]), (2, &[Reduce, Reduce])]),
        of(false, &[(0, &[Reduce, Barrier, Reduce, Reduce]), (1, &[Reduce, Barrier, Reduce, Reduce])]),
    ]
}

/// Programs that are small enough for all schedules with few preemptions.
pub fn directed() -> Vec<Program> {
    use Op::{Await, Barrier, Critical, EndJob, Nested, Notify, Region, Serve, TryCritical};
    let (a, b, c, d, e) = (name(0), name(4), name(8), name(12), name(16));
    let caching = [(false, Some(0)), (true, Some(0)), (false, None), (true, None)];
    let locks = caching.into_iter().flat_map(|(asks, caches_after)| {
        let programs = [
            of(asks, &[(0, &[Critical(a), Critical(a)]), (1, &[Critical(a), TryCritical(a)])]),
            // Names of one home: the first one is put out while it is taken.
            of(
                asks,
                &[
                    (0, &[Critical(a), Critical(a)]),
                    (1, &[Critical(b), Critical(c), Critical(d), Critical(e)]),
                ],
            ),
            of(asks, &[(0, &[Critical(b)]), (1, &[Critical(a), Critical(b)])]),
            of(asks, &[(0, &[Notify(8)]), (1, &[Await(8)])]),
            // Two threads of a process that caches the lock, and one of another.
            of(asks, &[(0, &[Critical(a)]), (1, &[Critical(a), Critical(a)]), (1, &[Critical(a)])]),
            of(asks, &[(0, &[Critical(a), TryCritical(a)]), (1, &[Critical(a), TryCritical(a)])]),
            of(asks, &[(0, &[Nested(a, b)]), (1, &[Nested(a, b)])]),
        ];
        programs.map(|program| Program { caches_after, ..program })
    });
    let others = [
        of(false, &[(0, &[Barrier, Barrier]), (1, &[Barrier, Barrier])]),
        of(true, &[(0, &[Barrier]), (1, &[Barrier])]),
        of(false, &[(0, &[Region(2, 0), Region(2, 0), EndJob]), (1, &[Serve])]),
        of(true, &[(0, &[Region(2, 0), EndJob]), (1, &[Serve])]),
    ];
    locks.chain(others).chain(task_programs()).collect()
}
