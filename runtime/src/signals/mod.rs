//! Signal handlers of the program, in jobs of several processes.
//!
//! A handler may interrupt its thread anywhere, and what it does to shared memory may need the protocol. So the kernel calls [`interrupt`] for each of them.
//! Where the thread is in the middle of the protocol, which [`Deferred`] marks, the signal is kept, all signals are blocked, and the handler runs when the
//! thread is through; elsewhere it runs at once: in user code, in the C library, and where the thread waits in the runtime. Signals that the
//! thread's own instruction caused are never kept.
//!
//! A handler is to the other threads of its process like one more of them. Where it interrupted user code, the thread may be between a passed check
//! and its store: a release by the handler takes no permissions away ([`is_over_user_code`]). Where it interrupted a wait, the thread
//! counts as in user code while it runs.

mod actions;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{Ordering, compiler_fence};

use crate::crash::arena;
use crate::sync::threads;
use crate::verify;

pub use actions::{Action, SIGNALS, follow, snapshot, stand_by};

/// A signal that waits for the end of what the thread is in.
struct Kept {
    signal: c_int,
    info: libc::siginfo_t,
    context: libc::ucontext_t,
}

// None of these has a destructor, so all of them are plain thread-local memory, which handlers may use.
thread_local! {
    /// How many values of [`Deferred`] the thread has.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static IS_KEPT: Cell<bool> = const { Cell::new(false) };
    static KEPT: UnsafeCell<MaybeUninit<Kept>> = const { UnsafeCell::new(MaybeUninit::uninit()) };
    /// Where on the stack the handler began that interrupted user code; 0: none did.
    static OVER_USER_CODE: Cell<usize> = const { Cell::new(0) };
}

/// While it lives, the thread's signals are kept.
#[must_use]
pub struct Deferred(());

impl Deferred {
    /// See the type.
    #[inline(always)]
    pub fn begin() -> Deferred {
        DEPTH.set(DEPTH.get() + 1);
        compiler_fence(Ordering::SeqCst);
        Deferred(())
    }
}

impl Drop for Deferred {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        compiler_fence(Ordering::SeqCst);
        if depth == 0 && IS_KEPT.get() {
            deliver();
        }
    }
}

/// Signals that an instruction of the thread causes, and `abort`.
const SYNCHRONOUS: [c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGSYS];

/// All signals but these.
fn all_but_synchronous() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: a local set.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        SYNCHRONOUS.iter().for_each(|signal| _ = libc::sigdelset(set.as_mut_ptr(), *signal));
        set.assume_init()
    }
}

fn set_mask(set: &libc::sigset_t) {
    // SAFETY: a valid set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, set, std::ptr::null_mut()) };
}

/// What the kernel calls for every handler of the program, with all signals blocked.
extern "C" fn interrupt(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's record; the thread's own errno.
    if actions::is_for_process_0(signal, unsafe { &*info }) {
        return;
    }
    // SAFETY: as above.
    let errno = unsafe { *libc::__errno_location() };
    let interrupted = context.cast::<libc::ucontext_t>();
    if DEPTH.get() > 0 && !SYNCHRONOUS.contains(&signal) {
        // SAFETY: nothing is kept: all signals are blocked from here to the delivery. The kernel passes both records.
        unsafe {
            let kept = Kept { signal, info: info.read(), context: interrupted.read() };
            KEPT.with(|place| (*place.get()).write(kept));
            (*interrupted).uc_sigmask = all_but_synchronous();
        }
        IS_KEPT.set(true);
    } else {
        // SAFETY: the kernel's records.
        unsafe { run(signal, info, interrupted) };
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Runs the handler of the signal that was kept.
#[cold]
#[inline(never)]
fn deliver() {
    // SAFETY: a signal is kept; no other can be until the mask is set back. The thread's own errno.
    unsafe {
        let errno = *libc::__errno_location();
        let mut kept = KEPT.with(|place| (*place.get()).assume_init_read());
        IS_KEPT.set(false);
        let mask = kept.context.uc_sigmask;
        run(kept.signal, &mut kept.info, &mut kept.context);
        set_mask(&mask);
        *libc::__errno_location() = errno;
    }
}

/// Calls the program's handler with the mask that it asked for.
unsafe fn run(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    let Some(action) = actions::action(signal) else { return };
    // SAFETY: the caller's context.
    let mut mask = unsafe { (*context).uc_sigmask };
    action.block(signal, &mut mask);
    let waiting = threads::begin_handler();
    let outer = OVER_USER_CODE.get();
    if !waiting && !is_over_user_code() {
        OVER_USER_CODE.set((&raw const mask) as usize);
    }
    set_mask(&mask);
    let verified = verify::Handler::begin();
    // SAFETY: the program's function, with the arguments that it asked for.
    unsafe { action.call(signal, info, context) };
    drop(verified);
    set_mask(&all_but_synchronous());
    OVER_USER_CODE.set(outer);
    threads::end_handler(waiting);
}

/// Whether the thread runs a handler that interrupted user code. One that was left by `siglongjmp` counts no more: its frame lies above the stack pointer,
/// or on another stack.
pub fn is_over_user_code() -> bool {
    /// More than a handler's own frames take.
    const HANDLER_BYTES: usize = 64 << 20;
    let began = OVER_USER_CODE.get();
    if began == 0 {
        return false;
    }
    let here = 0u8;
    let inside = began.wrapping_sub(&raw const here as usize) < HANDLER_BYTES;
    if !inside {
        OVER_USER_CODE.set(0);
    }
    inside
}

/// Runs `body` as a handler that interrupted user code.
#[cfg(test)]
pub fn over_user_code(body: impl FnOnce()) {
    let frame = 0u8;
    OVER_USER_CODE.set((&raw const frame) as usize);
    body();
    OVER_USER_CODE.set(0);
}

/// The C library's allocator. A handler whose access needs the protocol may need memory, too, so none runs inside it. A thread that reports a crash has an
/// arena instead.
struct Allocator;

// SAFETY: the system's allocator does all of it.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if arena::is_active() {
            return arena::alloc(layout);
        }
        let _deferred = Deferred::begin();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if arena::is_active() {
            return arena::alloc(layout);
        }
        let _deferred = Deferred::begin();
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
        if arena::is_active() {
            return;
        }
        let _deferred = Deferred::begin();
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(object, layout) }
    }

    unsafe fn realloc(&self, object: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if arena::is_active() {
            // SAFETY: the caller's promise.
            return unsafe { arena::realloc(object, layout, bytes) };
        }
        let _deferred = Deferred::begin();
        // SAFETY: the caller's promise.
        unsafe { System.realloc(object, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_that_was_left_counts_no_more() {
        assert!(!is_over_user_code());
        let frame = 0u8;
        OVER_USER_CODE.set((&raw const frame) as usize + 4096);
        assert!(is_over_user_code());
        OVER_USER_CODE.set((&raw const frame) as usize - 4096);
        assert!(!is_over_user_code());
        assert_eq!(OVER_USER_CODE.get(), 0);
    }
}
