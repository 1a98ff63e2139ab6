//! Locks across `fork`: taken before it, so that the child has what they protect in order, and given back behind it in both processes.

use parking_lot::lock_api::RawMutex as _;
use parking_lot::{Mutex, RawMutex};

/// Gives back a lock that was taken before `fork`. The child's has no waiters: a lock that knows of some may be handed to one of them (F. Pizlo, "Locking in WebKit", 2016), and
/// in the child these threads do not exist.
///
/// # Safety
/// The calling thread has the lock, and has leaked its guard; `in_child`: there is no other thread.
pub unsafe fn unlock<T>(mutex: &Mutex<T>, in_child: bool) {
    if in_child {
        // SAFETY: the caller's promises; a raw lock is an atomic.
        unsafe { std::ptr::from_ref(mutex.raw()).cast_mut().write(RawMutex::INIT) };
    } else {
        // SAFETY: the caller's promise.
        unsafe { mutex.force_unlock() };
    }
}
