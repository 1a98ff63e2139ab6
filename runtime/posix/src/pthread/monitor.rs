//! What semaphores, barriers and read-write locks are made of in a job of several processes: a few words in the object's own memory, which
//! is the program's shared memory, a lock under the object's address, and a counter of changes to wait for.

use std::ffi::{c_int, c_void};

use super::condition::left;
use super::has_peers;
use crate::{check, memory, sync};
use dsm_threads::handler::Deferred;

/// Time on a clock until which one waits.
pub type Deadline = Option<(c_int, libc::timespec)>;

/// Words of an object that are used.
pub type Words = [u32; 3];

/// What an attempt has come to.
pub enum Step<R> {
    /// It succeeded.
    Done(R),
    /// It succeeded, and others may go on now.
    Wake(R),
    /// It has to be repeated once something has changed.
    Wait,
}

/// Whether the object serves threads of several processes; others are the C library's.
pub fn is_ours(object: *mut c_void) -> bool {
    memory::is_set_up() && has_peers() && memory::is_shared(object as usize)
}

/// Under which the changes are counted; no other object is there.
pub fn changes(object: *mut c_void) -> u64 {
    object as u64 + 1
}

/// The object ends: what is kept of its lock is given back.
pub fn end(object: *mut c_void) -> c_int {
    sync::end_lock(object as u64);
    0
}

/// Sets the object's words.
///
/// # Safety
/// The object is the program's and has as many bytes.
pub unsafe fn set(object: *mut c_void, words: Words) {
    sync::lock(object as u64);
    check::writable(object as usize, size_of::<Words>());
    // SAFETY: the caller's promise; writable.
    unsafe { object.cast::<Words>().write_unaligned(words) };
    sync::unlock(object as u64);
}

/// Tries until the step succeeds or the time is over. What others did before their steps is visible then.
///
/// # Safety
/// The object is one that was [`set`].
pub unsafe fn attempt<R>(
    object: *mut c_void,
    deadline: Deadline,
    mut step: impl FnMut(&mut Words) -> Step<R>,
) -> Option<R> {
    let (name, changes) = (object as u64, changes(object));
    loop {
        // A handler may post to the semaphore that its thread waits for.
        let deferred = Deferred::begin();
        sync::lock(name);
        check::readable(object as usize, size_of::<Words>());
        // SAFETY: the caller's promise; readable.
        let before = unsafe { object.cast::<Words>().read_unaligned() };
        let mut words = before;
        let result = step(&mut words);
        if words != before {
            check::writable(object as usize, size_of::<Words>());
            // SAFETY: as above; writable.
            unsafe { object.cast::<Words>().write_unaligned(words) };
        }
        let seen = sync::condition_count(changes);
        sync::unlock(name);
        drop(deferred);
        match result {
            Step::Done(result) => return Some(result),
            Step::Wake(result) => {
                sync::condition_notify(changes);
                return Some(result);
            }
            Step::Wait => {}
        }
        match deadline {
            None => sync::condition_wait(changes, seen),
            Some((clock, time)) => {
                if !sync::condition_poll(changes, seen, || left(clock, &time)) {
                    return None;
                }
            }
        }
    }
}

/// As [`attempt`], once.
///
/// # Safety
/// As there.
pub unsafe fn attempt_once<R>(object: *mut c_void, mut step: impl FnMut(&mut Words) -> Step<R>) -> Option<R> {
    // SAFETY: the caller's promise.
    unsafe {
        attempt(object, None, |words| match step(words) {
            Step::Done(result) => Step::Done(Some(result)),
            Step::Wake(result) => Step::Wake(Some(result)),
            Step::Wait => Step::Done(None),
        })
        .flatten()
    }
}
