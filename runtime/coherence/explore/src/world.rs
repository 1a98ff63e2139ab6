//! The model's memory and its honesty: per-thread store buffers, posted writes that are placed late and in any order, and what is enabled.
//!
//! - A thread's own stores go into a first-in first-out buffer that only it sees; entries reach memory at any later time, all of them before
//!   an atomic read-modify-write, a post or a flush of that thread (as on x86, which the production fabric must not be weaker than).
//! - A posted write reaches memory at any later time before the flush, unordered with others.
//! - One step of a thread is at most one remote access; code between two awaits runs at once but its stores are buffered.
//!
//! Cells that no other thread can touch are written directly, which changes nothing but the number of schedules.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::hash::Digest;
use crate::layout::{Class, Layout, Loc};
use crate::model_sync::SyncState;
use crate::oracle::{Clocks, Oracle};

/// One process.
#[derive(Debug)]
pub struct Process {
    /// All cells.
    pub cells: Vec<u64>,
    /// Which blocks' twins are in use.
    pub twin_live: Vec<bool>,
    /// Threads that run program code (may be between a passed check and its access).
    pub in_user: u32,
    /// Threads of the process.
    pub threads: u32,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Nothing: it can go on.
    Ready,
    /// A cell of a process differs from a value.
    Differs(usize, Loc, u64),
    /// A cell of a process is even.
    Even(usize, Loc),
    /// A cell of a process has a value.
    Equals(usize, Loc, u64),
    /// Everything that the first process posted to the second one is placed.
    Placed(usize, usize),
    /// The model's lock is free.
    LockFree(usize),
    /// The process barrier number has been reached by so many arrivals.
    Arrived(usize, u32),
    /// The dissemination signal of (meeting, round, process) is there.
    Signal(u32, u32, usize),
    /// The process's local barrier has passed a generation.
    LocalBarrier(usize, u32),
    /// More flags were set.
    Flagged(u64),
    /// All threads have come to the end of their operations.
    Closing,
    /// The thread has ended.
    Done,
}

/// One thread of a process.
#[derive(Debug)]
pub struct Thread {
    /// Its process.
    pub process: usize,
    /// Stores that have not reached memory, oldest first.
    pub buffer: VecDeque<(Loc, u64)>,
    /// What it waits for.
    pub wait: Wait,
    /// Number of its current operation, from 1 on.
    pub operation: u64,
    /// Digest of all it has observed since its current operation began: with the operation's number, its local state.
    pub history: u64,
    /// Consecutive link loads of one block, with the number of changes to that block's links when they began.
    pub hops: (Loc, u32, u64),
    /// Process whose signature it is about to look at: what that had published by then it has to know afterwards.
    pub acquires: Option<usize>,
    /// What that was.
    pub learned: Option<Clocks>,
    /// Target and number of those that no flush has waited for.
    pub unflushed: Vec<(usize, u32)>,
}

/// A posted write.
#[derive(Clone, Copy, Debug)]
pub struct Post {
    /// Unique among those that no flush has waited for, and the same in all runs where its thread has done the same.
    pub number: u32,
    /// Who posted.
    pub from: usize,
    /// Where it goes.
    pub to: usize,
    /// Which cell.
    pub loc: Loc,
    /// What it writes.
    pub value: u64,
}

/// Something the schedule may do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// A thread takes a step.
    Run(usize),
    /// A thread's oldest buffered store reaches memory.
    Drain(usize),
    /// A posted write is placed.
    Place(u32),
}

/// What threads of several processes can touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Thing {
    /// A cell of a process.
    Cell(usize, Loc),
    /// A lock of the program.
    Lock(usize),
    /// How many flags were set.
    Flags,
    /// What the judge knows that a process has published.
    Published(usize),
    /// What the judge knows of a byte.
    Byte(usize),
    /// Whether a process has a twin of a block.
    Twin(usize, usize),
    /// A posted write that is under way, by its number.
    Post(u32),
    /// A process has come to a meeting.
    Arrival(usize, usize),
    /// The dissemination signal of (meeting, round, process).
    Signal(u32, u32, usize),
}

/// One access of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// To what.
    pub to: Thing,
    /// Whether it changed that.
    pub write: bool,
    /// What it was before the change, where something may wait for it.
    pub before: u64,
}

/// Everything but the code's own local variables.
#[derive(Debug)]
pub struct World {
    /// Cell numbering.
    pub layout: Layout,
    /// The processes.
    pub processes: Vec<Process>,
    /// The threads of all processes.
    pub threads: Vec<Thread>,
    /// Posted writes under way.
    pub posts: Vec<Post>,
    /// The runtime's synchronisation around the protocol.
    pub sync: SyncState,
    /// The judge.
    pub oracle: Oracle,
    /// The thread that runs now.
    pub current: usize,
    /// Whether the current step did anything that other threads or processes can notice or influence.
    pub visible: bool,
    /// Whether every interval's first store to a block is seen.
    pub watch: bool,
    /// Version from which blocks are used anew.
    pub adopted: u64,
    /// Threads that have come to the end of their operations.
    pub ended: usize,
    /// Whether to record accesses.
    pub recording: bool,
    /// What the current step touched of what other processes touch too.
    pub accesses: Vec<Access>,
    /// First failure.
    pub failure: Option<String>,
    /// Readable account of the run, if wanted.
    pub trace: Option<Vec<String>>,
    /// Changes of link words so far.
    pub link_changes: u64,
    /// Longest chase beyond what moves of homes explain.
    pub longest_chase: u32,
}

/// Shared by the fabrics, the threads' code and the scheduler.
pub type Shared = Rc<RefCell<World>>;

impl World {
    /// A world at its start: every home at its default, all data zero there and garbage elsewhere.
    pub fn new(layout: Layout, processes: usize, threads: usize, sync: SyncState, oracle: Oracle) -> Self {
        let cells = layout.cells();
        let mut world = World {
            processes: (0..processes)
                .map(|_| Process {
                    cells: vec![0; cells],
                    twin_live: vec![false; layout.blocks],
                    in_user: threads as u32,
                    threads: threads as u32,
                })
                .collect(),
            threads: (0..processes * threads)
                .map(|t| Thread {
                    process: t / threads,
                    buffer: VecDeque::new(),
                    wait: Wait::Ready,
                    operation: 0,
                    history: 0,
                    hops: (Loc::MAX, 0, 0),
                    acquires: None,
                    learned: None,
                    unflushed: Vec::new(),
                })
                .collect(),
            layout,
            posts: Vec::new(),
            sync,
            oracle,
            current: 0,
            visible: false,
            watch: false,
            adopted: 0,
            ended: 0,
            recording: false,
            accesses: Vec::new(),
            failure: None,
            trace: None,
            link_changes: 0,
            longest_chase: 0,
        };
        for p in 0..processes {
            for index in 0..world.layout.blocks {
                if world.default_home(index) != p {
                    let block = world.layout.block(index);
                    let (state, addr) = (world.layout.state(block), world.layout.addr(block));
                    world.processes[p].cells[state as usize] = u64::from(dsm_abi::state::COLD);
                    for a in addr..addr + world.layout.block_bytes(block) {
                        let loc = world.layout.data(a);
                        world.processes[p].cells[loc as usize] = 0xee;
                    }
                }
            }
        }
        world
    }

    /// Default home of a block.
    pub fn default_home(&self, index: usize) -> usize {
        index / self.layout.home_run % self.processes.len()
    }

    /// Process of the running thread.
    pub fn me(&self) -> usize {
        self.threads[self.current].process
    }

    /// Records the first failure.
    pub fn fail(&mut self, why: String) {
        if self.failure.is_none() {
            self.note(|| format!("FAILURE: {why}"));
            self.failure = Some(why);
        }
    }

    /// Adds a line to the account.
    pub fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let thread = self.current;
            trace.push(format!("t{thread}: {}", line()));
        }
    }

    /// Adds a line about a cell to the account.
    pub fn note_loc(&mut self, loc: Loc, line: impl FnOnce(String) -> String) {
        if self.trace.is_some() {
            let name = self.layout.name(loc);
            self.note(|| line(name));
        }
    }

    fn private(&self, process: usize, loc: Loc) -> bool {
        self.processes[process].threads == 1 && self.layout.class(loc) == Class::Local
    }

    /// Records an access of the current step.
    pub fn access(&mut self, to: Thing, write: bool, before: u64) {
        if self.recording {
            self.accesses.push(Access { to, write, before });
        }
    }

    fn access_cell(&mut self, process: usize, loc: Loc, write: bool) {
        if self.recording && !self.private(process, loc) {
            let before = self.processes[process].cells[loc as usize];
            self.access(Thing::Cell(process, loc), write, before);
        }
    }

    /// What the running thread has observed goes into its history.
    pub fn observe(&mut self, value: u64) {
        let history = &mut self.threads[self.current].history;
        *history = crate::hash::mix(*history, value);
    }

    /// The running thread reads a cell of its own process.
    pub fn own_read(&mut self, loc: Loc) -> u64 {
        let me = self.me();
        let thread = &self.threads[self.current];
        let value = match thread.buffer.iter().rev().find(|(l, _)| *l == loc) {
            Some((_, value)) => *value,
            None => {
                self.access_cell(me, loc, false);
                let others = self.processes[me].threads > 1;
                if others || self.layout.class(loc) == Class::Remote {
                    self.visible = true;
                }
                self.processes[me].cells[loc as usize]
            }
        };
        self.observe(value);
        value
    }

    /// The running thread stores to a cell of its own process.
    pub fn own_write(&mut self, loc: Loc, value: u64) {
        let me = self.me();
        if self.private(me, loc) {
            self.processes[me].cells[loc as usize] = value;
        } else {
            self.threads[self.current].buffer.push_back((loc, value));
        }
    }

    /// A thread's buffered stores reach memory.
    pub fn drain(&mut self, thread: usize, all: bool) {
        while let Some((loc, value)) = self.threads[thread].buffer.pop_front() {
            let process = self.threads[thread].process;
            self.write(process, loc, value);
            if !all {
                break;
            }
        }
    }

    /// A cell of any process changes.
    pub fn write(&mut self, process: usize, loc: Loc, value: u64) {
        self.visible = true;
        self.access_cell(process, loc, true);
        let cell = &mut self.processes[process].cells[loc as usize];
        if (loc as usize) < self.layout.blocks && *cell != value {
            self.link_changes += 1;
        }
        *cell = value;
        if loc == self.layout.hand_over() {
            let news = self.sync.give_lock(value as usize);
            self.access(Thing::Published(process), news, 0);
            self.access(Thing::Lock(value as usize), true, 1);
        }
    }

    /// The signature is kept under a mutex of the process, which is not part of the fabric: who stores under it comes after the stores of
    /// those who had it before.
    pub fn take_mutex(&mut self) {
        let me = self.me();
        for t in 0..self.threads.len() {
            if t != self.current && self.threads[t].process == me {
                self.drain(t, true);
            }
        }
    }

    /// Reads a cell of any process, as another process does.
    pub fn remote_read(&mut self, process: usize, loc: Loc) -> u64 {
        if process == self.me() {
            return self.own_read(loc);
        }
        self.visible = true;
        self.access_cell(process, loc, false);
        let value = self.processes[process].cells[loc as usize];
        self.observe(value);
        value
    }

    /// An atomic read-modify-write: drains the thread's buffer first. Returns the old value.
    pub fn atomic(&mut self, process: usize, loc: Loc, update: impl FnOnce(u64) -> Option<u64>) -> u64 {
        self.drain(self.current, true);
        if process != self.me() || !self.private(process, loc) {
            self.visible = true;
        }
        let old = self.processes[process].cells[loc as usize];
        let new = update(old).filter(|new| *new != old);
        self.access_cell(process, loc, false);
        if let Some(new) = new {
            let visible = self.visible;
            self.write(process, loc, new);
            self.visible = visible;
        }
        self.observe(old);
        old
    }

    /// Posts a write; own earlier stores are visible before it can be.
    pub fn post(&mut self, to: usize, loc: Loc, value: u64) {
        self.drain(self.current, true);
        let from = self.me();
        if to == from {
            return self.write(to, loc, value);
        }
        let thread = &mut self.threads[self.current];
        let taken = |slot: &u32| thread.unflushed.iter().any(|(_, number)| number & 0xffff == *slot);
        let slot = (0..).find(|slot| !taken(slot)).expect("few are under way");
        let number = (self.current as u32) << 16 | slot;
        thread.unflushed.push((to, number));
        self.access(Thing::Post(number), true, 0);
        self.posts.push(Post { number, from, to, loc, value });
    }

    /// The running thread looks at the state of a process's signature.
    pub fn learn(&mut self, process: usize) {
        self.end_chase();
        if self.threads[self.current].acquires == Some(process) {
            self.access(Thing::Published(process), false, 0);
            let thread = &mut self.threads[self.current];
            thread.acquires = None;
            thread.learned = Some(self.sync.published[process].clone());
        }
    }

    /// A flush of the running thread comes after all that it has posted to a process.
    pub fn flushed(&mut self, to: usize) {
        let unflushed = std::mem::take(&mut self.threads[self.current].unflushed);
        for &(target, number) in &unflushed {
            if target == to {
                self.access(Thing::Post(number), false, 0);
            }
        }
        self.threads[self.current].unflushed = unflushed.into_iter().filter(|post| post.0 != to).collect();
    }

    /// The running thread has a twin of a block made, or given up.
    pub fn set_twin(&mut self, process: usize, index: usize, live: bool) {
        self.access(Thing::Twin(process, index), true, 0);
        self.processes[process].twin_live[index] = live;
    }

    /// Whether the running thread's process has a twin of a block.
    pub fn twin(&mut self, index: usize) -> bool {
        let me = self.me();
        self.access(Thing::Twin(me, index), false, 0);
        self.processes[me].twin_live[index]
    }

    /// Counts a link load of the running thread: chases that visit more processes than there are, and more than moves of the home
    /// meanwhile explain, are failures.
    pub fn count_hop(&mut self, loc: Loc) {
        let changes = self.link_changes;
        let size = self.processes.len() as u64;
        let thread = &mut self.threads[self.current];
        if thread.hops.0 != loc {
            thread.hops = (loc, 0, changes);
        }
        thread.hops.1 += 1;
        let hops = thread.hops.1;
        // A miss looks at the links twice in an attempt, and begins a new one only after a change.
        let bound = (2 * size + 2) * (1 + changes - thread.hops.2);
        self.longest_chase = self.longest_chase.max(hops);
        if u64::from(hops) > bound {
            self.fail(format!("chasing {} took {hops} hops, bound {bound}", self.layout.name(loc)));
        }
    }

    /// The running thread does something else than following links.
    pub fn end_chase(&mut self) {
        self.threads[self.current].hops.0 = Loc::MAX;
    }

    /// Whether all threads have come to the end of their operations.
    pub fn closing(&self) -> bool {
        self.ended == self.threads.len()
    }

    /// Whether what a thread waits for is there.
    pub fn satisfied(&self, wait: Wait) -> bool {
        match wait {
            Wait::Ready => true,
            Wait::Done => false,
            Wait::Differs(p, loc, seen) => self.processes[p].cells[loc as usize] != seen,
            Wait::Even(p, loc) => self.processes[p].cells[loc as usize].is_multiple_of(2),
            Wait::Equals(p, loc, value) => self.processes[p].cells[loc as usize] == value,
            Wait::Placed(from, to) => !self.posts.iter().any(|post| post.from == from && post.to == to),
            Wait::LockFree(lock) => self.sync.lock_free(lock),
            Wait::Arrived(meeting, count) => self.sync.arrived(meeting) >= count,
            Wait::Signal(meeting, round, process) => self.sync.signalled(meeting, round, process).is_some(),
            Wait::LocalBarrier(process, generation) => self.sync.local_generation(process) > generation,
            Wait::Flagged(count) => self.sync.flags > count,
            Wait::Closing => self.closing(),
        }
    }

    /// Everything that may happen next; the running thread first, then the others, then memory. In one order in the meetings at the end.
    pub fn choices(&self, out: &mut Vec<Choice>) {
        out.clear();
        let closing = self.closing();
        let count = self.threads.len();
        // Which thread came last is no difference between orders of dependent steps: the meetings at the end must not depend on it.
        let first = if closing { 0 } else { self.current };
        for k in 0..count {
            let t = (first + k) % count;
            if self.satisfied(self.threads[t].wait) {
                out.push(Choice::Run(t));
            }
        }
        let running = out.len();
        for (t, thread) in self.threads.iter().enumerate() {
            if !thread.buffer.is_empty() {
                out.push(Choice::Drain(t));
            }
        }
        out.extend(self.posts.iter().map(|post| Choice::Place(post.number)));
        if closing {
            // Memory settles first.
            out.rotate_left(running);
        }
    }

    /// Digest of memory as it is when everything posted is placed and every store visible.
    pub fn end(&self) -> u64 {
        let mut d = Digest::default();
        for (p, process) in self.processes.iter().enumerate() {
            let mut cells = process.cells.clone();
            for thread in self.threads.iter().filter(|thread| thread.process == p) {
                thread.buffer.iter().for_each(|(loc, value)| cells[*loc as usize] = *value);
            }
            for post in self.posts.iter().filter(|post| post.to == p) {
                cells[post.loc as usize] = post.value;
            }
            d.add_all(&cells);
            d.add(process.twin_live.iter().fold(1, |a, live| a << 1 | u64::from(*live)));
        }
        d.value()
    }

    /// Lets memory act.
    pub fn memory_step(&mut self, choice: Choice) {
        self.visible = true;
        match choice {
            Choice::Run(_) => unreachable!("threads are run by the executor"),
            Choice::Drain(t) => {
                if let Some(&(loc, value)) = self.threads[t].buffer.front() {
                    self.note_loc(loc, |name| {
                        format!("(memory) store of t{t} becomes visible: {name} = {value:#x}")
                    });
                }
                self.drain(t, false);
            }
            Choice::Place(number) => {
                let at = self.posts.iter().position(|p| p.number == number).expect("a post under way");
                let post = self.posts.swap_remove(at);
                self.access(Thing::Post(number), true, 0);
                self.note_loc(post.loc, |name| {
                    format!("(memory) posted write {} -> {}: {name} = {:#x}", post.from, post.to, post.value)
                });
                self.write(post.to, post.loc, post.value);
            }
        }
    }

    /// Digest of everything here.
    pub fn digest(&self, d: &mut Digest) {
        for p in &self.processes {
            d.add_all(&p.cells);
            d.add(p.twin_live.iter().fold(1, |a, live| a << 1 | u64::from(*live)));
            d.add(u64::from(p.in_user));
        }
        for t in &self.threads {
            d.add(t.history);
            d.add_debug(&t.wait);
            for (loc, value) in &t.buffer {
                d.add(u64::from(*loc) << 48 ^ value);
            }
            d.add(u64::MAX);
            if let Some(learned) = &t.learned {
                learned.digest(d);
            }
            for (to, number) in &t.unflushed {
                d.add((*to as u64) << 32 | u64::from(*number));
            }
            let (loc, hops, changes) = t.hops;
            if loc != Loc::MAX {
                d.add(u64::from(hops) << 32 | (self.link_changes - changes));
            }
        }
        let mut posts = 0u64;
        for p in &self.posts {
            posts = posts.wrapping_add(crate::hash::mix(
                (p.from << 8 | p.to) as u64 ^ u64::from(p.loc) << 16 ^ u64::from(p.number) << 32,
                p.value,
            ));
        }
        d.add(posts);
        self.sync.digest(d);
        self.oracle.digest(d);
    }
}

/// Gives the schedule a choice, and waits until a condition holds.
#[derive(Debug)]
pub struct Pause<'a> {
    world: &'a Shared,
    wait: Option<Wait>,
}

/// The running thread stops here until `wait` holds and the schedule picks it.
pub fn pause(world: &Shared, wait: Wait) -> Pause<'_> {
    Pause { world, wait: Some(wait) }
}

impl Future for Pause<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match self.wait.take() {
            Some(wait) => {
                let mut world = self.world.borrow_mut();
                let current = world.current;
                world.threads[current].wait = wait;
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }
}
