//! One run of a program under a schedule: a tiny deterministic executor and the checks at the end.

use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use dsm_coherence::{Coherence, Extent};

use crate::check;
use crate::fabric::ModelFabric;
use crate::hash::Digest;
use crate::layout::Layout;
use crate::model_sync::SyncState;
use crate::oracle::Oracle;
use crate::program::{Memory, Op, Program};
use crate::threads::{ThreadCode, serve};
use crate::world::{Choice, Memories, Shared, Wait, World};

/// Steps after which a run counts as livelocked.
pub const STEP_LIMIT: usize = 100_000;

/// Read marks in each ring: so few that they become full.
const RING_ENTRIES: u64 = 2;

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// A program under execution.
pub struct Run {
    /// The world; borrow it between steps only.
    pub world: Shared,
    /// The protocol of each process.
    pub protocols: Vec<Rc<Coherence<ModelFabric>>>,
    tasks: Vec<Option<Task>>,
    prompt: bool,
    quiesce: bool,
    /// Steps taken.
    pub steps: usize,
}

impl Run {
    /// A program before its first step.
    pub fn new(program: &Rc<Program>, trace: bool) -> Self {
        let threads = program.processes * program.threads;
        let Program { processes, ref sizes, ref resized, first, stride, home_run, notices, .. } = **program;
        let layout = Layout::new(processes, sizes, resized, (first, stride), home_run, notices)
            .with_rings(if program.one_sided { RING_ENTRIES } else { 0 });
        let mut sync = SyncState::new(program.processes, threads, program.locks);
        for op in program.ops.iter().flatten() {
            if let Op::Await(signal) = op {
                sync.hold(*signal);
            }
        }
        let oracle = Oracle::new(threads, &program.roles);
        let mut world = World::new(layout, program, sync, oracle);
        world.trace = trace.then(Vec::new);
        let world: Shared = Rc::new(RefCell::new(world));
        let protocols: Vec<_> = (0..program.processes)
            .map(|p| Rc::new(Coherence::new(ModelFabric::new(&world, p, program), program.notices)))
            .collect();
        if program.watch {
            // As the runtime does it with what every process begins with.
            for (p, protocol) in protocols.iter().enumerate() {
                world.borrow_mut().current = p * program.threads;
                protocol.watch(Self::homes(&world, p));
            }
            world.borrow_mut().current = 0;
        }
        let tasks = (0..threads).map(|thread| {
            let code = ThreadCode {
                world: world.clone(),
                protocol: protocols[thread / program.threads].clone(),
                program: program.clone(),
                thread,
            };
            Some(Box::pin(code.run()) as Task)
        });
        let servers = (threads..world.borrow().threads.len())
            .map(|thread| Some(Box::pin(serve(world.clone(), protocols[thread - threads].clone())) as Task));
        let tasks = tasks.chain(servers).collect();
        Run {
            world,
            protocols,
            tasks,
            prompt: program.memory == Memory::Prompt,
            quiesce: program.quiesce,
            steps: 0,
        }
    }

    /// Blocks whose default home is a process.
    fn homes(world: &Shared, process: usize) -> impl Iterator<Item = Extent> {
        let w = world.borrow();
        let homes = w.layout.division(0).iter().filter(|index| w.default_home(**index) == process);
        homes.map(|index| Extent::single(w.layout.block(*index))).collect::<Vec<_>>().into_iter()
    }

    /// What may happen next.
    pub fn choices(&self, out: &mut Vec<Choice>) {
        let w = self.world.borrow();
        w.choices(out);
        if self.prompt {
            // First all stores of a step become visible, then its thread goes on.
            let pending = |t: usize| !w.threads[t].buffer.is_empty();
            let runs = out.iter().take_while(|c| matches!(c, Choice::Run(_))).count();
            for at in (runs..out.len()).rev() {
                if let Choice::Drain(t) = out[at]
                    && let Some(run) = out[..runs].iter().position(|c| *c == Choice::Run(t))
                {
                    out.swap(run, at);
                    out.remove(at);
                }
            }
            debug_assert!(!out.iter().any(|c| matches!(c, Choice::Run(t) if pending(*t))));
        }
    }

    /// Does one thing.
    pub fn step(&mut self, choice: Choice) {
        self.steps += 1;
        {
            let mut w = self.world.borrow_mut();
            w.visible = false;
            w.touched = false;
            w.accesses.clear();
        }
        let thread = match choice {
            Choice::Run(thread) => thread,
            Choice::Drain(thread) if self.prompt => {
                let mut w = self.world.borrow_mut();
                w.visible = true;
                return w.drain(thread, true);
            }
            _ => return self.world.borrow_mut().memory_step(choice),
        };
        {
            let mut w = self.world.borrow_mut();
            w.current = thread;
            let checked = matches!(w.memories, Memories::Checked(_));
            let process = w.threads[thread].process;
            w.begin_step(if checked { self.protocols[process].digest::<Digest>() } else { 0 });
        }
        let task = self.tasks[thread].as_mut().expect("a thread that has not ended");
        let mut context = Context::from_waker(Waker::noop());
        match catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(&mut context).is_ready())) {
            Ok(false) => {}
            Ok(true) => {
                self.tasks[thread] = None;
                self.world.borrow_mut().threads[thread].wait = Wait::Done;
            }
            Err(payload) => {
                let why = payload
                    .downcast_ref::<String>()
                    .cloned()
                    .or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_string()))
                    .unwrap_or_else(|| "panic".to_string());
                self.world.borrow_mut().fail(format!("assertion: {why}"));
            }
        }
    }

    /// Whether the run is over: failed, or nothing can happen any more. Does the final checks.
    pub fn finished(&self, choices: &[Choice]) -> bool {
        if self.world.borrow().failure.is_some() {
            return true;
        }
        if self.steps > STEP_LIMIT {
            self.world.borrow_mut().fail(format!("livelock: no end after {STEP_LIMIT} steps"));
            return true;
        }
        if !choices.is_empty() {
            return false;
        }
        let failures = check::all(&self.world.borrow(), &self.protocols, self.quiesce);
        if let Some(why) = failures.into_iter().next() {
            self.world.borrow_mut().fail(why);
        }
        true
    }

    /// What went wrong.
    pub fn failure(&self) -> Option<String> {
        self.world.borrow().failure.clone()
    }

    /// Digest of the whole state, threads' local variables included through their histories.
    pub fn digest(&self) -> u64 {
        let mut d = Digest::default();
        let w = self.world.borrow();
        w.digest(&mut d);
        for p in &self.protocols {
            d.add(p.digest::<Digest>());
        }
        d.value()
    }
}
