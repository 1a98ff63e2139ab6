//! Condition variables: counters of notifications, found by a hash of the variable's address.
//!
//! Variables that share a counter wake each other's waiters, which POSIX allows ("spurious wakeups"); so no name is kept, and a variable
//! needs neither a beginning nor an end. The idea is that of the parking lots of WebKit and of Linux's futexes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use dsm_comm::Half;
use dsm_threads::futex;

use super::cell;
use super::control::{Line, line};
use super::layout::{CONDITION_SLOTS, CONDITIONS};
use super::threads::Inside;
use crate::progress::{Doing, Now};

const _: () = assert!(CONDITION_SLOTS.is_power_of_two());

fn slot(name: u64) -> Line {
    let hash = name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    line(CONDITIONS + hash as usize % CONDITION_SLOTS * 64)
}

fn count(slot: Line) -> Half {
    slot.half(0)
}

fn sleepers(slot: Line) -> Half {
    slot.half(4)
}

/// Notifications so far. To be read while the mutex is held.
pub fn condition_count(name: u64) -> u32 {
    count(slot(name)).load(Ordering::SeqCst)
}

/// Waits for a notification after `seen`. It may be another variable's.
pub fn condition_wait(name: u64, seen: u32) {
    let slot = slot(name);
    let _inside = Inside::begin();
    let _now = Now::begin(Doing::Condition, name, 0);
    cell::wait(count(slot), sleepers(slot), futex::ALL, |now| now != seen);
}

/// The same while `left` says that there is time; whether a notification came.
pub fn condition_poll(name: u64, seen: u32, left: impl Fn() -> Option<Duration>) -> bool {
    const PAUSE: Duration = Duration::from_micros(100);
    let count = count(slot(name));
    let _inside = Inside::begin();
    let _now = Now::begin(Doing::Condition, name, 0);
    while count.load(Ordering::SeqCst) == seen {
        let Some(left) = left() else { return false };
        std::thread::sleep(left.min(PAUSE));
    }
    true
}

/// Wakes all who wait.
pub fn condition_notify(name: u64) {
    let slot = slot(name);
    count(slot).fetch_add(1, Ordering::SeqCst);
    cell::wake(count(slot), sleepers(slot), futex::ALL);
}
