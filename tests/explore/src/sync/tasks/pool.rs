//! What there is of tasks, and what the judge knows of them.

use std::collections::VecDeque;

use super::super::world::{Clock, World};

/// Where the end of a batch is reported: process and slot.
pub type Origin = (u32, u32);

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// It makes two tasks with one less, unless this is 0.
    pub depth: u32,
    /// And waits for them.
    pub waits: bool,
}

/// A task, as the judge knows it. Those of a number below the threads' are what threads do by themselves.
#[derive(Clone, Debug)]
pub struct Info {
    /// The task that made it.
    pub parent: Option<usize>,
    /// What it does.
    pub shape: Shape,
    /// What was known to whoever made it.
    pub made: Clock,
    /// How often it has begun.
    pub begun: u32,
    /// What was known at its end.
    pub ended: Option<Clock>,
    /// Its tasks that have not been completed.
    pub children: u32,
    /// Where in the program the thread was that made it, or made what it descends from.
    pub phase: Phase,
}

/// A part of the program between barriers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// The region, if there are such.
    pub region: Option<u64>,
    /// Barriers of all threads before.
    pub barriers: u32,
}

/// A task in a process.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its number.
    pub id: usize,
    /// Whether it was made in this process.
    pub is_home: bool,
    /// The batch that it, or what made it, came with.
    pub group: Option<usize>,
    /// The batches through which it came, the last one first.
    pub origins: Vec<Origin>,
}

/// A batch that came from another process.
#[derive(Clone, Debug)]
pub struct Group {
    /// Where its end is reported.
    pub origin: Origin,
    /// Tasks and their descendants that have not been completed.
    pub pending: u32,
}

/// Tasks of a process.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    /// Those that are ready, the oldest first.
    pub queue: VecDeque<Node>,
    /// Those that have not been completed.
    pub pending: u32,
    /// Batches that are in other processes, by slot.
    pub exports: Vec<(u32, Vec<Node>)>,
    /// Slots that are free, and the number of those ever used.
    pub slots: (Vec<u32>, u32),
    /// Batches that came.
    pub groups: Vec<Group>,
    /// Threads at the barrier.
    pub arrived: u32,
    /// The region that the process is in, and barriers that have ended.
    pub phase: Phase,
}

/// Tasks of all processes.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    /// All tasks.
    pub infos: Vec<Info>,
    /// By process.
    pub pools: Vec<Pool>,
    /// Threads of each process that come to its barriers.
    pub threads: Vec<u32>,
}

impl Tasks {
    /// Adds a task.
    pub fn add(&mut self, parent: Option<usize>, shape: Shape, made: Clock, phase: Phase) -> usize {
        if let Some(parent) = parent {
            self.infos[parent].children += 1;
        }
        self.infos.push(Info { parent, shape, made, begun: 0, ended: None, children: 0, phase });
        self.infos.len() - 1
    }

    /// The phase of what a thread of a process makes by itself, or a task.
    pub fn phase_of(&self, rank: usize, maker: usize) -> Phase {
        match self.infos[maker].parent {
            Some(_) => self.infos[maker].phase,
            None => self.pools[rank].phase,
        }
    }

    /// Tasks of a process, of some phase before a barrier that has ended, which the process still has.
    pub fn is_left(&self, rank: usize, barriers: u32) -> bool {
        let pool = &self.pools[rank];
        let exported = pool.exports.iter().flat_map(|(_, nodes)| nodes);
        pool.queue.iter().chain(exported).any(|node| self.infos[node.id].phase.barriers < barriers)
    }

    /// Whether a task is another one, or descends from it.
    pub fn descends(&self, task: usize, from: usize) -> bool {
        let mut at = Some(task);
        while let Some(id) = at {
            if id == from {
                return true;
            }
            at = self.infos[id].parent;
        }
        false
    }
}

impl World {
    /// A task begins in a process, in a thread that may only run descendants of `limit`.
    pub fn task_begins(&mut self, rank: u32, id: usize, limit: Option<usize>) -> Shape {
        self.note(|| format!("task {id} begins below {limit:?}"));
        self.tasks.infos[id].begun += 1;
        if self.tasks.infos[id].begun > 1 {
            self.fail(format!("task {id} runs twice"));
        }
        if limit.is_some_and(|limit| !self.tasks.descends(id, limit)) {
            self.fail(format!("task {id} runs in a thread that waits in {limit:?}"));
        }
        let (phase, own) = (self.tasks.infos[id].phase, self.tasks.pools[rank as usize].phase);
        if phase.region != own.region {
            self.fail(format!("task {id} of {phase:?} runs in a process in {own:?}"));
        }
        let made = self.tasks.infos[id].made.clone();
        self.expect(rank, &made, || format!("of who made task {id}"));
        self.tasks.infos[id].shape
    }

    /// A task has done what it does.
    pub fn task_ends(&mut self, rank: u32, id: usize) {
        let clock = self.write_data(rank);
        self.tasks.infos[id].ended = Some(clock);
        self.note(|| format!("task {id} ends"));
    }

    /// Those tasks should have ended, and a process should know what they wrote.
    pub fn expect_ended(&mut self, rank: u32, what: &str, which: impl Fn(&Tasks, usize) -> bool) {
        for id in 0..self.tasks.infos.len() {
            // Nothing is to be said of what threads do by themselves.
            if self.tasks.infos[id].parent.is_none() || !which(&self.tasks, id) {
                continue;
            }
            match self.tasks.infos[id].ended.clone() {
                Some(clock) => self.expect(rank, &clock, || format!("of task {id}, {what}")),
                None => self.fail(format!("task {id} has not ended, {what}")),
            }
        }
    }
}
