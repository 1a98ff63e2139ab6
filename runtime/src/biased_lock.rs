//! The protocol without locks, in a process of which only one thread uses it.
//!
//! Most processes of a job run one thread. What its threads would have to exclude each other from costs such a process more than the protocol itself when
//! a lock goes from process to process. So the first thread that comes here owns the process until a second one comes (see [`Bias`]).
//! Coming means to run a protocol function, or user code that stores may pass their checks in.

use std::cell::{Cell, UnsafeCell};
use std::fmt::{self, Debug, Formatter};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use dsm_coherence::Exclusive;
use dsm_threads::bias::{Bias, can_fence_all_threads, fence_all_threads};
use parking_lot::{Mutex, MutexGuard};

use crate::sync::threads::Inside;

static BIAS: Bias = Bias::new();
/// Whether a thread has come.
static CLAIMED: AtomicBool = AtomicBool::new(false);
/// Whether the owner is ready to be fenced.
static FENCED: AtomicBool = AtomicBool::new(false);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Has not come yet.
    New,
    Owner,
    /// Takes locks.
    Other,
}

thread_local! {
    static ROLE: Cell<Role> = const { Cell::new(Role::New) };
    /// Whether this thread is inside and owns the process.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Whether no other thread of this process runs the protocol now, or can begin to before this one has ended what it runs.
#[inline(always)]
pub fn is_alone() -> bool {
    ALONE.get()
}

/// Runs protocol code; [`is_alone`] is the same from its begin to its end.
#[inline(always)]
pub fn inside<R>(body: impl FnOnce() -> R) -> R {
    if ALONE.get() || ROLE.get() == Role::Other || !enter() {
        return body();
    }
    ALONE.set(true);
    let result = body();
    ALONE.set(false);
    BIAS.leave();
    result
}

#[inline(always)]
fn enter() -> bool {
    come();
    let alone = ROLE.get() == Role::Owner && BIAS.enter();
    if !alone {
        ROLE.set(Role::Other);
    }
    alone
}

/// This thread is about to do what others have to be excluded from.
#[inline(always)]
pub fn come() {
    if ROLE.get() == Role::New {
        first_time();
    }
}

#[cold]
fn first_time() {
    if !CLAIMED.swap(true, Ordering::SeqCst) && can_fence_all_threads() {
        FENCED.store(true, Ordering::SeqCst);
        std::sync::atomic::fence(Ordering::SeqCst);
        ROLE.set(Role::Owner);
        return;
    }
    ROLE.set(Role::Other);
    BIAS.share(|| {
        // If it is not, there is none, or it sees only now that others have come.
        if FENCED.load(Ordering::SeqCst) {
            fence_all_threads();
        }
    });
}

/// A full fence.
#[inline(always)]
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    {
        // Takes half the time of `mfence`. Only the owner's core has the line.
        static LINE: crossbeam_utils::CachePadded<AtomicU32> =
            crossbeam_utils::CachePadded::new(AtomicU32::new(0));
        LINE.swap(1, Ordering::SeqCst);
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::sync::atomic::fence(Ordering::SeqCst);
}

/// A lock that is not taken by a thread that is alone.
#[derive(Debug, Default)]
pub struct Lock(Mutex<()>);

/// Keeps a [`Lock`].
pub type Locked<'a> = Option<MutexGuard<'a, ()>>;

impl Lock {
    /// Locks it; an atomic operation unless the thread is alone.
    #[inline(always)]
    pub fn lock(&self) -> Locked<'_> {
        if is_alone() { None } else { Some(self.0.lock()) }
    }

    /// As [`Lock::lock`], at a point where the thread is between no check and its store: one that waits counts as inside the runtime.
    #[inline(always)]
    pub fn lock_inside(&self) -> Locked<'_> {
        if is_alone() { None } else { Some(self.0.try_lock().unwrap_or_else(|| self.wait_inside())) }
    }

    #[cold]
    fn wait_inside(&self) -> MutexGuard<'_, ()> {
        let _inside = Inside::begin();
        self.0.lock()
    }

    /// Whether nobody has it.
    #[inline(always)]
    pub fn is_free(&self) -> bool {
        is_alone() || !self.0.is_locked()
    }
}

/// A value behind a [`Lock`].
#[derive(Default)]
pub struct Shared<T> {
    lock: Lock,
    /// Whether somebody has it: a thread that asks twice gets no second reference.
    lent: UnsafeCell<bool>,
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
pub struct Lent<'a, T> {
    of: &'a Shared<T>,
    _lock: Locked<'a>,
}

impl<T: Send + Debug> Exclusive<T> for Shared<T> {
    type Guard<'a>
        = Lent<'a, T>
    where
        T: 'a;

    fn new(value: T) -> Self {
        Shared { lock: Lock::default(), lent: UnsafeCell::new(false), value: UnsafeCell::new(value) }
    }

    #[inline(always)]
    fn lock(&self) -> Lent<'_, T> {
        let lock = self.lock.lock();
        // SAFETY: only who has the lock, or is alone, comes here.
        let lent = unsafe { std::mem::replace(&mut *self.lent.get(), true) };
        assert!(!lent, "the thread has the value already");
        Lent { of: self, _lock: lock }
    }
}

impl<T> Deref for Lent<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: there is one of these at a time.
        unsafe { &*self.of.value.get() }
    }
}

impl<T> DerefMut for Lent<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `deref`.
        unsafe { &mut *self.of.value.get() }
    }
}

impl<T> Drop for Lent<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: before the lock goes.
        unsafe { *self.of.lent.get() = false };
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
                inside(|| *value.lock() += 1);
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
        assert!(!inside(is_alone), "this thread is the third");
    }
}
