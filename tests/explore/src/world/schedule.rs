//! What may happen next, and threads that wait for it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use dsm_coherence::fabric::is_open;

use super::{Act, Memories, Shared, Thing, World};
use crate::hash::Digest;
use crate::layout::Loc;

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Nothing: it can go on.
    Ready,
    /// A cell of a process differs from a value.
    Differs(usize, Loc, u64),
    /// A cell of a process is even, or says that records are open.
    EvenOrOpen(usize, Loc),
    /// A cell of a process has a value.
    Equals(usize, Loc, u64),
    /// Everything that the first process posted to the second one is placed.
    Placed(usize, usize),
    /// The model's lock is free.
    LockFree(usize),
    /// The process barrier number has been reached by so many arrivals.
    Arrived(usize, u32),
    /// The dissemination signal of (barrier, round, process) is there.
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

impl World {
    /// Whether what a thread waits for is there.
    pub fn satisfied(&self, wait: Wait) -> bool {
        match wait {
            Wait::Ready => true,
            Wait::Done => false,
            Wait::Differs(p, loc, seen) => self.processes[p].cells[loc as usize] != seen,
            Wait::EvenOrOpen(p, loc) => {
                let value = self.processes[p].cells[loc as usize];
                value.is_multiple_of(2) || is_open(value)
            }
            Wait::Equals(p, loc, value) => self.processes[p].cells[loc as usize] == value,
            Wait::Placed(from, to) => !self.posts.iter().any(|post| post.from == from && post.to == to),
            Wait::LockFree(lock) => self.sync.lock_free(lock),
            Wait::Arrived(number, count) => self.sync.arrived(number) >= count,
            Wait::Signal(number, round, process) => self.sync.signalled(number, round, process).is_some(),
            Wait::LocalBarrier(process, generation) => self.sync.local_generation(process) > generation,
            Wait::Flagged(count) => self.sync.flags > count,
            Wait::Closing => self.closing(),
        }
    }

    /// Everything that may happen next; the running thread first, then the others, then memory. In one order in the barriers at the end.
    pub fn choices(&self, out: &mut Vec<Choice>) {
        out.clear();
        let closing = self.closing();
        let count = self.threads.len();
        // Which thread came last is no difference between orders of dependent steps: the barriers at the end must not depend on it.
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
            // Stores become visible first.
            out.rotate_left(running);
        }
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
                let Some(value) = post.value else { return self.sample(post) };
                self.note_loc(post.loc, |name| {
                    format!("(memory) posted write {} -> {}: {name} = {value:#x}", post.from, post.to)
                });
                self.write(post.to, post.loc, value);
            }
        }
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
                let quiet = !world.visible && !world.touched && world.threads[current].buffer.is_empty();
                if world.prompt && quiet && wait == Wait::Ready {
                    // What comes next is the first that this step does, for all that others can tell.
                    return Poll::Ready(());
                }
                if matches!(world.memories, Memories::Checked(_)) {
                    let mut d = Digest::default();
                    d.add_debug(&wait);
                    world.acts(Act::Wait, 0, 0, d.value());
                }
                world.threads[current].wait = wait;
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }
}
