//! Vector clocks: which releases of which process a process has acquired, directly or through others.
//!
//! Component `r` of a process's clock counts the releases of process `r` that it knows, its own among them. It is raised before a release publishes
//! anything and read after an acquire has applied what was published, so a process never seems to know less than it does. At the begin of
//! regions and at barriers what counts is what the others had released when they arrived, however late this process wakes up: every process records that for
//! the fork and, in turn, for two barriers.

use std::sync::atomic::{AtomicU32, Ordering};

use dsm_comm::Word;

use super::is_on;
use crate::memory;

/// Numbers behind the components: releases at the last two barriers, and at the last fork.
pub const ARRIVALS: usize = 3;
const FORK: u32 = 2;

/// Barriers of the region so far.
static BARRIERS: AtomicU32 = AtomicU32::new(0);

/// Word `i` of the clock of process `at`; `None` if races are not looked for.
fn word(at: u32, i: u32) -> Option<Word> {
    let memory = memory::get().filter(|_| is_on())?;
    Some(memory.segments.word(at, memory.geometry.clock_offset(i)))
}

fn arrival_word(slot: u32) -> u32 {
    memory::processes() + slot
}

fn value(at: u32, i: u32) -> u64 {
    word(at, i).map_or(0, |w| w.load(Ordering::SeqCst))
}

fn raise(of: u32, least: u64) {
    if let Some(own) = word(memory::rank(), of) {
        own.fetch_max(least, Ordering::SeqCst);
    }
}

/// Releases of process `of` that process `at` knows.
pub fn known(at: u32, of: u32) -> u64 {
    value(at, of)
}

/// Counts a release of this process.
#[inline]
pub fn before_release() {
    if is_on() {
        let me = memory::rank();
        raise(me, value(me, me) + 1);
    }
}

/// Takes over what process `from` knows.
#[inline]
pub fn after_acquire(from: u32) {
    if is_on() {
        (0..memory::processes()).for_each(|of| raise(of, value(from, of)));
    }
}

fn record_releases(slot: u32) {
    let me = memory::rank();
    if let Some(place) = word(me, arrival_word(slot)) {
        place.store(value(me, me), Ordering::SeqCst);
    }
}

/// Process 0 has released and is about to start a region.
#[inline]
pub fn fork() {
    if is_on() {
        BARRIERS.store(0, Ordering::SeqCst);
        record_releases(FORK);
    }
}

/// This process has acquired from process 0 and takes part in its region.
#[inline]
pub fn forked() {
    if is_on() {
        BARRIERS.store(0, Ordering::SeqCst);
        raise(0, value(0, arrival_word(FORK)));
        (1..memory::processes()).for_each(|of| raise(of, value(0, of)));
    }
}

/// This process has released and is about to tell others that it has come to a barrier; returns the barrier for [`depart`].
#[inline]
pub fn arrive() -> u32 {
    if !is_on() {
        return 0;
    }
    let slot = BARRIERS.fetch_add(1, Ordering::SeqCst) % 2;
    record_releases(slot);
    slot
}

/// All of processes 0..participants have come to the barrier.
#[inline]
pub fn depart(slot: u32, participants: u32) {
    if is_on() {
        (0..participants).for_each(|of| raise(of, value(of, arrival_word(slot))));
    }
}
