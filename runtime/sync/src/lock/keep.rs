//! Locks that a process keeps when it gives them back: lazy release, as of locks in TreadMarks (P. Keleher et al., "TreadMarks: Distributed Shared Memory on Standard Workstations and
//! Operating Systems", 1994).
//!
//! A process that has taken a lock a few times in a row, and finds nobody waiting when it gives it back, *keeps* it: it does not publish, and the table at process 0 goes on to have its ticket served.
//! Its threads take the lock again by a word of their own process. Whoever else draws a ticket finds in the slot who keeps the lock, and tells that process that it *wants* it. Then
//! the keeper gives it up: it publishes what it has written by then, which is all that it has written under the lock, and hands over as every holder does.
//!
//! That no wish is lost is Dekker's argument: the keeper says in the slot that it keeps the lock, and then looks whether a ticket is out; who waits draws a ticket, and then looks who keeps the lock.
//! In between the keeper's own word says so already, so a wish always finds it.
//!
//! Each process has a table of such words, in which a lock has one place. The first lock of a place has it for good; others of the same place are never kept.

use std::sync::atomic::Ordering;

use crate::words::{LINE, Memory, Waiting, Words};
use crate::{Fault, Process, call};

use super::slot::Slot;
use super::table::home_of;

/// Bytes of an entry, and of its words.
pub(crate) const ENTRY: usize = 32;
const NAME: usize = 0;
const STATE: usize = 8;
/// Number + 1 of the next entry of the list of wishes.
const NEXT: usize = 16;

/// Where the first entry of the list of wishes is, in the line that begins with the keeper's [`Cell`](crate::Cell).
const FIRST: usize = 8;

/// Bits of a state: the process keeps the lock; one of its threads holds it; somebody else wants it; the entry is in the list of wishes.
const KEPT: u64 = 1;
const HELD: u64 = 2;
const WANTED: u64 = 4;
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

/// What becomes of a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The lock is not kept any more, or not yet: it is handed over as usual.
    Gone,
    /// A thread of the keeper holds it, and hands it over when it gives it back.
    Held,
    /// It is free, and about to be handed over.
    Coming,
}

impl Wish {
    pub(crate) const ALL: [Wish; 3] = [Wish::Gone, Wish::Held, Wish::Coming];
}

/// What has become of a lock that a thread gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GivenBack {
    /// The process keeps it.
    Kept,
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

    fn set_state(self, words: &impl Words<Line = L>, state: u64) {
        words.store(self.line, self.at + STATE, state);
    }

    #[inline(always)]
    fn change(self, words: &impl Words<Line = L>, seen: u64, state: u64) -> bool {
        words.compare_exchange(self.line, self.at + STATE, seen, state) == seen
    }
}

impl<W: Words> Process<'_, W> {
    #[inline(always)]
    fn entry_number(self, at: u32, number: usize) -> Entry<W::Line> {
        let byte = number * ENTRY;
        let line = self.words.line(at, W::LAYOUT.lock_kept + byte / LINE * LINE);
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

    /// Takes a lock that the process keeps, and that nobody holds or wants; whether it does. All that was written under the lock was written by this process, or is known to it.
    #[inline(always)]
    pub fn take_kept(self, name: u64) -> bool {
        let Some(entry) = self.own_entry(name) else { return false };
        let state = entry.state(self.words);
        let unwanted = if self.words.fault(Fault::WishIgnored) { KEPT | HELD } else { KEPT | HELD | WANTED };
        state & unwanted == KEPT && entry.change(self.words, state, state | HELD)
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
        if state & KEPT != 0 {
            // Another process has given back what this one holds: no program should have that done.
            return entry.set_state(words, given_up(state));
        }
        let streak = if again { (field(state, STREAK) + 1).min(MOST) } else { 0 };
        if streak != field(state, STREAK) {
            // Only a process that keeps the lock has others change this.
            entry.set_state(words, state & !(MOST << STREAK) | streak << STREAK);
        }
    }

    /// Gives an entry that no lock has to this one, if the process may come to keep it.
    fn claim_entry(self, entry: Entry<W::Line>, name: u64, again: bool) {
        let words = self.words;
        if words.load(entry.line, entry.at + NAME) == 0
            && words.keeps_after().is_some_and(|least| again || least == 0)
        {
            words.compare_exchange(entry.line, entry.at + NAME, 0, name);
        }
    }

    /// Whether the holder should keep the lock if nobody waits for it.
    #[inline(always)]
    pub(super) fn should_keep(self, name: u64) -> bool {
        self.own_entry(name).is_some_and(|entry| {
            let state = entry.state(self.words);
            // Each time that it has given the lock up, the process waits for twice as many.
            let least = self.words.keeps_after();
            least.is_some_and(|least| field(state, STREAK) >= least << field(state, GIVEN_UP))
        })
    }

    /// Begins to keep a lock that a thread of this process holds; [`Process::end_keep`] must follow.
    pub(super) fn begin_keep(self, name: u64) {
        if let Some(entry) = self.own_entry(name) {
            let state = entry.state(self.words);
            entry.set_state(self.words, state | KEPT | HELD);
        }
    }

    /// The slot says so now; `is_alone`: nobody had drawn a ticket. Whether the lock is kept. If not, it has to be handed over.
    pub(super) fn end_keep(self, name: u64, is_alone: bool) -> bool {
        if is_alone || self.words.fault(Fault::TicketOverlooked) {
            return self.give_back_kept(name) == Some(GivenBack::Kept);
        }
        if let Some(entry) = self.own_entry(name) {
            // Wishes that come meanwhile are those of threads that have drawn tickets.
            entry.set_state(self.words, given_up(entry.state(self.words)));
        }
        false
    }

    /// Gives back a lock that the process keeps; `None` if it does not.
    #[inline(always)]
    fn give_back_kept(self, name: u64) -> Option<GivenBack> {
        let entry = self.own_entry(name)?;
        loop {
            let state = entry.state(self.words);
            if state & (KEPT | HELD) != KEPT | HELD {
                return None;
            }
            if state & WANTED != 0 && !self.words.fault(Fault::WishForgotten) {
                // Nobody but the holder changes it now, and others only look.
                entry.set_state(self.words, given_up(state));
                return Some(GivenBack::HandOver);
            }
            if entry.change(self.words, state, state & !HELD) {
                return Some(GivenBack::Kept);
            }
        }
    }

    /// Tells a process that keeps a lock that somebody else wants it. Executed on that process's words.
    pub(crate) fn place_wish(self, at: u32, name: u64) -> Wish {
        let words = self.words;
        let entry = self.entry(at, name);
        if !entry.has_name(words, name) {
            return Wish::Gone;
        }
        loop {
            let state = entry.state(words);
            if state & KEPT == 0 {
                return Wish::Gone;
            }
            let wish = if state & HELD == 0 { Wish::Coming } else { Wish::Held };
            if state & WANTED != 0 {
                return wish;
            }
            let listed = if wish == Wish::Coming { LISTED } else { 0 };
            if !entry.change(words, state, state | WANTED | listed) {
                continue;
            }
            if wish == Wish::Coming && state & LISTED == 0 {
                self.list_wish(at, entry);
            }
            return wish;
        }
    }

    /// Puts an entry that is not there into the list of wishes of its process.
    fn list_wish(self, at: u32, entry: Entry<W::Line>) {
        let words = self.words;
        let list = words.line(at, W::LAYOUT.lock_wishes);
        let mut first = words.load(list, FIRST);
        loop {
            words.store(entry.line, entry.at + NEXT, first);
            match words.compare_exchange(list, FIRST, first, entry.number as u64 + 1) {
                found if found == first => break,
                found => first = found,
            }
        }
        if !words.fault(Fault::WishUnheard) {
            words.call_keeper(at);
        }
    }

    /// The same, wherever the words are.
    fn wish(self, at: u32, name: u64) -> Wish {
        if self.state.has_ended.load(Ordering::Relaxed) {
            return self.break_off(at, name);
        }
        match at != self.words.rank() && self.words.asks(at) {
            true => call::wish(self, at, name),
            false => self.place_wish(at, name),
        }
    }

    /// The job has ended, and the keeper may have: it holds the lock no more, and all that it has written is known.
    fn break_off(self, at: u32, name: u64) -> Wish {
        match self.find(name) {
            Some(slot) if slot.end_keep(self.words, at) => {
                slot.pass(self.words, slot.serving(self.words));
                Wish::Coming
            }
            _ => Wish::Gone,
        }
    }

    /// A thread has drawn a ticket for a slot, and has found that it belongs to a lock and who keeps that.
    #[inline(always)]
    pub(super) fn want(self, name: u64, keeper: Option<u32>) -> Option<Wish> {
        keeper.map(|keeper| self.wish(keeper, name))
    }

    /// Waits until a lock that is about to be handed over has been, if it is; whether it has.
    pub(super) fn await_kept(self, slot: Slot<W::Line>) -> bool {
        let seen = slot.look_anywhere(self);
        let is_coming = self.want(seen.name, seen.keeper()) == Some(Wish::Coming);
        if is_coming {
            slot.wait_next_turn(self.words, seen.serving, Waiting::Lock(seen.name));
        }
        is_coming
    }

    /// Forgets that a process keeps a lock, which begins anew. Executed on that process's words.
    pub(crate) fn place_forget(self, at: u32, name: u64) {
        let entry = self.entry(at, name);
        if entry.has_name(self.words, name) {
            loop {
                let state = entry.state(self.words);
                if entry.change(self.words, state, given_up(state)) {
                    return;
                }
            }
        }
    }

    /// The same, wherever the words are.
    pub(super) fn forget_kept(self, at: u32, name: u64) {
        match at != self.words.rank() && self.words.asks(at) {
            true => call::forget(self, at, name),
            false => self.place_forget(at, name),
        }
    }

    /// Whether others have wished for locks that the process keeps: [`Process::give_up_wanted`] is due.
    #[inline(always)]
    pub fn has_wishes(self) -> bool {
        self.words.load(self.words.line(self.words.rank(), W::LAYOUT.lock_wishes), FIRST) != 0
    }
}

impl<W: Words + Memory> Process<'_, W> {
    /// Gives a lock back that the process keeps; false if it does not, or has to hand it over.
    #[inline(always)]
    pub fn unlock_kept(self, name: u64) -> bool {
        self.give_back_kept(name) == Some(GivenBack::Kept)
    }

    /// Gives up the locks that the process keeps, and that nobody holds, as far as others want them. By any thread that holds no lock of the runtime.
    pub fn give_up_wanted(self) {
        let words = self.words;
        let list = words.line(words.rank(), W::LAYOUT.lock_wishes);
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
                let gives_up = state & (KEPT | HELD | WANTED) == KEPT | WANTED;
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
