//! Which threads of a process run user code, and how a release keeps them out of it for a moment.
//!
//! A thread that is inside the runtime (waiting, mostly) is not between a passed check and its store. When a release finds all other threads
//! inside, it holds them there while it takes write permissions away; else it takes none away.

use crate::primitive::{AtomicBool, Ordering, spin_loop};
use crate::quiesce::Quiesce;

/// How often a thread looks that waits for the others: some microseconds.
const LOOKS: u32 = if cfg!(loom) { 2 } else { 500 };

/// The calling thread, as far as [`UserCode`] has to know it.
pub trait Thread {
    /// Whether it is counted as in user code.
    fn is_counted(&self) -> bool;
    /// Notes that it is, or is not; returns what was noted before.
    fn count(&self, counted: bool) -> bool;
    /// Whether anybody in its process ever takes a permission away; never changes. Else no word that threads share is written for it.
    fn can_be_held(&self) -> bool;
    /// Whether it runs a handler that interrupted user code.
    fn is_over_user_code(&self) -> bool;
    /// Whether no other thread runs protocol code or user code, or can begin to before this one has ended what it runs.
    fn holds_bias(&self) -> bool;
    /// It is about to be counted: from now on no other thread holds the bias. The value lives until it is counted.
    fn register(&self) -> impl Sized;
    /// Handlers wait for the end of the value's life.
    fn defer(&self) -> impl Sized;
}

/// The threads of a process in user code.
#[derive(Debug)]
pub struct UserCode {
    running: Quiesce,
    /// Whether a thread waits in [`UserCode::begin_exclusive`].
    wanted: AtomicBool,
}

impl UserCode {
    /// Nobody runs user code.
    #[cfg(not(loom))]
    pub const fn new() -> UserCode {
        UserCode { running: Quiesce::new(), wanted: AtomicBool::new(false) }
    }

    /// Nobody runs user code.
    #[cfg(loom)]
    pub fn new() -> UserCode {
        UserCode { running: Quiesce::new(), wanted: AtomicBool::new(false) }
    }

    /// The thread goes on to user code.
    pub fn enter(&self, thread: &impl Thread) {
        let _deferred = thread.defer();
        if !thread.count(true) && thread.can_be_held() {
            let _coming = thread.register();
            self.running.enter();
        }
    }

    /// The thread stays in the runtime until it says [`UserCode::enter`]; in a handler that interrupted user code, it does not: the code below may be
    /// between a check and its store.
    pub fn leave(&self, thread: &impl Thread) {
        let _deferred = thread.defer();
        if thread.is_over_user_code() {
            return;
        }
        if thread.count(false) && thread.can_be_held() {
            self.running.leave();
        }
    }

    /// A signal handler begins; whether it interrupted a thread that waits in the runtime, which counts as in user code until
    /// [`UserCode::end_handler`].
    pub fn begin_handler(&self, thread: &impl Thread) -> bool {
        let waiting = !thread.is_counted();
        self.enter(thread);
        waiting
    }

    /// See [`UserCode::begin_handler`].
    pub fn end_handler(&self, thread: &impl Thread, waiting: bool) {
        if waiting {
            self.leave(thread);
        }
    }

    /// Holds all other threads in the runtime if they are there now. `wait`: gives them a moment to come, each to where it calls [`UserCode::pass`].
    pub fn begin_exclusive(&self, thread: &impl Thread, wait: bool) -> bool {
        // The thread itself may be between a check and its store.
        if thread.is_over_user_code() {
            return false;
        }
        let own = u32::from(thread.is_counted());
        if thread.holds_bias() {
            // Who comes meanwhile waits before it enters.
            return self.running.has_only(own);
        }
        if self.running.hold(own) {
            return true;
        }
        if !wait {
            return false;
        }
        self.wanted.store(true, Ordering::SeqCst);
        let held = (0..LOOKS).any(|_| {
            spin_loop();
            self.running.hold(own)
        });
        self.wanted.store(false, Ordering::SeqCst);
        held
    }

    /// Lets them go.
    pub fn end_exclusive(&self, thread: &impl Thread) {
        if !thread.holds_bias() {
            self.running.let_go();
        }
    }

    /// A point between user code and a release or an acquire at which the thread can be held: it stops here while another thread is in, or waits for,
    /// [`UserCode::begin_exclusive`]. Not in a handler that interrupted user code.
    #[inline]
    pub fn pass(&self, thread: &impl Thread) {
        if self.wanted.load(Ordering::Relaxed) {
            self.be_held(thread);
        }
    }

    #[cold]
    fn be_held(&self, thread: &impl Thread) {
        let _quiescent = Quiescent::begin(self, thread);
        while self.wanted.load(Ordering::SeqCst) {
            spin_loop();
        }
    }
}

impl Default for UserCode {
    fn default() -> UserCode {
        UserCode::new()
    }
}

/// Counts the thread as inside the runtime for the life of the value, if it was in user code.
#[derive(Debug)]
pub struct Quiescent<'a, T: Thread> {
    threads: &'a UserCode,
    thread: &'a T,
    counted: bool,
}

impl<'a, T: Thread> Quiescent<'a, T> {
    /// See the type.
    pub fn begin(threads: &'a UserCode, thread: &'a T) -> Quiescent<'a, T> {
        let counted = thread.is_counted();
        threads.leave(thread);
        Quiescent { threads, thread, counted }
    }
}

impl<T: Thread> Drop for Quiescent<'_, T> {
    fn drop(&mut self) {
        if self.counted {
            self.threads.enter(self.thread);
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
