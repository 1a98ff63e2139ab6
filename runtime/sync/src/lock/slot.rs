//! A slot of the table: a line that is a ticket lock, with its name and what its last holder published.

use dsm_coherence::ReleaseToken;

use crate::words::{ALL, Cell, LINE, Words};
use crate::{Fault, mask};

/// Bytes of the words and half words of a slot. The next ticket and the one served are the halves of a word, the next one in the lower half.
const NAME: usize = 0;
const NUMBERS: usize = 8;
const NEXT: usize = 8;
const SERVING: usize = 12;
const LAST: usize = 16;
const SLEEPERS: usize = 20;
const TOKEN: usize = 24;

const _: () = assert!(TOKEN + 8 * ReleaseToken::WORDS <= LINE);

/// [`LAST`] of a lock whose last holder is not known.
pub const ANY: u32 = u32::MAX;
/// Bit of [`LAST`] of a lock that a process caches ([`super::cache`]), whose rank + 1 the others are.
const CACHED: u32 = 1 << 31;

/// A slot.
#[derive(Clone, Copy, Debug)]
pub struct Slot<L> {
    line: L,
    /// Its number in the table.
    pub index: usize,
}

/// Whom a new holder has to acquire from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastHolder {
    /// The lock was never held.
    Nobody,
    /// A process, and what it had published.
    Process(u32, ReleaseToken),
    /// Some process may have held it.
    Any,
}

/// What is found in a slot. In the turn of the ticket that looks it stays like that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The ticket whose turn it is.
    pub serving: u32,
    /// Whose slot it is.
    pub name: u64,
    /// Rank + 1 of the last holder, 0 or [`ANY`]; or who caches the lock.
    pub last: u32,
    /// What that one published.
    pub token: ReleaseToken,
}

impl Seen {
    /// Whom to acquire from.
    pub fn last_holder(&self) -> LastHolder {
        match self.last {
            0 => LastHolder::Nobody,
            ANY => LastHolder::Any,
            last => LastHolder::Process(last - 1, self.token),
        }
    }

    /// Who caches the lock, in a turn before that of who looks.
    #[inline(always)]
    pub fn cached_by(&self) -> Option<u32> {
        (self.last & CACHED != 0 && self.last != ANY).then(|| (self.last & !CACHED) - 1)
    }
}

impl<L: Copy> Slot<L> {
    /// The slot in a line.
    #[inline(always)]
    pub fn new(line: L, index: usize) -> Slot<L> {
        Slot { line, index }
    }

    fn turn(self) -> Cell<L> {
        Cell { line: self.line, value: SERVING, sleepers: SLEEPERS }
    }

    /// Whose slot it is.
    #[inline(always)]
    pub fn name(self, words: &impl Words<Line = L>) -> u64 {
        words.load(self.line, NAME)
    }

    /// Whether the slot is this lock's.
    #[inline(always)]
    pub fn has_name(self, words: &impl Words<Line = L>, name: u64) -> bool {
        self.name(words) == name
    }

    /// Gives the slot, which is reserved, to a lock.
    pub fn set_name(self, words: &impl Words<Line = L>, name: u64) {
        words.store(self.line, NAME, name);
    }

    /// Gives the slot to another lock, or to none; whether it was that of `before`.
    pub fn replace_name(self, words: &impl Words<Line = L>, before: u64, name: u64) -> bool {
        words.compare_exchange(self.line, NAME, before, name) == before
    }

    /// Notes who may have held the lock.
    pub fn set_last(self, words: &impl Words<Line = L>, last: u32) {
        words.store_half(self.line, LAST, last);
    }

    /// Notes that a process caches the lock, whose turn is `serving`; whether no other ticket is out.
    pub fn set_cached(self, words: &impl Words<Line = L>, rank: u32, serving: u32) -> bool {
        if !words.fault(Fault::CachingUnnamed) {
            words.store_half(self.line, LAST, CACHED | (rank + 1));
        }
        words.load(self.line, NUMBERS) as u32 == serving.wrapping_add(1)
    }

    /// Notes that nobody caches the lock any more, and that nothing is to be acquired; whether `rank` did.
    pub fn end_caching(self, words: &impl Words<Line = L>, rank: u32) -> bool {
        loop {
            let seen = words.load(self.line, LAST);
            if seen as u32 != CACHED | (rank + 1) {
                return false;
            }
            let nobody = seen & !u64::from(u32::MAX);
            if words.compare_exchange(self.line, LAST, seen, nobody) == seen {
                return true;
            }
        }
    }

    /// The ticket whose turn it is.
    #[inline(always)]
    pub fn serving(self, words: &impl Words<Line = L>) -> u32 {
        words.load_half(self.line, SERVING)
    }

    /// Draws a ticket. They wrap, as turns do: what counts is whether the two are equal, and no more than a ticket a thread is out.
    #[inline(always)]
    pub fn draw(self, words: &impl Words<Line = L>) -> u32 {
        if words.fault(Fault::TicketReused) {
            let ticket = words.load_half(self.line, NEXT);
            words.store_half(self.line, NEXT, ticket.wrapping_add(1));
            return ticket;
        }
        words.fetch_add_half(self.line, NEXT, 1)
    }

    /// Draws a ticket if its turn is now.
    #[inline(always)]
    pub fn draw_if_free(self, words: &impl Words<Line = L>) -> Option<u32> {
        // Both numbers at once: they wrap, and a ticket alone says nothing of who has the lock by now.
        let seen = words.load(self.line, NUMBERS);
        let [next, serving] = [seen as u32, (seen >> 32) as u32];
        let taken = u64::from(serving) << 32 | u64::from(next.wrapping_add(1));
        let free = next == serving && words.compare_exchange(self.line, NUMBERS, seen, taken) == seen;
        free.then_some(serving)
    }

    /// Ends all turns: the next ticket is served at once.
    pub fn free(self, words: &impl Words<Line = L>) {
        let mut seen = words.load(self.line, NUMBERS);
        loop {
            let free = seen & 0xffff_ffff | seen << 32;
            match words.compare_exchange(self.line, NUMBERS, seen, free) {
                found if found == seen => return,
                found => seen = found,
            }
        }
    }

    /// Looks at the slot; whose turn it is first.
    #[inline(always)]
    pub fn look(self, words: &impl Words<Line = L>) -> Seen {
        let serving = self.serving(words);
        self.look_in_turn(words, serving)
    }

    /// Looks at the rest of the slot when the turn was `serving`.
    #[inline(always)]
    pub fn look_in_turn(self, words: &impl Words<Line = L>, serving: u32) -> Seen {
        let name = self.name(words);
        let last = words.load_half(self.line, LAST);
        let mut token = ReleaseToken::default();
        for (i, word) in token.0.iter_mut().enumerate() {
            *word = words.load(self.line, TOKEN + 8 * i);
        }
        Seen { serving, name, last, token }
    }

    /// Waits until the turn is not that of the ticket any more.
    pub fn wait_next_turn(self, words: &impl Words<Line = L>, ticket: u32, waiting: crate::Waiting) {
        words.wait(self.turn(), ALL, waiting, |serving| serving != ticket);
    }

    /// Waits until it is the ticket's turn; it was that of `serving`.
    pub fn wait_turn(
        self,
        words: &impl Words<Line = L>,
        (ticket, serving): (u32, u32),
        waiting: crate::Waiting,
    ) {
        words.wait_change(self.turn(), mask(ticket), serving, waiting, |serving| serving == ticket);
    }

    /// Notes the holder and what it has published, and makes it the turn of the ticket `next`. All of it is posted: an atomic operation would wait for the words before
    /// it, and who looks at the line would take it away in between.
    #[inline(always)]
    pub fn hand_over(self, words: &impl Words<Line = L>, rank: u32, token: ReleaseToken, next: u32) {
        if words.fault(Fault::TurnBeforeToken) {
            words.post_and_wake(self.turn(), next, mask(next));
        }
        words.post_half(self.line, LAST, rank + 1);
        if !words.fault(Fault::TokenLeftOut) {
            for (i, value) in token.0.into_iter().enumerate() {
                words.post(self.line, TOKEN + 8 * i, value);
            }
        }
        match () {
            () if words.fault(Fault::TurnBeforeToken) => {}
            () if words.fault(Fault::WakeLeftOut) => words.post_half(self.line, SERVING, next),
            () if words.fault(Fault::OwnTurnWoken) => {
                words.post_and_wake(self.turn(), next, mask(next.wrapping_sub(1)));
            }
            () => words.post_and_wake(self.turn(), next, mask(next)),
        }
    }

    /// The turn of the ticket is over, in which nothing was done that others have to know.
    pub fn pass(self, words: &impl Words<Line = L>, ticket: u32) {
        let next = ticket.wrapping_add(1);
        words.store_and_wake(self.turn(), next, mask(next));
    }
}
