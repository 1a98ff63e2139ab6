//! Locks, critical sections, atomic brackets and ordered regions.

use super::abi::{Endpoint, MUTEX_IMPLEMENTATION, MutexKind, State};
use super::thread::Doing;
use super::{callbacks, code_pointer, is_active};

fn state(kind: MutexKind) -> State {
    match kind {
        MutexKind::Critical => State::WaitCritical,
        MutexKind::Atomic => State::WaitAtomic,
        MutexKind::Ordered => State::WaitOrdered,
        _ => State::WaitLock,
    }
}

/// What became of an attempt to take a lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The thread has it now.
    Now,
    /// The thread had it already.
    Again,
    /// Another thread has it.
    No,
}

/// Takes a lock by `take`.
#[inline]
pub fn acquire<T>(
    kind: MutexKind,
    hint: u32,
    name: u64,
    take: impl FnOnce(u64) -> T,
    taken: fn(&T) -> Taken,
) -> T {
    if is_active() { tell_acquire(kind, hint, name, take, taken) } else { take(name) }
}

#[cold]
fn tell_acquire<T>(
    kind: MutexKind,
    hint: u32,
    name: u64,
    take: impl FnOnce(u64) -> T,
    taken: fn(&T) -> Taken,
) -> T {
    let at = code_pointer();
    callbacks::mutex_acquire(kind, hint, MUTEX_IMPLEMENTATION.0, name, at);
    let result = {
        let _doing = Doing::begin(state(kind), name);
        take(name)
    };
    match taken(&result) {
        Taken::Now => callbacks::mutex_acquired(kind, name, at),
        Taken::Again => callbacks::nest_lock(Endpoint::Begin, name, at),
        Taken::No => {}
    }
    result
}

/// Takes a lock that is waited for.
#[inline]
pub fn lock(kind: MutexKind, hint: u32, name: u64, take: impl FnOnce(u64)) {
    acquire(kind, hint, name, take, |()| Taken::Now);
}

/// Gives a lock back by `give`, which says whether it is free now.
#[inline]
pub fn release(kind: MutexKind, name: u64, give: impl FnOnce(u64) -> bool) {
    let is_free = give(name);
    if is_active() {
        if is_free {
            callbacks::mutex_released(kind, name, code_pointer());
        } else {
            callbacks::nest_lock(Endpoint::End, name, code_pointer());
        }
    }
}

/// Gives back a lock that is not nested.
#[inline]
pub fn unlock(kind: MutexKind, name: u64, give: impl FnOnce(u64)) {
    release(kind, name, |name| {
        give(name);
        true
    });
}

/// A lock begins.
#[inline]
pub fn init(kind: MutexKind, hint: u32, name: u64) {
    if is_active() {
        callbacks::lock_init(kind, hint, MUTEX_IMPLEMENTATION.0, name, code_pointer());
    }
}

/// A lock ends.
#[inline]
pub fn destroy(kind: MutexKind, name: u64) {
    if is_active() {
        callbacks::lock_destroy(kind, name, code_pointer());
    }
}
