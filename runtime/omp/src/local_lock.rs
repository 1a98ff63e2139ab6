//! Locks, and critical sections, of a job of one process: in the first byte of the lock's variable. Nobody is to acquire what was written under them, so neither the table of locks nor its queue
//! is needed. Nest locks have the thread that holds them and how often in the rest of their variables. In other jobs, and while races are looked for, they are those of [`crate::sync`].

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use parking_lot::RawMutex;
use parking_lot::lock_api::RawMutex as _;

use crate::operations::signal;
use crate::profile::{self, Wait};
use crate::progress::{self, Doing, Now};
use crate::sync::nest;
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

/// The variable of a nest lock: a pointer's, in C and Fortran.
#[repr(C)]
struct Nest {
    lock: RawMutex,
    /// How often it is held, the upper bits. Only the holder changes them.
    upper_depth: AtomicU8,
    /// The lower bits.
    lower_depth: AtomicU16,
    /// [`own_number`] of the thread that holds it, or 0. A thread's number is written and taken back by that thread alone, so who reads its own number holds the lock.
    holder: AtomicU32,
}

const _: () = assert!(size_of::<Nest>() == 8);

/// A number of the calling thread's, from 1 on.
fn own_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    thread_local! {
        static NUMBER: Cell<u32> = const { Cell::new(0) };
    }
    if NUMBER.get() == 0 {
        NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    NUMBER.get()
}

impl Nest {
    /// The lock of a name, if it is there.
    #[inline(always)]
    fn at(name: u64) -> Option<&'static Nest> {
        // SAFETY: the program's variable, of eight bytes, which only the routines use.
        is_local().then(|| unsafe { &*(name as *const Nest) })
    }

    fn depth(&self) -> u32 {
        let (upper, lower) =
            (self.upper_depth.load(Ordering::Relaxed), self.lower_depth.load(Ordering::Relaxed));
        u32::from(upper) << u16::BITS | u32::from(lower)
    }

    fn set_depth(&self, depth: u32) {
        self.upper_depth.store((depth >> u16::BITS) as u8, Ordering::Relaxed);
        self.lower_depth.store(depth as u16, Ordering::Relaxed);
    }

    /// The depth, if the thread holds it already and holds it once more now.
    fn again(&self) -> Option<u32> {
        if self.holder.load(Ordering::Relaxed) != own_number() {
            return None;
        }
        self.set_depth(self.depth() + 1);
        Some(self.depth())
    }

    /// It has just been taken.
    fn begin(&self) -> u32 {
        self.holder.store(own_number(), Ordering::Relaxed);
        self.set_depth(1);
        1
    }
}

/// As [`nest::set`].
pub fn set_nest(name: u64) -> u32 {
    let Some(held) = Nest::at(name) else { return nest::set(name) };
    held.again().unwrap_or_else(|| {
        lock(name);
        held.begin()
    })
}

/// As [`nest::test`].
pub fn test_nest(name: u64) -> u32 {
    let Some(held) = Nest::at(name) else { return nest::test(name) };
    held.again().unwrap_or_else(|| if try_lock(name) { held.begin() } else { 0 })
}

/// As [`nest::unset`].
pub fn unset_nest(name: u64) -> bool {
    let Some(held) = Nest::at(name) else { return nest::unset(name) };
    if held.holder.load(Ordering::Relaxed) != own_number() {
        return false;
    }
    held.set_depth(held.depth() - 1);
    let free = held.depth() == 0;
    if free {
        held.holder.store(0, Ordering::Relaxed);
        unlock(name);
    }
    free
}

/// As [`sync::begin_lock`], of a nest lock.
pub fn begin_nest(name: u64) {
    if is_local() {
        // SAFETY: as in `Nest::at`.
        unsafe { AtomicU64::from_ptr(name as *mut u64) }.store(0, Ordering::SeqCst);
    } else {
        sync::begin_lock(name);
    }
}
