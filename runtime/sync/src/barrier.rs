//! Barriers.

use std::sync::atomic::Ordering;

use dsm_coherence::ReleaseToken;

use crate::words::{ALL, Cell, Edge, LINE, Memory, Waiting, Words};
use crate::{Fault, Process, call};

/// Byte of the word, in a round's line, that says how far the signalling process has published.
const STATE: usize = 8;

/// Whether a counter that wraps has come to `count`.
pub(crate) fn is_reached(value: u32, count: u32) -> bool {
    value.wrapping_sub(count) < u32::MAX / 2
}

impl<W: Words + Memory> Process<'_, W> {
    /// Processes 0..participants release, wait for each other, and acquire. One thread of each process calls it while the others wait in the runtime.
    ///
    /// A dissemination barrier (Hensgen, Finkel, Manber 1988): in round k a process signals its neighbour at distance 2^k and acquires from the one behind it, so
    /// every process's notices reach every other in log2(participants) rounds. A process that is ahead may signal the next barrier before its neighbour has looked: then
    /// the neighbour acquires more than it has to.
    pub fn barrier(self, participants: u32) {
        self.meet(participants, |cell, is_signalled| {
            self.words.wait(cell, ALL, Waiting::Barrier(participants), is_signalled);
        });
    }

    /// A barrier, in which the thread waits for each signal by `wait`.
    pub(crate) fn meet(self, participants: u32, wait: impl Fn(Cell<W::Line>, &dyn Fn(u32) -> bool)) {
        let words = self.words;
        if words.fault(Fault::SignalUnreleased) {
            let arrival = words.arrive();
            self.disseminate(participants, wait);
            words.release();
            return words.depart(arrival, participants);
        }
        words.release();
        let arrival = words.arrive();
        self.disseminate(participants, wait);
        words.depart(arrival, participants);
        self.state.reduction.settle();
        words.synchronised(participants);
    }

    fn disseminate(self, participants: u32, wait: impl Fn(Cell<W::Line>, &dyn Fn(u32) -> bool)) {
        let (mut distance, mut round) = (1, 0);
        while distance < participants {
            if !(self.words.fault(Fault::RoundLeftOut) && round > 0 && distance * 2 >= participants) {
                self.barrier_round(participants, distance, round, &wait);
            }
            distance *= 2;
            round += 1;
        }
    }

    fn barrier_round(
        self,
        participants: u32,
        distance: u32,
        round: usize,
        wait: &impl Fn(Cell<W::Line>, &dyn Fn(u32) -> bool),
    ) {
        let (words, me) = (self.words, self.words.rank());
        self.signal((me + distance) % participants, round);

        let expected = self.state.signals[round].load(Ordering::Relaxed).wrapping_add(1);
        self.state.signals[round].store(expected, Ordering::Relaxed);
        let line = self.round_line(me, round);
        let is_signalled = |value| match words.fault(Fault::AnySignalTaken) {
            true => value != 0,
            false => is_reached(value, expected),
        };
        wait(Cell::first(line), &is_signalled);
        let state = words.load(line, STATE);
        let from = (me + participants - distance) % participants;
        let edge = || Edge::Barrier { to: me, round, count: expected };
        words.acquire(from, ReleaseToken::from(state), edge);
    }

    /// Tells a process that this one has come to a round: one message.
    fn signal(self, to: u32, round: usize) {
        let (words, state) = (self.words, self.words.published());
        let count = match words.asks(to) {
            true => call::signal(self, to, round, state),
            false => Some(self.place_signal(to, round, state)),
        };
        if let Some(count) = count {
            words.precedes([Edge::Barrier { to, round, count }].into_iter());
        }
    }
}

impl<W: Words> Process<'_, W> {
    fn round_line(self, at: u32, round: usize) -> W::Line {
        self.words.line(at, W::LAYOUT.barrier + round * LINE)
    }

    /// A signal is placed at a process, with how far the sender has published; returns its number among those of the round there.
    pub(crate) fn place_signal(self, to: u32, round: usize, state: u64) -> u32 {
        let words = self.words;
        let line = self.round_line(to, round);
        let signal = if words.fault(Fault::SignalledTwice) { 2 } else { 1 };
        if words.fault(Fault::StateBehindSignal) {
            let count = words.add_and_wake(Cell::first(line), signal);
            words.post(line, STATE, state);
            return count;
        }
        // The count is placed behind the state.
        words.post(line, STATE, state);
        let count = words.add_and_wake(Cell::first(line), signal).wrapping_add(1);
        self.notify_of_signal(to);
        count
    }
}
