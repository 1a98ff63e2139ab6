//! Reductions over processes: what each has goes up a binary tree to process 0, one message a process.
//!
//! The messages of a process to its parent are in the same place: it waits until the one before was taken.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::barrier::is_reached;
use crate::words::{ALL, Cell, LINE, Waiting, Words};
use crate::{Fault, Process};

/// Processes that send their messages to the same one.
const CHILDREN: u32 = 2;

/// What a process remembers from one reduction to the next.
#[derive(Debug)]
pub(crate) struct ReductionState {
    /// Messages that were taken, of each child.
    taken: [AtomicU32; CHILDREN as usize],
    /// Messages that were sent.
    sent: AtomicU32,
}

impl ReductionState {
    pub(crate) const fn new() -> ReductionState {
        ReductionState { taken: [const { AtomicU32::new(0) }; CHILDREN as usize], sent: AtomicU32::new(0) }
    }
}

impl<W: Words> Process<'_, W> {
    /// Where the messages of child `number` of a process arrive there: the line that counts them, then the last one.
    fn arrivals(number: u32) -> usize {
        W::LAYOUT.reduction.arrivals + number as usize * W::LAYOUT.reduction.stride()
    }

    /// Messages of a process that were taken.
    fn taken(self, rank: u32) -> Cell<W::Line> {
        Cell::first(self.words.line(rank, W::LAYOUT.reduction.taken))
    }

    fn wait_for_messages(self, cell: Cell<W::Line>, count: u32) {
        self.words.wait(cell, ALL, Waiting::Reduction, |value| is_reached(value, count));
    }

    /// The processes of `participants` that send their messages to this one, in the order of their ranks.
    pub fn reduction_children(self, participants: u32) -> impl Iterator<Item = u32> {
        let me = self.words.rank();
        (0..CHILDREN).map(move |number| CHILDREN * me + 1 + number).filter(move |child| *child < participants)
    }

    /// Takes the message of one of [`Process::reduction_children`].
    pub fn receive_reduction(self, child: u32, message: &mut [u64]) {
        let (me, number) = (self.words.rank(), (child - 1) % CHILDREN);
        let offset = Self::arrivals(number);
        let taken = &self.state.reduction.taken[number as usize];
        let expected = taken.load(Ordering::Relaxed).wrapping_add(1);
        taken.store(expected, Ordering::Relaxed);
        self.wait_for_messages(Cell::first(self.words.line(me, offset)), expected);
        if self.words.fault(Fault::ReductionTakenUnread) {
            self.words.add_and_wake(self.taken(child), 1);
            return self.words.read_words(me, offset + LINE, message);
        }
        self.words.read_words(me, offset + LINE, message);
        self.words.add_and_wake(self.taken(child), 1);
    }

    /// Sends this process's message. Not for process 0.
    pub fn send_reduction(self, message: &[u64]) {
        assert!(message.len() <= W::LAYOUT.reduction.words, "it fits its place");
        let me = self.words.rank();
        let (parent, number) = ((me - 1) / CHILDREN, (me - 1) % CHILDREN);
        let sent = self.state.reduction.sent.load(Ordering::Relaxed);
        if !self.words.fault(Fault::ReductionReused) {
            self.wait_for_messages(self.taken(me), sent);
        }
        self.state.reduction.sent.store(sent.wrapping_add(1), Ordering::Relaxed);
        let offset = Self::arrivals(number);
        let cell = Cell::first(self.words.line(parent, offset));
        if self.words.fault(Fault::ReductionCountedEarly) {
            self.words.add_and_wake(cell, 1);
            return self.words.write_words(parent, offset + LINE, message);
        }
        self.words.write_words(parent, offset + LINE, message);
        self.words.add_and_wake(cell, 1);
    }
}
