//! The end of all tasks at a barrier of several processes.
//!
//! A barrier ends when all processes are quiet at the same time. A process is quiet when all its threads have arrived and none of its tasks,
//! those that run elsewhere included, is pending; it then adds itself to a count. A quiet process can get a task only from one that is not counted and
//! stays so until the task is reported, and it takes itself out of the count before it begins. So a full count means that there is no task.

use std::sync::atomic::Ordering;

use super::Worker;
use crate::words::{Memory, Words};
use crate::{Fault, Process};

impl<W: Words> Process<'_, W> {
    /// Number of processes without tasks at the current barrier.
    fn quiet(self) -> W::Line {
        self.words.line(0, W::LAYOUT.tasks.quiet)
    }

    /// Number of barriers that ended so far.
    fn epoch(self) -> W::Line {
        self.words.line(0, W::LAYOUT.tasks.epoch)
    }

    /// Tasks have come, which count as the process's own by now: takes the process out of the count.
    pub(super) fn leave_count(self) {
        if !self.words.fault(Fault::CountKept) && self.state.tasks.counted.swap(false, Ordering::SeqCst) {
            self.words.fetch_add(self.quiet(), 0, 1u64.wrapping_neg());
        }
    }

    fn is_counted(self) -> bool {
        self.state.tasks.counted.load(Ordering::SeqCst)
    }

    fn count(self, participants: u32, is_empty: impl Fn() -> bool) {
        let _guard = self.words.guard_mailbox();
        let is_quiet = self.words.fault(Fault::CountedUnseen) || is_empty() && !self.has_mail();
        if !is_quiet || self.is_counted() {
            return;
        }
        self.state.tasks.counted.store(true, Ordering::SeqCst);
        let full = match self.words.fault(Fault::TerminatedEarly) {
            true => participants.saturating_sub(1),
            false => participants,
        };
        if self.words.fetch_add(self.quiet(), 0, 1) + 1 == u64::from(full) {
            self.end_epoch(participants);
        }
    }

    /// Nobody can be at the next barrier before this process is.
    fn end_epoch(self, participants: u32) {
        self.words.store(self.quiet(), 0, 0);
        self.words.fetch_add(self.epoch(), 0, 1);
        (0..participants).for_each(|rank| {
            self.words.add_and_wake(self.task_cell(rank), 1);
        });
    }
}

impl<W: Words + Memory> Process<'_, W> {
    /// The last thread of the process to arrive at a barrier: runs tasks until there is none in any process. `is_empty`: whether none of the process's is pending.
    pub fn quiesce<T: Worker>(self, worker: &T, participants: u32, is_empty: impl Fn() -> bool) {
        let count = || {
            if is_empty() && !self.is_counted() {
                self.count(participants, &is_empty);
            }
        };
        if self.words.fault(Fault::EpochReadLate) {
            count();
        }
        let seen = self.words.load(self.epoch(), 0);
        self.help(worker, participants, || {
            count();
            self.words.load(self.epoch(), 0) != seen
        });
        self.state.tasks.counted.store(false, Ordering::SeqCst);
    }
}
