//! Condition variables: counters of notifications, found by a hash of the variable's address.
//!
//! Variables that share a counter wake each other's waiters, which POSIX allows ("spurious wakeups"); so no name is kept, and a variable
//! needs neither a beginning nor an end. The idea is that of the parking lots of WebKit and of Linux's futexes.

use dsm_coherence::hash::fibonacci;

use crate::words::{ALL, Cell, LINE, Waiting, Words};
use crate::{Fault, Process};

impl<W: Words> Process<'_, W> {
    fn condition(self, name: u64) -> Cell<W::Line> {
        let hash = fibonacci(name, 32);
        let slot = hash as usize % W::LAYOUT.condition_slots;
        Cell::first(self.words.line(0, W::LAYOUT.conditions + slot * LINE))
    }

    /// Notifications so far. To be read while the mutex is held.
    pub fn condition_count(self, name: u64) -> u32 {
        let cell = self.condition(name);
        self.words.load_half(cell.line, cell.value)
    }

    /// Waits for a notification after `seen`. It may be another variable's.
    pub fn condition_wait(self, name: u64, seen: u32) {
        let seen = match self.words.fault(Fault::NotificationMissed) {
            true => self.condition_count(name),
            false => seen,
        };
        self.words.wait(self.condition(name), ALL, Waiting::Condition(name), |now| now != seen);
    }

    /// Wakes all who wait.
    pub fn condition_notify(self, name: u64) {
        self.words.add_and_wake(self.condition(name), 1);
    }
}
