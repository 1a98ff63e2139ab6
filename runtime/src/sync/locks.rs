//! Locks of the program: FIFO, with acquire and release of the memory model.
//!
//! A lock is found by name (the address of the lock variable) in a table in process 0's control area and is a ticket lock: the waiting
//! order is that of arrival. Whoever gets it acquires from the process that held it last, what that one had published then. All of a lock
//! lies in one cache line.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::cell;
use super::control::{half, word};
use super::layout::{LOCK_BYTES, LOCK_SLOTS, LOCKS};
use super::threads::Inside;

/// A slot of the table.
#[derive(Clone, Copy)]
struct Slot {
    name: &'static AtomicU64,
    /// Tickets handed out.
    next: &'static AtomicU32,
    /// Ticket that holds the lock.
    serving: &'static AtomicU32,
    /// Rank + 1 of the last holder.
    last: &'static AtomicU32,
    sleepers: &'static AtomicU32,
    /// How far its signature was published.
    state: &'static AtomicU64,
}

impl Slot {
    fn at(index: usize) -> Slot {
        let offset = LOCKS + index * LOCK_BYTES;
        Slot {
            name: word(0, offset),
            next: half(0, offset + 8),
            serving: half(0, offset + 12),
            last: half(0, offset + 16),
            sleepers: half(0, offset + 20),
            state: word(0, offset + 24),
        }
    }
}

thread_local! {
    /// Slots this thread has found: a critical section asks for the same few.
    static FOUND: [Cell<(u64, usize)>; 16] = const { [const { Cell::new((0, 0)) }; 16] };
}

fn hash(name: u64) -> u64 {
    name.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Finds the lock's slot, or makes it.
fn slot(name: u64) -> Slot {
    assert_ne!(name, 0, "a lock needs a name");
    let hash = hash(name);
    FOUND.with(|found| {
        let found = &found[(hash >> 60) as usize];
        let (known, index) = found.get();
        if known == name {
            return Slot::at(index);
        }
        let index = search(name, (hash >> 44) as usize);
        found.set((name, index));
        Slot::at(index)
    })
}

fn search(name: u64, start: usize) -> usize {
    for probe in 0..LOCK_SLOTS {
        let index = (start + probe) % LOCK_SLOTS;
        let slot = Slot::at(index);
        let found = match slot.name.load(Ordering::SeqCst) {
            0 => {
                slot.name.compare_exchange(0, name, Ordering::SeqCst, Ordering::SeqCst).unwrap_or_else(|n| n)
            }
            other => other,
        };
        if found == 0 || found == name {
            return index;
        }
    }
    crate::start::die(&format!("the program uses more than {LOCK_SLOTS} locks"))
}

/// Waits for the lock.
pub(super) fn lock(name: u64) {
    let slot = slot(name);
    let ticket = slot.next.fetch_add(1, Ordering::SeqCst);
    if slot.serving.load(Ordering::SeqCst) != ticket {
        let _inside = Inside::begin();
        cell::wait(slot.serving, slot.sleepers, mask(ticket), |serving| serving == ticket);
    }
    entered(slot);
}

/// Takes the lock if it is free.
pub(super) fn try_lock(name: u64) -> bool {
    let slot = slot(name);
    let serving = slot.serving.load(Ordering::SeqCst);
    let free =
        slot.next.compare_exchange(serving, serving.wrapping_add(1), Ordering::SeqCst, Ordering::SeqCst);
    if free.is_ok() {
        entered(slot);
    }
    free.is_ok()
}

fn entered(slot: Slot) {
    let last = slot.last.load(Ordering::SeqCst);
    if last != 0 {
        super::take_in(last - 1, slot.state.load(Ordering::SeqCst));
        crate::race::clocks::after_acquire(last - 1);
    }
}

/// Publishes and passes the lock on.
pub(super) fn unlock(name: u64) {
    let slot = slot(name);
    super::release();
    slot.last.store(super::rank() + 1, Ordering::Release);
    slot.state.store(super::published(), Ordering::Release);
    // Only the holder changes it.
    let next = slot.serving.load(Ordering::Relaxed).wrapping_add(1);
    slot.serving.store(next, Ordering::SeqCst);
    cell::wake(slot.serving, slot.sleepers, mask(next));
}

/// Sleepers with different masks do not wake each other.
fn mask(ticket: u32) -> u32 {
    1 << (ticket % 32)
}
