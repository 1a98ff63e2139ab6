//! Reductions over processes: what each has goes up a binary tree to process 0, one message a process.
//!
//! The last two messages of a process to its parent have a place each. Who sends one needs to know that the last but one was taken. Behind a barrier, or at the begin of a region, both know that all were; else the
//! parent says how many it has taken when it comes to the next one.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::barrier::is_reached;
use crate::words::{ALL, Cell, Waiting, Words};
use crate::{Fault, Process};

/// Processes that send their messages to the same one.
const CHILDREN: u32 = 2;

/// Messages from a process to its parent.
#[derive(Debug)]
struct Messages {
    /// How many there were.
    count: AtomicU32,
    /// How many of them both know to have been taken.
    acknowledged: AtomicU32,
}

impl Messages {
    const fn new() -> Messages {
        Messages { count: AtomicU32::new(0), acknowledged: AtomicU32::new(0) }
    }

    fn acknowledge_all(&self) {
        self.acknowledged.store(self.count.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Counts one more: its number, and how many of those before were acknowledged.
    fn begin(&self) -> (u32, u32) {
        let number = self.count.load(Ordering::Relaxed);
        self.count.store(number.wrapping_add(1), Ordering::Relaxed);
        (number, self.acknowledged.load(Ordering::Relaxed))
    }
}

/// What a process remembers from one reduction to the next.
#[derive(Debug)]
pub(crate) struct ReductionState {
    /// Messages of each child.
    taken: [Messages; CHILDREN as usize],
    /// Messages of this process.
    sent: Messages,
}

impl ReductionState {
    pub(crate) const fn new() -> ReductionState {
        ReductionState { taken: [const { Messages::new() }; CHILDREN as usize], sent: Messages::new() }
    }

    /// All processes that this one has messages with have taken those that were sent, and so has this one: it leaves a barrier of them, or begins a region behind all others.
    pub(crate) fn acknowledge_all(&self) {
        self.taken.iter().for_each(Messages::acknowledge_all);
        self.sent.acknowledge_all();
    }
}

impl<W: Words> Process<'_, W> {
    /// Where the messages of child `number` of a process arrive there.
    fn arrivals(number: u32) -> usize {
        W::LAYOUT.reduction.arrivals + number as usize * W::LAYOUT.reduction.stride()
    }

    /// Messages of a process that were taken, as far as it has to know.
    fn taken(self, rank: u32) -> Cell<W::Line> {
        Cell::first(self.words.line(rank, W::LAYOUT.reduction.taken))
    }

    fn wait_for_messages(self, cell: Cell<W::Line>, is_there: impl Fn(u32) -> bool) {
        self.words.wait(cell, ALL, Waiting::Reduction, is_there);
    }

    /// The processes of `participants` that send their messages to this one, in the order of their ranks.
    pub fn reduction_children(self, participants: u32) -> impl Iterator<Item = u32> {
        let me = self.words.rank();
        (0..CHILDREN).map(move |number| CHILDREN * me + 1 + number).filter(move |child| *child < participants)
    }

    /// Takes the message of one of [`Process::reduction_children`].
    pub fn receive_reduction(self, child: u32, message: &mut [u64]) {
        let (me, index) = (self.words.rank(), (child - 1) % CHILDREN);
        let offset = Self::arrivals(index);
        let (number, acknowledged) = self.state.reduction.taken[index as usize].begin();
        let taken =
            if self.words.fault(Fault::ReductionTakenUnread) { number.wrapping_add(1) } else { number };
        if acknowledged != number && !self.words.fault(Fault::ReductionUntold) {
            self.words.store_and_wake(self.taken(child), taken, ALL);
        }
        let count = number.wrapping_add(1);
        self.wait_for_messages(Cell::first(self.words.line(me, offset)), |value| is_reached(value, count));
        self.words.read_words(me, offset + W::LAYOUT.reduction.place(number), message);
    }

    /// Sends this process's message. Not for process 0.
    pub fn send_reduction(self, message: &[u64]) {
        assert!(message.len() <= W::LAYOUT.reduction.words, "it fits its place");
        let me = self.words.rank();
        let (parent, index) = ((me - 1) / CHILDREN, (me - 1) % CHILDREN);
        let (number, acknowledged) = self.state.reduction.sent.begin();
        // All before the last one, or all. What is known may be older by any number.
        let is_free = |taken: u32| number.wrapping_sub(taken) <= 1;
        if number != 0 && !is_free(acknowledged) && !self.words.fault(Fault::ReductionReused) {
            self.wait_for_messages(self.taken(me), is_free);
        }
        let offset = Self::arrivals(index);
        let (cell, place) =
            (Cell::first(self.words.line(parent, offset)), offset + W::LAYOUT.reduction.place(number));
        if self.words.fault(Fault::ReductionCountedEarly) {
            self.words.add_and_wake(cell, 1);
            return self.words.write_words(parent, place, message);
        }
        self.words.write_words(parent, place, message);
        self.words.add_and_wake(cell, 1);
    }
}
