//! Who waits for whom, at one moment.

use std::collections::BTreeMap;

use dsm_abi::progress::{BARRIERS, Doing, REGION, thread};
use serde::Serialize;

use super::names::Names;
use super::report::{doing, held, threads};
use crate::launch::looks::{Look, ProcessLook};

/// A thread of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Member {
    /// The process.
    pub rank: u32,
    /// The thread's number in the process, in the order in which they began.
    pub thread: usize,
}

/// Threads or processes that wait.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "for")]
pub enum Wait {
    /// For a lock.
    Lock {
        /// Its variable, or the name of the critical section.
        name: String,
        /// Who has it; `None` if it is being passed on, or its holder has more locks than are kept.
        holder: Option<Member>,
        /// Who waits.
        waiting: Vec<Member>,
    },
    /// At a barrier of several processes.
    Barrier {
        /// The processes that have come to it.
        waiting: Vec<u32>,
        /// The processes that have not.
        lacks: Vec<u32>,
    },
    /// Process 0 at the end of a region.
    Join {
        /// The processes that have not come to it.
        lacks: Vec<u32>,
    },
}

/// All that is waited for in a job.
pub fn of(look: &Look, names: &Names) -> Vec<Wait> {
    let mut processes: Vec<&ProcessLook> = look.hosts.iter().flat_map(|host| &host.processes).collect();
    processes.sort_by_key(|process| process.rank);
    let mut all = locks(&processes, names);
    all.extend(barriers(&processes));
    all.extend(join(&processes));
    all
}

fn members<'a>(processes: &'a [&ProcessLook]) -> impl Iterator<Item = (Member, &'a [u64])> {
    processes.iter().flat_map(|process| {
        let numbered = threads(process).enumerate();
        numbered.map(|(thread, words)| (Member { rank: process.rank, thread }, words))
    })
}

fn locks(processes: &[&ProcessLook], names: &Names) -> Vec<Wait> {
    let mut waiting = BTreeMap::<u64, Vec<Member>>::new();
    for (member, words) in members(processes).filter(|(_, words)| doing(words) == Doing::Lock) {
        waiting.entry(words[thread::OBJECT]).or_default().push(member);
    }
    let holder = |lock: u64| {
        let mut holders = members(processes).filter(|(_, words)| held(words).any(|name| name == lock));
        holders.next().map(|(member, _)| member)
    };
    let waits = waiting.into_iter();
    waits
        .map(|(lock, waiting)| Wait::Lock { name: names.object(lock), holder: holder(lock), waiting })
        .collect()
}

/// The process's thread that waits like this with other processes, as one of so many.
fn participants_of(process: &ProcessLook, kind: Doing) -> Option<u64> {
    let mut waiting = threads(process).filter(|words| doing(words) == kind);
    waiting.find_map(|words| Some(words[thread::PARTICIPANTS]).filter(|participants| *participants > 1))
}

/// How far a process has come: the number of the region, and of the barrier in it.
fn position(process: &ProcessLook) -> (u64, u64) {
    (process.words[REGION], process.words[BARRIERS])
}

fn barriers(processes: &[&ProcessLook]) -> Vec<Wait> {
    let mut waiting = BTreeMap::<(u64, u64), (u64, Vec<u32>)>::new();
    for process in processes {
        if let Some(participants) = participants_of(process, Doing::Barrier) {
            let barrier = waiting.entry(position(process)).or_insert((participants, Vec::new()));
            barrier.1.push(process.rank);
        }
    }
    let lacking = |at: (u64, u64), participants: u64| {
        let of_team = processes.iter().filter(move |process| u64::from(process.rank) < participants);
        of_team.filter(move |process| position(process) < at).map(|process| process.rank).collect()
    };
    let waits = waiting.into_iter();
    waits
        .map(|(at, (participants, waiting))| Wait::Barrier { waiting, lacks: lacking(at, participants) })
        .collect()
}

fn join(processes: &[&ProcessLook]) -> Option<Wait> {
    let (first, others) = processes.split_first()?;
    let participants = participants_of(first, Doing::Join)?;
    let has_left = |process: &ProcessLook| threads(process).next().is_some_and(|w| doing(w) == Doing::Idle);
    let of_team = others.iter().filter(|process| u64::from(process.rank) < participants);
    Some(Wait::Join { lacks: of_team.filter(|p| !has_left(p)).map(|p| p.rank).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::looks::{HostLook, Time};
    use dsm_abi::progress::{THREADS_AT, THREADS_USED};

    /// A process at a region and a barrier, with threads: what each does, at which object, with how many, and what it holds.
    fn process(rank: u32, at: (u64, u64), all: &[(Doing, u64, u64, &[u64])]) -> ProcessLook {
        let mut words = vec![0; THREADS_AT];
        (words[REGION], words[BARRIERS]) = at;
        words[THREADS_USED] = all.len() as u64;
        for (kind, object, participants, held) in all {
            let mut thread = vec![0; thread::WORDS];
            thread[thread::ID] = 1;
            thread[thread::DOING] = *kind as u64;
            thread[thread::OBJECT] = *object;
            thread[thread::PARTICIPANTS] = *participants;
            thread[thread::HELD..][..held.len()].copy_from_slice(held);
            words.extend(thread);
        }
        ProcessLook { rank, pid: 1, words }
    }

    fn waits(processes: Vec<ProcessLook>) -> Vec<Wait> {
        let time = Time { ticks: 0, nanoseconds: 0 };
        let hosts = vec![HostLook { name: String::new(), time, processes }];
        of(&Look { program: Vec::new(), milliseconds: 0, hosts }, &Names::default())
    }

    #[test]
    fn the_holder_of_a_lock_is_named() {
        let found = waits(vec![
            process(0, (1, 0), &[(Doing::Lock, 0x9000, 0, &[]), (Doing::Lock, 0x9000, 0, &[0x8000])]),
            process(1, (1, 0), &[(Doing::Runs, 0, 0, &[]), (Doing::Lock, 0x8000, 0, &[0, 0x9000])]),
            process(2, (1, 0), &[(Doing::Lock, 0x7000, 0, &[])]),
        ]);
        let member = |rank, thread| Member { rank, thread };
        let lock = |name: &str, holder, waiting| Wait::Lock { name: name.into(), holder, waiting };
        let expected = [
            lock("0x7000", None, vec![member(2, 0)]),
            lock("0x8000", Some(member(0, 1)), vec![member(1, 1)]),
            lock("0x9000", Some(member(1, 1)), vec![member(0, 0), member(0, 1)]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn processes_that_a_barrier_lacks_are_those_behind_it() {
        let at_barrier = (Doing::Barrier, 0, 4, &[][..]);
        let found = waits(vec![
            process(0, (7, 3), &[at_barrier]),
            process(1, (7, 2), &[(Doing::Runs, 0, 0, &[])]),
            // Its threads wait for each other, not yet for other processes.
            process(2, (7, 2), &[(Doing::Barrier, 0, 0, &[]), (Doing::Runs, 0, 0, &[])]),
            process(3, (7, 3), &[at_barrier]),
            // Not of the team.
            process(4, (6, 0), &[(Doing::Idle, 0, 0, &[])]),
        ]);
        assert_eq!(found, [Wait::Barrier { waiting: vec![0, 3], lacks: vec![1, 2] }]);
    }

    #[test]
    fn processes_that_the_end_of_a_region_lacks_are_those_that_work() {
        let found = waits(vec![
            process(0, (2, 0), &[(Doing::Join, 0, 3, &[])]),
            process(1, (2, 0), &[(Doing::Idle, 0, 0, &[])]),
            process(2, (2, 0), &[(Doing::Runs, 0, 0, &[])]),
            process(3, (2, 0), &[(Doing::Runs, 0, 0, &[])]),
        ]);
        assert_eq!(found, [Wait::Join { lacks: vec![2] }]);
    }
}
