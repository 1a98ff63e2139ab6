//! What has happened between two looks at a job.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use dsm_abi::progress::{
    ACTIVITY_TIMES, Doing, HEADERS, SAMPLED, SAMPLES, THREADS_AT, THREADS_LEFT_OUT, thread,
};
use serde::Serialize;

use super::names::Names;
use super::waits::{self, Wait};
use crate::launch::looks::{HostLook, Look, ProcessLook};

/// What is shown.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Process id of `dsm-run`.
    pub job: i32,
    /// The program as typed.
    pub program: String,
    /// Since the job began.
    pub seconds: f64,
    /// The processes that have answered.
    pub processes: Vec<Process>,
    /// Who waits for whom.
    pub waits: Vec<Wait>,
    /// What most of the sampled misses were in; none if there were no misses since somebody looks.
    pub hottest: Option<Hottest>,
}

/// A process.
#[derive(Debug, Serialize)]
pub struct Process {
    /// Its number.
    pub rank: u32,
    /// Its host, if the job has several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Its number in its host's system.
    pub pid: i32,
    /// On what its threads spent the time, as parts of it.
    pub time: Shares,
    /// Misses of its threads since they began.
    pub misses: u64,
    /// Bytes of the blocks that these were for.
    pub bytes: u64,
    /// See there.
    pub misses_per_second: f64,
    /// See there.
    pub bytes_per_second: f64,
    /// Its threads that run the program's code.
    pub threads: Vec<Thread>,
    /// Others that there was no space for.
    #[serde(skip_serializing_if = "is_zero")]
    pub other_threads: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Parts of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// In the program's code.
    pub compute: f64,
    /// Making blocks accessible and copying them.
    pub misses: f64,
    /// Publishing what was written, and taking in what others published.
    pub coherence: f64,
    /// At barriers.
    pub barriers: f64,
    /// At the end of regions, and between them.
    pub regions: f64,
    /// For locks.
    pub locks: f64,
    /// For condition variables, tasks and whatever else.
    pub other: f64,
}

/// A thread at the moment of the last look.
#[derive(Debug, Serialize)]
pub struct Thread {
    /// Its number in its host's system.
    pub id: u64,
    /// What it does.
    pub does: &'static str,
    /// The lock or condition variable that it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// For how long.
    pub seconds: f64,
    /// Function of the region that it executes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Locks that it holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<String>,
}

/// Where most misses are.
#[derive(Debug, PartialEq, Serialize)]
pub struct Hottest {
    /// A variable, or a kind of memory.
    pub name: String,
    /// Its part of the sampled misses.
    pub share: f64,
}

/// What a thread does.
pub fn doing(words: &[u64]) -> Doing {
    Doing::ALL.get(words[thread::DOING] as usize).copied().unwrap_or(Doing::Other)
}

/// The words of each thread of a process.
pub fn threads(process: &ProcessLook) -> impl Iterator<Item = &[u64]> {
    process.words[THREADS_AT..].chunks_exact(thread::WORDS).filter(|words| words[thread::ID] != 0)
}

/// Locks that a thread holds.
pub fn held(words: &[u64]) -> impl Iterator<Item = u64> {
    words[thread::HELD..][..thread::LOCKS].iter().copied().filter(|name| *name != 0)
}

/// The clock of a host's processes.
#[derive(Clone, Copy)]
pub struct Clock {
    /// Time between the looks.
    pub seconds: f64,
    per_second: f64,
}

impl Clock {
    fn between(before: &HostLook, after: &HostLook) -> Clock {
        let passed = |of: fn(&HostLook) -> u64| of(after).saturating_sub(of(before)).max(1) as f64;
        let seconds = passed(|host| host.time.nanoseconds) / 1e9;
        Clock { seconds, per_second: passed(|host| host.time.ticks) / seconds }
    }

    /// Time from one moment to a later one.
    pub fn seconds(self, since: u64, until: u64) -> f64 {
        until.saturating_sub(since) as f64 / self.per_second
    }
}

/// A process in both looks.
struct Pair<'a> {
    before: &'a ProcessLook,
    after: &'a ProcessLook,
    /// When the looks were.
    moments: (u64, u64),
    clock: Clock,
}

impl Report {
    /// About the job of a launcher.
    pub fn new(job: i32, before: &Look, after: &Look) -> Report {
        let program = OsStr::from_bytes(&after.program);
        let names = names(job, after, program);
        let mut processes = Vec::new();
        for host in &after.hosts {
            let Some(earlier) = before.hosts.iter().find(|other| other.name == host.name) else { continue };
            let clock = Clock::between(earlier, host);
            for process in &host.processes {
                let before = earlier.processes.iter().find(|other| other.rank == process.rank);
                let Some(before) = before else { continue };
                let moments = (earlier.time.ticks, host.time.ticks);
                processes.push(Pair { before, after: process, moments, clock }.process(&host.name, &names));
            }
        }
        processes.sort_by_key(|process| process.rank);
        Report {
            job,
            program: program.to_string_lossy().into_owned(),
            seconds: after.milliseconds as f64 / 1e3,
            processes,
            waits: waits::of(after, &names),
            hottest: hottest(after, &names),
        }
    }
}

/// Names of what the program has, by its file: that of one of its processes, if one is here.
fn names(launcher: i32, look: &Look, program: &OsStr) -> Names {
    let all = || look.hosts.iter().flat_map(|host| &host.processes);
    let Some(headers) = all().map(|process| process.words[HEADERS]).find(|headers| *headers != 0) else {
        return Names::default();
    };
    let is_here = |host: &&HostLook| host.name.is_empty();
    let own = look.hosts.iter().find(is_here).and_then(|host| host.processes.first());
    let path = match own {
        Some(process) => PathBuf::from(format!("/proc/{}/exe", process.pid)),
        None if program.as_bytes().contains(&b'/') => {
            Path::new(&format!("/proc/{launcher}/cwd")).join(program)
        }
        None => return Names::default(),
    };
    Names::read(&path, headers)
}

impl Pair<'_> {
    fn process(&self, host: &str, names: &Names) -> Process {
        let sum = |process: &ProcessLook, word: usize| threads(process).map(|words| words[word]).sum::<u64>();
        let (misses, bytes) = (sum(self.after, thread::MISSES), sum(self.after, thread::BYTES));
        let rate = |word, now: u64| now.saturating_sub(sum(self.before, word)) as f64 / self.clock.seconds;
        Process {
            rank: self.after.rank,
            host: host.to_owned(),
            pid: self.after.pid,
            time: self.shares(),
            misses,
            bytes,
            misses_per_second: rate(thread::MISSES, misses),
            bytes_per_second: rate(thread::BYTES, bytes),
            threads: threads(self.after).map(|words| self.thread(words, names)).collect(),
            other_threads: self.after.words[THREADS_LEFT_OUT],
        }
    }

    fn thread(&self, words: &[u64], names: &Names) -> Thread {
        let kind = doing(words);
        Thread {
            id: words[thread::ID],
            does: match kind {
                Doing::Runs => "runs",
                Doing::Barrier => "waits at a barrier",
                Doing::Join => "waits for the end of a region",
                Doing::Idle => "has no region",
                Doing::Lock => "waits for a lock",
                Doing::Condition => "waits for a condition variable",
                Doing::Tasks => "waits for tasks",
                Doing::Other => "waits",
            },
            at: Some(words[thread::OBJECT]).filter(|object| *object != 0).map(|object| names.object(object)),
            seconds: self.clock.seconds(words[thread::SINCE], self.moments.1),
            region: Some(words[thread::FUNCTION]).filter(|f| *f != 0).map(|f| names.function(f)),
            holds: held(words).map(|name| names.object(name)).collect(),
        }
    }

    /// Seconds that a process's threads have spent on what, up to a look.
    fn spent(&self, process: &ProcessLook, moment: u64) -> [f64; Doing::COUNT] {
        let mut all = [0.0; Doing::COUNT];
        for words in threads(process) {
            for (total, ticks) in all.iter_mut().zip(&words[thread::TIMES..]) {
                *total += self.clock.seconds(0, *ticks);
            }
            // What it does now is not counted yet.
            all[doing(words) as usize] += self.clock.seconds(words[thread::SINCE], moment);
        }
        all
    }

    fn shares(&self) -> Shares {
        let before = self.spent(self.before, self.moments.0);
        let after = self.spent(self.after, self.moments.1);
        let spent = |kinds: &[Doing]| -> f64 {
            kinds.iter().map(|kind| (after[*kind as usize] - before[*kind as usize]).max(0.0)).sum()
        };
        let measured = |activity: usize| {
            let of = |process: &ProcessLook| process.words[ACTIVITY_TIMES + activity];
            of(self.after).saturating_sub(of(self.before)) as f64 / 1e9
        };
        let misses = measured(0) + measured(1);
        let coherence = measured(2) + measured(3);
        let all = Shares {
            compute: (spent(&[Doing::Runs]) - misses - coherence).max(0.0),
            misses,
            coherence,
            barriers: spent(&[Doing::Barrier]),
            regions: spent(&[Doing::Join, Doing::Idle]),
            locks: spent(&[Doing::Lock]),
            other: spent(&[Doing::Condition, Doing::Tasks, Doing::Other]),
        };
        all.normalised()
    }
}

impl Shares {
    /// In the order of the table's columns.
    pub fn all(self) -> [f64; 7] {
        [self.compute, self.misses, self.coherence, self.barriers, self.regions, self.locks, self.other]
    }

    /// As parts of their sum.
    fn normalised(self) -> Shares {
        let sum: f64 = self.all().iter().sum();
        let [compute, misses, coherence, barriers, regions, locks, other] =
            self.all().map(|part| if sum > 0.0 { part / sum } else { 0.0 });
        Shares { compute, misses, coherence, barriers, regions, locks, other }
    }
}

/// What most samples of all processes lie in.
fn hottest(look: &Look, names: &Names) -> Option<Hottest> {
    let mut counts = BTreeMap::<String, usize>::new();
    let processes = look.hosts.iter().flat_map(|host| &host.processes);
    let samples = processes.flat_map(|process| &process.words[SAMPLED..][..SAMPLES]);
    for address in samples.filter(|address| **address != 0) {
        *counts.entry(names.variable(*address)).or_default() += 1;
    }
    let all: usize = counts.values().sum();
    let (name, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    Some(Hottest { name, share: count as f64 / all as f64 })
}
