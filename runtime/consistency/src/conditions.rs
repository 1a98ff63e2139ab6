//! Condition variables, see [`dsm_sync::Process::condition_wait`].

use std::time::Duration;

use crate::words::process;
use dsm_memory::threads::Quiescent;
use dsm_observe::progress::{Doing, Now};

/// Notifications so far. To be read while the mutex is held.
pub fn condition_count(name: u64) -> u32 {
    process().condition_count(name)
}

/// Waits for a notification after `seen`. It may be another variable's.
pub fn condition_wait(name: u64, seen: u32) {
    let _quiescent = Quiescent::begin();
    process().condition_wait(name, seen);
}

/// The same while `left` says that there is time; whether a notification came.
pub fn condition_poll(name: u64, seen: u32, left: impl Fn() -> Option<Duration>) -> bool {
    const PAUSE: Duration = Duration::from_micros(100);
    let _quiescent = Quiescent::begin();
    let _now = Now::begin(Doing::Condition, name, 0);
    while condition_count(name) == seen {
        let Some(left) = left() else { return false };
        std::thread::sleep(left.min(PAUSE));
    }
    true
}

/// Wakes all who wait.
pub fn condition_notify(name: u64) {
    process().condition_notify(name);
}
