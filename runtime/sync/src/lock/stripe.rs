//! The lock of names that are inserted or removed: of one name at a time, mostly.

use super::table::scatter;
use crate::words::{Cell, LINE, Waiting, Words};
use crate::{Fault, mask};

/// The half words of a stripe: a ticket lock, and its sleepers.
const NEXT: usize = 0;
const SERVING: usize = 4;
const SLEEPERS: usize = 8;

/// A part of the table that is locked.
#[must_use]
pub(super) struct Stripe<L> {
    turn: Cell<L>,
    ticket: u32,
}

impl<L: Copy> Stripe<L> {
    /// Locks the part of a name.
    pub(super) fn lock<W: Words<Line = L>>(words: &W, name: u64) -> Stripe<L> {
        let number = (scatter(name) >> 16) as usize % W::LAYOUT.lock_stripe_count;
        let line = words.line(0, W::LAYOUT.lock_stripes + number * LINE);
        let ticket = words.fetch_add_half(line, NEXT, 1);
        let turn = Cell { line, value: SERVING, sleepers: SLEEPERS };
        if !words.fault(Fault::StripeUnlocked) {
            words.wait(turn, mask(ticket), Waiting::Table, |serving| serving == ticket);
        }
        Stripe { turn, ticket }
    }

    /// Unlocks it.
    pub(super) fn unlock(self, words: &impl Words<Line = L>) {
        let next = self.ticket.wrapping_add(1);
        words.store_and_wake(self.turn, next, mask(next));
    }
}
