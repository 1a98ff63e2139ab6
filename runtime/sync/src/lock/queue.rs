//! Locks of the program: FIFO, with acquire and release of the memory model.
//!
//! A lock is found by name (the address of the lock variable) in the [table](super::table) and is a ticket lock: the waiting order is that of arrival. Whoever gets
//! it acquires from the process that held it last, what that one had published then. All of a lock lies in one line, with the last notices, so that mostly no
//! other line has to change hands. Where the words of process 0 are not at hand, drawing a ticket, looking at the slot in its turn and handing over are
//! [procedures](crate::call) that process 0 executes.

use dsm_coherence::ReleaseToken;

use super::cache::Revocation;
use super::slot::{LastHolder, Seen, Slot};
use crate::words::{Edge, Memory, Waiting, Words};
use crate::{Fault, Process, call};

/// A ticket that was drawn, and what was in the slot then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued<L> {
    pub(crate) slot: Slot<L>,
    pub(crate) ticket: u32,
    pub(crate) seen: Seen,
}

/// The turn in which a lock is held. Of a lock, no two are alike within 2^32 turns, but for those in a row of one process that caches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Turn {
    /// Number of the slot.
    pub slot: usize,
    /// The ticket whose turn it is.
    pub ticket: u32,
}

impl<L: Copy> Slot<L> {
    /// As [`Slot::look`], wherever the words are.
    #[inline(always)]
    pub(super) fn look_anywhere<W: Words<Line = L>>(self, process: Process<'_, W>) -> Seen {
        if process.words.asks(0) { call::look(process, self) } else { self.look(process.words) }
    }
}

impl<W: Words> Process<'_, W> {
    /// Draws a ticket of the lock, if it has a slot, and looks at that.
    #[inline(always)]
    pub(crate) fn enqueue(self, name: u64) -> Option<Queued<W::Line>> {
        let slot = self.find(name)?;
        let ticket = slot.draw(self.words);
        Some(Queued { slot, ticket, seen: slot.look(self.words) })
    }

    /// As [`Process::enqueue`], wherever the words are.
    #[inline(always)]
    fn enqueue_anywhere(self, name: u64) -> Option<Queued<W::Line>> {
        if self.words.asks(0) { call::enqueue(self, name) } else { self.enqueue(name) }
    }

    /// Waits for the ticket's turn, and looks at what is in the slot then; whether it still is the lock's. Else the ticket is given back.
    #[inline(always)]
    fn take_turn(self, name: u64, queued: &mut Queued<W::Line>) -> bool
    where
        W: Memory,
    {
        let Queued { slot, ticket, ref mut seen } = *queued;
        if seen.serving != ticket {
            // The name may still go, but then no ticket of the other lock is before this one.
            if seen.name != name {
                self.abandon(slot, ticket);
                return false;
            }
            match seen.cached_by() {
                None => self.words.prefetch(seen.token),
                process => _ = self.revoke_if_cached(name, process),
            }
            slot.wait_turn(self.words, (ticket, seen.serving), Waiting::Lock(name));
            *seen = slot.look_anywhere(self);
        }
        // Nobody else changes the name in this turn.
        if seen.name == name || self.words.fault(Fault::NameUnseen) {
            return true;
        }
        if !self.words.fault(Fault::TurnKept) {
            slot.pass(self.words, ticket);
        }
        false
    }

    /// Gives back a ticket that was drawn where the slot had gone to another lock.
    fn abandon(self, slot: Slot<W::Line>, ticket: u32) {
        let is_served = slot.serving(self.words) == ticket;
        if is_served || self.words.fault(Fault::OthersTurnEnded) {
            return slot.pass(self.words, ticket);
        }
        // The process that caches the other lock is to give it up, too.
        let seen = slot.look_anywhere(self);
        self.revoke_if_cached(seen.name, seen.cached_by());
        // The other lock is held. This thread may hold what its holder waits for, so somebody else waits for the turn.
        self.words.delegate_turn(slot.index, ticket);
    }

    /// Waits for the turn of a ticket that was given back, and ends it. See [`Words::delegate_turn`].
    pub fn pass_turn(self, slot: usize, ticket: u32) {
        let slot = self.slot(slot);
        slot.wait_turn(self.words, (ticket, slot.serving(self.words)), Waiting::Table);
        slot.pass(self.words, ticket);
    }

    /// Takes the lock if it is free, and makes its slot if it has none.
    fn take_if_free(self, name: u64) -> Option<(Slot<W::Line>, Seen)> {
        // A ticket drawn for a lock that lost its slot is given back at once: until then it must not make this lock look held.
        const LOOKS: u32 = 100;
        for _ in 0..LOOKS {
            let slot = self.find_or_insert(name);
            match slot.draw_if_free(self.words) {
                Some(ticket) => {
                    let seen = slot.look_in_turn(self.words, ticket);
                    if seen.name == name {
                        return Some((slot, seen));
                    }
                    slot.pass(self.words, ticket);
                }
                None if self.words.fault(Fault::CachedTakenForHeld) => return None,
                None => match self.revoke_in(slot) {
                    // It is free: the process that caches it has said so.
                    Some(Revocation::Coming) => {}
                    Some(Revocation::Held) | None if !self.has_evicted() => return None,
                    // The process has given up what it cached, and is about to say so in the slot.
                    _ => self.words.relax(),
                },
            }
        }
        None
    }

    /// Notes in the slot of a lock that the process of this rank, which holds it, caches it; whether nobody else has drawn a ticket.
    pub(crate) fn place_caching(self, rank: u32, name: u64) -> bool {
        self.find(name).is_some_and(|slot| slot.set_cached(self.words, rank, slot.serving(self.words)))
    }

    /// The turn in which the lock is held, for its holder; `None` if nobody ever held it.
    pub fn turn(self, name: u64) -> Option<Turn> {
        let slot = self.find(name)?;
        Some(Turn { slot: slot.index, ticket: slot.serving(self.words) })
    }
}

impl<W: Words + Memory> Process<'_, W> {
    /// Waits for the lock and acquires what was published with it.
    #[inline(always)]
    pub fn lock(self, name: u64) {
        if self.take_cached(name) {
            return;
        }
        loop {
            let Some(mut queued) = self.enqueue_anywhere(name) else {
                self.insert(name);
                continue;
            };
            if self.take_turn(name, &mut queued) {
                return self.acquire_lock(name, queued.slot, &queued.seen);
            }
        }
    }

    /// Takes the lock if it is free; whether it was.
    pub fn try_lock(self, name: u64) -> bool {
        if self.take_cached(name) {
            return true;
        }
        let taken = self.take_if_free(name);
        if let Some((slot, seen)) = taken {
            self.acquire_lock(name, slot, &seen);
        }
        taken.is_some()
    }

    /// The thread's turn has come.
    #[inline(always)]
    fn acquire_lock(self, name: u64, slot: Slot<W::Line>, seen: &Seen) {
        self.count_turn(name, seen.last == self.words.rank() + 1);
        match seen.last_holder() {
            LastHolder::Nobody => {}
            LastHolder::Process(rank, token) => {
                let edge = || Edge::Lock { slot: slot.index, ticket: seen.serving };
                self.words.acquire(rank, token, edge);
                self.words.follows(rank);
            }
            LastHolder::Any => {
                for rank in 0..self.words.size() {
                    self.words.acquire_published(rank);
                }
            }
        }
    }

    /// Leaves the lock cached if others are not likely to take it soon, else publishes, and passes it on. Whether it is cached: nothing was published.
    #[inline(always)]
    pub fn unlock(self, name: u64) -> bool {
        let cached = self.unlock_cached(name) || self.should_cache(name) && self.cache(name);
        if !cached {
            self.pass_lock(name);
        }
        cached
    }

    /// Begins to cache the lock that the thread holds, if nobody waits for it; whether it is cached now.
    #[cold]
    fn cache(self, name: u64) -> bool {
        if !self.words.begin_caching() {
            return false;
        }
        let begins_first = !self.words.fault(Fault::CachingNamedFirst);
        if begins_first {
            self.mark_cached(name);
        }
        let has_no_waiter = match self.words.asks(0) {
            true => call::cache(self, name),
            false => self.place_caching(self.words.rank(), name),
        };
        if !begins_first {
            self.mark_cached(name);
        }
        self.end_caching(name, has_no_waiter)
    }

    /// Publishes, and passes the lock on.
    #[inline(always)]
    pub(super) fn pass_lock(self, name: u64) {
        if self.words.asks(0) {
            return self.pass_by(
                || {
                    let (slot, serving) = call::find(self, name);
                    Edge::Lock { slot: slot.index, ticket: serving.wrapping_add(1) }
                },
                |token| call::hand_over(self, name, token),
            );
        }
        // Only the holder changes whose turn it is, and the slot stays the lock's.
        let slot = self.find_or_insert(name);
        let next = slot.serving(self.words).wrapping_add(1);
        self.pass_by(
            || Edge::Lock { slot: slot.index, ticket: next },
            |token| slot.hand_over(self.words, self.words.rank(), token, next),
        );
    }

    /// Publishes, and passes a lock on by `pass`. `edge`: to whom, for a trace.
    #[inline(always)]
    fn pass_by(self, edge: impl Fn() -> Edge, pass: impl Fn(ReleaseToken)) {
        if self.words.fault(Fault::HandedOverUnreleased) {
            pass(ReleaseToken::from(self.words.published()));
            return self.words.release();
        }
        // By reference: they go through several functions, and what is copied in other pieces than it was written in comes late.
        let (edge, pass) = (&edge, &pass);
        self.words.release_then(edge, pass);
    }
}
