//! Which threads of this process run user code, and how a release keeps them out of it for a moment.
//!
//! A thread that is inside the runtime (waiting, mostly) is not between a passed check and its store. When a release finds all other threads
//! inside, it holds them there while it takes write permissions away; else it takes none away.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use dsm_comm::quiesce::Quiesce;

use crate::alone;
use crate::signals::{self, Deferred};
use crate::verify::Synchronising;

static RUNNING: Quiesce = Quiesce::new();

thread_local! {
    static COUNTED: Cell<bool> = const { Cell::new(false) };
}

/// This thread goes on to user code.
pub fn enter() {
    let _deferred = Deferred::begin();
    if !COUNTED.replace(true) {
        let _verified = Synchronising::begin();
        alone::come();
        RUNNING.enter();
    }
}

/// This thread stays in the runtime until it says [`enter`]; in a handler that interrupted user code, it does not: the code below may be between a
/// check and its store.
pub fn leave() {
    let _deferred = Deferred::begin();
    if signals::is_over_user_code() {
        return;
    }
    if COUNTED.replace(false) {
        RUNNING.leave();
    }
}

/// A signal handler begins; whether it interrupted a thread that waits in the runtime, which counts as in user code until [`end_handler`].
pub fn begin_handler() -> bool {
    let waiting = !COUNTED.get();
    enter();
    waiting
}

/// See [`begin_handler`].
pub fn end_handler(waiting: bool) {
    if waiting {
        leave();
    }
}

/// Counts the thread as inside the runtime for the life of the value, if it was in user code.
pub struct Inside(bool);

impl Inside {
    /// See the type.
    pub fn begin() -> Inside {
        let counted = COUNTED.get();
        leave();
        Inside(counted)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        if self.0 {
            enter();
        }
    }
}

/// Whether a thread waits in [`begin_exclusive`].
static WANTED: AtomicBool = AtomicBool::new(false);
/// How often it looks: some microseconds.
const LOOKS: u32 = 500;

/// Holds all other threads in the runtime if they are there now. `wait`: gives them a moment to come, each to where it calls [`pass`].
pub fn begin_exclusive(wait: bool) -> bool {
    // The thread itself may be between a check and its store.
    if signals::is_over_user_code() {
        return false;
    }
    let own = u32::from(COUNTED.get());
    if alone::is_alone() {
        // Who comes meanwhile waits before it enters.
        return RUNNING.has_only(own);
    }
    if RUNNING.hold(own) {
        return true;
    }
    if !wait {
        return false;
    }
    WANTED.store(true, Ordering::SeqCst);
    let held = (0..LOOKS).any(|_| {
        std::hint::spin_loop();
        RUNNING.hold(own)
    });
    WANTED.store(false, Ordering::SeqCst);
    held
}

/// The thread is between user code and a release or an acquire: it lets another one hold it, if that waits for it.
#[inline]
pub fn pass() {
    if WANTED.load(Ordering::Relaxed) {
        be_held();
    }
}

#[cold]
fn be_held() {
    let _inside = Inside::begin();
    while WANTED.load(Ordering::SeqCst) {
        std::hint::spin_loop();
    }
}

/// Lets them go.
pub fn end_exclusive() {
    if !alone::is_alone() {
        RUNNING.let_go();
    }
}
