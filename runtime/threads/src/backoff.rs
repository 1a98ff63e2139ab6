//! Waiting by polling: spin, then give the core away, then, or as soon as others keep it, sleep for a little.

use crate::primitive::{sleep, spin_loop};
use crate::yielding::{NAP, yield_turn};

/// State of one wait.
#[derive(Debug, Default)]
pub struct Backoff {
    attempts: u32,
}

const SPINS: u32 = if cfg!(loom) { 1 } else { 64 };
const YIELDS: u32 = 64;

impl Backoff {
    /// A wait after so many attempts.
    pub fn after(attempts: u32) -> Backoff {
        Backoff { attempts }
    }

    /// Waits a little longer each time.
    pub fn pause(&mut self) {
        self.attempts = self.attempts.saturating_add(1);
        if self.attempts < SPINS {
            spin_loop();
        } else if self.attempts < SPINS + YIELDS {
            if yield_turn() {
                self.attempts = SPINS + YIELDS;
            }
        } else {
            sleep(NAP);
        }
    }
}
