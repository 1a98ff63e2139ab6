//! Which threads of a process run user code, and how one of them holds the others out of it for a moment.
//!
//! A thread that runs user code may be between a passed check and its store. Whoever wants to take permissions away needs all others out of
//! user code, and must keep them out meanwhile.

use crate::backoff::Backoff;
use crate::primitive::{AtomicU32, Ordering};

const HELD: u32 = 1 << 31;

/// Number of threads in user code; the highest bit is set while one holds the others out of it.
#[derive(Debug)]
pub struct Quiesce(AtomicU32);

impl Quiesce {
    /// Nobody runs user code.
    #[cfg(not(loom))]
    pub const fn new() -> Quiesce {
        Quiesce(AtomicU32::new(0))
    }

    /// Nobody runs user code.
    #[cfg(loom)]
    pub fn new() -> Quiesce {
        Quiesce(AtomicU32::new(0))
    }

    /// A thread goes on to user code, as soon as nobody holds it. What the holder did before is visible then.
    pub fn enter(&self) {
        let mut backoff = Backoff::default();
        loop {
            let running = self.0.load(Ordering::SeqCst);
            if running & HELD == 0
                && self.0.compare_exchange(running, running + 1, Ordering::SeqCst, Ordering::SeqCst).is_ok()
            {
                return;
            }
            backoff.pause();
        }
    }

    /// A thread has left user code. What it did there is visible to the next holder.
    pub fn leave(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    /// Holds all threads out of user code if none is there but the caller, who is or is not (`own`: 1 or 0). One holder at a time.
    pub fn hold(&self, own: u32) -> bool {
        self.0.compare_exchange(own, own | HELD, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Whether no thread runs user code but the caller, who does or does not (`own`: 1 or 0).
    #[inline]
    pub fn has_only(&self, own: u32) -> bool {
        self.0.load(Ordering::SeqCst) == own
    }

    /// Lets them go.
    pub fn let_go(&self) {
        self.0.fetch_and(!HELD, Ordering::SeqCst);
    }
}

impl Default for Quiesce {
    fn default() -> Quiesce {
        Quiesce::new()
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;

    struct Process {
        threads: Quiesce,
        writable: AtomicU32,
        data: AtomicU32,
    }

    /// A thread checks and stores; another takes the permission away and publishes. Returns what was published, if it held the other,
    /// and what there is in the end.
    fn downgrade(hold: impl Fn(&Quiesce) -> bool + Send + Sync + 'static) {
        let hold = std::sync::Arc::new(hold);
        loom::model(move || {
            let process = Arc::new(Process {
                threads: Quiesce::new(),
                writable: AtomicU32::new(1),
                data: AtomicU32::new(0),
            });
            let user = process.clone();
            let thread = loom::thread::spawn(move || {
                user.threads.enter();
                if user.writable.load(Ordering::Relaxed) == 1 {
                    user.data.store(1, Ordering::Relaxed);
                }
                user.threads.leave();
            });
            let held = hold(&process.threads);
            if held {
                process.writable.store(0, Ordering::Relaxed);
            }
            let published = process.data.load(Ordering::Relaxed);
            if held {
                process.threads.let_go();
            }
            thread.join().unwrap();
            if held {
                assert_eq!(
                    process.data.load(Ordering::Relaxed),
                    published,
                    "a store after the permission went"
                );
            }
        });
    }

    #[test]
    fn no_store_follows_a_downgrade() {
        downgrade(|threads| threads.hold(0));
    }

    #[test]
    #[should_panic(expected = "a store after the permission went")]
    fn a_downgrade_without_holding_is_seen() {
        downgrade(|_| true);
    }

    #[test]
    fn a_holder_that_runs_user_code_itself_waits_for_nobody() {
        loom::model(|| {
            let threads = Arc::new(Quiesce::new());
            threads.enter();
            let other = threads.clone();
            let thread = loom::thread::spawn(move || {
                other.enter();
                other.leave();
            });
            let held = threads.hold(1);
            if held {
                assert!(!threads.hold(1), "one holder at a time");
                threads.let_go();
            }
            threads.leave();
            thread.join().unwrap();
            assert!(threads.hold(0), "all have left");
        });
    }
}
