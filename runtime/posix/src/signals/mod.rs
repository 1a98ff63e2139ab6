//! Signal handlers of the program, in jobs of several processes.
//!
//! A handler may interrupt its thread anywhere, and what it does to shared memory may need the protocol. So the kernel calls [`interrupt`] for each of them.
//! Where the thread is in the middle of the protocol, which [`Deferred`] marks, the signal is kept, all signals are blocked, and the handler runs when the
//! thread is through; elsewhere it runs at once: in user code, in the C library, and where the thread waits in the runtime. Signals that the
//! thread's own instruction caused are never kept.
//!
//! A handler is to the other threads of its process like one more of them. Where it interrupted user code, the thread may be between a passed check
//! and its store: a release by the handler takes no permissions away ([`handler::is_over_user_code`]). Where it interrupted a wait, the thread
//! counts as in user code while it runs.

mod actions;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use dsm_threads::handler::{self, Deferred};

use crate::checked;
use crate::crash::arena;
use crate::job::library::{errno, set_errno};
use crate::memory::threads;

pub use actions::{Action, SIGNALS, follow, on_change, snapshot, stand_by};

/// A signal that waits for the end of what the thread is in.
struct PendingSignal {
    signal: c_int,
    info: libc::siginfo_t,
    context: libc::ucontext_t,
}

// Has no destructor, so it is plain thread-local memory, which handlers may use.
thread_local! {
    static KEPT: UnsafeCell<MaybeUninit<PendingSignal>> = const { UnsafeCell::new(MaybeUninit::uninit()) };
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
    // SAFETY: the kernel's record.
    if actions::is_for_process_0(signal, unsafe { &*info }) {
        return;
    }
    let errno = errno();
    let interrupted = context.cast::<libc::ucontext_t>();
    if handler::is_deferred() && !SYNCHRONOUS.contains(&signal) {
        // SAFETY: nothing is kept: all signals are blocked from here to the delivery. The kernel passes both records.
        unsafe {
            let kept = PendingSignal { signal, info: info.read(), context: interrupted.read() };
            KEPT.with(|place| (*place.get()).write(kept));
            (*interrupted).uc_sigmask = all_but_synchronous();
        }
        handler::keep();
    } else {
        // SAFETY: the kernel's records.
        unsafe { run(signal, info, interrupted) };
    }
    set_errno(errno);
}

/// Signals are kept while a thread has a [`Deferred`]; before the program can have a handler.
pub fn init() {
    handler::register(deliver);
}

/// Runs the handler of the signal that was kept.
fn deliver() {
    let errno = errno();
    // SAFETY: a signal is kept; no other can be until the mask is set back.
    unsafe {
        let mut kept = KEPT.with(|place| (*place.get()).assume_init_read());
        let mask = kept.context.uc_sigmask;
        run(kept.signal, &mut kept.info, &mut kept.context);
        set_mask(&mask);
    }
    set_errno(errno);
}

/// Calls the program's handler with the mask that it asked for.
unsafe fn run(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    let Some(action) = actions::action(signal) else { return };
    // SAFETY: the caller's context.
    let mut mask = unsafe { (*context).uc_sigmask };
    action.block(signal, &mut mask);
    let waiting = threads::begin_handler();
    handler::run((&raw const mask) as usize, !waiting, || {
        set_mask(&mask);
        let verified = checked::Handler::begin();
        // SAFETY: the program's function, with the arguments that it asked for.
        unsafe { action.call(signal, info, context) };
        drop(verified);
        set_mask(&all_but_synchronous());
    });
    threads::end_handler(waiting);
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
