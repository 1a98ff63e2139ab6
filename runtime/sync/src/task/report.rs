//! Slots: words of a process that another one writes when something has ended there, a batch of tasks with all its descendants, or what the event of a detachable
//! task stands for.

use crate::words::{Memory, Words};
use crate::{Fault, Process};

/// Value of a slot whose batch runs.
const RUNS: u64 = 0;
/// The same, if the process that made it is waiting and may run descendants of it. Any other value is the reporting rank plus one.
const OPEN: u64 = 1 << 63;

impl<W: Words> Process<'_, W> {
    #[inline(always)]
    fn slot_at(self, rank: u32, slot: u32) -> (W::Line, usize) {
        assert!((slot as usize) < W::LAYOUT.tasks.slot_count);
        self.word_at(rank, W::LAYOUT.tasks.slots + 8 * slot as usize)
    }

    /// Something begins whose end will be reported to a slot of this process, which was free.
    pub fn clear_slot(self, slot: u32) {
        let (line, at) = self.slot_at(self.words.rank(), slot);
        self.words.store(line, at, RUNS);
    }

    /// The process that reported to a slot of this one, once it has.
    pub fn reported(self, slot: u32) -> Option<u32> {
        let (line, at) = self.slot_at(self.words.rank(), slot);
        let value = self.words.load(line, at);
        (value != RUNS && value != OPEN).then(|| value as u32 - 1)
    }

    /// Says whether descendants of a batch may come back to this process. One that has been reported stays as it is.
    pub fn set_open(self, slot: u32, opens: bool) {
        if !opens && self.words.fault(Fault::SlotStaysOpen) {
            return;
        }
        let (line, at) = self.slot_at(self.words.rank(), slot);
        let (from, to) = if opens { (RUNS, OPEN) } else { (OPEN, RUNS) };
        self.words.compare_exchange(line, at, from, to);
    }

    /// Whether descendants of a batch may come back to the process that made it.
    pub fn is_open(self, rank: u32, slot: u32) -> bool {
        let (line, at) = self.slot_at(rank, slot);
        self.words.load(line, at) == OPEN
    }
}

impl<W: Words + Memory> Process<'_, W> {
    /// What was made at `rank` with a slot there has ended, all descendants included.
    pub fn report(self, rank: u32, slot: u32) {
        let words = self.words;
        if !words.fault(Fault::ReportUnreleased) {
            words.release();
        }
        let (line, at) = self.slot_at(rank, slot);
        words.store(line, at, u64::from(words.rank()) + 1);
        if !words.fault(Fault::ReportUnheard) {
            words.add_and_wake(self.task_cell(rank), 1);
        }
        if words.fault(Fault::ReportUnreleased) {
            words.release();
        }
        // What waited for it may go to a process that waits, even if the origin's own threads compute.
        if self.thieves(rank) != 0 {
            words.add_and_wake(self.service_cell(rank), 1);
        }
    }

    /// What happened before a process reported happened before what the caller does next.
    pub fn acquire_reported(self, by: u32) {
        if by != self.words.rank() && !self.words.fault(Fault::ReportUnacquired) {
            self.words.acquire_published(by);
        }
    }
}
