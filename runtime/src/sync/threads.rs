//! Which threads of this process run user code, and how a release keeps them out of it for a moment.
//!
//! A thread that is inside the runtime (waiting, mostly) is not between a passed check and its store. When a release finds all other threads
//! inside, it holds them there while it takes write permissions away; else it takes none away.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use dsm_comm::backoff::Backoff;

/// Number of threads in user code; the highest bit is set while a release holds the others in the runtime.
static RUNNING: AtomicU32 = AtomicU32::new(0);
const HELD: u32 = 1 << 31;

thread_local! {
    static COUNTED: Cell<bool> = const { Cell::new(false) };
}

/// This thread goes on to user code.
pub fn enter() {
    if COUNTED.replace(true) {
        return;
    }
    let mut backoff = Backoff::default();
    loop {
        let running = RUNNING.load(Ordering::SeqCst);
        if running & HELD == 0
            && RUNNING.compare_exchange(running, running + 1, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        {
            return;
        }
        backoff.pause();
    }
}

/// This thread stays in the runtime until it says [`enter`].
pub fn leave() {
    if COUNTED.replace(false) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
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
    RUNNING.compare_exchange(own, own | HELD, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

/// Lets them go.
pub fn end_exclusive() {
    RUNNING.fetch_and(!HELD, Ordering::SeqCst);
}
