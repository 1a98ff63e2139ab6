//! The model's memory and its honesty: per-thread store buffers, posted writes that are placed late and in any order, and what is enabled.
//!
//! - A thread's own stores go into a first-in first-out buffer that only it sees; entries reach memory at any later time, all of them before
//!   an atomic read-modify-write, a post or a flush of that thread (as on x86, which the production fabric must not be weaker than).
//! - A posted write reaches memory at any later time before the flush, unordered with others. So does a read that is under way with others at a peer.
//! - One step of a thread is at most one remote access; code between two awaits runs at once but its stores are buffered.
//!
//! Cells that no other thread can touch are written directly, which changes nothing but the number of schedules.

mod blocks;
mod memory;
mod schedule;
mod seen;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use dsm_coherence::Block;

use crate::hash::Digest;
use crate::layout::{Layout, Loc};
use crate::model_sync::SyncState;
use crate::oracle::{Clocks, Oracle};
use crate::program::{Memory, Program};
pub use schedule::{Choice, Pause, Wait, pause};
pub use seen::{Act, Memories, Script};

/// One process.
#[derive(Debug)]
pub struct Process {
    /// All cells.
    pub cells: Vec<u64>,
    /// Which blocks' twins are in use.
    pub twin_live: Vec<bool>,
    /// Threads that run program code (may be between a passed check and its access).
    pub in_user: u32,
    /// Threads of the process, one that serves other processes included.
    pub threads: u32,
    /// How the bytes are divided into blocks here, see [`Layout::new`].
    pub division: usize,
    /// Bytes that additions are kept for, in order.
    pub kept: Vec<usize>,
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
    /// Digest of all it has observed since its current operation began and not forgotten: with the operation's number, its local state.
    pub history: u64,
    /// The same with all that it has forgotten.
    pub whole: u64,
    /// Consecutive link loads of one block, with the number of changes to that block's links when they began.
    pub hops: (Loc, u32, u64),
    /// Processes whose signatures it is about to look at: what these had published by then it has to know afterwards.
    pub acquires: Vec<usize>,
    /// Whether it may look at a signature more than once for that.
    pub looks_again: bool,
    /// What that was, of those that it has looked at.
    pub learned: Option<Clocks>,
    /// Whether its next addition is a release that has nothing to publish.
    pub releases: bool,
    /// Target and number of those that no flush has waited for.
    pub unflushed: Vec<(usize, u32)>,
    /// What its reads that are under way together have read, by number.
    pub samples: BTreeMap<u32, u64>,
}

/// A posted write, or a read at a peer that is under way.
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
    /// What it writes; `None`: it reads.
    pub value: Option<u64>,
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
    /// A process has come to a barrier.
    Arrival(usize, usize),
    /// The dissemination signal of (barrier, round, process).
    Signal(u32, u32, usize),
}

/// One access of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// To what.
    pub to: Thing,
    /// Whether it changed that.
    pub write: bool,
    /// What it was before the change, where something may wait for it. Of what a process has published: all that it has now, or for a reader all
    /// that this knew already, as [`Clocks::word`].
    pub before: u64,
}

impl Access {
    /// Whether it makes a difference which of two accesses to the same thing comes first.
    pub fn depends(&self, other: &Access) -> bool {
        match (self.to, self.write, other.write) {
            // Publishing only adds. Whoever knows all of it already learns nothing.
            (Thing::Published(_), true, false) => Clocks::news(self.before, other.before),
            (Thing::Published(_), false, true) => Clocks::news(other.before, self.before),
            (Thing::Published(_), ..) => false,
            _ => self.write || other.write,
        }
    }

    /// The same at another time.
    pub fn timeless(self) -> Access {
        let before = if matches!(self.to, Thing::Published(_)) { self.before } else { 0 };
        Access { before, ..self }
    }
}

/// Everything but the code's own local variables.
#[derive(Debug)]
pub struct World {
    /// Cell numbering.
    pub layout: Layout,
    /// The processes.
    pub processes: Vec<Process>,
    /// The threads of all processes; behind those that run operations the ones that serve other processes, if there are any.
    pub threads: Vec<Thread>,
    /// Number of those that run operations.
    pub running: usize,
    /// Whether states are the protection of pages: what they take away is taken away at once.
    pub protects_pages: bool,
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
    /// Whether it touched anything that others touch.
    pub touched: bool,
    /// Whether stores become visible before the next step of their thread.
    pub prompt: bool,
    /// Whether every interval's first store to a block is seen.
    pub watch: bool,
    /// Version from which blocks are used anew.
    pub adopted: u64,
    /// Newest version of each block that was published.
    pub newest: BTreeMap<Block, u64>,
    /// Threads that have come to the end of their operations.
    pub ended: usize,
    /// Whether to record accesses.
    pub recording: bool,
    /// What the current step touched of what other processes touch too.
    pub accesses: Vec<Access>,
    /// How threads are told apart.
    pub memories: Memories,
    /// Digest of all that decides what the running thread does next.
    decided: u64,
    /// First failure.
    pub failure: Option<String>,
    /// Readable account of the run, if wanted.
    pub trace: Option<Vec<String>>,
    /// Changes of link words so far.
    pub link_changes: u64,
    /// Longest lookup beyond what moves of homes explain.
    pub longest_lookup: u32,
    /// How often a miss looks for a home in an attempt.
    pub lookups: u64,
}

/// Shared by the fabrics, the threads' code and the scheduler.
pub type Shared = Rc<RefCell<World>>;

impl World {
    /// A world at its start: every home at its default, all data zero there and garbage elsewhere.
    pub fn new(layout: Layout, program: &Program, sync: SyncState, oracle: Oracle) -> Self {
        let cells = layout.cells();
        let &Program { processes, threads, .. } = program;
        let servers = if program.protects_pages() { processes } else { 0 };
        let of_process = (0..program.total()).map(|t| t / threads).chain(0..servers);
        let mut world = World {
            processes: (0..processes)
                .map(|_| Process {
                    cells: vec![0; cells],
                    twin_live: vec![false; layout.blocks],
                    in_user: threads as u32,
                    threads: (threads + servers / processes) as u32,
                    division: 0,
                    kept: Vec::new(),
                })
                .collect(),
            running: program.total(),
            protects_pages: program.protects_pages(),
            threads: of_process
                .map(|process| Thread {
                    process,
                    buffer: VecDeque::new(),
                    wait: Wait::Ready,
                    operation: 0,
                    history: 0,
                    whole: 0,
                    hops: (Loc::MAX, 0, 0),
                    acquires: Vec::new(),
                    looks_again: false,
                    releases: false,
                    learned: None,
                    unflushed: Vec::new(),
                    samples: BTreeMap::new(),
                })
                .collect(),
            layout,
            posts: Vec::new(),
            sync,
            oracle,
            current: 0,
            visible: false,
            touched: false,
            prompt: program.memory == Memory::Prompt,
            watch: program.watch,
            adopted: 0,
            newest: BTreeMap::new(),
            ended: 0,
            recording: false,
            accesses: Vec::new(),
            memories: Memories::Forgetful,
            decided: 0,
            failure: None,
            trace: None,
            link_changes: 0,
            longest_lookup: 0,
            // To take it and to read there; and once together with others, where calls are messages.
            lookups: if program.by_agents { 3 } else { 2 },
        };
        for p in 0..processes {
            for index in 0..world.layout.blocks {
                if world.default_home(index) != p {
                    let block = world.layout.block(index);
                    let (state, addr) = (world.layout.state(block), world.layout.addr(block));
                    world.processes[p].cells[state as usize] = u64::from(dsm_abi::state::COLD);
                    if !world.layout.is_current(block, 0) {
                        continue;
                    }
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

    /// Whether all threads have come to the end of their operations.
    pub fn closing(&self) -> bool {
        self.ended == self.running
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
                if let Some(value) = post.value {
                    cells[post.loc as usize] = value;
                }
            }
            d.add_all(&cells);
            d.add(process.twin_live.iter().fold(1, |a, live| a << 1 | u64::from(*live)));
        }
        d.value()
    }

    /// Digest of everything here.
    pub fn digest(&self, d: &mut Digest) {
        for p in &self.processes {
            d.add_all(&p.cells);
            d.add(p.twin_live.iter().fold(1, |a, live| a << 1 | u64::from(*live)));
            d.add(u64::from(p.in_user) << 1 | p.division as u64);
            p.kept.iter().for_each(|addr| d.add(1 + *addr as u64));
        }
        for t in &self.threads {
            d.add(if matches!(self.memories, Memories::Forgetful) { t.history } else { t.whole });
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
            for (number, value) in &t.samples {
                d.add(u64::from(*number) << 32 ^ value);
            }
            d.add(self.hops_left(t));
        }
        let mut posts = 0u64;
        for p in &self.posts {
            posts = posts.wrapping_add(crate::hash::mix(
                (p.from << 8 | p.to) as u64 ^ u64::from(p.loc) << 16 ^ u64::from(p.number) << 32,
                p.value.unwrap_or(!u64::from(p.loc)),
            ));
        }
        d.add(posts);
        d.add(self.adopted);
        self.sync.digest(d);
        self.oracle.digest(d);
    }
}
