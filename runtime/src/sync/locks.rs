//! Locks of the program: FIFO, with acquire and release of the memory model.
//!
//! A lock is found by name (the address of the lock variable) in the [table](super::lock_table) in process 0's control area and is a ticket
//! lock: the waiting order is that of arrival. Whoever gets it acquires from the process that held it last, what that one had published
//! then. All of a lock lies in one cache line, with the last notices, so that mostly no other line has to change hands.

use super::cell;
use super::lock_table::{self, Slot};
use super::threads::Inside;
use crate::profile::{self, Wait};
use crate::progress::{self, Doing, Now};
use crate::trace;

use std::sync::atomic::Ordering;

use dsm_abi::trace::flow;

/// Waits for the lock.
pub(super) fn lock(name: u64) {
    let since = profile::now_and_then();
    loop {
        let slot = lock_table::get(name);
        if let Some(ticket) = slot.queue(name, |slot, ticket| wait(name, slot, ticket)) {
            entered(name, slot, ticket);
            profile::waited(Wait::Lock, name, since);
            return;
        }
    }
}

/// Waits until it is the ticket's turn.
#[inline(never)]
fn wait(name: u64, slot: Slot, ticket: u32) {
    let _traced = trace::lock(name);
    super::prefetch(slot.token());
    if !cell::look(slot.serving(), |serving| serving == ticket) {
        let _inside = Inside::begin();
        let _now = Now::begin(Doing::Lock, name, 0);
        slot.wait_turn(ticket);
    }
}

/// Takes the lock if it is free.
pub(super) fn try_lock(name: u64) -> bool {
    let taken = lock_table::take_if_free(name);
    if let Some(slot) = taken {
        entered(name, slot, slot.serving().load(Ordering::Relaxed));
    }
    taken.is_some()
}

/// The ticket's turn has come.
fn entered(name: u64, slot: Slot, ticket: u32) {
    progress::hold(name);
    match slot.last_holder() {
        lock_table::LastHolder::Nobody => {}
        lock_table::LastHolder::Rank(rank) => {
            super::acquire_token(rank, slot.token(), || flow::lock(slot.index(), ticket));
            crate::race::clocks::after_acquire(rank);
        }
        lock_table::LastHolder::Any => (0..super::size()).for_each(super::acquire_from),
    }
}

/// Publishes and passes the lock on.
pub(super) fn unlock(name: u64) {
    progress::pass_on(name);
    let slot = lock_table::get(name);
    // Only the holder changes it.
    let next = slot.serving().load(Ordering::Relaxed).wrapping_add(1);
    let pass = |token| {
        slot.set_last_holder(super::rank(), token);
        // All of the line at once: an atomic operation would wait for the words before it, and who looks at the line would take it away in between.
        slot.serve(next);
    };
    super::release_then(|| flow::lock(slot.index(), next), pass);
}

/// Ticket under which the lock is held, and its slot: together they tell this holding from all others.
pub(super) fn holding(name: u64) -> Option<(usize, u32)> {
    lock_table::find(name).map(|slot| (slot.index(), slot.serving().load(Ordering::SeqCst)))
}
