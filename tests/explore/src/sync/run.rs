//! One run of a program: threads as futures, polled in the order of a schedule.

use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use dsm_sync::{LINE, Process, REPLY_BYTES, State, Words, serve};

use super::model::Model;
use super::program::{Op, Program};
use super::world::{Job, Shared, Thread, World, join};
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
            program.fault,
        );
        world.trace = traced.then(Vec::new);
        let world: Shared = Rc::new(RefCell::new(world));
        let processes: Vec<Rc<State>> = (0..program.processes).map(|_| Rc::default()).collect();
        let task = |(rank, ops): &(u32, Vec<Op>)| {
            let ops = ops.clone();
            Some(thread(&world, &processes, *rank, move |process| perform(process, ops)))
        };
        let tasks: Vec<_> = program.threads.iter().map(task).collect();
        let serves = vec![None; tasks.len()];
        Run { world, processes, tasks, serves, steps: 0 }
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
        let waits = self.tasks.iter().any(Option::is_some).then(|| "all threads wait".to_string());
        world.failure.clone().or(waits).or_else(|| check_table(&world))
    }
}

/// At the end every name has one slot at most, and every lock is free.
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
        if next != serving {
            return Some(format!("the lock in slot {slot} is not free: {next} tickets, turn {serving}"));
        }
    }
    None
}

/// A thread performs operations.
fn perform(process: Process<'_, Model<'_>>, ops: Vec<Op>) {
    let (mut barriers, mut regions) = (0, 0);
    for op in ops {
        process.words.world.borrow_mut().note(|| format!("---- {op:?}"));
        match op {
            Op::Critical(name) => critical(process, name),
            Op::TryCritical(name) => {
                if process.try_lock(name) {
                    held(process, name);
                }
            }
            Op::Nested(outer, inner) => {
                process.lock(outer);
                enter(process, outer);
                critical(process, inner);
                held_again(process, outer);
            }
            Op::End(name) => {
                process.words.world.borrow_mut().ended.insert(name);
                process.end_lock(name);
            }
            Op::Barrier => {
                let all = process.words.world.borrow().processes;
                barrier(process, ("barrier", barriers), all);
                barriers += 1;
            }
            Op::Region(participants, count) => {
                region(process, regions, participants, count);
                regions += 1;
            }
            Op::EndJob => process.end_job(),
            Op::Serve => take_part(process),
            Op::Await(name) => await_condition(process, name),
            Op::Notify(name) => {
                process.lock(name + 8);
                enter(process, name + 8);
                process.words.world.borrow_mut().gathered.insert(("condition", name), Default::default());
                leave(process, name + 8);
                process.unlock(name + 8);
                process.condition_notify(name);
            }
        }
    }
}

/// The thread has the lock: nobody else has, and its process knows all that the last holder knew.
fn enter(process: Process<'_, Model<'_>>, name: u64) {
    let (rank, world) = (process.words.rank, &mut *process.words.world.borrow_mut());
    let (is_held, clock) = world.locks.remove(&name).unwrap_or_default();
    if is_held {
        world.fail(format!("two threads hold lock {name}"));
    }
    // A variable in the place of one that has ended knows nothing of that.
    if !world.ended.contains(&name) {
        world.expect(rank, &clock, || format!("of the last holder of lock {name}"));
    }
    world.locks.insert(name, (true, clock));
}

/// The thread is about to give the lock back.
fn leave(process: Process<'_, Model<'_>>, name: u64) {
    let (rank, world) = (process.words.rank, &mut *process.words.world.borrow_mut());
    let clock = world.write_data(rank);
    world.locks.insert(name, (false, clock));
}

fn critical(process: Process<'_, Model<'_>>, name: u64) {
    process.lock(name);
    held(process, name);
}

fn held(process: Process<'_, Model<'_>>, name: u64) {
    enter(process, name);
    held_again(process, name);
}

fn held_again(process: Process<'_, Model<'_>>, name: u64) {
    process.words.pause();
    leave(process, name);
    process.unlock(name);
}

/// A process comes to something with others.
fn come(process: Process<'_, Model<'_>>, what: (&'static str, u64)) {
    let (rank, world) = (process.words.rank, &mut *process.words.world.borrow_mut());
    let clock = world.write_data(rank);
    let gathered = world.gathered.entry(what).or_default();
    gathered.clock.resize(clock.len(), 0);
    gathered.come.push(rank);
    join(&mut gathered.clock, &clock);
}

/// It goes on: the ranks from `first` on, so many in all, have come, and it knows what these knew.
fn go_on(process: Process<'_, Model<'_>>, what: (&'static str, u64), count: u32) {
    let (rank, world) = (process.words.rank, &mut *process.words.world.borrow_mut());
    let gathered = world.gathered.get(&what).cloned().unwrap_or_default();
    if gathered.come.len() != count as usize {
        world.fail(format!("process {rank} goes on from {what:?}, where {:?} have come", gathered.come));
    }
    world.expect(rank, &gathered.clock, || format!("of those who came to {what:?}"));
}

fn barrier(process: Process<'_, Model<'_>>, what: (&'static str, u64), participants: u32) {
    come(process, what);
    process.barrier(participants);
    go_on(process, what, participants);
}

/// Barriers of a region.
fn work(process: Process<'_, Model<'_>>, number: u64, participants: u32, barriers: u32) {
    for i in 0..u64::from(barriers) {
        if participants > 1 {
            barrier(process, ("barrier of a region", number << 8 | i), participants);
        }
    }
}

/// The message of a region: words that tell of each other.
fn message(number: u64, participants: u32, barriers: u32) -> Vec<u64> {
    let head = [number, participants.into(), barriers.into()];
    head.into_iter().chain((0..number % 4).map(|i| number << 8 | i)).collect()
}

fn region(process: Process<'_, Model<'_>>, number: u64, participants: u32, barriers: u32) {
    come(process, ("fork", number));
    process.fork(&message(number, participants, barriers), participants);
    work(process, number, participants, barriers);
    process.join(participants);
    go_on(process, ("join", number), participants - 1);
}

fn take_part(process: Process<'_, Model<'_>>) {
    let (mut words, mut last) = (Vec::new(), None);
    while process.wait_fork(&mut words).is_some() {
        let number = words[0];
        let [participants, barriers] = [1, 2].map(|i| words.get(i).map_or(0, |word| *word as u32));
        {
            let rank = process.words.rank;
            let mut world = process.words.world.borrow_mut();
            if words != message(number, participants, barriers) || rank >= participants {
                world.fail(format!("process {rank} gets the message {words:x?}"));
            }
            if last.is_some_and(|last| last >= number) {
                world.fail(format!("process {rank} gets region {number} behind {last:?}"));
            }
        }
        last = Some(number);
        go_on(process, ("fork", number), 1);
        work(process, number, participants, barriers);
        come(process, ("join", number));
        process.join(participants);
    }
}

fn await_condition(process: Process<'_, Model<'_>>, name: u64) {
    loop {
        process.lock(name + 8);
        enter(process, name + 8);
        let seen = process.condition_count(name);
        let is_there = process.words.world.borrow().gathered.contains_key(&("condition", name));
        leave(process, name + 8);
        process.unlock(name + 8);
        if is_there {
            return;
        }
        process.condition_wait(name, seen);
    }
}
