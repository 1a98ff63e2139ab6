//! Giving the core to others while waiting, and noticing that they keep it.
//!
//! A waiter that yields runs again at once where no other thread wants its core, and soon where the others only wait, too. Where another thread computes on
//! the core, the yield has cost the waiter its turn: it runs again when the other's time slice ends, even if what it waits for has happened long before. A sleeping
//! thread gets a core when it is woken. So once others kept the core, waiters sleep without yielding for some time, longer each time it happens again.

use crate::primitive::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A yield that takes longer is a turn given away. Far above two switches between threads, far below a time slice.
const KEPT: Duration = Duration::from_micros(200);
/// How long a waiter that polls sleeps instead of a yield. The system adds what it likes.
pub const NAP: Duration = Duration::from_micros(20);
/// Waits without yields after a turn was given away, the first time and at most.
const FIRST: u32 = 16;
const MOST: u32 = 1 << 12;

/// What the waiting threads of a process found out about yielding.
#[derive(Debug)]
pub struct Yielding {
    /// Waits to come without yields.
    without: AtomicU32,
    /// How many of them there will be the next time.
    next: AtomicU32,
}

impl Default for Yielding {
    fn default() -> Yielding {
        Yielding::new()
    }
}

impl Yielding {
    /// Nothing found out yet.
    #[cfg(not(loom))]
    pub const fn new() -> Yielding {
        Yielding { without: AtomicU32::new(0), next: AtomicU32::new(FIRST) }
    }

    /// Nothing found out yet.
    #[cfg(loom)]
    pub fn new() -> Yielding {
        Yielding { without: AtomicU32::new(0), next: AtomicU32::new(FIRST) }
    }

    /// Whether a wait that begins should yield. Counts the wait.
    pub fn begin(&self) -> bool {
        // Two threads may count one wait: these are only numbers to go by.
        let without = self.without.load(Ordering::Relaxed);
        if without > 0 {
            self.without.store(without - 1, Ordering::Relaxed);
        }
        without == 0
    }

    /// Yields; false if somebody kept the core.
    pub fn yield_core(&self) -> bool {
        let kept = yield_turn();
        if kept {
            self.note_lost_turn();
        }
        !kept
    }

    fn note_lost_turn(&self) {
        let next = self.next.load(Ordering::Relaxed);
        self.without.store(next, Ordering::Relaxed);
        self.next.store((2 * next).min(MOST), Ordering::Relaxed);
    }

    /// Lets others have the core for a moment, for waiters that poll: yields, or sleeps where others kept the core.
    pub fn yield_or_sleep(&self) {
        if self.begin() {
            self.yield_core();
        } else {
            crate::primitive::sleep(NAP);
        }
    }

    /// What was waited for came while the waiter yielded.
    pub fn note_success(&self) {
        if self.without.load(Ordering::Relaxed) == 0 && self.next.load(Ordering::Relaxed) != FIRST {
            self.next.store(FIRST, Ordering::Relaxed);
        }
    }
}

/// Yields; whether somebody kept the core.
pub fn yield_turn() -> bool {
    let before = Instant::now();
    crate::primitive::yield_now();
    before.elapsed() > KEPT
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn waits_without_yields_get_more_until_one_with_succeeds() {
        let yielding = Yielding::new();
        let without = |yielding: &Yielding| (0..).take_while(|_| !yielding.begin()).count() as u32;
        assert_eq!(without(&yielding), 0);
        yielding.note_lost_turn();
        assert_eq!(without(&yielding), FIRST);
        yielding.note_lost_turn();
        assert_eq!(without(&yielding), 2 * FIRST);
        for _ in 0..40 {
            yielding.note_lost_turn();
        }
        assert_eq!(without(&yielding), MOST);
        yielding.note_success();
        yielding.note_lost_turn();
        assert_eq!(without(&yielding), FIRST);
    }
}
