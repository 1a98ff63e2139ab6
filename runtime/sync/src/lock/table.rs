//! The table of locks: from a lock's name to its slot, a line at process 0.
//!
//! POSIX and OpenMP let a program make any number of locks in its life, and some (a `std::mutex` in an object, `PTHREAD_MUTEX_INITIALIZER`)
//! end without a call. So the table is a cache: a name lives in its home slot or in a short window of slots elsewhere; where all of these are
//! taken, a free lock frees space. What its last holder published is then no longer noted with it: from the first such eviction on, a lock
//! without a slot is acquired from *all* processes, which is more than enough.
//!
//! Invariants: a name has one slot at most (names are inserted and removed under a stripe's lock); the name of a slot with a ticket out changes only in
//! the turn of a ticket. So a thread has a lock once the name is there in the thread's turn. One that found a slot and loses it to an eviction before
//! gives its ticket back, see [`super::queue`].

use dsm_coherence::hash::fibonacci;

use super::slot::{ANY, Slot};
use super::stripe::Stripe;
use crate::words::{LINE, Words};
use crate::{Fault, Process};

/// Name of a slot that is being given to another lock. No variable has this address.
const RESERVED: u64 = u64::MAX;

pub(super) fn scatter(name: u64) -> u64 {
    let mixed = name.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// The slot, of so many, where a lock is looked for first. Locks that lie side by side in the program do so in the table: whoever walks over an array
/// of them walks over the table.
#[inline(always)]
pub(super) fn home_of(name: u64, slots: usize) -> usize {
    let region = name >> 20;
    ((name >> 3).wrapping_add(fibonacci(region, 24))) as usize % slots
}

/// All slots, of so many, where the name may be, its home first.
fn places_of(name: u64, slots: usize, window: usize) -> impl Iterator<Item = usize> {
    let first = (scatter(name) >> 32) as usize;
    std::iter::once(home_of(name, slots)).chain((0..window).map(move |i| (first + i) % slots))
}

/// Line of the bit of a home from the first one on, byte of its word there, and number of the bit.
fn spilled_place(home: usize) -> (usize, usize, usize) {
    let byte = home / 64 * 8;
    (byte / LINE * LINE, byte % LINE, home % 64)
}

/// `last` of a lock that gets a slot: one that was evicted before may have been held by anybody.
fn last_of_new(evictions: u64) -> u32 {
    if evictions == 0 { 0 } else { ANY }
}

impl<W: Words> Process<'_, W> {
    /// The slot of a number.
    #[inline(always)]
    pub(crate) fn slot(self, index: usize) -> Slot<W::Line> {
        Slot::new(self.words.line(0, W::LAYOUT.locks + index * LINE), index)
    }

    #[inline(always)]
    fn home(self, name: u64) -> Slot<W::Line> {
        self.slot(home_of(name, W::LAYOUT.lock_slots))
    }

    fn places(self, name: u64) -> impl Iterator<Item = Slot<W::Line>> {
        places_of(name, W::LAYOUT.lock_slots, W::LAYOUT.lock_window).map(move |index| self.slot(index))
    }

    /// The bit that says that a name of this home was ever put elsewhere: line, byte of the word, bit.
    fn spilled(self, home: usize) -> (W::Line, usize, u64) {
        let (line, byte, bit) = spilled_place(home);
        (self.words.line(0, W::LAYOUT.lock_spilled + line), byte, 1 << bit)
    }

    fn evictions(self) -> W::Line {
        self.words.line(0, W::LAYOUT.lock_evictions)
    }

    /// Whether a lock ever lost its slot.
    pub(super) fn has_evicted(self) -> bool {
        self.words.load(self.evictions(), 0) != 0
    }

    /// The lock's slot, if it has one.
    #[inline(always)]
    pub(crate) fn find(self, name: u64) -> Option<Slot<W::Line>> {
        let slot = self.home(name);
        if slot.has_name(self.words, name) { Some(slot) } else { self.search(name) }
    }

    #[cold]
    fn search(self, name: u64) -> Option<Slot<W::Line>> {
        let (line, at, bit) = self.spilled(home_of(name, W::LAYOUT.lock_slots));
        if self.words.load(line, at) & bit == 0 {
            return None;
        }
        self.places(name).find(|slot| slot.has_name(self.words, name))
    }

    /// The lock's slot; makes one if it has none.
    #[inline(always)]
    pub(super) fn find_or_insert(self, name: u64) -> Slot<W::Line> {
        match self.find(name) {
            Some(slot) => slot,
            None => self.insert(name),
        }
    }

    /// Makes the lock's slot, if nobody else does.
    #[cold]
    pub(crate) fn insert(self, name: u64) -> Slot<W::Line> {
        assert!(name != 0 && name != RESERVED, "a lock needs a name");
        let words = self.words;
        let deferred = words.defer_handlers();
        let stripe = Stripe::lock(words, name);
        let found = if words.fault(Fault::InsertedUnseen) { None } else { self.find(name) };
        let slot = match found {
            Some(slot) => slot,
            None => self.take_slot(name),
        };
        stripe.unlock(words);
        drop(deferred);
        slot
    }

    /// Makes the lock's slot, with the stripe locked.
    fn take_slot(self, name: u64) -> Slot<W::Line> {
        let words = self.words;
        let (slot, ticket) = self.reserve_any(name);
        // Read behind the reservation: who evicted this name counted first.
        let last = last_of_new(words.load(self.evictions(), 0));
        slot.set_last(words, if words.fault(Fault::LastForgotten) { 0 } else { last });
        let home = home_of(name, W::LAYOUT.lock_slots);
        if slot.index != home && !words.fault(Fault::SpillUnmarked) {
            let (line, at, bit) = self.spilled(home);
            words.fetch_or(line, at, bit);
        }
        slot.set_name(words, name);
        if let Some(ticket) = ticket {
            slot.pass(words, ticket);
        }
        slot
    }

    /// Reserves a slot where the name may live: one that is nobody's, else that of a free lock, with the ticket that keeps new users of the slot waiting.
    fn reserve_any(self, name: u64) -> (Slot<W::Line>, Option<u32>) {
        for slot in self.places(name) {
            if slot.replace_name(self.words, 0, RESERVED) {
                return (slot, None);
            }
        }
        for slot in self.places(name) {
            if let Some(ticket) = self.evict(slot) {
                return (slot, Some(ticket));
            }
        }
        // Locks that are cached are free, once they have been given up.
        for slot in self.places(name) {
            while self.await_revoked(slot) {
                if let Some(ticket) = self.evict(slot) {
                    return (slot, Some(ticket));
                }
            }
        }
        self.words.too_many_locks(W::LAYOUT.lock_window + 1)
    }

    /// Takes the slot from a lock that is free.
    fn evict(self, slot: Slot<W::Line>) -> Option<u32> {
        let name = slot.name(self.words);
        if name == 0 || name == RESERVED { None } else { self.evict_named(slot, name) }
    }

    fn evict_named(self, slot: Slot<W::Line>, name: u64) -> Option<u32> {
        let words = self.words;
        let ticket =
            if words.fault(Fault::HeldEvicted) { slot.draw(words) } else { slot.draw_if_free(words)? };
        words.fetch_add(self.evictions(), 0, 1);
        if slot.replace_name(words, name, RESERVED) {
            return Some(ticket);
        }
        slot.pass(words, ticket);
        None
    }

    /// Removes a name at the end of its variable's life, if the lock is free. Another thread may still be on its way out of an operation on it.
    pub fn end_lock(self, name: u64) {
        if self.find(name).is_none() {
            return;
        }
        let words = self.words;
        let deferred = words.defer_handlers();
        let stripe = Stripe::lock(words, name);
        if let Some(slot) = self.find(name)
            && let Some(ticket) = self.draw_if_unheld(slot)
        {
            slot.replace_name(words, name, 0);
            slot.pass(words, ticket);
        }
        stripe.unlock(words);
        drop(deferred);
    }

    /// Draws a ticket of a lock whose turn is now, or comes as soon as the process that caches it has given it up.
    fn draw_if_unheld(self, slot: Slot<W::Line>) -> Option<u32> {
        loop {
            match slot.draw_if_free(self.words) {
                None if self.await_revoked(slot) => {}
                drawn => return drawn,
            }
        }
    }

    /// Removes a name whatever the state of its lock: a variable begins in memory that may have been given back with a lock held.
    pub fn begin_lock(self, name: u64) {
        if self.find(name).is_none() {
            return;
        }
        let words = self.words;
        let deferred = words.defer_handlers();
        let stripe = Stripe::lock(words, name);
        if let Some(slot) = self.find(name) {
            match self.draw_if_unheld(slot) {
                Some(ticket) => {
                    slot.replace_name(words, name, 0);
                    slot.pass(words, ticket);
                }
                None => {
                    if let Some(process) = slot.look_anywhere(self).cached_by() {
                        self.forget_cached(process, name);
                        slot.end_caching(words, process);
                    }
                    slot.free(words);
                    slot.replace_name(words, name, 0);
                }
            }
        }
        stripe.unlock(words);
        drop(deferred);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOTS: usize = 128;
    const WINDOW: usize = 32;

    #[test]
    fn neighbours_are_neighbours_and_regions_are_apart() {
        let base = 0x5555_5570_0000;
        assert_eq!(home_of(base + 8, SLOTS), (home_of(base, SLOTS) + 1) % SLOTS);
        assert_ne!(home_of(base, SLOTS), home_of(base + (1 << 20), SLOTS));
    }

    #[test]
    fn windows_are_spread_over_the_table() {
        let mut counts = [0_u32; 8];
        for i in 0..800_u64 {
            let first = places_of(0x10_0000_0000 + 8 * i, SLOTS, WINDOW).nth(1).expect("a window");
            counts[first * 8 / SLOTS] += 1;
        }
        assert!(counts.iter().all(|n| (50..150).contains(n)), "{counts:?}");
    }

    #[test]
    fn places_are_slots_of_the_table() {
        for name in (1..10_000).map(|i| 8 * i) {
            let all: Vec<_> = places_of(name, SLOTS, WINDOW).collect();
            assert_eq!(all.len(), 1 + WINDOW);
            assert!(all[0] == home_of(name, SLOTS) && all.iter().all(|&slot| slot < SLOTS), "{all:?}");
        }
    }

    #[test]
    fn each_home_has_a_bit_of_its_own() {
        let mut bits: Vec<_> = (0..1 << 12)
            .map(|home| {
                let (line, byte, bit) = spilled_place(home);
                assert!(line.is_multiple_of(LINE) && byte.is_multiple_of(8) && byte < LINE && bit < 64);
                (line + byte) * 8 + bit
            })
            .collect();
        bits.sort_unstable();
        assert!(bits.into_iter().eq(0..1 << 12));
    }

    #[test]
    fn after_the_first_eviction_anybody_may_have_held_a_new_lock() {
        assert_eq!([0, 1, 2].map(last_of_new), [0, ANY, ANY]);
    }
}
