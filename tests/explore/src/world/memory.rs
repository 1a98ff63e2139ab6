//! Reads and writes, and what they tell of: who observed what, and which accesses depend on each other.

use super::seen::Act;
use super::{Access, Post, Thing, Thread, World};
use crate::layout::{Class, Loc};

impl World {
    fn private(&self, process: usize, loc: Loc) -> bool {
        self.processes[process].threads == 1 && self.layout.class(loc) == Class::Local
    }

    /// Records an access of the current step.
    pub fn access(&mut self, to: Thing, write: bool, before: u64) {
        self.touched = true;
        if self.recording {
            self.accesses.push(Access { to, write, before });
        }
    }

    fn access_cell(&mut self, process: usize, loc: Loc, write: bool) {
        if !self.private(process, loc) {
            let before = self.processes[process].cells[loc as usize];
            self.access(Thing::Cell(process, loc), write, before);
        }
    }

    /// The running thread reads a cell of its own process.
    pub fn own_read(&mut self, loc: Loc) -> u64 {
        let me = self.me();
        self.acts(Act::Read, me, loc, 0);
        let thread = &self.threads[self.current];
        let value = match thread.buffer.iter().rev().find(|(l, _)| *l == loc) {
            Some((_, value)) => *value,
            None => {
                self.access_cell(me, loc, false);
                let others = self.processes[me].threads > 1;
                if others || self.layout.class(loc) == Class::Remote {
                    self.visible = true;
                }
                self.processes[me].cells[loc as usize]
            }
        };
        self.observe(value);
        value
    }

    /// What the running thread would load from a cell of its own process, for checks that the thread knows nothing of.
    pub fn own_value(&self, loc: Loc) -> u64 {
        let thread = &self.threads[self.current];
        let stored = thread.buffer.iter().rev().find(|(l, _)| *l == loc);
        stored.map_or_else(|| self.processes[self.me()].cells[loc as usize], |(_, value)| *value)
    }

    /// The running thread stores to a cell of its own process.
    pub fn own_write(&mut self, loc: Loc, value: u64) {
        let me = self.me();
        self.acts(Act::Write, me, loc, value);
        if self.private(me, loc) {
            self.processes[me].cells[loc as usize] = value;
        } else {
            self.threads[self.current].buffer.push_back((loc, value));
        }
    }

    /// A thread's buffered stores reach memory.
    pub fn drain(&mut self, thread: usize, all: bool) {
        while let Some((loc, value)) = self.threads[thread].buffer.pop_front() {
            let process = self.threads[thread].process;
            self.write(process, loc, value);
            if !all {
                break;
            }
        }
    }

    /// All stores of the running thread's process reach memory: those of other threads first.
    pub fn drain_process(&mut self) {
        let me = self.me();
        let others = (0..self.threads.len()).filter(|t| *t != self.current).collect::<Vec<_>>();
        for thread in others.into_iter().chain([self.current]) {
            if self.threads[thread].process == me {
                self.drain(thread, true);
            }
        }
    }

    /// A cell of any process changes.
    pub fn write(&mut self, process: usize, loc: Loc, value: u64) {
        self.visible = true;
        self.access_cell(process, loc, true);
        let cell = &mut self.processes[process].cells[loc as usize];
        if (loc as usize) < self.layout.blocks && *cell != value {
            self.link_changes += 1;
        }
        *cell = value;
        if loc == self.layout.hand_over() {
            self.sync.give_lock(value as usize);
            self.publishes(process);
            self.access(Thing::Lock(value as usize), true, 1);
        }
    }

    /// The signature is kept under a mutex of the process, which is not part of the fabric: who stores under it comes after the stores of
    /// those who had it before.
    pub fn take_mutex(&mut self) {
        let me = self.me();
        for t in 0..self.threads.len() {
            if t != self.current && self.threads[t].process == me {
                self.drain(t, true);
            }
        }
    }

    /// Reads a cell of any process, as another process does.
    pub fn remote_read(&mut self, process: usize, loc: Loc) -> u64 {
        if process == self.me() {
            return self.own_read(loc);
        }
        self.acts(Act::Read, process, loc, 0);
        self.visible = true;
        self.access_cell(process, loc, false);
        let value = self.processes[process].cells[loc as usize];
        self.observe(value);
        value
    }

    /// An atomic read-modify-write: drains the thread's buffer first. Returns the old value.
    pub fn atomic(&mut self, process: usize, loc: Loc, update: impl FnOnce(u64) -> Option<u64>) -> u64 {
        self.drain(self.current, true);
        if process != self.me() || !self.private(process, loc) {
            self.visible = true;
        }
        let old = self.processes[process].cells[loc as usize];
        let new = update(old).filter(|new| *new != old);
        self.access_cell(process, loc, false);
        if let Some(new) = new {
            let visible = self.visible;
            self.write(process, loc, new);
            self.visible = visible;
        }
        self.observe(old);
        self.acts(Act::Update, process, loc, new.unwrap_or(old));
        old
    }

    /// Posts a write; own earlier stores are visible before it can be.
    pub fn post(&mut self, to: usize, loc: Loc, value: u64) {
        self.acts(Act::Post, to, loc, value);
        self.drain(self.current, true);
        let from = self.me();
        if to == from {
            return self.write(to, loc, value);
        }
        self.begin_post(to, loc, Some(value));
    }

    /// Begins to read a cell of a peer, at any time before a flush. Returns the number of what [`World::samples`] gives then.
    pub fn begin_read(&mut self, to: usize, loc: Loc) -> u32 {
        self.acts(Act::Read, to, loc, 0);
        self.begin_post(to, loc, None)
    }

    fn begin_post(&mut self, to: usize, loc: Loc, value: Option<u64>) -> u32 {
        let from = self.me();
        let thread = &mut self.threads[self.current];
        let taken = |slot: &u32| thread.unflushed.iter().any(|(_, number)| number & 0xffff == *slot);
        let slot = (0..).find(|slot| !taken(slot)).expect("few are under way");
        let number = (self.current as u32) << 16 | slot;
        thread.unflushed.push((to, number));
        self.access(Thing::Post(number), true, 0);
        self.posts.push(Post { number, from, to, loc, value });
        number
    }

    /// A read that is under way happens.
    pub(super) fn sample(&mut self, post: Post) {
        self.visible = true;
        let value = self.processes[post.to].cells[post.loc as usize];
        self.access(Thing::Cell(post.to, post.loc), false, value);
        self.note_loc(post.loc, |name| {
            format!("(memory) one-sided read of {name} at p{} by p{}: {value:#x}", post.to, post.from)
        });
        // The number tells the thread.
        self.threads[(post.number >> 16) as usize].samples.insert(post.number, value);
    }

    /// What reads of the running thread, by their numbers, have read, when a flush has waited for them.
    pub fn samples(&mut self, numbers: &[u32]) -> Vec<u64> {
        let taken = numbers.iter().map(|number| {
            let value = self.threads[self.current].samples.remove(number);
            value.expect("what was read has come")
        });
        let values: Vec<u64> = taken.collect();
        values.iter().for_each(|value| self.observe(*value));
        values
    }

    /// A flush of the running thread comes after all that it has posted to a process.
    pub fn flushed(&mut self, to: usize) {
        let unflushed = std::mem::take(&mut self.threads[self.current].unflushed);
        for &(target, number) in &unflushed {
            if target == to {
                self.access(Thing::Post(number), false, 0);
            }
        }
        self.threads[self.current].unflushed = unflushed.into_iter().filter(|post| post.0 != to).collect();
    }

    /// The running thread's process has published what the thread knows and has done, as far as anybody could miss it.
    pub fn released(&mut self) {
        let process = self.me();
        let clocks = self.oracle.clocks(self.current);
        if self.sync.published[process].join(&clocks) {
            self.publishes(process);
        }
    }

    /// The running thread.
    pub fn current_thread(&mut self) -> &mut Thread {
        &mut self.threads[self.current]
    }

    /// A process has published what it had not.
    pub fn publishes(&mut self, process: usize) {
        if self.recording {
            let all = self.sync.published[process].word();
            self.access(Thing::Published(process), true, all);
        }
    }

    /// The running thread looks at the state of a process's signature.
    pub fn learn(&mut self, process: usize) {
        self.end_lookup();
        if self.threads[self.current].acquires.contains(&process) {
            let before = self.threads[self.current].learned.take();
            let mut known = before.unwrap_or_else(|| self.oracle.knowledge(self.current).clone());
            if self.recording {
                self.access(Thing::Published(process), false, known.word());
            }
            known.join(&self.sync.published[process]);
            let thread = &mut self.threads[self.current];
            if !thread.looks_again {
                thread.acquires.retain(|asked| *asked != process);
            }
            thread.learned = Some(known);
        }
    }

    /// The running thread has a twin of a block made, or given up.
    pub fn set_twin(&mut self, process: usize, index: usize, live: bool) {
        self.access(Thing::Twin(process, index), true, 0);
        self.processes[process].twin_live[index] = live;
    }

    /// Whether the running thread's process has a twin of a block.
    pub fn twin(&mut self, index: usize) -> bool {
        let me = self.me();
        self.access(Thing::Twin(me, index), false, 0);
        self.processes[me].twin_live[index]
    }

    /// Counts a link load of the running thread: lookups that visit more processes than there are, and more than moves of the home
    /// meanwhile explain, are failures.
    pub fn count_hop(&mut self, loc: Loc) {
        let changes = self.link_changes;
        let thread = &mut self.threads[self.current];
        if thread.hops.0 != loc {
            thread.hops = (loc, 0, changes);
        }
        let left = self.hops_left(&self.threads[self.current]);
        let thread = &mut self.threads[self.current];
        thread.hops.1 += 1;
        let hops = thread.hops.1;
        self.longest_lookup = self.longest_lookup.max(hops);
        if left == 0 {
            self.fail(format!("chasing {} took {hops} hops", self.layout.name(loc)));
        }
    }

    /// How many more hops a thread may follow in a lookup.
    pub fn hops_left(&self, thread: &Thread) -> u64 {
        let (loc, hops, changes) = thread.hops;
        if loc == Loc::MAX {
            return u64::MAX;
        }
        // A miss begins a new attempt only after a change.
        let bound = (self.lookups * self.processes.len() as u64 + 2) * (1 + self.link_changes - changes);
        bound.saturating_sub(u64::from(hops))
    }

    /// The running thread does something else than following links.
    pub fn end_lookup(&mut self) {
        self.threads[self.current].hops.0 = Loc::MAX;
    }
}
