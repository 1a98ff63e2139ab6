//! Barriers at which all tasks end.
//!
//! Who makes a task in a thread of its own, not in another task, keeps it *pending* until it has ended with all its descendants, in whatever processes these were made: a batch that went to another process is
//! reported when it has. A process signals that it has come to the barrier when all its threads have, and none of its tasks is pending; it runs tasks of others while it waits for their signals. All tasks
//! descend from one that a thread has made before its process signalled. So none is left once all have.

use crate::barrier::Signal;
use crate::words::{Cell, Memory, Words};
use crate::{Fault, Process};

use super::Worker;

impl<W: Words> Process<'_, W> {
    /// Whether a process runs tasks while it waits for a signal.
    fn helps_at_barrier(self, rank: u32) -> W::Line {
        self.words.line(rank, W::LAYOUT.tasks.barrier)
    }

    /// A signal was placed at a process: wakes those who wait for tasks there, if they wait for signals as well.
    pub(crate) fn notify_of_signal(self, to: u32) {
        if self.words.load(self.helps_at_barrier(to), 0) != 0 && !self.words.fault(Fault::SignalUnheard) {
            self.words.add_and_wake(self.task_cell(to), 1);
        }
    }
}

impl<W: Words + Memory> Process<'_, W> {
    /// As [`Process::barrier`], at which all tasks end, of all processes: runs tasks meanwhile. The last thread of the process to arrive calls it. `is_empty`: whether no task of the process is pending.
    pub fn barrier_with_tasks<T: Worker>(self, worker: &T, participants: u32, is_empty: impl Fn() -> bool) {
        if !self.words.fault(Fault::TerminatedEarly) {
            self.help(worker, participants, is_empty);
        }
        self.meet(participants, true, |cell, signal| {
            self.help_until_signalled(worker, participants, cell, signal)
        });
    }

    fn help_until_signalled<T: Worker>(
        self,
        worker: &T,
        participants: u32,
        cell: Cell<W::Line>,
        signal: Signal,
    ) {
        let words = self.words;
        // A request costs both sides more than a moment of waiting.
        if words.look(cell, |count| signal.is_there(count)) {
            return;
        }
        let helps = self.helps_at_barrier(words.rank());
        words.store(helps, 0, 1);
        self.help(worker, participants, || signal.is_there(words.load_half(cell.line, cell.value)));
        words.store(helps, 0, 0);
    }
}
