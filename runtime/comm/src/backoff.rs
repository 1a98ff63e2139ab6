//! Waiting by polling: spin, then give the core away, then sleep for a little.

use std::time::Duration;

/// State of one wait.
#[derive(Debug, Default)]
pub struct Backoff {
    attempts: u32,
}

const SPINS: u32 = 64;
const YIELDS: u32 = 64;
const SLEEP: Duration = Duration::from_micros(20);

impl Backoff {
    /// Waits a little longer each time.
    pub fn pause(&mut self) {
        self.attempts = self.attempts.saturating_add(1);
        if self.attempts < SPINS {
            std::hint::spin_loop();
        } else if self.attempts < SPINS + YIELDS {
            std::thread::yield_now();
        } else {
            std::thread::sleep(SLEEP);
        }
    }
}
