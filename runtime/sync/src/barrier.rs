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

/// A signal that a process waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal {
    /// Its number among those of its round.
    number: u32,
    /// Any earlier one will do, for explorers.
    takes_any: bool,
}

impl Signal {
    /// Whether it is among so many that have come.
    #[inline(always)]
    pub(crate) fn is_there(self, count: u32) -> bool {
        if self.takes_any { count != 0 } else { is_reached(count, self.number) }
    }
}

impl<W: Words + Memory> Process<'_, W> {
    /// Processes 0..participants release, wait for each other, and acquire. One thread of each process calls it while the others wait in the runtime.
    ///
    /// A dissemination barrier (Hensgen, Finkel, Manber 1988): in round k a process signals its neighbour at distance 2^k and acquires from the one behind it, so
    /// every process's notices reach every other in log2(participants) rounds. A process that is ahead may signal the next barrier before its neighbour has looked: then
    /// the neighbour acquires more than it has to.
    pub fn barrier(self, participants: u32) {
        self.meet(participants, false, |cell, signal| {
            self.words.wait(cell, ALL, Waiting::Barrier(participants), |count| signal.is_there(count));
        });
    }

    /// A barrier, in which the thread waits for each signal by `wait`. `with_tasks`: others may run tasks meanwhile.
    pub(crate) fn meet(self, participants: u32, with_tasks: bool, wait: impl Fn(Cell<W::Line>, Signal)) {
        let words = self.words;
        if words.fault(Fault::SignalUnreleased) {
            let arrival = words.arrive();
            self.disseminate(participants, with_tasks, wait);
            words.release();
            return words.depart(arrival, participants);
        }
        words.release();
        let arrival = words.arrive();
        self.disseminate(participants, with_tasks, wait);
        words.depart(arrival, participants);
        self.state.reduction.acknowledge_all();
        words.synchronised(participants);
    }

    fn disseminate(self, participants: u32, with_tasks: bool, wait: impl Fn(Cell<W::Line>, Signal)) {
        let (mut distance, mut round) = (1, 0);
        while distance < participants {
            if !(self.words.fault(Fault::RoundLeftOut) && round > 0 && distance * 2 >= participants) {
                self.signal((self.words.rank() + distance) % participants, round, with_tasks);
                self.await_signal(participants, distance, round, &wait);
            }
            distance *= 2;
            round += 1;
        }
    }

    fn await_signal(
        self,
        participants: u32,
        distance: u32,
        round: usize,
        wait: &impl Fn(Cell<W::Line>, Signal),
    ) {
        let (words, me) = (self.words, self.words.rank());
        let expected = self.state.signals[round].load(Ordering::Relaxed).wrapping_add(1);
        self.state.signals[round].store(expected, Ordering::Relaxed);
        let line = self.round_line(me, round);
        wait(Cell::first(line), Signal { number: expected, takes_any: words.fault(Fault::AnySignalTaken) });
        let state = words.load(line, STATE);
        let from = (me + participants - distance) % participants;
        let edge = || Edge::Barrier { to: me, round, count: expected };
        words.acquire(from, ReleaseToken::from(state), edge);
    }

    /// Tells a process that this one has come to a round: one message.
    fn signal(self, to: u32, round: usize, with_tasks: bool) {
        let (words, state) = (self.words, self.words.published());
        let count = match words.asks(to) {
            true => call::signal(self, to, round, state, with_tasks),
            false => Some(self.place_signal(to, round, state, with_tasks)),
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

    /// A signal is placed at a process, with how far the sender has published; returns its number among those of the round there. `with_tasks`: who waits for it may run tasks meanwhile.
    pub(crate) fn place_signal(self, to: u32, round: usize, state: u64, with_tasks: bool) -> u32 {
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
        if with_tasks {
            self.notify_of_signal(to);
        }
        count
    }
}
