//! Global synchronisation: the fork and the join of a region (libomp's fork and join barriers), and the barrier.
//!
//! Each is one message a process: a word in the receiver's (or process 0's) control area, on which the receiver spins. The state word of the sender's signature
//! travels in the same cache line, so a receiver for which there is nothing new touches nothing else of the sender.

use std::sync::atomic::{AtomicU32, Ordering};

use dsm_abi::trace::flow;
use dsm_comm::bulletin::{self, Bulletin};

use super::cell::Cell;
use super::control::{read_words, word, write_words};
use super::threads::Inside;
use super::{acquire_token, layout, published, rank, release, size};
use crate::memory;
use crate::progress::{self, Doing, Now};
use crate::race;
use crate::signals::Deferred;
use crate::stdio;
use crate::trace;
use crate::verify::Synchronising;

/// After a synchronisation of `participants` processes: if these are all of the job, every process has acquired from every other.
fn after_global_sync(participants: u32) {
    let _deferred = Deferred::begin();
    if participants == size() {
        if let Some(shared) = memory::shared() {
            shared.coherence.drop_known_notices();
        }
        memory::twins::after_sync();
        memory::huge::after_sync();
    }
}

/// Process 0: makes its writes visible to all, hands `message` to processes 1..participants and wakes them.
pub fn fork(message: &[u64], participants: u32) {
    if size() == 1 {
        return;
    }
    assert!(message.len() <= layout::FORK_WORDS, "a fork message of {} words is too long", message.len());
    release();
    race::clocks::fork();
    trace::precedes((1..participants).map(|rank| flow::fork(rank, next_fork())));
    write_fork(message, participants);
}

/// Words in front of the message.
const FORK_HEADER: usize = 2;

/// Participants, and how far process 0's signature is published.
fn header(participants: u32, state: u64) -> [u64; FORK_HEADER] {
    [participants.into(), state]
}

/// Takes [`header`] off what was read.
fn take_header(message: &mut Vec<u64>) -> (u32, u64) {
    let values = (message[0] as u32, message[1]);
    message.drain(..FORK_HEADER);
    values
}

/// The fork message in process 0.
struct ForkMessage(Cell);

impl ForkMessage {
    fn get() -> ForkMessage {
        ForkMessage(Cell::at(0, layout::FORK))
    }
}

impl Bulletin for ForkMessage {
    fn advance(&self) {
        self.0.value().fetch_add(1, Ordering::SeqCst);
    }

    fn count(&self) -> u32 {
        self.0.get()
    }

    fn wait(&self, until: &dyn Fn(u32) -> bool) -> u32 {
        self.0.wait_until(until)
    }

    fn read(&self, first: usize, into: &mut [u64]) {
        read_words(0, layout::FORK_MESSAGE + 8 * first, into);
    }

    fn write(&self, first: usize, words: &[u64]) {
        write_words(0, layout::FORK_MESSAGE + 8 * first, words);
    }
}

/// Number of the last fork message of process 0 that this process wrote or read.
static LAST_FORK: AtomicU32 = AtomicU32::new(0);

/// Number of the next message that process 0, which calls this, writes.
fn next_fork() -> u32 {
    LAST_FORK.load(Ordering::Relaxed).wrapping_add(bulletin::STEP)
}

fn write_fork(message: &[u64], participants: u32) {
    let fork = ForkMessage::get();
    LAST_FORK.store(next_fork(), Ordering::Relaxed);
    bulletin::write(&fork, &[&header(participants, published()), message].concat());
    progress::begin_region(fork.count());
    fork.0.wake();
}

/// Process 0, at the orderly end of the program: [`wait_fork`] gives `None` in all others.
pub fn end_job() {
    if size() > 1 {
        write_fork(&[], 0);
    }
}

/// Another process than 0 has left its counters.
pub fn leave() {
    word(0, layout::LEFT).fetch_add(1, Ordering::SeqCst);
}

/// Processes that have left their counters.
pub fn left() -> u32 {
    word(0, layout::LEFT).load(Ordering::SeqCst) as u32
}

/// Other processes: sleeps until the next fork they take part in, and acquires. `None`: the program has ended.
pub fn wait_fork(message: &mut Vec<u64>) -> Option<()> {
    const MOST: usize = FORK_HEADER + layout::FORK_WORDS;
    let fork = ForkMessage::get();
    loop {
        // Process 0 waits for those who take part before it forks again, so only the others can read a mixture.
        let before = LAST_FORK.load(Ordering::Relaxed);
        let idle = Now::begin(Doing::Idle, 0, 0);
        let seen = bulletin::read(&fork, before, MOST, message);
        progress::begin_region(seen);
        drop(idle);
        LAST_FORK.store(seen, Ordering::Relaxed);
        let (participants, state) = take_header(message);
        if participants == 0 {
            return None;
        }
        if rank() < participants {
            acquire_token(0, state, || flow::fork(rank(), seen));
            race::clocks::forked();
            after_global_sync(participants);
            stdio::after_fork();
            return Some(());
        }
    }
}

/// End of a region: the others release and return at once; process 0 waits for all participants and acquires.
pub fn join(participants: u32) {
    static EXPECTED: AtomicU32 = AtomicU32::new(0);
    drop(Synchronising::begin());
    if size() == 1 {
        return;
    }
    let state = |rank: u32| word(0, layout::JOIN + 8 * rank as usize);
    let me = rank();
    if me != 0 {
        release();
        trace::precedes([flow::join(me, LAST_FORK.load(Ordering::Relaxed))]);
        state(me).store(published(), Ordering::Release);
        Cell::at(0, layout::JOIN).increment();
        return;
    }
    let expected = EXPECTED.load(Ordering::Relaxed).wrapping_add(participants - 1);
    EXPECTED.store(expected, Ordering::Relaxed);
    let _inside = Inside::begin();
    let waits = Now::begin(Doing::Join, 0, participants);
    Cell::at(0, layout::JOIN).wait_reached(expected);
    drop(waits);
    for rank in 1..participants {
        let follows = || flow::join(rank, LAST_FORK.load(Ordering::Relaxed));
        acquire_token(rank, state(rank).load(Ordering::Acquire), follows);
        race::clocks::after_acquire(rank);
    }
    after_global_sync(participants);
}

/// Processes 0..participants release, wait for each other, and acquire. One thread of each process calls it while the others wait in the runtime.
///
/// A dissemination barrier (Hensgen, Finkel, Manber 1988): in round k a process signals its neighbour at distance 2^k and acquires from the one behind it, so
/// every process's notices reach every other in log2(participants) rounds. A process that is ahead may signal the next barrier before its neighbour has looked: then
/// the neighbour acquires more than it has to.
pub fn barrier(participants: u32) {
    drop(Synchronising::begin());
    if size() == 1 || participants == 1 {
        return;
    }
    static ARRIVALS: [AtomicU32; 32] = [const { AtomicU32::new(0) }; 32];
    let _inside = Inside::begin();
    release();
    let slot = race::clocks::arrive();
    progress::arrive();
    let me = rank();
    let mut distance = 1;
    let mut round = 0;
    while distance < participants {
        let offset = layout::BARRIER + round * layout::BARRIER_STRIDE;
        let to = (me + distance) % participants;
        word(to, offset + 8).store(published(), Ordering::Release);
        let count = Cell::at(to, offset).increment().wrapping_add(1);
        trace::precedes([flow::barrier(to, round, count)]);
        let expected = ARRIVALS[round].load(Ordering::Relaxed).wrapping_add(1);
        ARRIVALS[round].store(expected, Ordering::Relaxed);
        let waits = Now::begin(Doing::Barrier, 0, participants);
        Cell::at(me, offset).wait_reached(expected);
        drop(waits);
        let state = word(me, offset + 8).load(Ordering::Acquire);
        let from = (me + participants - distance) % participants;
        acquire_token(from, state, || flow::barrier(me, round, expected));
        distance *= 2;
        round += 1;
    }
    race::clocks::depart(slot, participants);
    after_global_sync(participants);
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
