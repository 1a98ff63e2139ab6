//! Tasks go from one process to another when a process without tasks asks for them.
//!
//! A process with a thread that waits without tasks, the *thief*, requests some: that thread raises a flag ([`Wish`]), and a word of each other process counts the
//! thieves. Whoever has tasks to spare sees there that somebody wants some and serves them (private deques: Acar, Charguéraud, Rainey): it claims the flag, releases, so
//! that what the tasks will read is published, and writes a message into the thief's mailbox. The thief acquires from it, runs the tasks, and when they and all their
//! descendants have ended, releases and *reports*: it writes a word of the victim, a *slot* that the message named, and the victim acquires from it and completes the tasks.
//!
//! What tasks there are, which of them may go, and how a message tells of them is the business of a [`Worker`].
//!
//! - [`Process::help`]: a waiting thread's loop; [`steal`] the requests and the mailbox, [`report`] the slots, [`barrier`] the end of all tasks at a barrier.

mod barrier;
mod report;
mod steal;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::words::{Cell, LINE, Memory, Words};
use crate::{Fault, Process};

/// What a process asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wish {
    /// Any task.
    Any,
    /// Descendants of batches whose slots are open, see [`Process::set_open`].
    Descendants,
}

impl Wish {
    const NONE: u64 = 0;

    fn encode(self) -> u64 {
        match self {
            Wish::Any => 1,
            Wish::Descendants => 2,
        }
    }

    fn decode(word: u64) -> Option<Wish> {
        [Wish::Any, Wish::Descendants].into_iter().find(|wish| wish.encode() == word)
    }

    /// As a word, for tasks of the region that a fork message with this number began.
    fn of_region(self, region: u32) -> u64 {
        u64::from(region) << 32 | self.encode()
    }

    /// What such a word asks for; `None` if for nothing, or for tasks of another region.
    fn in_region(word: u64, region: u32) -> Option<Wish> {
        Wish::decode(word ^ u64::from(region) << 32)
    }
}

/// A thread that waits and runs tasks meanwhile.
pub trait Worker {
    /// Tasks that came from another process.
    type Batch;
    /// A task of the process.
    type Task;

    /// What the process may ask for on behalf of this thread; `None` if nothing elsewhere may be run here.
    fn wish(&self) -> Option<Wish>;
    /// Takes over a batch, whose words `word` reads: those that [`Process::hand_over`] got. Its tasks count as the process's own from here on. What they read is not there yet.
    fn adopt(&self, word: impl Fn(usize) -> u64) -> Self::Batch;
    /// Runs a task of the batch, and queues the others.
    fn run_batch(&self, batch: Self::Batch);
    /// Completes what was [`reported`](Process::reported); whether there was any.
    fn complete_reported(&self) -> bool;
    /// Gives tasks that the process has to spare to those who ask: [`Process::serve`].
    fn serve(&self);
    /// A task that the thread may run.
    fn take(&self) -> Option<Self::Task>;
    /// Runs it.
    fn run(&self, task: Self::Task);
    /// Looks for a moment whether there is a task or `done` holds; false if neither came, or where the thread should not look. Nobody is told meanwhile that it waits.
    fn linger(&self, _done: impl Fn() -> bool) -> bool {
        false
    }
    /// `wait` waits for news of tasks.
    fn rest(&self, wait: impl FnOnce());
    /// Lets others go on for whom the thread has to look again.
    fn pause(&self);
}

/// What a process remembers of its tasks.
#[derive(Debug)]
pub(crate) struct TaskState {
    /// Threads that are about to sleep for want of tasks.
    waiters: AtomicU32,
    /// Whether a thread has a request.
    requested: AtomicBool,
}

impl TaskState {
    pub(crate) const fn new() -> TaskState {
        TaskState { waiters: AtomicU32::new(0), requested: AtomicBool::new(false) }
    }
}

impl<W: Words> Process<'_, W> {
    /// What threads of a process wait on when they have no task.
    #[inline(always)]
    fn task_cell(self, rank: u32) -> Cell<W::Line> {
        Cell::first(self.words.line(rank, W::LAYOUT.tasks.cell))
    }

    /// What the service thread of a process waits on.
    #[inline(always)]
    fn service_cell(self, rank: u32) -> Cell<W::Line> {
        Cell::first(self.words.line(rank, W::LAYOUT.tasks.service))
    }

    /// Wakes threads of this process that wait for tasks or for the end of some. To be called behind what they wait for.
    #[inline]
    pub fn notify_workers(self) {
        if self.state.tasks.waiters.load(Ordering::SeqCst) > 0 {
            self.words.add_and_wake(self.task_cell(self.words.rank()), 1);
        }
    }

    /// Calls the service threads of all other processes of the team: their threads may all be in user code. One that starts later answers then.
    fn call_services(self, participants: u32) {
        let others = (0..participants).filter(|rank| *rank != self.words.rank());
        others.for_each(|rank| {
            self.words.add_and_wake(self.service_cell(rank), 1);
        });
    }

    /// A service thread waits for the next call; returns the number of calls so far, of which it had `seen` so many. It then does what a worker does, except running tasks:
    /// [`Worker::complete_reported`] and [`Worker::serve`].
    pub fn next_call(self, seen: u32) -> u32 {
        self.words.sleep(self.service_cell(self.words.rank()), |now| now != seen)
    }
}

impl<W: Words + Memory> Process<'_, W> {
    /// Runs tasks until `done`. Whoever makes it so notifies the workers.
    pub fn help<T: Worker>(self, worker: &T, participants: u32, done: impl Fn() -> bool) {
        let (mut requested, mut has_lingered) = (false, false);
        while !done() {
            if self.step(worker, participants, &mut requested) {
                has_lingered = false;
                continue;
            }
            // Once: there may be tasks that this thread must not run.
            if !std::mem::replace(&mut has_lingered, true) && worker.linger(&done) {
                continue;
            }
            self.state.tasks.waiters.fetch_add(1, Ordering::SeqCst);
            requested = requested || (participants > 1 && self.request(worker, participants));
            let cell = self.task_cell(self.words.rank());
            let seen = self.words.load_half(cell.line, cell.value);
            if !done() && !self.step(worker, participants, &mut requested) {
                let seen = match self.words.fault(Fault::NewsMissed) {
                    true => self.words.load_half(cell.line, cell.value),
                    false => seen,
                };
                worker.rest(|| self.wait_for_news(cell, seen, requested, participants));
            }
            self.state.tasks.waiters.fetch_sub(1, Ordering::SeqCst);
            has_lingered = false;
        }
        if requested {
            self.end_request(worker, participants);
        }
    }

    /// Waits for another value of the process's task cell than `seen`. `requested`: as for [`Process::step`].
    fn wait_for_news(self, cell: Cell<W::Line>, seen: u32, requested: bool, participants: u32) {
        let changed = |now| now != seen;
        if self.words.spin(cell, changed).is_none() {
            if requested && !self.words.fault(Fault::ServiceUncalled) {
                self.call_services(participants);
            }
            self.words.sleep(cell, changed);
        }
    }

    /// Does something about tasks; false if there is nothing to do. `requested`: the thread has requested tasks of other processes.
    fn step<T: Worker>(self, worker: &T, participants: u32, requested: &mut bool) -> bool {
        if *requested && self.receive(worker) {
            *requested = false;
            return true;
        }
        if worker.complete_reported() {
            return true;
        }
        worker.serve();
        let Some(task) = worker.take() else { return false };
        if std::mem::take(requested) {
            self.end_request(worker, participants);
        }
        worker.run(task);
        true
    }
}

impl<W: Words> Process<'_, W> {
    /// Line and byte of a word of a process.
    #[inline(always)]
    fn word_at(self, rank: u32, offset: usize) -> (W::Line, usize) {
        (self.words.line(rank, offset / LINE * LINE), offset % LINE)
    }
}
