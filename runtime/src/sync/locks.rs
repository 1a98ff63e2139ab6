//! Locks of the program: FIFO, with acquire and release of the memory model.
//!
//! A lock is found by name (the address of the lock variable) in a table in process 0's control area and is a ticket lock: the waiting
//! order is that of arrival. Whoever gets it acquires from the process that held it last.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::RwLock;

use super::cell;
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
}

impl Slot {
    fn at(index: usize) -> Slot {
        let offset = LOCKS + index * LOCK_BYTES;
        Slot {
            name: super::word(0, offset),
            next: super::half(0, offset + 8),
            serving: super::half(0, offset + 12),
            last: super::half(0, offset + 16),
            sleepers: super::half(0, offset + 20),
        }
    }
}

static KNOWN: RwLock<Option<HashMap<u64, usize>>> = RwLock::new(None);

/// Finds the lock's slot, or makes it.
fn slot(name: u64) -> Slot {
    assert_ne!(name, 0, "a lock needs a name");
    if let Some(index) = KNOWN.read().as_ref().and_then(|known| known.get(&name)) {
        return Slot::at(*index);
    }
    let start = (name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44) as usize;
    for probe in 0..LOCK_SLOTS {
        let index = (start + probe) % LOCK_SLOTS;
        let slot = Slot::at(index);
        let found = slot.name.compare_exchange(0, name, Ordering::SeqCst, Ordering::SeqCst);
        if found.is_ok() || found == Err(name) {
            KNOWN.write().get_or_insert_default().insert(name, index);
            return slot;
        }
    }
    crate::start::die(&format!("the program uses more than {LOCK_SLOTS} locks"))
}

/// Waits for the lock.
pub(super) fn lock(name: u64) {
    let slot = slot(name);
    let ticket = slot.next.fetch_add(1, Ordering::SeqCst);
    {
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
        super::acquire_from(last - 1);
    }
}

/// Publishes and passes the lock on.
pub(super) fn unlock(name: u64) {
    let slot = slot(name);
    super::release();
    slot.last.store(super::rank() + 1, Ordering::SeqCst);
    let next = slot.serving.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
    cell::wake(slot.serving, slot.sleepers, mask(next));
}

/// Sleepers with different masks do not wake each other.
fn mask(ticket: u32) -> u32 {
    1 << (ticket % 32)
}
