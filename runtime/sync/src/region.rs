//! Fork and join of parallel regions: a message of process 0 to all, which those read there that have its words at hand, and a counter of those who are through.

use std::sync::atomic::Ordering;

use dsm_coherence::ReleaseToken;

use crate::barrier::is_reached;
use crate::bulletin::{self, Bulletin};
use crate::layout::Layout;
use crate::words::{ALL, Cell, Edge, LINE, Memory, Waiting, Words};
use crate::{Fault, Process, call};

/// The fork message as a process has it: process 0 for all that have its words at hand, and each other for itself.
struct ForkMessage<'a, W> {
    words: &'a W,
    at: u32,
}

impl<W: Words> ForkMessage<'_, W> {
    fn cell(&self) -> Cell<W::Line> {
        Cell::first(self.words.line(self.at, W::LAYOUT.fork))
    }

    fn offset(first: usize) -> usize {
        W::LAYOUT.fork + Layout::FORK_MESSAGE + 8 * first
    }
}

impl<W: Words> Bulletin for ForkMessage<'_, W> {
    fn advance(&self, by: u32) {
        self.words.fetch_add_half(self.cell().line, self.cell().value, by);
    }

    fn count(&self) -> u32 {
        self.words.load_half(self.cell().line, self.cell().value)
    }

    fn wait(&self, until: impl Fn(u32) -> bool) -> u32 {
        self.words.wait(self.cell(), ALL, Waiting::Fork, until)
    }

    fn read(&self, first: usize, into: &mut [u64]) {
        self.words.read_words(self.at, Self::offset(first), into);
    }

    fn write(&self, first: usize, words: &[u64]) {
        self.words.write_words(self.at, Self::offset(first), words);
    }

    fn is_read_blindly(&self) -> bool {
        self.words.fault(Fault::ForkUnchecked)
    }

    fn is_written_quietly(&self) -> bool {
        self.words.fault(Fault::ForkUnannounced)
    }
}

/// Participants, and how far process 0 has published.
fn header(participants: u32, state: u64) -> [u64; Layout::FORK_HEADER] {
    [participants.into(), state]
}

/// Takes [`header`] off what was read.
fn take_header(message: &mut Vec<u64>) -> (u32, u64) {
    let values = (message[0] as u32, message[1]);
    message.drain(..Layout::FORK_HEADER);
    values
}

impl<W: Words + Memory> Process<'_, W> {
    /// Process 0: makes its writes visible to all, hands `message` to processes 1..participants and wakes them.
    pub fn fork(self, message: &[u64], participants: u32) {
        let most = W::LAYOUT.fork_words;
        assert!(message.len() <= most, "a fork message of {} words is too long", message.len());
        self.words.release();
        self.words.begin_fork();
        self.state.reduction.acknowledge_all();
        let count = self.last_fork().wrapping_add(bulletin::STEP);
        self.words.precedes((1..participants).map(|to| Edge::Fork { to, count }));
        self.write_fork(message, participants);
    }

    /// Process 0: [`Process::wait_fork`] gives `None` in all others.
    pub fn end_job(self) {
        self.write_fork(&[], 0);
        self.state.has_ended.store(true, Ordering::Relaxed);
    }

    fn write_fork(self, message: &[u64], participants: u32) {
        let words = self.words;
        let count = self.last_fork().wrapping_add(bulletin::STEP);
        self.state.last_fork.store(count, Ordering::Relaxed);
        let state = if words.fault(Fault::ForkStateLeftOut) { 0 } else { words.published() };
        let parts = [&header(participants, state)[..], message];
        (1..words.size()).filter(|to| words.asks(*to)).for_each(|to| call::fork(self, to, &parts.concat()));
        let awaited = self.state.all_joined.swap(false, Ordering::Relaxed);
        self.place_fork(0, &parts, awaited);
        words.begin_region(count);
    }

    /// Other processes: waits for the next fork they take part in, and acquires. `None`: the program has ended.
    pub fn wait_fork(self, message: &mut Vec<u64>) -> Option<()> {
        let most = Layout::FORK_HEADER + W::LAYOUT.fork_words;
        let (words, me) = (self.words, self.words.rank());
        loop {
            let fork = ForkMessage { words, at: if words.asks(0) { me } else { 0 } };
            // Process 0 waits for those who take part before it forks again, so only the others can read a mixture.
            let seen = bulletin::read(&fork, self.last_fork(), most, message);
            words.begin_region(seen);
            self.state.last_fork.store(seen, Ordering::Relaxed);
            let (participants, state) = take_header(message);
            if participants == 0 {
                self.state.has_ended.store(true, Ordering::Relaxed);
                return None;
            }
            if me < participants {
                let edge = || Edge::Fork { to: me, count: seen };
                words.acquire(0, ReleaseToken::from(state), edge);
                words.forked();
                self.state.reduction.acknowledge_all();
                // Process 0 knows no more of others than this process does since the barrier.
                if !self.state.ended_at_barrier.swap(false, Ordering::Relaxed) {
                    words.synchronised(participants);
                }
                return Some(());
            }
        }
    }

    /// The end of a region whose last step was a barrier of its processes. If these are all, it takes the place of [`Process::join`]: who has not left it yet gets signals of later barriers from the same processes, one after the
    /// other. Processes that have not come to it would signal for others.
    pub fn end_at_barrier(self, participants: u32) {
        if participants < self.words.size() && !self.words.fault(Fault::JoinLeftOut) {
            return self.join(participants);
        }
        self.state.all_joined.store(true, Ordering::Relaxed);
        self.state.ended_at_barrier.store(true, Ordering::Relaxed);
    }

    /// End of a region: the others release and return at once; process 0 waits for all participants and acquires.
    pub fn join(self, participants: u32) {
        match self.words.rank() {
            0 => self.receive_joins(participants),
            me => self.arrive_at_join(me),
        }
    }

    fn arrive_at_join(self, me: u32) {
        let words = self.words;
        if !words.fault(Fault::JoinUnreleased) {
            words.release();
        }
        words.precedes([Edge::Join { from: me, count: self.last_fork() }].into_iter());
        match words.asks(0) {
            true => call::arrive(self, words.published()),
            false => self.place_arrival(me, words.published()),
        }
        if words.fault(Fault::JoinUnreleased) {
            words.release();
        }
    }

    fn receive_joins(self, participants: u32) {
        let words = self.words;
        let before = self.state.joined.load(Ordering::Relaxed);
        let expected = before.wrapping_add(participants - 1);
        if !words.fault(Fault::JoinsForgotten) {
            self.state.joined.store(expected, Ordering::Relaxed);
        }
        words.wait(self.joins(), ALL, Waiting::Join(participants), |count| is_reached(count, expected));
        for from in 1..participants {
            let (line, at) = self.join_state(from);
            let state = words.load(line, at);
            let edge = || Edge::Join { from, count: self.last_fork() };
            words.acquire(from, ReleaseToken::from(state), edge);
            words.follows(from);
        }
        self.state.all_joined.store(participants == words.size(), Ordering::Relaxed);
        words.synchronised(participants);
    }
}

impl<W: Words> Process<'_, W> {
    /// Number of the message of the last fork here.
    #[inline]
    pub(crate) fn last_fork(self) -> u32 {
        self.state.last_fork.load(Ordering::Relaxed)
    }

    /// The message of a fork is placed at a process, where everybody has read the last one if it is `awaited`, and those are woken who wait for it there. Messages come in the order of the forks.
    pub(crate) fn place_fork(self, at: u32, parts: &[&[u64]], awaited: bool) {
        let fork = ForkMessage { words: self.words, at };
        bulletin::write(&fork, parts, awaited);
        if !self.words.fault(Fault::ForkUnheard) {
            self.words.wake(fork.cell());
        }
    }

    fn joins(self) -> Cell<W::Line> {
        Cell::first(self.words.line(0, W::LAYOUT.join))
    }

    /// Line and byte of the word that says how far a process has published.
    fn join_state(self, rank: u32) -> (W::Line, usize) {
        let byte = 8 * rank as usize;
        (self.words.line(0, W::LAYOUT.join + byte / LINE * LINE), byte % LINE)
    }

    /// The arrival of a process at the end of a region is placed at process 0, with how far it has published.
    pub(crate) fn place_arrival(self, from: u32, state: u64) {
        let (line, at) = self.join_state(from);
        self.words.post(line, at, state);
        self.words.add_and_wake(self.joins(), 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_message_keeps_its_header_and_its_words_apart() {
        let mut message = [&header(3, 1 << 40)[..], &[7, 8]].concat();
        assert_eq!(take_header(&mut message), (3, 1 << 40));
        assert_eq!(message, [7, 8]);
    }
}
