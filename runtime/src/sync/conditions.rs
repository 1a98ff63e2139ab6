//! Condition variables: counters in the table of locks, by name.

use std::sync::atomic::Ordering;
use std::time::Duration;

use dsm_comm::futex;

use super::threads::Inside;
use super::{cell, locks};

/// Notifications so far. To be read while the mutex is held.
pub fn condition_count(name: u64) -> u32 {
    locks::counter(name).0.load(Ordering::SeqCst)
}

/// Waits for a notification after `seen`.
pub fn condition_wait(name: u64, seen: u32) {
    let (count, sleepers) = locks::counter(name);
    let _inside = Inside::begin();
    cell::wait(count, sleepers, futex::ALL, |now| now != seen);
}

/// The same while `left` says that there is time; whether the notification came.
pub fn condition_poll(name: u64, seen: u32, left: impl Fn() -> Option<Duration>) -> bool {
    const PAUSE: Duration = Duration::from_micros(100);
    let (count, _) = locks::counter(name);
    let _inside = Inside::begin();
    while count.load(Ordering::SeqCst) == seen {
        let Some(left) = left() else { return false };
        std::thread::sleep(left.min(PAUSE));
    }
    true
}

/// Wakes all who wait.
pub fn condition_notify(name: u64) {
    let (count, sleepers) = locks::counter(name);
    count.fetch_add(1, Ordering::SeqCst);
    cell::wake(count, sleepers, futex::ALL);
}
