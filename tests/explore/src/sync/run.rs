//! One run of a program: threads as futures, polled in the order of a schedule.

use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use dsm_sync::{LINE, Process, REPLY_BYTES, State, Words, serve};

use super::model::Model;
use super::perform::perform;
use super::program::{Op, Program};
use super::tasks::Pool;
use super::world::{Job, Shared, Thread, World};
use crate::coroutine;
use crate::preemption::Schedulable;

/// Steps after which a run is taken for endless.
const MOST_STEPS: u64 = 20_000;

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// A thread of a process.
fn thread(
    world: &Shared,
    processes: &[Rc<State>],
    rank: u32,
    body: impl FnOnce(Process<'_, Model<'_>>) + 'static,
) -> Task {
    let (world, state) = (world.clone(), processes[rank as usize].clone());
    Box::pin(coroutine::run(move |blocking| {
        body(Process::new(&state, &Model { world, rank, blocking }));
    }))
}

/// Something the schedule may do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A thread takes a step.
    Run(usize),
    /// The oldest post of a thread becomes visible.
    Place(usize),
}

/// A run.
pub struct Run {
    world: Shared,
    processes: Vec<Rc<State>>,
    tasks: Vec<Option<Task>>,
    /// For each thread whether it need not end.
    daemons: Vec<bool>,
    /// For each thread that serves a request, whose post that was.
    serves: Vec<Option<usize>>,
    steps: u64,
}

impl Run {
    /// Begins a run.
    pub fn new(program: &Program, traced: bool) -> Run {
        let mut world = World::new(
            program.processes,
            program.threads.len(),
            (program.asks, program.is_traced),
            program.caches_after,
            program.fault,
        );
        world.trace = traced.then(Vec::new);
        let daemons: Vec<bool> =
            program.threads.iter().map(|(_, ops)| ops.contains(&Op::ServeCalls)).collect();
        world.tasks.pools = vec![Pool::default(); program.processes as usize];
        world.tasks.threads = vec![0; program.processes as usize];
        for ((rank, _), _) in program.threads.iter().zip(&daemons).filter(|(_, daemon)| !**daemon) {
            world.tasks.threads[*rank as usize] += 1;
        }
        let world: Shared = Rc::new(RefCell::new(world));
        let processes: Vec<Rc<State>> = (0..program.processes).map(|_| Rc::default()).collect();
        let task = |(rank, ops): &(u32, Vec<Op>)| {
            let ops = ops.clone();
            Some(thread(&world, &processes, *rank, move |process| perform(process, ops)))
        };
        let tasks: Vec<_> = program.threads.iter().map(task).collect();
        let serves = vec![None; tasks.len()];
        Run { world, processes, tasks, daemons, serves, steps: 0 }
    }

    fn poll(&mut self, thread: usize) {
        self.world.borrow_mut().current = thread;
        let task = self.tasks[thread].as_mut().expect("a thread that has not ended");
        let mut context = Context::from_waker(Waker::noop());
        let polled = catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(&mut context)));
        let mut world = self.world.borrow_mut();
        match polled {
            Ok(Poll::Pending) => return,
            Ok(Poll::Ready(())) => {}
            Err(_) if world.is_full => {}
            Err(_) => world.fail("an assertion failed".into()),
        }
        self.tasks[thread] = None;
        if let Some(poster) = self.serves[thread] {
            world.threads[poster].posts.pop_front();
        }
    }

    fn begin(&mut self, rank: u32, job: Job) {
        let mut serves = None;
        let task = match job {
            Job::PassTurn(slot, ticket) => {
                thread(&self.world, &self.processes, rank, move |process| process.pass_turn(slot, ticket))
            }
            Job::GiveUp => thread(&self.world, &self.processes, rank, |process| process.give_up_revoked()),
            Job::Serve(request, poster) => {
                serves = Some(poster);
                thread(&self.world, &self.processes, rank, move |process| {
                    let mut reply = [0; REPLY_BYTES];
                    serve(process, &request, &mut reply).expect("a request of the protocol");
                })
            }
        };
        self.world.borrow_mut().threads.push(Thread::default());
        self.tasks.push(Some(task));
        self.daemons.push(false);
        self.serves.push(serves);
    }

    /// Whether the run says nothing, as the table of locks was full.
    pub fn is_void(&self) -> bool {
        self.world.borrow().is_full
    }

    /// What happened, of a traced run.
    pub fn trace(&self) -> Vec<String> {
        self.world.borrow().trace.clone().unwrap_or_default()
    }
}

impl Schedulable for Run {
    type Choice = Choice;

    fn choices(&self) -> Vec<Choice> {
        let world = self.world.borrow();
        let all = 0..self.tasks.len();
        let run = all.clone().filter(|t| self.tasks[*t].is_some() && world.can_run(*t)).map(Choice::Run);
        let place = all.filter(|t| world.can_place(*t)).map(Choice::Place);
        run.chain(place).collect()
    }

    /// What was posted becomes visible at once, and a thread goes on as long as it can.
    fn preferred(choices: &[Choice], last: Option<Choice>) -> Option<usize> {
        let place = choices.iter().position(|choice| matches!(choice, Choice::Place(_)));
        place.or_else(|| last.and_then(|last| choices.iter().position(|choice| *choice == last)))
    }

    fn step(&mut self, choice: Choice) {
        self.steps += 1;
        match choice {
            Choice::Place(thread) => self.world.borrow_mut().place(thread),
            Choice::Run(thread) => self.poll(thread),
        }
        let beginning = std::mem::take(&mut self.world.borrow_mut().beginning);
        beginning.into_iter().for_each(|(rank, job)| self.begin(rank, job));
        if self.steps > MOST_STEPS {
            self.world.borrow_mut().fail("there is no end".into());
        }
    }

    fn is_over(&self) -> bool {
        let world = self.world.borrow();
        world.failure.is_some() || world.is_full || self.choices().is_empty()
    }

    fn verdict(&mut self) -> Option<String> {
        let world = self.world.borrow();
        if world.is_full {
            return None;
        }
        let waits = self.tasks.iter().zip(&self.daemons).any(|(task, daemon)| task.is_some() && !daemon);
        let waits = waits.then(|| "all threads wait".to_string());
        world.failure.clone().or(waits).or_else(|| check_table(&world))
    }
}

/// A run whose schedules are told apart by all choices: threads have a fixed order, and not to run the first one that can is a departure too. For
/// programs of more than two threads, which wait often.
pub struct Ordered(pub Run);

impl Schedulable for Ordered {
    type Choice = Choice;

    fn choices(&self) -> Vec<Choice> {
        self.0.choices()
    }

    fn preferred(choices: &[Choice], last: Option<Choice>) -> Option<usize> {
        Run::preferred(choices, last).or((!choices.is_empty()).then_some(0))
    }

    fn step(&mut self, choice: Choice) {
        self.0.step(choice);
    }

    fn is_over(&self) -> bool {
        self.0.is_over()
    }

    fn verdict(&mut self) -> Option<String> {
        self.0.verdict()
    }
}

/// At the end every name has one slot at most, and every lock is free, or cached by a process whose threads may take it.
fn check_table(world: &World) -> Option<String> {
    let half = |slot: usize, at: usize| world.visible((0, (Model::LAYOUT.locks + slot * LINE + at) / 4));
    let mut names = Vec::new();
    for slot in 0..Model::LAYOUT.lock_slots {
        let name = half(slot, 0);
        if name != 0 && names.contains(&name) {
            return Some(format!("lock {name} has two slots"));
        }
        names.push(name);
        let [next, serving] = [half(slot, 8), half(slot, 12)];
        if next.wrapping_sub(serving) != u32::from(is_cached(world, name, half(slot, 16))) {
            return Some(format!("the lock in slot {slot} is not free: {next} tickets, turn {serving}"));
        }
    }
    None
}

/// Whether the word of the process that the last holder of a lock names says that it caches the lock, that nobody holds it and that it is not revoked.
fn is_cached(world: &World, name: u32, last: u32) -> bool {
    let Some(process) = (last & !(1 << 31)).checked_sub(1).filter(|process| *process < world.processes)
    else {
        return false;
    };
    let entry = |number: usize, at: usize| {
        world.visible((process, (Model::LAYOUT.lock_cached + 32 * number + at) / 4))
    };
    let number = (0..Model::LAYOUT.lock_slots).find(|number| entry(*number, 0) == name);
    number.is_some_and(|number| last >> 31 != 0 && entry(number, 8) & 0b1111 == 1)
}
