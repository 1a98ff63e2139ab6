//! A word of this process that threads wait on: spin briefly, then sleep.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::control::cell::{look, wait_local, wake_local};
use crate::sync;

/// A `u32` with sleepers.
#[derive(Default)]
pub struct Event(AtomicU32);

impl Event {
    /// An event with value 0.
    pub const fn new() -> Event {
        Event(AtomicU32::new(0))
    }

    /// Its value.
    pub fn load(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    /// Sets the value and wakes those who wait for it.
    pub fn store(&self, value: u32) {
        self.0.store(value, Ordering::SeqCst);
        wake_local(&self.0);
    }

    /// Changes the value to a new one and wakes.
    pub fn bump(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        wake_local(&self.0);
    }

    /// Returns the value once it fulfils `until`.
    pub fn wait(&self, until: impl Fn(u32) -> bool) -> u32 {
        wait_local(&self.0, until)
    }

    /// Looks at the value for about a microsecond; whether it came to fulfil `until`.
    pub fn look(&self, until: impl Fn(u32) -> bool) -> bool {
        look(&self.0, until)
    }
}

/// Runs `wait` with the thread counted as inside the runtime, so that the process can become quiescent.
pub fn blocked<T>(wait: impl FnOnce() -> T) -> T {
    sync::user_threads_leave();
    let result = wait();
    sync::user_threads_enter();
    result
}
