//! One run of a program: threads as futures, polled in the order of a schedule.

use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use dsm_arrays::{Array, Arrays, Header, Place, Rank, table};

use super::oracle::{self, Event};
use super::program::{Op, Program};
use super::world::{Areas, Shared, World};
use crate::preemption::Schedulable;

/// Steps after which a run is taken for endless.
const MOST_STEPS: u64 = 20_000;

type Thread = Pin<Box<dyn Future<Output = ()>>>;

/// A run.
pub struct Run {
    world: Shared,
    array: Array,
    processes: u32,
    threads: Vec<Option<Thread>>,
    events: Rc<RefCell<Vec<Event>>>,
    clock: Rc<RefCell<u64>>,
    failure: Option<String>,
}

impl Run {
    /// Begins a run; what the program does before is done.
    pub fn new(program: &Program, traced: bool) -> Run {
        let array = Array::of((0, 1), program.elements, 8, 16, program.processes, table::BYTES)
            .expect("a small array fits");
        // One more, for what is done before and after.
        let threads = program.threads.len() + 1;
        let switches = (program.asks, program.caches);
        let mut world = World::new(program.processes, threads, switches, program.fault, &array);
        world.trace = traced.then(Vec::new);
        let mut run = Run {
            world: Rc::new(RefCell::new(world)),
            array,
            processes: program.processes,
            threads: Vec::new(),
            events: Rc::default(),
            clock: Rc::default(),
            failure: None,
        };
        for (i, (rank, op)) in program.beginning.iter().enumerate() {
            run.run_alone(*rank, vec![*op], 1 << 32 | i as u64);
        }
        for (number, (rank, ops)) in program.threads.iter().enumerate() {
            let thread = run.thread(*rank, ops.clone(), number as u64 + 1);
            run.threads.push(Some(thread));
        }
        run
    }

    fn thread(&self, rank: u32, ops: Vec<Op>, number: u64) -> Thread {
        let arrays = Arrays { memory: Areas { world: self.world.clone(), rank: Rank(rank) } };
        let (array, events, clock) = (self.array, self.events.clone(), self.clock.clone());
        Box::pin(async move {
            for (i, op) in ops.into_iter().enumerate() {
                let now = || {
                    *clock.borrow_mut() += 1;
                    *clock.borrow()
                };
                let begin = now();
                arrays.memory.world.borrow_mut().note(|| format!("{op:?}"));
                let (index, values, is_put) =
                    perform(&arrays, &array, op, (number << 8) + i as u64 + 1).await;
                let end = now();
                for (element, value) in (index..).zip(values) {
                    events.borrow_mut().push(Event { element, value, is_put, begin, end });
                }
            }
        })
    }

    /// Runs operations while nothing else runs.
    fn run_alone(&mut self, rank: u32, ops: Vec<Op>, number: u64) {
        let place = self.world.borrow().threads.len() - 1;
        let mut thread = Some(self.thread(rank, ops, number));
        while thread.is_some() && self.failure.is_none() {
            self.poll(place, &mut thread);
        }
    }

    fn poll(&mut self, number: usize, thread: &mut Option<Thread>) {
        *self.clock.borrow_mut() += 1;
        if !self.world.borrow().can_run(number) {
            self.failure = Some("a thread that is alone waits".into());
            return;
        }
        self.world.borrow_mut().current = number;
        let future = thread.as_mut().expect("a thread that has not ended");
        let mut context = Context::from_waker(Waker::noop());
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context))) {
            Ok(Poll::Ready(())) => *thread = None,
            Ok(Poll::Pending) => {}
            Err(_) => self.failure = Some("an assertion of the protocol failed".into()),
        }
        if *self.clock.borrow() > MOST_STEPS {
            self.failure = Some("there is no end".into());
        }
    }

    /// Each page is where its entry says, and nowhere else, and rests.
    fn check_pages(&self) -> Result<(), String> {
        let world = self.world.borrow();
        for page in 0..self.array.pages {
            let (directory, offset) = self.array.entry(page, self.processes);
            let place = Place::decode(world.word(directory, offset));
            for rank in (0..self.processes).map(Rank) {
                let header = Header(world.word(rank, self.array.header(page)));
                let version = place.filter(|place| place.at == rank).map(|place| place.version);
                if header != version.map_or(Header::ABSENT, Header::open) {
                    return Err(format!(
                        "page {page} at {}: {header:x?}, though its place is {place:?}",
                        rank.0
                    ));
                }
            }
        }
        Ok(())
    }

    /// What happened, of a traced run.
    pub fn trace(&self) -> Vec<String> {
        self.world.borrow().trace.clone().unwrap_or_default()
    }
}

impl Schedulable for Run {
    /// The thread that takes a step.
    type Choice = usize;

    fn choices(&self) -> Vec<usize> {
        let world = self.world.borrow();
        (0..self.threads.len()).filter(|t| self.threads[*t].is_some() && world.can_run(*t)).collect()
    }

    fn step(&mut self, thread: usize) {
        let mut taken = self.threads[thread].take();
        self.poll(thread, &mut taken);
        self.threads[thread] = taken;
    }

    fn is_over(&self) -> bool {
        self.failure.is_some() || self.choices().is_empty()
    }

    fn verdict(&mut self) -> Option<String> {
        if self.failure.is_none() && self.threads.iter().any(Option::is_some) {
            self.failure = Some("all threads wait".into());
        }
        for rank in 0..self.processes {
            let all = Op::Get(0, self.array.count);
            self.run_alone(rank, vec![all], 1 << 33);
        }
        let failure = self.failure.clone();
        failure.or_else(|| oracle::judge(&self.events.borrow()).and_then(|()| self.check_pages()).err())
    }
}

/// Performs an operation; the elements and values that it got or put.
async fn perform(arrays: &Arrays<Areas>, array: &Array, op: Op, value: u64) -> (u64, Vec<u64>, bool) {
    let there = "nobody destroys the array";
    match op {
        Op::Get(index, count) => {
            let buffer = Rc::new(RefCell::new(vec![0xff; 8 * count as usize]));
            arrays.get(array, index, count, &buffer).await.expect(there);
            let bytes = buffer.borrow();
            let values = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
            (index, values, false)
        }
        Op::Put(index, count) => {
            let bytes = value.to_le_bytes().repeat(count as usize);
            arrays.put(array, index, count, &Rc::new(RefCell::new(bytes))).await.expect(there);
            (index, vec![value; count as usize], true)
        }
        Op::Own(index, count) => {
            arrays.own(array, index, count).await.expect(there);
            (index, Vec::new(), false)
        }
    }
}
