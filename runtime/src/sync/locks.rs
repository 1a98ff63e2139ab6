//! Locks of the program: FIFO, with acquire and release of the memory model.
//!
//! A lock is found by name (the address of the lock variable) in a table in process 0's control area and is a ticket lock: the waiting
//! order is that of arrival. Whoever gets it acquires from the process that held it last, what that one had published then. All of a lock
//! lies in one cache line, with the last notices, so that mostly no other line has to change hands.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use dsm_coherence::Told;

use crate::alone;

use super::cell;
use super::control::{Line, line};
use super::layout::{LOCK_BYTES, LOCK_SLOTS, LOCKS};
use super::threads::Inside;

/// Words that tell of a signature.
const TOLD_WORDS: usize = Told::WORDS;
const _: () = assert!(24 + 8 * TOLD_WORDS <= LOCK_BYTES);

// `try_lock` takes the two numbers for the halves of a word.
const _: () = assert!(cfg!(target_endian = "little"));

/// A slot of the table: a line.
#[derive(Clone, Copy)]
struct Slot(Line);

impl Slot {
    #[inline(always)]
    fn at(index: usize) -> Slot {
        Slot(line(LOCKS + index * LOCK_BYTES))
    }

    #[inline(always)]
    fn name(self) -> &'static AtomicU64 {
        self.0.word(0)
    }

    /// Tickets handed out. Wraps, as `serving` does: what counts is whether the two are equal, and no more than a ticket a thread is out.
    #[inline(always)]
    fn next(self) -> &'static AtomicU32 {
        self.0.half(8)
    }

    /// Ticket that holds the lock.
    #[inline(always)]
    fn serving(self) -> &'static AtomicU32 {
        self.0.half(12)
    }

    /// Rank + 1 of the last holder.
    #[inline(always)]
    fn last(self) -> &'static AtomicU32 {
        self.0.half(16)
    }

    #[inline(always)]
    fn sleepers(self) -> &'static AtomicU32 {
        self.0.half(20)
    }

    /// What the last holder told of its signature.
    #[inline(always)]
    fn told(self, i: usize) -> &'static AtomicU64 {
        self.0.word(24 + 8 * i)
    }

    #[inline(always)]
    fn all_told(self) -> Told {
        Told(std::array::from_fn(|i| self.told(i).load(Ordering::Acquire)))
    }
}

/// Where the search for a lock begins. Locks that lie side by side in the program do so in the table: whoever walks over an array of
/// them walks over the table.
fn home(name: u64) -> usize {
    let region = name >> 20;
    ((name >> 3).wrapping_add(region.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)) as usize % LOCK_SLOTS
}

/// Finds the lock's slot, or makes it.
fn slot(name: u64) -> Slot {
    let slot = Slot::at(home(name));
    if slot.name().load(Ordering::Acquire) == name { slot } else { search(name) }
}

#[cold]
fn search(name: u64) -> Slot {
    assert_ne!(name, 0, "a lock needs a name");
    let start = home(name);
    for probe in 0..LOCK_SLOTS {
        let slot = Slot::at((start + probe) % LOCK_SLOTS);
        let found = match slot.name().load(Ordering::SeqCst) {
            0 => slot
                .name()
                .compare_exchange(0, name, Ordering::SeqCst, Ordering::SeqCst)
                .unwrap_or_else(|n| n),
            other => other,
        };
        if found == 0 || found == name {
            return slot;
        }
    }
    crate::start::die(&format!("the program uses more than {LOCK_SLOTS} locks"))
}

/// Waits for the lock.
pub(super) fn lock(name: u64) {
    let slot = slot(name);
    let ticket = slot.next().fetch_add(1, Ordering::SeqCst);
    if slot.serving().load(Ordering::SeqCst) != ticket {
        wait(slot, ticket);
    }
    entered(slot);
}

/// Waits until it is the ticket's turn.
#[inline(never)]
fn wait(slot: Slot, ticket: u32) {
    super::expect(slot.all_told());
    if !cell::look(slot.serving(), |serving| serving == ticket) {
        let _inside = Inside::begin();
        cell::wait(slot.serving(), slot.sleepers(), mask(ticket), |serving| serving == ticket);
    }
}

/// Takes the lock if it is free.
pub(super) fn try_lock(name: u64) -> bool {
    let slot = slot(name);
    // Both numbers at once: they wrap, and a ticket alone says nothing of who has the lock by now.
    let numbers = slot.0.word(8);
    let seen = numbers.load(Ordering::SeqCst);
    let [next, serving] = [seen as u32, (seen >> 32) as u32];
    let taken = u64::from(serving) << 32 | u64::from(next.wrapping_add(1));
    let free =
        next == serving && numbers.compare_exchange(seen, taken, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    if free {
        entered(slot);
    }
    free
}

fn entered(slot: Slot) {
    let last = slot.last().load(Ordering::SeqCst);
    if last != 0 {
        super::take_in(last - 1, slot.all_told());
        crate::race::clocks::after_acquire(last - 1);
    }
}

/// Publishes and passes the lock on.
pub(super) fn unlock(name: u64) {
    let slot = slot(name);
    // Only the holder changes it.
    let next = slot.serving().load(Ordering::Relaxed).wrapping_add(1);
    super::release_then(|told| {
        slot.last().store(super::rank() + 1, Ordering::Release);
        for (i, value) in told.0.into_iter().enumerate() {
            slot.told(i).store(value, Ordering::Release);
        }
        // All of the line at once: an atomic operation would wait for the words before it, and who looks at the line would take it away in between.
        slot.serving().store(next, Ordering::Release);
        alone::fence();
        cell::wake(slot.serving(), slot.sleepers(), mask(next));
    });
}

/// A counter with sleepers under a name that is no lock's.
pub(super) fn counter(name: u64) -> (&'static AtomicU32, &'static AtomicU32) {
    let slot = slot(name);
    (slot.next(), slot.sleepers())
}

/// Sleepers with different masks do not wake each other.
fn mask(ticket: u32) -> u32 {
    1 << (ticket % 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_neighbours_and_regions_are_apart() {
        let base = 0x5555_5570_0000;
        assert_eq!(home(base + 8), (home(base) + 1) % LOCK_SLOTS);
        assert_ne!(home(base), home(base + ((LOCK_SLOTS as u64) << 3)));
    }
}
