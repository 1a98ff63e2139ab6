//! The threads of this process that run user code, see [`UserCode`].

use std::cell::Cell;

use dsm_threads::user_code::{self, Thread, UserCode};

use crate::biased_lock;
use crate::checked::Synchronising;
use dsm_threads::handler::{self, Deferred};

static USER_CODE: UserCode = UserCode::new();

thread_local! {
    static COUNTED: Cell<bool> = const { Cell::new(false) };
    static INITIAL: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread.
struct Caller;

impl Thread for Caller {
    #[inline(always)]
    fn is_counted(&self) -> bool {
        COUNTED.get()
    }

    #[inline(always)]
    fn count(&self, counted: bool) -> bool {
        COUNTED.replace(counted)
    }

    #[inline(always)]
    fn is_over_user_code(&self) -> bool {
        handler::is_over_user_code()
    }

    #[inline(always)]
    fn holds_bias(&self) -> bool {
        biased_lock::holds_bias()
    }

    #[inline(always)]
    fn can_be_held(&self) -> bool {
        crate::shared().is_some()
    }

    #[inline(always)]
    fn register(&self) -> impl Sized {
        let verified = Synchronising::begin();
        biased_lock::register_thread();
        verified
    }

    #[inline(always)]
    fn defer(&self) -> impl Sized {
        Deferred::begin()
    }
}

/// Marks the calling thread as the one that runs `main` in process 0.
pub fn mark_initial() {
    INITIAL.set(true);
}

/// Whether the calling thread is the program's initial thread.
pub fn is_initial() -> bool {
    INITIAL.get()
}

/// The thread goes on to user code, see [`UserCode::enter`].
#[inline]
pub fn enter() {
    USER_CODE.enter(&Caller);
}

/// The thread waits inside the runtime, see [`UserCode::leave`].
#[inline]
pub fn leave() {
    USER_CODE.leave(&Caller);
}

/// See [`UserCode::begin_handler`].
pub fn begin_handler() -> bool {
    USER_CODE.begin_handler(&Caller)
}

/// See [`UserCode::end_handler`].
pub fn end_handler(waiting: bool) {
    USER_CODE.end_handler(&Caller, waiting);
}

/// See [`UserCode::begin_exclusive`].
#[inline]
pub fn begin_exclusive(wait: bool) -> bool {
    USER_CODE.begin_exclusive(&Caller, wait)
}

/// See [`UserCode::end_exclusive`].
#[inline]
pub fn end_exclusive() {
    USER_CODE.end_exclusive(&Caller);
}

/// See [`UserCode::pass`].
#[inline]
pub fn pass() {
    USER_CODE.pass(&Caller);
}

/// Counts the thread as inside the runtime for the life of the value, if it was in user code.
pub struct Quiescent(#[expect(dead_code, reason = "is dropped")] user_code::Quiescent<'static, Caller>);

impl Quiescent {
    /// See the type.
    #[inline]
    pub fn begin() -> Quiescent {
        Quiescent(user_code::Quiescent::begin(&USER_CODE, &Caller))
    }
}
