//! How long to look at a completion queue, and to sleep between looks.

use std::time::{Duration, Instant};

/// How long who waits looks before it sleeps: about what it takes to fall asleep and to be woken, which at most doubles what waiting costs.
const SPIN: Duration = Duration::from_micros(50);
/// Where a queue has no descriptor to sleep on: the first and the longest moment between looks.
const NAP: Duration = Duration::from_micros(20);
const LONGEST_NAP: Duration = Duration::from_millis(1);

/// Since something happened.
pub(crate) struct Pause {
    until: Option<Instant>,
    /// `None` where a descriptor tells when to look again.
    nap: Option<Duration>,
}

impl Pause {
    pub(crate) fn new(has_descriptor: bool) -> Pause {
        Pause { until: None, nap: (!has_descriptor).then_some(NAP) }
    }

    /// Whether it is time to sleep. If not, others have had the processor: who is waited for may need it.
    pub(crate) fn is_over(&mut self) -> bool {
        std::thread::yield_now();
        let now = Instant::now();
        now >= *self.until.get_or_insert(now + SPIN)
    }

    /// How long to sleep at most: the next time longer.
    pub(crate) fn nap(&mut self) -> Option<Duration> {
        let nap = self.nap?;
        self.nap = Some(LONGEST_NAP.min(2 * nap));
        Some(nap)
    }
}
