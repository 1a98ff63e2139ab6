//! Biased locks: the locks that the threads of a process take around the protocol cost nothing as long as one thread takes them.
//!
//! Most processes of a job run one thread. For these, mutual exclusion among threads would cost more than the protocol itself when
//! a lock of the program goes from process to process. So the first thread that registers owns the process's bias until a second one registers and revokes it (see [`Bias`]).
//! A thread registers before it runs a protocol function, or user code in which stores may pass their checks.

use std::cell::{Cell, UnsafeCell};
use std::fmt::{self, Debug, Formatter};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use dsm_coherence::Exclusive;
use dsm_threads::bias::{Bias, can_fence_all_threads, fence_all_threads};
use parking_lot::{Mutex, MutexGuard};

use crate::threads::Quiescent;

static BIAS: Bias = Bias::new();
/// Whether a thread has registered.
static CLAIMED: AtomicBool = AtomicBool::new(false);
/// Whether the owner is ready to be fenced.
static FENCED: AtomicBool = AtomicBool::new(false);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Has not registered yet.
    Unregistered,
    Owner,
    /// Takes locks, since another thread owned the bias first, or the bias is revoked.
    Contender,
}

thread_local! {
    static ROLE: Cell<Role> = const { Cell::new(Role::Unregistered) };
    /// Whether this thread is inside and owns the bias.
    static HOLDS_BIAS: Cell<bool> = const { Cell::new(false) };
}

/// Whether no other thread of this process runs the protocol now, or can begin to before this one has ended what it runs.
#[inline(always)]
pub fn holds_bias() -> bool {
    HOLDS_BIAS.get()
}

/// Runs protocol code without locks, if the thread owns the bias; [`holds_bias`] is the same from its begin to its end.
#[inline(always)]
pub fn run_biased<R>(body: impl FnOnce() -> R) -> R {
    if HOLDS_BIAS.get() || ROLE.get() == Role::Contender || !enter() {
        return body();
    }
    HOLDS_BIAS.set(true);
    let result = body();
    HOLDS_BIAS.set(false);
    BIAS.leave();
    result
}

#[inline(always)]
fn enter() -> bool {
    register_thread();
    let holds_bias = ROLE.get() == Role::Owner && BIAS.enter();
    if !holds_bias {
        ROLE.set(Role::Contender);
    }
    holds_bias
}

/// This thread is about to do something that other threads have to be excluded from.
#[inline(always)]
pub fn register_thread() {
    if ROLE.get() == Role::Unregistered {
        claim_or_revoke();
    }
}

#[cold]
fn claim_or_revoke() {
    if !CLAIMED.swap(true, Ordering::SeqCst) && can_fence_all_threads() {
        FENCED.store(true, Ordering::SeqCst);
        std::sync::atomic::fence(Ordering::SeqCst);
        ROLE.set(Role::Owner);
        return;
    }
    ROLE.set(Role::Contender);
    BIAS.revoke(|| {
        // If it is not, there is no owner, or it sees the revocation anyway.
        if FENCED.load(Ordering::SeqCst) {
            fence_all_threads();
        }
    });
}

/// A lock that the thread with the bias does not take.
#[derive(Debug, Default)]
pub struct Lock(Mutex<()>);

/// Keeps a [`Lock`].
pub type Locked<'a> = Option<MutexGuard<'a, ()>>;

impl Lock {
    /// Locks it; an atomic operation unless the thread holds the bias.
    #[inline(always)]
    pub fn lock(&self) -> Locked<'_> {
        if holds_bias() { None } else { Some(self.0.lock()) }
    }

    /// As [`Lock::lock`], for a thread that is not between a check and the access it guards: while it waits it counts as
    /// inside the runtime.
    #[inline(always)]
    pub fn lock_inside(&self) -> Locked<'_> {
        if holds_bias() { None } else { Some(self.0.try_lock().unwrap_or_else(|| self.wait_inside())) }
    }

    #[cold]
    fn wait_inside(&self) -> MutexGuard<'_, ()> {
        let _quiescent = Quiescent::begin();
        self.0.lock()
    }

    /// As [`Lock::lock`], if nobody has it.
    pub fn try_lock(&self) -> Option<Locked<'_>> {
        if holds_bias() { Some(None) } else { self.0.try_lock().map(Some) }
    }

    /// Whether nobody has it.
    #[inline(always)]
    pub fn is_free(&self) -> bool {
        holds_bias() || !self.0.is_locked()
    }
}

/// A value behind a [`Lock`].
#[derive(Default)]
pub struct Shared<T> {
    lock: Lock,
    /// Whether somebody has it: a thread that asks twice gets no second reference.
    is_borrowed: UnsafeCell<bool>,
    value: UnsafeCell<T>,
}

// SAFETY: whoever has the value has the lock, or is the only thread that can get it.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Debug for Shared<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// Lends a [`Shared`] value.
pub struct SharedGuard<'a, T> {
    of: &'a Shared<T>,
    _lock: Locked<'a>,
}

impl<T: Send + Debug> Exclusive<T> for Shared<T> {
    type Guard<'a>
        = SharedGuard<'a, T>
    where
        T: 'a;

    fn new(value: T) -> Self {
        Shared { lock: Lock::default(), is_borrowed: UnsafeCell::new(false), value: UnsafeCell::new(value) }
    }

    #[inline(always)]
    fn lock(&self) -> SharedGuard<'_, T> {
        let lock = self.lock.lock();
        // SAFETY: only the thread that has the lock, or holds the bias, comes here.
        let is_borrowed = unsafe { std::mem::replace(&mut *self.is_borrowed.get(), true) };
        assert!(!is_borrowed, "the thread has the value already");
        SharedGuard { of: self, _lock: lock }
    }
}

impl<T> Deref for SharedGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: there is one of these at a time.
        unsafe { &*self.of.value.get() }
    }
}

impl<T> DerefMut for SharedGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `deref`.
        unsafe { &mut *self.of.value.get() }
    }
}

impl<T> Drop for SharedGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: before the lock goes.
        unsafe { *self.of.is_borrowed.get() = false };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, because a process has one owner and loses it once.
    #[test]
    fn threads_that_come_later_exclude_the_first() {
        const ADD: u32 = 100_000;
        let value = Shared::new(0u32);
        let add = || {
            for _ in 0..ADD {
                run_biased(|| *value.lock() += 1);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(add);
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_micros(200));
                add();
            });
        });
        assert_eq!(*value.lock(), 2 * ADD);
        assert!(!run_biased(holds_bias), "this thread is the third");
    }
}
