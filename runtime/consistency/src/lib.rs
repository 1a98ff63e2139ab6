//! Synchronisation among the threads of all processes: barriers, locks, conditions and flags, which OpenMP, POSIX threads, heap and streams build on.
//!
//! Every operation that orders memory is a release (publish own writes), a synchronisation by words that never migrate, and an acquire from the processes
//! that released before. In a single process the synchronisation is one of threads, and there is no coherence to do.

mod barrier;
mod conditions;
pub mod hooks;
pub mod nest;
pub mod reduction;
pub mod regions;
mod words;

use std::cell::Cell;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use dsm_coherence::{Block, Rank, ReleaseToken};
use dsm_threads::handler;

use dsm_memory::fabric::{run, run_sync};
use dsm_memory::{self as memory, Memory, Shared, threads};
use dsm_observe::checked::{self, Synchronising};
use dsm_observe::profile::{self, Wait};
use dsm_observe::progress;
use dsm_observe::race;
use dsm_observe::time::{self, Activity};
use dsm_observe::trace::Event;

pub use barrier::{barrier, barrier_with_tasks, end_at_barrier, end_job, fork, join, wait_fork};
pub use dsm_sync::Turn;

pub use conditions::{condition_count, condition_notify, condition_poll, condition_wait};
pub use dsm_control::cell::{init, wait_local, wake_local};
pub use dsm_memory::threads::{enter as user_threads_enter, leave as user_threads_leave};
pub use words::{ControlAreas, TASK_MESSAGE_WORDS, TASK_SLOT_COUNT, process, serve};

use hooks::hooks;

/// This process's number; 0 before memory is set up.
#[inline]
pub fn rank() -> u32 {
    memory::set_up().map_or(0, Memory::rank)
}

/// Number of processes; 1 before memory is set up.
#[inline]
pub fn size() -> u32 {
    memory::set_up().map_or(1, |memory| memory.geometry().processes())
}

/// Makes everything this process wrote so far visible to whoever acquires from it.
pub fn release() {
    let _verified = Synchronising::begin();
    if let Some(shared) = memory::shared() {
        let since = profile::now();
        time::spent(
            Activity::Release,
            || Some(Event::release(None)),
            || {
                before_release();
                let begun = (hooks().begin_release)();
                run(pin!(shared.coherence.release()));
                (hooks().after_release)(begun);
            },
        );
        profile::released(since);
    }
}

/// A release, an operation and an acquire from all processes, where nothing is to be done but the operation; `operation` says whether there is something to acquire behind it. `None`, as `operation` or without
/// it: nothing was done. `is_quiet`: whether those hooks whose work is not in [`Hooks::is_quiet`](hooks::Hooks::is_quiet) have nothing to do.
#[inline(always)]
pub fn ordered_at_once<R>(
    is_quiet: impl FnOnce() -> bool,
    operation: impl FnOnce() -> Option<(R, bool)>,
) -> Option<R> {
    let is_watched = profile::is_on() || time::is_traced() || checked::is_on();
    if is_unreleased() || is_watched || !is_quiet() || !(hooks().is_quiet)() {
        return None;
    }
    threads::pass();
    let (result, is_new) = operation()?;
    if is_new {
        acquire_from_all();
    }
    Some(result)
}

/// As [`release`]; calls `then` with how far the own signature is published, and its last notices, as soon as others may acquire from it. `precedes`: the flow in a
/// trace to whoever does.
fn release_then(precedes: impl FnOnce() -> u64, then: impl FnOnce(ReleaseToken)) {
    let _verified = Synchronising::begin();
    let Some(shared) = memory::shared() else { return then(ReleaseToken::default()) };
    let since = profile::now();
    time::spent(
        Activity::Release,
        || Some(Event::release(Some(precedes()))),
        || {
            before_release();
            let begun = (hooks().begin_release)();
            if let Err(then) = run_sync(|| shared.coherence.release_sync(then)) {
                run(pin!(shared.coherence.release_then(false, then)));
            }
            (hooks().after_release)(begun);
        },
    );
    profile::released(since);
}

/// What precedes every release.
pub fn before_release() {
    if is_unreleased() {
        UNRELEASED.store(false, Ordering::Relaxed);
    }
    (hooks().before_release)();
    if !handler::is_over_user_code() {
        threads::pass();
        if !IS_SERVICE.get() {
            (hooks().before_undisturbed_release)();
        }
    }
    race::clocks::before_release();
}

thread_local! {
    /// Whether the thread is one of the runtime's that releases what threads of the program have written: these have done what they do for that.
    static IS_SERVICE: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread, of the runtime, releases on behalf of others.
fn begin_service() {
    IS_SERVICE.set(true);
}

/// Whether a lock was given back without a release since the last one.
static UNRELEASED: AtomicBool = AtomicBool::new(false);

/// Whether a thread of the process has given back a lock that the process caches, and nothing was released since: to give back a lock is to flush, which an atomic operation behind it, of any order, may tell
/// others of.
#[inline]
pub fn is_unreleased() -> bool {
    UNRELEASED.load(Ordering::Relaxed)
}

/// Acquires everything that `rank` has published so far, what it has acquired itself included.
pub fn acquire_from(rank: u32) {
    acquire_unordered(rank);
    race::clocks::after_acquire(rank);
}

/// The same, without its effect on race reports: for the runtime's own data.
pub fn acquire_unordered(rank: u32) {
    let _verified = Synchronising::begin();
    if let Some(shared) = memory::shared() {
        let event = || (rank != self::rank()).then(|| Event::acquire(rank, 0));
        time::spent(Activity::Acquire, event, || run(pin!(shared.coherence.acquire_from(Rank(rank)))));
        (hooks().after_acquire)();
    }
}

/// As [`acquire_from`] of every process. Those that are reached by messages are asked together.
pub fn acquire_from_all() {
    let _verified = Synchronising::begin();
    if let Some(shared) = memory::shared() {
        let event = || (size() > 1).then(Event::acquire_from_all);
        let acquire = || run(pin!(shared.coherence.acquire_from_all((0..size()).map(Rank))));
        time::spent(Activity::Acquire, event, acquire);
        (hooks().after_acquire)();
    }
    (0..size()).for_each(race::clocks::after_acquire);
}

/// Value of an atomic variable of 1, 2, 4 or 8 aligned bytes at `offset` in its block, read where its home is, and an acquire from all processes behind that.
pub fn read_and_acquire(shared: &Shared, block: Block, offset: usize, bytes: usize) -> u64 {
    let _verified = Synchronising::begin();
    let (value, acquired) = run(pin!(shared.coherence.read_atomic_acquiring(block, offset, bytes)));
    let others = (0..size()).map(Rank).filter(|rank| Some(*rank) != acquired);
    let acquire = || run(pin!(shared.coherence.acquire_from_all(others)));
    time::spent(Activity::Acquire, || Some(Event::acquire_from_all()), acquire);
    (hooks().after_acquire)();
    (0..size()).for_each(race::clocks::after_acquire);
    value
}

/// How far the own signature is published; acquirers pass it to [`acquire_token`].
fn published() -> u64 {
    memory::shared().map_or(0, |shared| shared.coherence.published())
}

/// As [`acquire_from`], but only what `rank` had published when [`published`] was `token`, or [`release_then`] gave it, there, and without its effect on race reports:
/// barriers and locks know better what they order. `follows`: the flow in a trace from there.
fn acquire_token(rank: u32, token: impl Into<ReleaseToken>, follows: impl FnOnce() -> u64) {
    let _verified = Synchronising::begin();
    if let Some(shared) = memory::shared() {
        let (from, token) = (Rank(rank), token.into());
        time::spent(
            Activity::Acquire,
            || Some(Event::acquire(rank, follows())),
            || {
                if !run_sync(|| shared.coherence.acquire_sync(from, token)) {
                    run(pin!(shared.coherence.acquire_with_token(from, token)));
                }
            },
        );
        (hooks().after_acquire)();
    }
}

/// Whether [`fetch_ahead`] does anything: where processes are reached by messages.
pub fn fetches_ahead() -> bool {
    memory::shared().is_some_and(|shared| !shared.segments.are_mapped())
}

/// Fetches what the process is likely to miss next, when it has synchronised. See [`Coherence::fetch_ahead`](dsm_coherence::Coherence::fetch_ahead).
pub fn fetch_ahead(site: Option<u64>) {
    if let Some(shared) = memory::shared()
        && !shared.segments.are_mapped()
    {
        (hooks().begin_fetch)();
        run(pin!(shared.coherence.fetch_ahead(site)));
        (hooks().end_fetch)();
        (hooks().after_acquire)();
    }
}

/// Prefetches for [`acquire_token`] of what comes after `token`.
fn prefetch(token: ReleaseToken) {
    if let Some(shared) = memory::shared() {
        shared.coherence.prefetch_by_token(token);
    }
}

/// Process 0 sends a message to all other processes, in the serial part; returns when they have followed it.
pub fn tell_others(message: &[u64]) {
    user_threads_leave();
    fork(message, size());
    join(size());
    user_threads_enter();
}

/// `omp flush`: publishes own writes and acquires what all others published.
pub fn flush() {
    release();
    acquire_from_all();
    fetch_ahead(None);
}

/// Distributed FIFO lock named by a word that is not 0, with acquire and release of the memory model. Any thread may call.
pub fn lock(name: u64) {
    assert_of_job();
    (hooks().before_lock)();
    drop(Synchronising::begin());
    let since = profile::now_and_then();
    process().lock(name);
    progress::hold(name);
    profile::waited(Wait::Lock, name, since);
}

/// As [`lock`], but gives up if the lock is held.
pub fn try_lock(name: u64) -> bool {
    assert_of_job();
    let taken = process().try_lock(name);
    if taken {
        progress::hold(name);
    }
    taken
}

/// Publishes own writes and lets the next in line have the lock.
pub fn unlock(name: u64) {
    assert_of_job();
    drop(Synchronising::begin());
    progress::pass_on(name);
    if process().may_cache(name) {
        // What others release on behalf of this thread it has in its hands.
        (hooks().before_cached_unlock)();
        if !handler::is_over_user_code() {
            (hooks().before_undisturbed_release)();
        }
    }
    if process().unlock(name) && !is_unreleased() {
        UNRELEASED.store(true, Ordering::Relaxed);
    }
    give_up_locks();
}

/// The words of locks are in memory that a child which the program has forked shares with its parent.
#[inline]
fn assert_of_job() {
    if size() > 1 {
        dsm_job::child::assert_of_job();
    }
}

/// Gives up locks that this process caches, and that others have revoked: sooner than the thread that does nothing else.
#[inline]
fn give_up_locks() {
    if process().has_revocations() {
        process().give_up_revoked();
    }
}

/// A lock variable begins: it is free, whatever was in its place.
pub fn begin_lock(name: u64) {
    process().begin_lock(name);
}

/// A lock variable ends; what is kept of its lock is given back.
pub fn end_lock(name: u64) {
    process().end_lock(name);
}

/// What tells the present holding of a lock from all others; for its holder. `None` if nobody ever held it.
pub fn lock_holding(name: u64) -> Option<Turn> {
    process().turn(name)
}
