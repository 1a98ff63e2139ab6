//! One run: a workload under a protocol with a number of processes, and what it took.

use std::collections::BTreeMap;
use std::rc::Rc;

use clap::ValueEnum;
use dsm_coherence::ReleaseToken;
use serde::Serialize;

use crate::costs::{Costs, Time, us};
use crate::directory::{Directory, Entries};
use crate::dsm::Dsm;
use crate::machine::Machine;
use crate::net::{PHASES, Phase, Shared, Traffic, World};
use crate::sync::{Barrier, Lock, Participant};
use crate::workload::{Sizes, Workload};

/// What keeps the copies coherent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// The protocol of the runtime
    Dsm,
    /// A home-based invalidation directory with full bit maps
    Directory,
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// What processes do.
    pub workload: Workload,
    /// What keeps their copies coherent.
    pub protocol: Protocol,
    /// Number of processes.
    pub processes: u32,
    /// Bytes of a block.
    pub block: u64,
    /// Notices that a signature holds.
    pub notices: usize,
    /// How barriers are built.
    pub barrier: Barrier,
    /// How a lock is passed on.
    pub lock: Lock,
    /// Iterations.
    #[serde(skip)]
    pub sizes: Sizes,
    /// What things cost.
    #[serde(skip)]
    pub costs: Costs,
}

/// What a run took. Messages and bytes are means of a process and an iteration, times are virtual.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// What was run.
    #[serde(flatten)]
    pub setting: Setting,
    /// Messages in loads and stores, releases, acquires, and in barriers and locks themselves.
    pub messages: [f64; PHASES],
    /// Bytes likewise.
    pub bytes: [f64; PHASES],
    /// Releases of a process in an iteration.
    pub releases: f64,
    /// Barriers of a process in an iteration.
    pub barriers: f64,
    /// Messages that the busiest adapter sent and received in an iteration.
    pub hottest: f64,
    /// An iteration, microseconds.
    pub iteration_us: f64,
    /// A release, microseconds: mean.
    pub release_us: f64,
    /// A release, microseconds: longest.
    pub release_most_us: f64,
    /// From the last process's coming to a barrier to the last one's leaving, microseconds; its release is part of it.
    pub barrier_us: f64,
    /// First read of a record in [`Workload::Relay`], microseconds: by a process that hands it on, and by one of the others. Zero in other workloads.
    pub reads_us: [f64; 2],
    /// Counters of the protocol, of all processes and the whole run.
    pub counters: BTreeMap<&'static str, u64>,
}

impl Outcome {
    /// Messages of a phase.
    pub fn messages_of(&self, phase: Phase) -> f64 {
        self.messages[phase as usize]
    }

    /// All messages of a process and an iteration.
    pub fn all_messages(&self) -> f64 {
        self.messages.iter().sum()
    }

    /// All bytes of a process and an iteration.
    pub fn all_bytes(&self) -> f64 {
        self.bytes.iter().sum()
    }
}

/// Runs it. Panics if the workload reads what it must not, or if processes wait for each other for ever.
pub fn run(setting: &Setting) -> Outcome {
    let regions = setting.workload.regions(setting.processes);
    let world = World::new(setting.costs.clone(), setting.processes, setting.block, regions);
    let counters = match setting.protocol {
        Protocol::Dsm => start(&world, setting, |me| Dsm::new(&world, me, setting.notices)),
        Protocol::Directory => {
            let entries = Rc::new(Entries::default());
            start(&world, setting, |me| Directory::new(&world, me, &entries))
        }
    };
    let stuck = world.engine.run();
    assert_eq!(stuck, 0, "processes wait for what never comes");
    outcome(setting, &world, &counters.borrow())
}

type Counters = Rc<std::cell::RefCell<BTreeMap<&'static str, u64>>>;

fn start<M: Machine + 'static>(world: &Shared, setting: &Setting, machine: impl Fn(u32) -> M) -> Counters {
    let counters = Counters::default();
    for me in 0..setting.processes {
        let machine = Rc::new(Counted { machine: machine(me), counters: counters.clone() });
        let participant = Participant::new(&machine, setting.barrier, setting.lock);
        world.engine.spawn(setting.workload.run(machine, participant, setting.sizes));
    }
    counters
}

/// Leaves its counters behind.
struct Counted<M: Machine> {
    machine: M,
    counters: Counters,
}

impl<M: Machine> Drop for Counted<M> {
    fn drop(&mut self) {
        let mut counters = self.counters.borrow_mut();
        for (name, value) in self.machine.counters() {
            *counters.entry(name).or_default() += value;
        }
    }
}

impl<M: Machine> Machine for Counted<M> {
    fn world(&self) -> &Shared {
        self.machine.world()
    }

    fn rank(&self) -> u32 {
        self.machine.rank()
    }

    async fn read(&self, addr: u64, bytes: u64) {
        self.machine.read(addr, bytes).await;
    }

    async fn write(&self, addr: u64, bytes: u64, value: u64) {
        self.machine.write(addr, bytes, value).await;
    }

    async fn load(&self, addr: u64) -> u64 {
        self.machine.load(addr).await
    }

    async fn release(&self) {
        self.machine.release().await;
    }

    async fn release_then(&self, then: impl FnOnce(ReleaseToken)) {
        self.machine.release_then(then).await;
    }

    fn published(&self) -> u64 {
        self.machine.published()
    }

    async fn acquire_from(&self, rank: u32) {
        self.machine.acquire_from(rank).await;
    }

    async fn acquire_with_token(&self, rank: u32, token: ReleaseToken) {
        self.machine.acquire_with_token(rank, token).await;
    }

    fn after_barrier(&self) {
        self.machine.after_barrier();
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.machine.counters()
    }
}

fn outcome(setting: &Setting, world: &World, counters: &BTreeMap<&'static str, u64>) -> Outcome {
    let mut all = Traffic::default();
    for process in &world.processes {
        all.add(&process.traffic.borrow());
    }
    let iterations = setting.sizes.iterations as f64;
    let each = |n: u64| n as f64 / iterations / f64::from(setting.processes);
    let times = world.times.borrow();
    let mean = |sum: Time, count: u64| us(sum) / count.max(1) as f64;
    let barriers: Time = times.barriers.iter().map(|(last_in, last_out)| last_out - last_in).sum();
    Outcome {
        setting: setting.clone(),
        messages: all.messages.map(each),
        bytes: all.bytes.map(each),
        releases: each(times.releases.count),
        barriers: times.barriers.len() as f64 / iterations,
        hottest: world.hottest() as f64 / iterations,
        iteration_us: us(times.end - times.begin) / iterations,
        release_us: mean(times.releases.sum, times.releases.count),
        release_most_us: us(times.releases.most),
        barrier_us: mean(barriers, times.barriers.len() as u64),
        reads_us: times.reads.map(|reads| mean(reads.sum, reads.count)),
        counters: counters.clone(),
    }
}
