//! Locks that stay with the process that gave them back last, as locks of TreadMarks do: lazy release (P. Keleher et al., "TreadMarks: Distributed Shared Memory on Standard Workstations and
//! Operating Systems", 1994).
//!
//! A process that has taken a lock a few times in a row, and finds nobody waiting when it gives it back, *caches* it: it does not publish, and its ticket goes on to be the one that is served.
//! Its threads take the lock again by a word of their own process. Whoever else draws a ticket finds in the slot which process caches the lock, and *revokes* it there. Then
//! that process gives it up: it publishes what it has written by then, which is all that it has written under the lock, and hands over as every holder does.
//!
//! That no revocation is lost is Dekker's argument: the process says in the slot that it caches the lock, and then looks whether a ticket is out; who waits draws a ticket, and then looks who caches the lock.
//! The process's own word says so before the slot does, so a revocation always finds it.
//!
//! Each process has a table of such words, in which a lock has one place. The first lock of a place has it for good; others of the same place are never cached.

use std::sync::atomic::Ordering;

use crate::words::{LINE, Memory, Waiting, Words};
use crate::{Fault, Process, call};

use super::slot::Slot;
use super::table::home_of;

/// Bytes of an entry, and of its words.
pub(crate) const ENTRY: usize = 32;
const NAME: usize = 0;
const STATE: usize = 8;
/// Number + 1 of the next entry of the list of revocations.
const NEXT: usize = 16;

/// Where the first entry of the list of revocations is, in the line that begins with a [`Cell`](crate::Cell).
const FIRST: usize = 8;

/// Bits of a state: the process caches the lock; one of its threads holds it; it is revoked; the entry is in the list of revocations.
const CACHED: u64 = 1;
const HELD: u64 = 2;
const REVOKED: u64 = 4;
const LISTED: u64 = 8;
/// How often in a row the process took the lock, up to [`MOST`].
const STREAK: u32 = 8;
/// How often it has given it up, up to [`MOST_GIVEN_UP`].
const GIVEN_UP: u32 = 16;
const MOST: u64 = 0xff;
const MOST_GIVEN_UP: u64 = 6;

fn field(state: u64, shift: u32) -> u64 {
    state >> shift & MOST
}

/// The state once the lock has been given up.
fn given_up(state: u64) -> u64 {
    (field(state, GIVEN_UP) + 1).min(MOST_GIVEN_UP) << GIVEN_UP | state & LISTED
}

/// What becomes of a lock that is revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Revocation {
    /// It is not cached any more, or not yet: it is handed over as usual.
    Gone,
    /// A thread of the process holds it, and hands it over when it gives it back.
    Held,
    /// It is free, and about to be handed over.
    Coming,
}

impl Revocation {
    pub(crate) const ALL: [Revocation; 3] = [Revocation::Gone, Revocation::Held, Revocation::Coming];
}

/// What has become of a lock that a thread gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GivenBack {
    /// The process caches it.
    Cached,
    /// It has to be handed over.
    HandOver,
}

/// A process's word of a lock.
#[derive(Clone, Copy)]
struct Entry<L> {
    line: L,
    /// Byte of the entry in its line.
    at: usize,
    number: usize,
}

impl<L: Copy> Entry<L> {
    #[inline(always)]
    fn has_name(self, words: &impl Words<Line = L>, name: u64) -> bool {
        words.load(self.line, self.at + NAME) == name
    }

    #[inline(always)]
    fn state(self, words: &impl Words<Line = L>) -> u64 {
        words.load(self.line, self.at + STATE)
    }

    #[inline(always)]
    fn change(self, words: &impl Words<Line = L>, seen: u64, state: u64) -> bool {
        words.compare_exchange(self.line, self.at + STATE, seen, state) == seen
    }

    /// Changes the state, whatever it is. Others may change it at any time: they revoke the lock, and take the entry off the list.
    fn update(self, words: &impl Words<Line = L>, new: impl Fn(u64) -> u64) {
        loop {
            let state = self.state(words);
            if self.change(words, state, new(state)) {
                return;
            }
        }
    }
}

impl<W: Words> Process<'_, W> {
    #[inline(always)]
    fn entry_number(self, at: u32, number: usize) -> Entry<W::Line> {
        let byte = number * ENTRY;
        let line = self.words.line(at, W::LAYOUT.lock_cached + byte / LINE * LINE);
        Entry { line, at: byte % LINE, number }
    }

    #[inline(always)]
    fn entry(self, at: u32, name: u64) -> Entry<W::Line> {
        self.entry_number(at, home_of(name, W::LAYOUT.lock_slots))
    }

    /// The own entry of a lock, if it has one.
    #[inline(always)]
    fn own_entry(self, name: u64) -> Option<Entry<W::Line>> {
        let entry = self.entry(self.words.rank(), name);
        entry.has_name(self.words, name).then_some(entry)
    }

    /// Takes a lock that the process caches, that nobody holds, and that is not revoked; whether it does. All that was written under the lock was written by this process, or is known to it.
    #[inline(always)]
    pub(super) fn take_cached(self, name: u64) -> bool {
        let Some(entry) = self.own_entry(name) else { return false };
        let state = entry.state(self.words);
        let others =
            if self.words.fault(Fault::RevocationIgnored) { CACHED | HELD } else { CACHED | HELD | REVOKED };
        state & others == CACHED && entry.change(self.words, state, state | HELD)
    }

    /// Counts how often in a row the process has taken the lock, for its holder; `again`: it was the last holder, too.
    #[inline(always)]
    pub(super) fn count_turn(self, name: u64, again: bool) {
        let words = self.words;
        let entry = self.entry(words.rank(), name);
        if !entry.has_name(words, name) {
            // The number is that of the next time.
            return self.claim_entry(entry, name, again);
        }
        let state = entry.state(words);
        if state & CACHED != 0 {
            // Another process has given back what this one holds: no program should have that done.
            return entry.update(words, given_up);
        }
        let streak = if again { (field(state, STREAK) + 1).min(MOST) } else { 0 };
        if streak != field(state, STREAK) {
            entry.update(words, |state| state & !(MOST << STREAK) | streak << STREAK);
        }
    }

    /// Gives an entry that no lock has to this one, if the process may come to cache it.
    fn claim_entry(self, entry: Entry<W::Line>, name: u64, again: bool) {
        let words = self.words;
        if words.load(entry.line, entry.at + NAME) == 0
            && words.caches_after().is_some_and(|least| again || least == 0)
        {
            words.compare_exchange(entry.line, entry.at + NAME, 0, name);
        }
    }

    /// Whether the holder should cache the lock if nobody waits for it.
    #[inline(always)]
    pub(super) fn should_cache(self, name: u64) -> bool {
        self.own_entry(name).is_some_and(|entry| {
            let state = entry.state(self.words);
            // Each time that it has given the lock up, the process waits for twice as many.
            let least = self.words.caches_after();
            least.is_some_and(|least| field(state, STREAK) >= least << field(state, GIVEN_UP))
        })
    }

    /// Begins to cache a lock that a thread of this process holds; [`Process::end_caching`] must follow.
    pub(super) fn mark_cached(self, name: u64) {
        if let Some(entry) = self.own_entry(name) {
            entry.update(self.words, |state| state | CACHED | HELD);
        }
    }

    /// The slot says so now; `has_no_waiter`: nobody had drawn a ticket. Whether the lock is cached. If not, it has to be handed over.
    pub(super) fn end_caching(self, name: u64, has_no_waiter: bool) -> bool {
        if has_no_waiter || self.words.fault(Fault::TicketOverlooked) {
            return self.give_back_cached(name) == Some(GivenBack::Cached);
        }
        if let Some(entry) = self.own_entry(name) {
            // Who revokes it meanwhile has drawn a ticket.
            entry.update(self.words, given_up);
        }
        false
    }

    /// Gives back a lock that the process caches; `None` if it does not.
    #[inline(always)]
    fn give_back_cached(self, name: u64) -> Option<GivenBack> {
        let entry = self.own_entry(name)?;
        loop {
            let state = entry.state(self.words);
            if state & (CACHED | HELD) != CACHED | HELD {
                return None;
            }
            if state & REVOKED != 0 && !self.words.fault(Fault::RevocationForgotten) {
                entry.update(self.words, given_up);
                return Some(GivenBack::HandOver);
            }
            if entry.change(self.words, state, state & !HELD) {
                return Some(GivenBack::Cached);
            }
        }
    }

    /// Revokes a lock that a process caches. Executed on that process's words.
    pub(crate) fn place_revocation(self, at: u32, name: u64) -> Revocation {
        let words = self.words;
        let entry = self.entry(at, name);
        if !entry.has_name(words, name) {
            return Revocation::Gone;
        }
        // A handler that interrupts the thread may want the same lock.
        let _deferred = words.defer_handlers();
        loop {
            let state = entry.state(words);
            if state & CACHED == 0 {
                return Revocation::Gone;
            }
            let revocation = if state & HELD == 0 { Revocation::Coming } else { Revocation::Held };
            if state & REVOKED != 0 {
                return revocation;
            }
            let listed = if revocation == Revocation::Coming { LISTED } else { 0 };
            if !entry.change(words, state, state | REVOKED | listed) {
                continue;
            }
            if revocation == Revocation::Coming && state & LISTED == 0 {
                self.list_revocation(at, entry);
            }
            return revocation;
        }
    }

    /// Puts an entry that is not there into the list of revocations of its process.
    fn list_revocation(self, at: u32, entry: Entry<W::Line>) {
        let words = self.words;
        let list = words.line(at, W::LAYOUT.lock_revocations);
        let mut first = words.load(list, FIRST);
        loop {
            words.store(entry.line, entry.at + NEXT, first);
            match words.compare_exchange(list, FIRST, first, entry.number as u64 + 1) {
                found if found == first => break,
                found => first = found,
            }
        }
        if !words.fault(Fault::RevocationUnheard) {
            words.call_revoker(at);
        }
    }

    /// The same, wherever the words are.
    fn revoke(self, at: u32, name: u64) -> Revocation {
        if at != self.words.rank() && self.state.has_ended.load(Ordering::Relaxed) {
            return self.break_off(at, name);
        }
        match at != self.words.rank() && self.words.asks(at) {
            true => call::revoke(self, at, name),
            false => self.place_revocation(at, name),
        }
    }

    /// The job has ended, and the process may have: it holds the lock no more, and all that it has written is known.
    fn break_off(self, at: u32, name: u64) -> Revocation {
        match self.find(name) {
            Some(slot) if slot.end_caching(self.words, at) => {
                slot.pass(self.words, slot.serving(self.words));
                Revocation::Coming
            }
            _ => Revocation::Gone,
        }
    }

    /// A thread has drawn a ticket for a slot, and has found that it belongs to a lock and which process caches that, if one does.
    #[inline(always)]
    pub(super) fn revoke_if_cached(self, name: u64, process: Option<u32>) -> Option<Revocation> {
        process.map(|process| self.revoke(process, name))
    }

    /// Revokes the lock of a slot, if a process caches it; waits until it has been handed over, if that is about to be.
    pub(super) fn revoke_in(self, slot: Slot<W::Line>) -> Option<Revocation> {
        let seen = slot.look_anywhere(self);
        let revocation = self.revoke_if_cached(seen.name, seen.cached_by());
        if revocation == Some(Revocation::Coming) {
            slot.wait_next_turn(self.words, seen.serving, Waiting::Lock(seen.name));
        }
        revocation
    }

    /// Waits until a lock that is about to be handed over has been, if it is; whether it has.
    pub(super) fn await_revoked(self, slot: Slot<W::Line>) -> bool {
        self.revoke_in(slot) == Some(Revocation::Coming)
    }

    /// Forgets that a process caches a lock, which begins anew. Executed on that process's words.
    pub(crate) fn place_forget(self, at: u32, name: u64) {
        let entry = self.entry(at, name);
        if entry.has_name(self.words, name) {
            entry.update(self.words, given_up);
        }
    }

    /// The same, wherever the words are.
    pub(super) fn forget_cached(self, at: u32, name: u64) {
        match at != self.words.rank() && self.words.asks(at) {
            true => call::forget(self, at, name),
            false => self.place_forget(at, name),
        }
    }

    /// Whether locks that the process caches have been revoked: [`Process::give_up_revoked`] is due.
    #[inline(always)]
    pub fn has_revocations(self) -> bool {
        self.words.load(self.words.line(self.words.rank(), W::LAYOUT.lock_revocations), FIRST) != 0
    }
}

impl<W: Words + Memory> Process<'_, W> {
    /// Whether the process may come to cache the lock, or does: what is done before a release is due before the lock is given back.
    #[inline(always)]
    pub fn may_cache(self, name: u64) -> bool {
        self.own_entry(name).is_some()
    }

    /// Gives a lock back that the process caches; false if it does not, or has to hand it over.
    #[inline(always)]
    pub(super) fn unlock_cached(self, name: u64) -> bool {
        self.give_back_cached(name) == Some(GivenBack::Cached)
    }

    /// Gives up the locks that the process caches, and that nobody holds, as far as they are revoked. By any thread that holds no lock of the runtime.
    pub fn give_up_revoked(self) {
        let words = self.words;
        // A handler that interrupts the thread may want one of these locks.
        let _deferred = words.defer_handlers();
        let list = words.line(words.rank(), W::LAYOUT.lock_revocations);
        let mut first = words.load(list, FIRST);
        while first != 0 {
            match words.compare_exchange(list, FIRST, first, 0) {
                found if found == first => break,
                found => first = found,
            }
        }
        while first != 0 {
            let entry = self.entry_number(words.rank(), first as usize - 1);
            let name = words.load(entry.line, entry.at + NAME);
            // Once it is not listed any more, it may come into the list again.
            first = words.load(entry.line, entry.at + NEXT);
            loop {
                let state = entry.state(words);
                let gives_up = state & (CACHED | HELD | REVOKED) == CACHED | REVOKED;
                let new = if gives_up { given_up(state) } else { state };
                if entry.change(words, state, new & !LISTED) {
                    if gives_up {
                        self.pass_lock(name);
                    }
                    break;
                }
            }
        }
    }
}
