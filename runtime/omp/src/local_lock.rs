//! Locks, and critical sections, of a job of one process: in the first byte of the lock's variable. Nobody is to acquire what was written under them, so neither the table of locks nor its queue
//! is needed. In other jobs, and while races are looked for, they are those of [`crate::sync`].

use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::RawMutex;
use parking_lot::lock_api::RawMutex as _;

use crate::operations::signal;
use crate::profile::{self, Wait};
use crate::progress::{self, Doing, Now};
use crate::{race, sync, trace};
use dsm_observe::checked::Synchronising;

// A variable of zeros is free.
const _: () = assert!(size_of::<RawMutex>() == 1);

#[inline(always)]
fn is_local() -> bool {
    sync::size() == 1 && !race::is_on()
}

/// The lock of a name, which is the address of its variable, if it is there.
#[inline(always)]
fn at(name: u64) -> Option<&'static RawMutex> {
    // SAFETY: the program's variable, of at least four bytes, which only the routines use.
    is_local().then(|| unsafe { &*(name as *const RawMutex) })
}

/// As [`sync::lock`].
pub fn lock(name: u64) {
    let Some(lock) = at(name) else { return sync::lock(name) };
    signal::assert_allowed("a lock");
    drop(Synchronising::begin());
    let since = profile::now_and_then();
    if !lock.try_lock() {
        wait(lock, name);
    }
    progress::hold(name);
    profile::waited(Wait::Lock, name, since);
}

#[cold]
fn wait(lock: &RawMutex, name: u64) {
    let _traced = trace::lock(name);
    let _now = Now::begin(Doing::Lock, name, 0);
    lock.lock();
}

/// As [`sync::try_lock`].
pub fn try_lock(name: u64) -> bool {
    let Some(lock) = at(name) else { return sync::try_lock(name) };
    let is_taken = lock.try_lock();
    if is_taken {
        progress::hold(name);
    }
    is_taken
}

/// As [`sync::unlock`].
pub fn unlock(name: u64) {
    let Some(lock) = at(name) else { return sync::unlock(name) };
    drop(Synchronising::begin());
    progress::pass_on(name);
    // SAFETY: the thread holds it, or another one on behalf of which the program gives it back.
    unsafe { lock.unlock() };
}

/// As [`sync::begin_lock`].
pub fn begin_lock(name: u64) {
    if is_local() {
        // SAFETY: as in `at`.
        unsafe { AtomicU8::from_ptr(name as *mut u8) }.store(0, Ordering::SeqCst);
    } else {
        sync::begin_lock(name);
    }
}

/// As [`sync::end_lock`].
pub fn end_lock(name: u64) {
    if !is_local() {
        sync::end_lock(name);
    }
}
