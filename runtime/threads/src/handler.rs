//! Signal handlers of the program, and what they interrupt.
//!
//! A handler may interrupt its thread anywhere, and may need what the thread is in the middle of. [`Deferred`] marks such places: the signal is kept, and the handler runs when the thread
//! is through. Whoever calls the program's handlers says how that is done ([`register`]).

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{Ordering, compiler_fence};

// None of these has a destructor, so all of them are plain thread-local memory, which handlers may use.
thread_local! {
    /// How many values of [`Deferred`] the thread has.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static IS_KEPT: Cell<bool> = const { Cell::new(false) };
    /// Stack address at which the outermost handler that interrupted user code, or the outermost [`over_user_code`], began; 0
    /// outside of both.
    static OVER_USER_CODE: Cell<usize> = const { Cell::new(0) };
}

/// Runs the handler of the signal that the thread has kept.
static DELIVER: OnceLock<fn()> = OnceLock::new();

/// Says how the handler of a kept signal is run, by the thread that has kept it ([`keep`]). Before any signal is kept; what was registered first stays.
pub fn register(deliver: fn()) {
    let _ = DELIVER.set(deliver);
}

/// While it lives, the thread's signals are kept.
#[must_use]
#[derive(Debug)]
pub struct Deferred(());

impl Deferred {
    /// See the type.
    #[inline(always)]
    pub fn begin() -> Deferred {
        DEPTH.set(DEPTH.get() + 1);
        compiler_fence(Ordering::SeqCst);
        Deferred(())
    }

    /// Drops it. What drops a value in the end is a function that may be called; this is not.
    #[inline(always)]
    pub fn end(self) {
        std::mem::forget(self);
        end();
    }
}

impl Drop for Deferred {
    #[inline(always)]
    fn drop(&mut self) {
        end();
    }
}

#[inline(always)]
fn end() {
    compiler_fence(Ordering::SeqCst);
    let depth = DEPTH.get() - 1;
    DEPTH.set(depth);
    compiler_fence(Ordering::SeqCst);
    if depth == 0 && IS_KEPT.get() {
        deliver();
    }
}

/// Whether the thread's signals are kept now.
#[inline]
pub fn is_deferred() -> bool {
    DEPTH.get() > 0
}

/// The thread keeps a signal: what [`register`] was given is called when no [`Deferred`] is left.
pub fn keep() {
    IS_KEPT.set(true);
}

#[cold]
#[inline(never)]
fn deliver() {
    IS_KEPT.set(false);
    DELIVER.get().expect("whoever keeps signals has registered")();
}

/// Runs a handler that began at `frame` on the stack; `over_user_code`: it interrupted user code, not a wait.
pub fn run(frame: usize, over_user_code: bool, handler: impl FnOnce()) {
    let outer = OVER_USER_CODE.get();
    if over_user_code && !is_over_user_code() {
        OVER_USER_CODE.set(frame);
    }
    handler();
    OVER_USER_CODE.set(outer);
}

/// Runs `body`, in which the thread may wait, where it may be between a check and its access: as in a handler that interrupted it there, it counts as in user code all the time.
#[inline]
pub fn over_user_code<R>(body: impl FnOnce() -> R) -> R {
    /// What is called may have its variables in the same frame.
    const FRAME_BYTES: usize = 4096;
    let here = 0u8;
    let outer = OVER_USER_CODE.get();
    if !is_over_user_code() {
        OVER_USER_CODE.set(&raw const here as usize + FRAME_BYTES);
    }
    let result = body();
    OVER_USER_CODE.set(outer);
    result
}

/// Whether the thread runs a handler that interrupted user code, or something by [`over_user_code`]. A handler that was left by `siglongjmp` counts no more: its frame lies above the stack pointer,
/// or on another stack.
#[inline]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_that_was_left_counts_no_more() {
        assert!(!is_over_user_code());
        let frame = 0u8;
        run(&raw const frame as usize + 4096, true, || assert!(is_over_user_code()));
        assert!(!is_over_user_code());
        run(&raw const frame as usize - 4096, true, || {
            assert!(!is_over_user_code());
            assert_eq!(OVER_USER_CODE.get(), 0);
        });
        run(&raw const frame as usize, false, || assert!(!is_over_user_code()));
    }

    #[test]
    fn what_runs_beside_a_check_counts_as_in_user_code() {
        over_user_code(|| {
            assert!(is_over_user_code());
            over_user_code(|| assert!(is_over_user_code()));
            assert!(is_over_user_code());
        });
        assert!(!is_over_user_code());
    }

    #[test]
    fn a_kept_signal_is_delivered_behind_the_last_deferral() {
        thread_local!(static DELIVERED: Cell<u32> = const { Cell::new(0) });
        register(|| DELIVERED.set(DELIVERED.get() + 1));
        let outer = Deferred::begin();
        let inner = Deferred::begin();
        assert!(is_deferred());
        keep();
        drop(inner);
        assert_eq!(DELIVERED.get(), 0);
        drop(outer);
        assert!(!is_deferred());
        assert_eq!(DELIVERED.get(), 1);
        drop(Deferred::begin());
        assert_eq!(DELIVERED.get(), 1);
    }
}
