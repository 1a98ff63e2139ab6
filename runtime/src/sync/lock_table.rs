//! The table of locks: from a lock's name to its slot, a cache line in process 0's control area.
//!
//! POSIX and OpenMP let a program make any number of locks in its life, and some (a `std::mutex` in an object, `PTHREAD_MUTEX_INITIALIZER`)
//! end without a call. So the table is a cache: a name lives in its home slot or in a short window of slots elsewhere; where all of these are
//! taken, a free lock makes room. What its last holder published is then no longer noted with it: from the first such eviction on, a lock
//! without a slot is acquired from *all* processes, which is more than enough.
//!
//! Invariants: a name has one slot at most (names are inserted and removed under a stripe's lock); the name of a slot with a ticket out changes only in
//! the turn of a ticket. So a thread has a lock once the name is there in the thread's turn. One that found a slot and loses it to an eviction before
//! gives its ticket back, without waiting for its turn where it drew it only after that ([`abandon`]).

use std::sync::atomic::Ordering;

use dsm_coherence::ReleaseToken;
use dsm_comm::{Half, Word};

use crate::pthread;
use crate::signals::Deferred;

use super::cell;
use super::control::{Line, line, word};
use super::layout::{
    LOCK_BYTES, LOCK_EVICTIONS, LOCK_SLOTS, LOCK_SPILLED, LOCK_STRIPES, LOCK_STRIPES_COUNT, LOCKS,
};

/// Words of a release token.
const TOKEN_WORDS: usize = ReleaseToken::WORDS;
const _: () = assert!(24 + 8 * TOKEN_WORDS <= LOCK_BYTES);
const _: () = assert!(LOCK_SLOTS.is_power_of_two());

// The two numbers of a slot are the halves of a word, the next ticket in the lower one.
const _: () = assert!(cfg!(target_endian = "little"));

/// Slots of the window in which a name may live that is not at home.
const WINDOW: usize = 32;
/// Name of a slot that is being given to another lock. No variable has this address.
const RESERVED: u64 = u64::MAX;
/// `last` of a lock whose last holder is not known.
const ANY: u32 = u32::MAX;

/// A slot of the table.
#[derive(Clone, Copy)]
pub struct Slot(Line, usize);

/// Whom a new holder has to acquire from.
pub enum LastHolder {
    /// The lock was never held.
    Nobody,
    /// The process of this rank held it.
    Rank(u32),
    /// Some process may have held it.
    Any,
}

impl Slot {
    #[inline(always)]
    fn at(index: usize) -> Slot {
        Slot(line(LOCKS + index * LOCK_BYTES), index)
    }

    /// Its number in the table.
    pub fn index(self) -> usize {
        self.1
    }

    #[inline(always)]
    fn name(self) -> Word {
        self.0.word(0)
    }

    /// Whether the slot is this lock's.
    #[inline(always)]
    pub fn has_name(self, name: u64) -> bool {
        self.name().load(Ordering::SeqCst) == name
    }

    /// The next ticket and the one served, as one word.
    #[inline(always)]
    fn numbers(self) -> Word {
        self.0.word(8)
    }

    /// Tickets handed out. Wraps, as `serving` does: what counts is whether the two are equal, and no more than a ticket a thread is out.
    #[inline(always)]
    pub fn next(self) -> Half {
        self.0.half(8)
    }

    /// Ticket that holds the lock.
    #[inline(always)]
    pub fn serving(self) -> Half {
        self.0.half(12)
    }

    /// Rank + 1 of the last holder.
    #[inline(always)]
    fn last(self) -> Half {
        self.0.half(16)
    }

    #[inline(always)]
    fn sleepers(self) -> Half {
        self.0.half(20)
    }

    /// A word of the last holder's release token.
    #[inline(always)]
    fn token_word(self, i: usize) -> Word {
        self.0.word(24 + 8 * i)
    }

    /// The release token of the last holder.
    #[inline(always)]
    pub fn token(self) -> ReleaseToken {
        ReleaseToken(std::array::from_fn(|i| self.token_word(i).load(Ordering::Acquire)))
    }

    /// Who held the lock last.
    #[inline(always)]
    pub fn last_holder(self) -> LastHolder {
        match self.last().load(Ordering::SeqCst) {
            0 => LastHolder::Nobody,
            ANY => LastHolder::Any,
            last => LastHolder::Rank(last - 1),
        }
    }

    /// Notes the holder, which is about to pass the lock on.
    #[inline(always)]
    pub fn set_last_holder(self, rank: u32, token: ReleaseToken) {
        self.last().store(rank + 1, Ordering::Release);
        for (i, value) in token.0.into_iter().enumerate() {
            self.token_word(i).store(value, Ordering::Release);
        }
    }

    /// Sleeps until it is the ticket's turn.
    pub fn wait_turn(self, ticket: u32) {
        cell::wait(self.serving(), self.sleepers(), mask(ticket), |serving| serving == ticket);
    }

    /// It is the ticket's turn: wakes whoever waits for that. An ordinary store with a fence behind it.
    #[inline(always)]
    pub fn serve(self, ticket: u32) {
        cell::store_and_wake(self.serving(), ticket, self.sleepers(), mask(ticket));
    }

    /// Draws a ticket of the lock and has `wait` wait for its turn; gives it back if the slot has gone to another lock.
    #[inline(always)]
    pub fn queue(self, name: u64, wait: impl FnOnce(Slot, u32)) -> Option<u32> {
        let ticket = self.next().fetch_add(1, Ordering::SeqCst);
        if self.serving().load(Ordering::SeqCst) != ticket {
            // The name may still go, but then no ticket of the other lock is before this one.
            if !self.has_name(name) {
                abandon(self, ticket);
                return None;
            }
            wait(self, ticket);
        }
        self.is_kept(name, ticket).then_some(ticket)
    }

    /// Whether the slot is the lock's in the ticket's turn, in which nobody else changes the name; gives the ticket back if not.
    #[inline(always)]
    fn is_kept(self, name: u64, ticket: u32) -> bool {
        let kept = self.has_name(name);
        if !kept {
            self.pass(ticket);
        }
        kept
    }

    /// Takes the slot if it is nobody's.
    fn reserve(self) -> bool {
        self.name().compare_exchange(0, RESERVED, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Draws a ticket if its turn is now.
    #[inline(always)]
    fn take(self) -> Option<u32> {
        self.take_at(self.numbers().load(Ordering::SeqCst))
    }

    /// The same if the numbers still are `seen`.
    #[inline(always)]
    fn take_at(self, seen: u64) -> Option<u32> {
        // Both numbers at once: they wrap, and a ticket alone says nothing of who has the lock by now.
        let [next, serving] = [seen as u32, (seen >> 32) as u32];
        let taken = u64::from(serving) << 32 | u64::from(next.wrapping_add(1));
        let free = next == serving
            && self.numbers().compare_exchange(seen, taken, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        free.then_some(serving)
    }

    /// The turn of the ticket is over, in which nothing was done that others have to know.
    fn pass(self, ticket: u32) {
        let next = ticket.wrapping_add(1);
        self.serving().store(next, Ordering::SeqCst);
        cell::wake(self.serving(), self.sleepers(), mask(next));
    }
}

/// Sleepers with different masks do not wake each other.
fn mask(ticket: u32) -> u32 {
    1 << (ticket % 32)
}

fn scatter(name: u64) -> u64 {
    let mixed = name.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// The slot where a lock is looked for first. Locks that lie side by side in the program do so in the table: whoever walks over an array
/// of them walks over the table.
#[inline(always)]
fn home(name: u64) -> usize {
    let region = name >> 20;
    ((name >> 3).wrapping_add(region.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)) as usize % LOCK_SLOTS
}

/// All slots where the name may be, its home first.
fn places(name: u64) -> impl Iterator<Item = usize> {
    let first = (scatter(name) >> 32) as usize;
    std::iter::once(home(name)).chain((0..WINDOW).map(move |i| (first + i) % LOCK_SLOTS))
}

/// The bit that says that a name of this home was ever put elsewhere.
fn spilled(home: usize) -> (Word, u64) {
    let (offset, bit) = spilled_place(home);
    (word(0, LOCK_SPILLED + offset), 1 << bit)
}

/// Byte of the word from the first one on, and number of the bit.
fn spilled_place(home: usize) -> (usize, usize) {
    (home / 64 * 8, home % 64)
}

fn evictions() -> Word {
    word(0, LOCK_EVICTIONS)
}

/// The lock's slot, if it has one.
pub fn find(name: u64) -> Option<Slot> {
    let slot = Slot::at(home(name));
    if slot.has_name(name) { Some(slot) } else { search(name) }
}

#[cold]
fn search(name: u64) -> Option<Slot> {
    let (word, bit) = spilled(home(name));
    if word.load(Ordering::SeqCst) & bit == 0 {
        return None;
    }
    places(name).map(Slot::at).find(|slot| slot.has_name(name))
}

/// The lock's slot; makes one if it has none.
#[inline(always)]
pub fn get(name: u64) -> Slot {
    let slot = Slot::at(home(name));
    if slot.has_name(name) { slot } else { search_or_insert(name) }
}

#[cold]
fn search_or_insert(name: u64) -> Slot {
    assert!(name != 0 && name != RESERVED, "a lock needs a name");
    search(name).unwrap_or_else(|| insert(name))
}

/// The ticket lock of names that are inserted or removed: of one name at a time, mostly.
struct Stripe {
    line: Line,
    /// A handler of the program may need the same stripe.
    _deferred: Deferred,
}

impl Stripe {
    fn lock(name: u64) -> Stripe {
        let deferred = Deferred::begin();
        let line = line(LOCK_STRIPES + (scatter(name) >> 16) as usize % LOCK_STRIPES_COUNT * 64);
        let ticket = line.half(0).fetch_add(1, Ordering::SeqCst);
        cell::wait(line.half(4), line.half(8), mask(ticket), |serving| serving == ticket);
        Stripe { line, _deferred: deferred }
    }
}

impl Drop for Stripe {
    fn drop(&mut self) {
        let next = self.line.half(4).load(Ordering::Relaxed).wrapping_add(1);
        self.line.half(4).store(next, Ordering::SeqCst);
        cell::wake(self.line.half(4), self.line.half(8), mask(next));
    }
}

fn insert(name: u64) -> Slot {
    let _stripe = Stripe::lock(name);
    if let Some(slot) = find(name) {
        return slot;
    }
    let slots = || places(name).map(Slot::at);
    let (slot, ticket) = match slots().find(|slot| slot.reserve()) {
        Some(slot) => (slot, None),
        None => match slots().find_map(evict) {
            Some((slot, ticket)) => (slot, Some(ticket)),
            None => crate::start::die(&format!(
                "the program holds too many locks at once: {} that share a part of the table of {LOCK_SLOTS}",
                WINDOW + 1
            )),
        },
    };
    // Read behind the reservation: who evicted this name counted first.
    let last = last_of_new(evictions().load(Ordering::SeqCst));
    slot.last().store(last, Ordering::SeqCst);
    if slot.1 != home(name) {
        let (word, bit) = spilled(home(name));
        word.fetch_or(bit, Ordering::SeqCst);
    }
    slot.name().store(name, Ordering::SeqCst);
    if let Some(ticket) = ticket {
        slot.pass(ticket);
    }
    slot
}

/// `last` of a lock that gets a slot: one that was evicted before may have been held by anybody.
fn last_of_new(evictions: u64) -> u32 {
    if evictions == 0 { 0 } else { ANY }
}

/// Takes the slot from a lock that is free; the ticket drawn keeps new users of the slot waiting.
fn evict(slot: Slot) -> Option<(Slot, u32)> {
    let name = slot.name().load(Ordering::SeqCst);
    if name == 0 || name == RESERVED { None } else { evict_named(slot, name) }
}

fn evict_named(slot: Slot, name: u64) -> Option<(Slot, u32)> {
    let ticket = slot.take()?;
    evictions().fetch_add(1, Ordering::SeqCst);
    if slot.name().compare_exchange(name, RESERVED, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
        return Some((slot, ticket));
    }
    slot.pass(ticket);
    None
}

/// Takes the lock if it is free, and makes its slot if it has none.
pub fn take_if_free(name: u64) -> Option<Slot> {
    // A ticket drawn for a lock that lost its slot is given back at once: until then it must not make this lock look held.
    const LOOKS: u32 = 100;
    for _ in 0..LOOKS {
        let slot = get(name);
        match slot.take() {
            Some(ticket) if slot.is_kept(name, ticket) => return Some(slot),
            Some(_) => {}
            None if evictions().load(Ordering::SeqCst) == 0 => return None,
            None => std::hint::spin_loop(),
        }
    }
    None
}

/// Gives back a ticket that was drawn where the slot had gone to another lock.
pub fn abandon(slot: Slot, ticket: u32) {
    if slot.serving().load(Ordering::SeqCst) == ticket {
        return slot.pass(ticket);
    }
    // The other lock is held. This thread may hold what its holder waits for, so somebody else waits for the turn.
    let index = slot.index();
    pthread::thread::own(|| {
        std::thread::spawn(move || {
            let slot = Slot::at(index);
            slot.wait_turn(ticket);
            slot.pass(ticket);
        })
    });
}

/// Removes a name at the end of its variable's life, if the lock is free. Another thread may still be on its way out of an operation on it.
pub fn remove(name: u64) {
    if find(name).is_none() {
        return;
    }
    let _stripe = Stripe::lock(name);
    if let Some((slot, ticket)) = find(name).and_then(|slot| Some((slot, slot.take()?))) {
        slot.name().compare_exchange(name, 0, Ordering::SeqCst, Ordering::SeqCst).ok();
        slot.pass(ticket);
    }
}

/// Removes a name whatever the state of its lock: a variable begins in memory that may have been given back with a lock held.
pub fn reset(name: u64) {
    if find(name).is_none() {
        return;
    }
    let _stripe = Stripe::lock(name);
    let Some(slot) = find(name) else { return };
    let free = |numbers: u64| Some(numbers & 0xffff_ffff | numbers << 32);
    slot.numbers().fetch_update(Ordering::SeqCst, Ordering::SeqCst, free).ok();
    slot.name().compare_exchange(name, 0, Ordering::SeqCst, Ordering::SeqCst).ok();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn neighbours_are_neighbours_and_regions_are_apart() {
        let base = 0x5555_5570_0000;
        assert_eq!(home(base + 8), (home(base) + 1) % LOCK_SLOTS);
        assert_ne!(home(base), home(base + (1 << 20)));
    }

    #[test]
    fn windows_are_spread_over_the_table() {
        let mut counts = [0_u32; 8];
        for i in 0..800_u64 {
            let first = places(0x10_0000_0000 + 8 * i).nth(1).expect("a window");
            counts[first * 8 / LOCK_SLOTS] += 1;
        }
        assert!(counts.iter().all(|n| (50..150).contains(n)), "{counts:?}");
    }

    /// Names of this test, so that tests running side by side do not meet.
    fn name(test: u64, i: u64) -> u64 {
        (test << 32) + 8 * (i + 1)
    }

    fn lock(name: u64) -> (Slot, u32) {
        loop {
            let slot = get(name);
            if let Some(ticket) = slot.queue(name, Slot::wait_turn) {
                assert!(slot.has_name(name), "a held lock keeps its slot");
                return (slot, ticket);
            }
        }
    }

    /// A slot outside of the table, which nobody finds.
    fn slot_of(name: u64) -> Slot {
        let slot = Slot(Line::new(), 0);
        slot.name().store(name, Ordering::SeqCst);
        slot
    }

    fn is_free(slot: Slot) -> bool {
        slot.take().is_some_and(|ticket| {
            slot.pass(ticket);
            true
        })
    }

    #[test]
    fn a_slot_that_changes_hands_loses_no_turn() {
        let [before, now] = [name(10, 0), name(10, 1)];
        let slot = slot_of(now);
        assert_eq!(slot.queue(before, Slot::wait_turn), None);
        assert!(is_free(slot), "a ticket is given back that was drawn behind the change");
        let evictor = slot.take().expect("free");
        let lose = |slot: Slot, ticket| {
            slot.name().store(before, Ordering::SeqCst);
            slot.pass(evictor);
            slot.wait_turn(ticket);
        };
        assert_eq!(slot.queue(now, lose), None);
        slot.name().store(now, Ordering::SeqCst);
        assert!(is_free(slot), "as by who loses the slot while waiting");
        let ticket = slot.take().expect("free");
        assert!(!slot.is_kept(before, ticket));
        assert!(is_free(slot), "as by who only tries");
        assert!(evict_named(slot, before).is_none());
        assert!(is_free(slot) && slot.has_name(now), "as by who wants the slot for a third lock");
        let ticket = slot.queue(now, Slot::wait_turn).expect("its own lock's");
        assert!(slot.is_kept(now, ticket) && !is_free(slot));
    }

    #[test]
    fn a_slot_is_given_to_one_lock_at_a_time() {
        let slot = slot_of(0);
        assert!(evict(slot).is_none(), "there is nothing to evict");
        assert!(slot.reserve() && slot.has_name(RESERVED));
        assert!(!slot.reserve() && evict(slot).is_none(), "it is on its way to a lock");
        slot.name().store(name(11, 0), Ordering::SeqCst);
        assert!(!slot.reserve());
        let (_, ticket) = evict(slot).expect("a lock that is free");
        assert!(slot.has_name(RESERVED) && !is_free(slot));
        slot.pass(ticket);
        assert!(is_free(slot));
    }

    #[test]
    fn one_of_two_takes_a_free_slot() {
        let slot = slot_of(name(12, 0));
        let seen = slot.numbers().load(Ordering::SeqCst);
        let ticket = slot.take_at(seen).expect("free");
        assert_eq!(slot.take_at(seen), None, "taken meanwhile");
        slot.pass(ticket);
        assert!(is_free(slot));
    }

    #[test]
    fn after_the_first_eviction_anybody_may_have_held_a_new_lock() {
        assert_eq!([0, 1, 2].map(last_of_new), [0, ANY, ANY]);
    }

    #[test]
    fn free_locks_make_room_and_held_ones_stay() {
        let held: Vec<_> = (0..20).map(|i| (name(1, i), lock(name(1, i)))).collect();
        for i in 0..2000 {
            let (slot, ticket) = lock(name(2, i));
            slot.pass(ticket);
        }
        for (name, (slot, ticket)) in held {
            assert_eq!(find(name).map(Slot::index), Some(slot.index()), "a held lock keeps its slot");
            assert!(take_if_free(name).is_none(), "and is held");
            slot.pass(ticket);
        }
        let (slot, ticket) = lock(name(2, 0));
        assert!(
            matches!(slot.last_holder(), LastHolder::Any),
            "after evictions anybody may have held a lock"
        );
        slot.pass(ticket);
    }

    #[test]
    fn threads_exclude_each_other_while_slots_change_hands() {
        const NAMES: u64 = 300;
        let counts: Vec<AtomicU64> = (0..NAMES).map(|_| AtomicU64::new(0)).collect();
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let counts = &counts;
                scope.spawn(move || {
                    for i in 0..20_000_u64 {
                        let which = (i * 7 + thread * 13) * 2_654_435_761 % NAMES;
                        let (slot, ticket) = lock(name(3, which));
                        // Not one operation: a second holder would lose one of the two.
                        let count = counts[which as usize].load(Ordering::Relaxed);
                        std::hint::spin_loop();
                        counts[which as usize].store(count + 1, Ordering::Relaxed);
                        slot.pass(ticket);
                    }
                });
            }
        });
        assert_eq!(counts.iter().map(|n| n.load(Ordering::Relaxed)).sum::<u64>(), 80_000);
    }

    #[test]
    fn places_are_slots_of_the_table() {
        for i in 0..10_000 {
            let all: Vec<_> = places(name(5, i)).collect();
            assert_eq!(all.len(), 1 + WINDOW);
            assert!(all[0] == home(name(5, i)) && all.iter().all(|&slot| slot < LOCK_SLOTS), "{all:?}");
        }
    }

    #[test]
    fn each_home_has_a_bit_of_its_own() {
        let mut bits: Vec<_> = (0..LOCK_SLOTS)
            .map(|home| {
                let (offset, bit) = spilled_place(home);
                assert!(offset.is_multiple_of(8) && bit < 64);
                offset * 8 + bit
            })
            .collect();
        bits.sort_unstable();
        assert!(bits.into_iter().eq(0..LOCK_SLOTS));
    }

    #[test]
    fn names_of_one_home_have_a_slot_each() {
        for i in 0..LOCK_SLOTS as u64 {
            let [one, other] = [i, i + LOCK_SLOTS as u64].map(|i| name(6, i));
            assert_eq!(home(one), home(other));
            let held = [one, other].map(lock);
            let indices = held.map(|(slot, _)| slot.index());
            assert_ne!(indices[0], indices[1]);
            assert_eq!([one, other].map(|name| get(name).index()), indices);
            assert_eq!([one, other].map(|name| find(name).map(Slot::index)), indices.map(Some));
            for (slot, ticket) in held {
                slot.pass(ticket);
            }
        }
    }

    #[test]
    fn threads_that_make_a_lock_at_once_make_one() {
        const ROUNDS: u64 = 3000;
        let arrived = AtomicU64::new(0);
        let rendezvous = |round: u64| {
            arrived.fetch_add(1, Ordering::SeqCst);
            while arrived.load(Ordering::SeqCst) < 2 * round {
                std::thread::yield_now();
            }
        };
        let found = [const { AtomicU64::new(0) }; 2];
        std::thread::scope(|scope| {
            for mine in &found {
                scope.spawn(|| {
                    for round in 1..=ROUNDS {
                        rendezvous(3 * round - 2);
                        let slot = get(name(7, round));
                        let ticket = slot.next().fetch_add(1, Ordering::SeqCst);
                        mine.store(slot.index() as u64, Ordering::SeqCst);
                        rendezvous(3 * round - 1);
                        // Other tests may have taken the slot before the ticket was drawn.
                        let indices = [0, 1].map(|i| found[i].load(Ordering::SeqCst) as usize);
                        let have_name = indices.map(|index| Slot::at(index).has_name(name(7, round)));
                        assert!(indices[0] == indices[1] || have_name != [true; 2], "{indices:?}");
                        rendezvous(3 * round);
                        slot.wait_turn(ticket);
                        slot.pass(ticket);
                    }
                });
            }
        });
    }

    #[test]
    fn threads_that_only_try_exclude_each_other() {
        let count = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let slot = loop {
                            match take_if_free(name(8, 0)) {
                                Some(slot) => break slot,
                                None => std::thread::yield_now(),
                            }
                        };
                        let seen = count.load(Ordering::Relaxed);
                        std::hint::spin_loop();
                        count.store(seen + 1, Ordering::Relaxed);
                        slot.pass(slot.serving().load(Ordering::SeqCst));
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 60_000);
    }

    #[test]
    fn a_ticket_given_back_ends_its_own_turn_only() {
        let (slot, ticket) = lock(name(9, 0));
        let other = name(9, 1);
        assert_eq!(slot.queue(other, |_, _| unreachable!("waits for another lock")), None);
        let [next, last] = [(); 2].map(|()| slot.next().fetch_add(1, Ordering::SeqCst));
        let is_served = |ticket| {
            (0..1000).all(|_| {
                std::thread::yield_now();
                slot.serving().load(Ordering::SeqCst) == ticket
            })
        };
        assert!(is_served(ticket));
        slot.pass(ticket);
        slot.wait_turn(next);
        abandon(slot, next);
        assert!(is_served(last));
        slot.pass(last);
    }

    #[test]
    fn a_variable_that_begins_anew_is_free() {
        // After different numbers of tickets.
        for i in 0..8 {
            if i % 3 == 0 {
                let (slot, ticket) = lock(name(4, 0));
                slot.pass(ticket);
            }
            let (_, _) = lock(name(4, 0));
            reset(name(4, 0));
            let slot = take_if_free(name(4, 0)).expect("free");
            slot.pass(slot.serving().load(Ordering::SeqCst));
        }
        remove(name(4, 0));
        assert!(find(name(4, 0)).is_none());
    }
}
