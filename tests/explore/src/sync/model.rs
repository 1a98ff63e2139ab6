//! The words and the memory as one process sees them.

use std::fmt::Debug;
use std::panic::resume_unwind;

use dsm_coherence::ReleaseToken;
use dsm_sync::{ALL, Cell, Edge, Fault, LINE, Layout, Memory, Process, REPLY_BYTES, State, Waiting, Words};

use super::world::{Job, Line, Post, Shared, Wait, World, half, halves};
use crate::coroutine::{Blocking, Yield};

/// A thread of a process.
pub struct Model<'a> {
    /// The world.
    pub world: Shared,
    /// The process.
    pub rank: u32,
    /// What the thread waits by.
    pub blocking: &'a Blocking<'a>,
}

/// See [`Model::guard`].
pub struct Guard {
    world: Shared,
    what: (u32, &'static str),
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.world.borrow_mut().guarded.remove(&self.what);
    }
}

impl Model<'_> {
    /// Others may go on.
    pub fn pause(&self) {
        self.blocking.wait(Yield::default());
    }

    /// One step of the running thread.
    fn step<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        self.blocking.wait(Yield::default());
        act(&mut self.world.borrow_mut())
    }

    /// Waits.
    pub fn until(&self, wait: Wait) {
        {
            let mut world = self.world.borrow_mut();
            let current = world.current;
            world.threads[current].wait = wait;
        }
        self.blocking.wait(Yield::default());
        let mut world = self.world.borrow_mut();
        let current = world.current;
        world.threads[current].wait = Wait::Ready;
    }

    /// Keeps the process's other threads from something while the value lives.
    pub fn guard(&self, what: &'static str) -> Guard {
        self.until(Wait::Guard(self.rank, what));
        self.world.borrow_mut().guarded.insert((self.rank, what));
        Guard { world: self.world.clone(), what: (self.rank, what) }
    }

    /// The thread will look again at the same words: not before one of them has changed since it last did.
    pub fn step_aside(&self) {
        let (last, changes) = {
            let mut world = self.world.borrow_mut();
            let (current, changes) = (world.current, world.changes);
            (std::mem::replace(&mut world.threads[current].changes, changes), changes)
        };
        match last == changes {
            true => self.until(Wait::Change(changes)),
            false => self.pause(),
        }
    }

    fn wait_for(&self, what: &dyn Debug, cell: Cell<Line>, mask: u32, until: impl Fn(u32) -> bool) -> u32 {
        let place = World::value(cell);
        let mut value = self.step(|world| world.read(place));
        while !until(value) {
            // Who is about to sleep says so by an atomic operation, and looks again.
            value = self.atomic(|world| world.visible(place));
            if !until(value) {
                self.world.borrow_mut().note(|| format!("waits for {what:?} at {place:x?}, {value:#x}"));
                self.until(Wait::Wake(place, mask));
                value = self.world.borrow().visible(place);
            }
        }
        self.world.borrow_mut().note(|| format!("has waited for {what:?} at {place:x?}: {value:#x}"));
        value
    }

    /// A step behind all that the thread has posted.
    fn atomic<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        self.until(Wait::Visible);
        act(&mut self.world.borrow_mut())
    }

    fn update(&self, line: Line, at: usize, what: &str, change: impl FnOnce(u64) -> Option<u64>) -> u64 {
        self.atomic(|world| {
            let place = half(line, at);
            let high = (place.0, place.1 + 1);
            let old = u64::from(world.visible(place)) | u64::from(world.visible(high)) << 32;
            let new = change(old);
            world.note(|| format!("{what} {place:x?}: {old:#x} -> {new:x?}"));
            new.into_iter().for_each(|new| world.write(place, &halves(new)));
            old
        })
    }

    fn update_half(&self, line: Line, at: usize, what: &str, change: impl FnOnce(u32) -> u32) -> u32 {
        self.atomic(|world| {
            let place = half(line, at);
            let old = world.visible(place);
            let new = change(old);
            world.note(|| format!("{what} {place:x?}: {old:#x} -> {new:#x}"));
            world.write(place, &[new]);
            old
        })
    }
}

impl Words for Model<'_> {
    type Line = Line;

    const LAYOUT: Layout = Layout::packed(0, 16, 16, (4, 2, 2), 2, (8, 16), 4);

    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.world.borrow().processes
    }

    fn line(&self, at: u32, offset: usize) -> Line {
        assert!(offset.is_multiple_of(LINE), "a line");
        (at, offset)
    }

    fn load(&self, line: Line, at: usize) -> u64 {
        self.step(|world| {
            let place = half(line, at);
            let value = u64::from(world.read(place)) | u64::from(world.read((place.0, place.1 + 1))) << 32;
            world.note(|| format!("loads {place:x?}: {value:#x}"));
            value
        })
    }

    fn store(&self, line: Line, at: usize, value: u64) {
        self.update(line, at, "stores", |_| Some(value));
    }

    fn fetch_add(&self, line: Line, at: usize, value: u64) -> u64 {
        self.update(line, at, "adds", |old| Some(old.wrapping_add(value)))
    }

    fn fetch_or(&self, line: Line, at: usize, bits: u64) -> u64 {
        self.update(line, at, "sets", |old| Some(old | bits))
    }

    fn compare_exchange(&self, line: Line, at: usize, expected: u64, new: u64) -> u64 {
        self.update(line, at, "exchanges", |old| (old == expected).then_some(new))
    }

    fn load_half(&self, line: Line, at: usize) -> u32 {
        self.step(|world| {
            let place = half(line, at);
            let value = world.read(place);
            world.note(|| format!("loads {place:x?}: {value:#x}"));
            value
        })
    }

    fn store_half(&self, line: Line, at: usize, value: u32) {
        self.update_half(line, at, "stores", |_| value);
    }

    fn fetch_add_half(&self, line: Line, at: usize, value: u32) -> u32 {
        self.update_half(line, at, "adds", |old| old.wrapping_add(value))
    }

    fn read_words(&self, at: u32, offset: usize, into: &mut [u64]) {
        for (i, word) in into.iter_mut().enumerate() {
            *word = self.load((at, offset), 8 * i);
        }
    }

    fn write_words(&self, at: u32, offset: usize, words: &[u64]) {
        for (i, word) in words.iter().enumerate() {
            self.post((at, offset), 8 * i, *word);
        }
    }

    fn post(&self, line: Line, at: usize, value: u64) {
        self.world.borrow_mut().post(Post::Store(half(line, at), halves(value)));
    }

    fn post_half(&self, line: Line, at: usize, value: u32) {
        self.world.borrow_mut().post(Post::Store(half(line, at), vec![value]));
    }

    fn post_and_wake(&self, cell: Cell<Line>, value: u32, mask: u32) {
        self.world.borrow_mut().post(Post::Wake(World::value(cell), value, mask));
    }

    fn wait(&self, cell: Cell<Line>, mask: u32, waiting: Waiting, until: impl Fn(u32) -> bool) -> u32 {
        self.wait_for(&waiting, cell, mask, until)
    }

    fn spin(&self, cell: Cell<Line>, until: impl Fn(u32) -> bool) -> Option<u32> {
        Some(self.load_half(cell.line, cell.value)).filter(|value| until(*value))
    }

    fn sleep(&self, cell: Cell<Line>, until: impl Fn(u32) -> bool) -> u32 {
        self.wait_for(&"news of tasks", cell, ALL, until)
    }

    fn guard_mailbox(&self) -> impl Sized {
        self.guard("mailbox")
    }

    fn add_and_wake(&self, cell: Cell<Line>, value: u32) -> u32 {
        let old = self.update_half(cell.line, cell.value, "adds", |old| old.wrapping_add(value));
        self.wake(cell);
        old
    }

    fn store_and_wake(&self, cell: Cell<Line>, value: u32, mask: u32) {
        self.update_half(cell.line, cell.value, "stores", |_| value);
        self.step(|world| world.wake(World::value(cell), mask));
    }

    fn wake(&self, cell: Cell<Line>) {
        self.step(|world| world.wake(World::value(cell), ALL));
    }

    fn asks(&self, at: u32) -> bool {
        at != self.rank && self.world.borrow().asks
    }

    fn ask(&self, at: u32, request: &[u8], reply: &mut [u8]) -> usize {
        // A request goes the way of what was posted before.
        self.until(Wait::Visible);
        // The agent's own state is not that of the requester: only the message is.
        let owner = Model { world: self.world.clone(), rank: at, blocking: self.blocking };
        let mut space = [0; REPLY_BYTES];
        let served = dsm_sync::serve(Process::new(&State::new(), &owner), request, &mut space);
        let length = served.expect("a request of the protocol");
        reply[..length].copy_from_slice(&space[..length]);
        length
    }

    fn post_request(&self, at: u32, request: &[u8]) {
        self.world.borrow_mut().post(Post::Request(at, request.to_vec()));
    }

    fn delegate_turn(&self, slot: usize, ticket: u32) {
        self.world.borrow_mut().beginning.push((self.rank, Job::PassTurn(slot, ticket)));
    }

    fn caches_after(&self) -> Option<u64> {
        self.world.borrow().caches_after
    }

    fn call_revoker(&self, at: u32) {
        self.step(|world| world.beginning.push((at, Job::GiveUp)));
    }

    fn too_many_locks(&self, _slots: usize) -> ! {
        self.world.borrow_mut().is_full = true;
        resume_unwind(Box::new("the table of locks is full"))
    }

    fn is_traced(&self) -> bool {
        self.world.borrow().trace_edges
    }

    fn relax(&self) {
        self.blocking.wait(Yield::default());
    }

    fn fault(&self, fault: Fault) -> bool {
        self.world.borrow().fault == Some(fault)
    }
}

/// A token as this model makes it: how many releases it tells of, and words that go with that.
fn token(from: u32, releases: u64) -> ReleaseToken {
    let word = |i: u64| (releases << 16 | u64::from(from) << 8 | i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ReleaseToken([releases, word(1), word(2), word(3), word(4)])
}

impl Memory for Model<'_> {
    fn release(&self) {
        self.release_then(|| Edge::Fork { to: 0, count: 0 }, drop);
    }

    fn release_then(&self, _edge: impl FnOnce() -> Edge, then: impl FnOnce(ReleaseToken)) {
        let rank = self.rank as usize;
        let clock = self.step(|world| world.known[rank].clone());
        let releases = self.atomic(|world| {
            world.publish(self.rank, &clock);
            world.note(|| "has released".to_string());
            world.published[rank].len() as u64
        });
        then(token(self.rank, releases));
    }

    fn published(&self) -> u64 {
        self.world.borrow().published[self.rank as usize].len() as u64
    }

    fn acquire(&self, from: u32, given: ReleaseToken, _edge: impl FnOnce() -> Edge) {
        self.step(|world| {
            let releases = given.0[0];
            if given != token(from, releases) && given != ReleaseToken::from(releases) {
                world.fail(format!("the token of process {from} is not one of its: {given:x?}"));
            }
            world.note(|| format!("acquires {releases} releases of process {from}"));
            for release in 0..releases as usize {
                match world.published[from as usize].get(release).cloned() {
                    Some(clock) => world.learn(self.rank, &clock),
                    None => world.fail(format!("process {from} has not released {releases} times")),
                }
            }
        });
    }

    fn acquire_published(&self, from: u32) {
        let releases = self.step(|world| world.published[from as usize].len() as u64);
        self.acquire(from, ReleaseToken::from(releases), || Edge::Fork { to: 0, count: 0 });
    }
}
