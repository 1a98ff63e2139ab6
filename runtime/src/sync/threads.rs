//! Which threads of this process run user code, and how a release keeps them out of it for a moment.
//!
//! A thread that is inside the runtime (waiting, mostly) is not between a passed check and its store. When a release finds all other threads
//! inside, it holds them there while it takes write permissions away; else it takes none away.

use std::cell::Cell;

use dsm_comm::quiesce::Quiesce;

use crate::alone;

static RUNNING: Quiesce = Quiesce::new();

thread_local! {
    static COUNTED: Cell<bool> = const { Cell::new(false) };
}

/// This thread goes on to user code.
pub fn enter() {
    if !COUNTED.replace(true) {
        alone::come();
        RUNNING.enter();
    }
}

/// This thread stays in the runtime until it says [`enter`].
pub fn leave() {
    if COUNTED.replace(false) {
        RUNNING.leave();
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

/// Holds all other threads in the runtime if they are there now.
pub fn begin_exclusive() -> bool {
    let own = u32::from(COUNTED.get());
    // Who comes while this thread is alone waits before it enters.
    if alone::is_alone() { RUNNING.has_only(own) } else { RUNNING.hold(own) }
}

/// Lets them go.
pub fn end_exclusive() {
    if !alone::is_alone() {
        RUNNING.let_go();
    }
}
