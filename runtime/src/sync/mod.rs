//! Synchronisation: what the consistency model gives, independent of OpenMP.
//!
//! Every operation that orders memory is a release (publish own writes), a meeting over words that never migrate, and an acquire (take in
//! the signature of whom it met). In a single process the meetings are trivial and there is no coherence to do.

pub mod cell;
pub mod layout;
mod locks;
pub mod threads;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use dsm_coherence::Rank;
use dsm_comm::futex;

use crate::config;
use crate::fabric::run;
use crate::heap;
use crate::memory;
use cell::Cell;
use threads::Inside;

static SPIN_NS: AtomicU64 = AtomicU64::new(0);

/// Decides how long waiting threads spin: not at all where the job has more threads than the machine has cores. `threads` is the number in
/// the whole job.
pub fn init(threads: u32) {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let crowded = threads > cores && config::get().spin_given_us.is_none();
    let spin_us = if crowded { 0 } else { config::get().spin_us() };
    SPIN_NS.store(u64::from(spin_us) * 1000, Ordering::Relaxed);
}

fn spin_ns() -> u64 {
    SPIN_NS.load(Ordering::Relaxed)
}

/// This process's number.
pub fn rank() -> u32 {
    memory::get().rank()
}

/// Number of processes.
pub fn size() -> u32 {
    memory::get().geometry().processes()
}

/// Control memory of a single process, which has no segment.
fn private_control() -> *mut u8 {
    static AREA: OnceLock<usize> = OnceLock::new();
    let bytes = memory::geometry::CONTROL_BYTES;
    *AREA.get_or_init(|| {
        let layout = std::alloc::Layout::from_size_align(bytes, 4096).expect("a valid layout");
        // SAFETY: the size is not zero.
        let area = unsafe { std::alloc::alloc_zeroed(layout) };
        assert!(!area.is_null(), "no memory for {bytes} bytes of control words");
        area as usize
    }) as *mut u8
}

fn control_address(rank: u32, offset: usize) -> *mut u8 {
    assert!(offset < memory::geometry::CONTROL_BYTES);
    match memory::shared() {
        Some(shared) => shared.views.address(rank, memory::get().geometry().control_offset() + offset),
        // SAFETY: inside the area by the assertion.
        None => unsafe { private_control().add(offset) },
    }
}

fn word(rank: u32, offset: usize) -> &'static AtomicU64 {
    assert!(offset.is_multiple_of(8));
    // SAFETY: mapped for good, aligned, only accessed atomically.
    unsafe { AtomicU64::from_ptr(control_address(rank, offset).cast()) }
}

fn half(rank: u32, offset: usize) -> &'static AtomicU32 {
    assert!(offset.is_multiple_of(4));
    // SAFETY: mapped for good, aligned, only accessed atomically.
    unsafe { AtomicU32::from_ptr(control_address(rank, offset).cast()) }
}

/// Makes everything this process wrote so far visible to whoever acquires from it.
pub fn release() {
    if let Some(shared) = memory::shared() {
        run(shared.coherence.release());
    }
}

/// Takes in everything that `rank` has published and taken in so far.
pub fn acquire_from(rank: u32) {
    if let Some(shared) = memory::shared() {
        run(shared.coherence.acquire_from(Rank(rank)));
    }
}

/// `omp flush`: publishes own writes and takes in what all others published.
pub fn flush() {
    release();
    acquire_from_all(size());
}

fn acquire_from_all(participants: u32) {
    for rank in 0..participants {
        acquire_from(rank);
    }
}

/// All processes of the job have exchanged what they knew.
fn settle(participants: u32) {
    if participants == size() {
        if let Some(shared) = memory::shared() {
            shared.coherence.settle();
        }
        heap::after_sync();
    }
}

fn before(participants: u32) {
    if participants == size() {
        heap::before_sync();
    }
}

/// Process 0: makes its writes visible to all, hands `message` to processes 1..participants and wakes them.
pub fn fork(message: &[u64], participants: u32) {
    if size() == 1 {
        return;
    }
    assert!(message.len() <= layout::FORK_WORDS, "a fork message of {} words is too long", message.len());
    before(participants);
    release();
    write_fork(message, participants);
}

/// The fork count is odd while a message is being written.
fn write_fork(message: &[u64], participants: u32) {
    Cell::at(0, layout::FORK).increment();
    word(0, layout::FORK_MESSAGE).store(u64::from(participants), Ordering::SeqCst);
    word(0, layout::FORK_MESSAGE + 8).store(message.len() as u64, Ordering::SeqCst);
    for (i, value) in message.iter().enumerate() {
        word(0, layout::FORK_MESSAGE + 16 + 8 * i).store(*value, Ordering::SeqCst);
    }
    Cell::at(0, layout::FORK).increment();
}

/// Process 0, at the orderly end of the program: [`wait_fork`] gives `None` in all others.
pub fn end_job() {
    if size() > 1 {
        write_fork(&[], 0);
    }
}

/// Other processes: sleeps until the next fork they take part in, and acquires. `None`: the program has ended.
pub fn wait_fork(message: &mut Vec<u64>) -> Option<()> {
    static SEEN: AtomicU32 = AtomicU32::new(0);
    loop {
        let fork = Cell::at(0, layout::FORK);
        let before = SEEN.load(Ordering::Relaxed);
        let seen = fork.wait_until(|count| count != before && count % 2 == 0);
        SEEN.store(seen, Ordering::Relaxed);
        let participants = word(0, layout::FORK_MESSAGE).load(Ordering::SeqCst) as u32;
        let len = word(0, layout::FORK_MESSAGE + 8).load(Ordering::SeqCst) as usize;
        message.clear();
        for i in 0..len.min(layout::FORK_WORDS) {
            message.push(word(0, layout::FORK_MESSAGE + 16 + 8 * i).load(Ordering::SeqCst));
        }
        // Process 0 waits for those who take part before it forks again, so only the others can have read a mixture.
        if fork.get() != seen {
            continue;
        }
        if participants == 0 {
            return None;
        }
        if rank() < participants {
            acquire_from(0);
            settle(participants);
            return Some(());
        }
    }
}

/// End of a region: the others release and return at once; process 0 waits for all participants and acquires.
pub fn join(participants: u32) {
    static EXPECTED: AtomicU32 = AtomicU32::new(0);
    if size() == 1 {
        return;
    }
    if rank() != 0 {
        before(participants);
        release();
        Cell::at(0, layout::JOIN).increment();
        return;
    }
    let expected = EXPECTED.load(Ordering::Relaxed).wrapping_add(participants - 1);
    EXPECTED.store(expected, Ordering::Relaxed);
    let _inside = Inside::begin();
    Cell::at(0, layout::JOIN).wait_reached(expected);
    acquire_from_all(participants);
    settle(participants);
}

/// All of processes 0..participants: release, meet, acquire. One thread of each process calls it while the others wait in the runtime.
///
/// A dissemination barrier: in round k a process signals its neighbour at distance 2^k and takes in the signature of the one behind it, so
/// everybody's notices reach everybody in log2(participants) rounds.
pub fn barrier(participants: u32) {
    if size() == 1 || participants == 1 {
        return;
    }
    static ARRIVALS: [AtomicU32; 32] = [const { AtomicU32::new(0) }; 32];
    before(participants);
    let _inside = Inside::begin();
    release();
    let me = rank();
    let mut distance = 1;
    let mut round = 0;
    while distance < participants {
        let offset = layout::BARRIER + round * layout::BARRIER_STRIDE;
        Cell::at((me + distance) % participants, offset).increment();
        let expected = ARRIVALS[round].load(Ordering::Relaxed).wrapping_add(1);
        ARRIVALS[round].store(expected, Ordering::Relaxed);
        Cell::at(me, offset).wait_reached(expected);
        acquire_from((me + participants - distance) % participants);
        distance *= 2;
        round += 1;
    }
    settle(participants);
}

/// Distributed FIFO lock named by a word that is not 0, with acquire and release of the memory model. Any thread may call.
pub fn lock(name: u64) {
    locks::lock(name);
}

/// As [`lock`], but gives up if the lock is held.
pub fn try_lock(name: u64) -> bool {
    locks::try_lock(name)
}

/// Publishes own writes and lets the next in line have the lock.
pub fn unlock(name: u64) {
    locks::unlock(name);
}

/// Word `i` of the counters that a process leaves for the table at the end.
pub fn stats_word(rank: u32, i: usize) -> &'static AtomicU64 {
    word(rank, layout::STATS + 8 * i)
}

/// Number of control words.
pub const CONTROL_WORDS: usize = 1 << 16;

fn control(i: usize) -> &'static AtomicU64 {
    assert!(i < CONTROL_WORDS);
    word(0, layout::CONTROL + 8 * i)
}

fn wake_control(i: usize) {
    let low = half(0, layout::CONTROL + 8 * i);
    cell::wake(low, half(0, layout::CONTROL_SLEEPERS), futex::ALL);
}

/// Reads a control word: it lives in process 0, starts at 0, and orders nothing but itself.
pub fn control_load(i: usize) -> u64 {
    control(i).load(Ordering::SeqCst)
}

/// Writes a control word and wakes who waits for it.
pub fn control_store(i: usize, v: u64) {
    control(i).store(v, Ordering::SeqCst);
    wake_control(i);
}

/// Adds to a control word and wakes who waits for it; returns the old value.
pub fn control_fetch_add(i: usize, v: u64) -> u64 {
    let old = control(i).fetch_add(v, Ordering::SeqCst);
    wake_control(i);
    old
}

/// Compare-and-swap of a control word; wakes who waits for it.
///
/// # Errors
/// The value found, if it is not `expected`.
pub fn control_cas(i: usize, expected: u64, new: u64) -> Result<u64, u64> {
    let result = control(i).compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst);
    if result.is_ok() {
        wake_control(i);
    }
    result
}

/// Sleeps until `until` holds for a control word; returns it. Changes of the low 32 bits are noticed.
pub fn control_wait(i: usize, until: impl Fn(u64) -> bool) -> u64 {
    let low = half(0, layout::CONTROL + 8 * i);
    cell::wait(low, half(0, layout::CONTROL_SLEEPERS), futex::ALL, |_| until(control_load(i)));
    control_load(i)
}

/// Sleepers on words of this process, by the word's address.
static SLEEPERS: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];

fn sleepers(word: &AtomicU32) -> &'static AtomicU32 {
    &SLEEPERS[(word.as_ptr() as usize >> 6) % SLEEPERS.len()]
}

/// Waits for another thread of this process: spins briefly, then sleeps until `until` holds for the word.
pub fn wait_local(word: &AtomicU32, until: impl Fn(u32) -> bool) {
    cell::wait(word, sleepers(word), futex::ALL, until);
}

/// Wakes the threads in [`wait_local`] on the word, which was changed (SeqCst) before.
pub fn wake_local(word: &AtomicU32) {
    cell::wake(word, sleepers(word), futex::ALL);
}

/// This thread goes on to user code.
pub fn user_threads_enter() {
    threads::enter();
}

/// This thread waits inside the runtime.
pub fn user_threads_leave() {
    threads::leave();
}
