//! The world of a run: processes, their network adapters, and what messages between them cost.
//!
//! An adapter sends and receives at the same time, one message after the other in each direction; between adapters there is nothing but
//! latency (full bisection bandwidth). An operation takes effect when its request has come to the head of the target's queue.
//! Counted are messages in one direction: a read, an atomic operation or a request with its answer is two, a posted write one; the
//! transport's own acknowledgements are not counted.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use dsm_coherence::{Block, Rank, Word};
use serde::Serialize;

use crate::costs::{Costs, Time, ns};
use crate::engine::{Engine, Key, Map};
use crate::memory::Memory;

/// What a process is about, for the accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Loads and stores of the program.
    Access,
    /// Publishing own writes.
    Release,
    /// Taking in what others published.
    Acquire,
    /// Barriers and locks themselves.
    Synchronise,
}

/// Number of phases.
pub const PHASES: usize = 4;

/// Messages and bytes, by [`Phase`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Messages in one direction.
    pub messages: [u64; PHASES],
    /// Bytes with headers.
    pub bytes: [u64; PHASES],
}

impl Traffic {
    /// Adds another account.
    pub fn add(&mut self, other: &Traffic) {
        for phase in 0..PHASES {
            self.messages[phase] += other.messages[phase];
            self.bytes[phase] += other.bytes[phase];
        }
    }
}

/// A network adapter.
#[derive(Debug, Default)]
struct Adapter {
    send_free: Time,
    receive_free: Time,
    words: Map<u64, Time>,
    /// Messages sent and received while measuring.
    handled: u64,
}

/// A process: memory, adapter, accounts.
#[derive(Debug)]
pub struct Process {
    /// Its memory.
    pub memory: RefCell<Memory>,
    adapter: RefCell<Adapter>,
    /// When its processor has done what it was charged for.
    busy_until: Cell<Time>,
    /// When the processor that serves the directory is free.
    handler_free: Cell<Time>,
    /// What it is about.
    pub phase: Cell<Phase>,
    /// Its account.
    pub traffic: RefCell<Traffic>,
    /// Whether its times and messages go into the measurements.
    pub measuring: Cell<bool>,
    /// Barriers passed while measuring.
    pub barriers: Cell<usize>,
    posts: RefCell<Map<u32, u32>>,
}

/// Where the data is: regions in which each process is the default home of an equal part.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    /// First byte and bytes of each process's part.
    pub parts: Vec<(u64, u64)>,
}

/// See the module documentation.
#[derive(Debug)]
pub struct World {
    /// Tasks and clock.
    pub engine: Engine,
    /// What things cost.
    pub costs: Costs,
    /// The processes.
    pub processes: Vec<Process>,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// What took how long.
    pub times: RefCell<Times>,
    /// Whom the changes of a control word have woken so far: those who wait with a mask that shares a bit.
    pub wakes: RefCell<Map<(u32, u32), Vec<u32>>>,
    regions: Regions,
}

/// Durations of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Series {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: Time,
    /// The longest.
    pub most: Time,
}

impl Series {
    /// Adds one.
    pub fn add(&mut self, time: Time) {
        self.count += 1;
        self.sum += time;
        self.most = self.most.max(time);
    }
}

/// Measurements of a run.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// When the last process began to measure.
    pub begin: Time,
    /// When the last process ended.
    pub end: Time,
    /// Releases.
    pub releases: Series,
    /// For each barrier, when the last process came and when the last one left.
    pub barriers: Vec<(Time, Time)>,
    /// First reads of a record in [`crate::workload::Workload::Relay`]: by those who hand it on, and by the others.
    pub reads: [Series; 2],
}

/// Shared by all tasks of a run.
pub type Shared = Rc<World>;

impl World {
    /// A world at its start.
    pub fn new(costs: Costs, processes: u32, block_bytes: u64, regions: Regions) -> Shared {
        let zero: Rc<[u8]> = vec![0; block_bytes as usize].into();
        let process = |_| Process {
            memory: RefCell::new(Memory::new(zero.clone())),
            adapter: RefCell::default(),
            busy_until: Cell::new(0),
            handler_free: Cell::new(0),
            phase: Cell::new(Phase::Access),
            traffic: RefCell::default(),
            measuring: Cell::new(false),
            barriers: Cell::new(0),
            posts: RefCell::default(),
        };
        let processes = (0..processes).map(process).collect();
        Rc::new(World {
            engine: Engine::default(),
            costs,
            processes,
            block_bytes,
            times: RefCell::default(),
            wakes: RefCell::default(),
            regions,
        })
    }

    /// Number of processes.
    pub fn size(&self) -> u32 {
        self.processes.len() as u32
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        let end = |(start, part): &(u64, u64)| start + part * self.processes.len() as u64;
        self.regions.parts.iter().map(end).max().unwrap_or(0).div_ceil(self.block_bytes)
    }

    /// Default home of a block: whoever owns its first byte.
    pub fn home(&self, block: Block) -> u32 {
        let at = block.0 * self.block_bytes;
        let (start, part) =
            *self.regions.parts.iter().rev().find(|(start, _)| *start <= at).unwrap_or(&(0, 1));
        (((at - start) / part) as u32).min(self.size() - 1)
    }

    /// A process.
    pub fn process(&self, rank: u32) -> &Process {
        &self.processes[rank as usize]
    }

    /// A process's processor works for so long; its next message or sleep begins later.
    pub fn charge(&self, rank: u32, time: Time) {
        let busy = &self.process(rank).busy_until;
        busy.set(busy.get().max(self.engine.now()) + time);
    }

    /// Charges for looking at own words.
    pub fn charge_words(&self, rank: u32, words: u64) {
        self.charge(rank, ns(self.costs.local_ns * words));
    }

    /// Charges for copying or comparing own bytes.
    pub fn charge_bytes(&self, rank: u32, bytes: u64) {
        self.charge(rank, ns(bytes) / self.costs.copy_bytes_per_ns);
    }

    /// Waits until a process's processor has done what it was charged for.
    pub async fn wait_until_idle(&self, rank: u32) {
        self.engine.sleep_until(self.process(rank).busy_until.get()).await;
    }

    /// What a process's program computes.
    pub async fn compute(&self, rank: u32, time: Time) {
        self.charge(rank, time);
        self.wait_until_idle(rank).await;
    }

    /// Puts a message on a process's account, under what it is about now, while the process measures.
    pub fn count(&self, account: u32, bytes: u64) {
        let process = self.process(account);
        if !process.measuring.get() {
            return;
        }
        let phase = process.phase.get() as usize;
        let mut traffic = process.traffic.borrow_mut();
        traffic.messages[phase] += 1;
        traffic.bytes[phase] += bytes + self.costs.header_bytes;
    }

    /// A message of `bytes` goes from process to process, on the account of a third. It is there when this returns.
    pub async fn travel(&self, account: u32, from: u32, to: u32, bytes: u64) {
        self.count(account, bytes);
        let arrival = self.depart(account, from, bytes);
        self.arrive(to, bytes, arrival).await;
    }

    /// A message, counted already, leaves in the order of these calls; returns when it will arrive.
    pub fn depart(&self, account: u32, from: u32, bytes: u64) -> Time {
        let occupancy = self.costs.occupancy(bytes);
        let measuring = self.process(from).measuring.get();
        let mut adapter = self.process(from).adapter.borrow_mut();
        let paid = if from == account { self.process(from).busy_until.get() } else { 0 };
        let begin = adapter.send_free.max(self.engine.now()).max(paid);
        adapter.send_free = begin + occupancy;
        adapter.handled += u64::from(measuring);
        begin + occupancy + ns(self.costs.wire_ns)
    }

    /// A message that departed is received.
    pub async fn arrive(&self, to: u32, bytes: u64, arrival: Time) {
        self.engine.sleep_until(arrival).await;
        let measuring = self.process(to).measuring.get();
        let begin = {
            let mut adapter = self.process(to).adapter.borrow_mut();
            let begin = adapter.receive_free.max(self.engine.now());
            adapter.receive_free = begin + self.costs.occupancy(bytes);
            adapter.handled += u64::from(measuring);
            begin
        };
        self.engine.sleep_until(begin).await;
    }

    /// The target's adapter carries out an atomic operation on a word; those on the same word come one after the other.
    pub async fn atomic(&self, at: u32, word: u64) {
        let begin = {
            let mut adapter = self.process(at).adapter.borrow_mut();
            let now = self.engine.now();
            let free = adapter.words.entry(word).or_default();
            let begin = now.max(*free);
            *free = begin + ns(self.costs.atomic_ns);
            if adapter.words.len() > 4096 {
                adapter.words.retain(|_, free| *free > now);
            }
            begin
        };
        self.engine.sleep_until(begin).await;
    }

    /// A process's processor receives a message and acts on it.
    pub async fn handle(&self, at: u32) {
        let free = &self.process(at).handler_free;
        free.set(free.get().max(self.engine.now()) + ns(self.costs.handler_ns));
        self.engine.sleep_until(free.get()).await;
    }

    /// A process's processor does what it was charged for before it sends. A little of it delays the message instead ([`World::travel`]),
    /// without an event of its own.
    pub async fn pay(&self, me: u32) {
        let busy = self.process(me).busy_until.get();
        if busy > self.engine.now() + ns(200) {
            self.engine.sleep_until(busy).await;
        }
    }

    /// Writes a word and tells those who wait for it.
    pub fn set_word(&self, at: u32, word: Word, value: u64) {
        let home = self.is_home(at, word);
        self.process(at).memory.borrow_mut().set_word(word, value, home);
        self.engine.notify(Key::Word(at, word));
    }

    /// Reads a word.
    pub fn word(&self, at: u32, word: Word) -> u64 {
        self.process(at).memory.borrow().word(word)
    }

    fn is_home(&self, at: u32, word: Word) -> bool {
        match word {
            Word::Link(b) | Word::Rd(b) | Word::Wr(b) => self.home(b) == at,
            _ => false,
        }
    }

    /// Whether a process is the default home of a block.
    pub fn at_home(&self, at: Rank, block: Block) -> bool {
        self.home(block) == at.0
    }

    /// A posted operation begins.
    pub fn begin_post(&self, from: u32, to: u32) {
        *self.process(from).posts.borrow_mut().entry(to).or_default() += 1;
    }

    /// It has taken effect and the sender knows.
    pub fn end_post(&self, from: u32, to: u32) {
        let left = {
            let mut posts = self.process(from).posts.borrow_mut();
            let count = posts.get_mut(&to).expect("a posted operation under way");
            *count -= 1;
            let left = *count;
            if left == 0 {
                posts.remove(&to);
            }
            left
        };
        if left == 0 {
            self.engine.notify(Key::Posts(from, to));
        }
    }

    /// Waits until everything posted is done.
    pub async fn flush(&self, from: u32, to: u32) {
        let done = || (!self.process(from).posts.borrow().contains_key(&to)).then_some(());
        self.engine.wait(Key::Posts(from, to), done).await;
    }

    /// Messages that the busiest adapter handled.
    pub fn hottest(&self) -> u64 {
        self.processes.iter().map(|p| p.adapter.borrow().handled).max().unwrap_or(0)
    }
}

/// A word's number for [`World::atomic`].
pub fn word_number(word: Word) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut digest = dsm_explore::hash::Digest::default();
    word.hash(&mut digest);
    digest.finish()
}
