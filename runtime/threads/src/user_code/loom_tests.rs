//! All interleavings of a thread that checks and stores and one that takes the permission away: no store comes behind that, and what was stored before is
//! published.

use std::cell::Cell;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, fence};
use loom::thread;

use super::*;
use crate::bias::Bias;

struct Process {
    threads: UserCode,
    bias: Bias,
    writable: AtomicU32,
    data: AtomicU32,
    /// What the data was when the permission went; the flag says that it has.
    published: AtomicU32,
}

const TAKEN: u32 = 1 << 8;

/// A thread of the process: what the runtime has in thread-local variables.
struct Member {
    process: Arc<Process>,
    /// Whether it has the bias for as long as no other thread has come.
    is_owner: bool,
    came: Cell<bool>,
    holds_bias: Cell<bool>,
    counted: Cell<bool>,
    over_user_code: Cell<bool>,
}

impl Thread for Member {
    fn is_counted(&self) -> bool {
        self.counted.get()
    }

    fn count(&self, counted: bool) -> bool {
        self.counted.replace(counted)
    }

    fn can_be_held(&self) -> bool {
        true
    }

    fn is_over_user_code(&self) -> bool {
        self.over_user_code.get()
    }

    fn holds_bias(&self) -> bool {
        self.holds_bias.get()
    }

    fn register(&self) -> impl Sized {
        if !self.is_owner && !self.came.replace(true) {
            self.process.bias.revoke(|| fence(Ordering::SeqCst));
        }
    }

    fn defer(&self) -> impl Sized {}
}

impl Member {
    fn new(process: &Arc<Process>, is_owner: bool) -> Member {
        Member {
            process: process.clone(),
            is_owner,
            came: Cell::new(false),
            holds_bias: Cell::new(false),
            counted: Cell::new(false),
            over_user_code: Cell::new(false),
        }
    }

    fn enter(&self) {
        self.process.threads.enter(self);
    }

    fn leave(&self) {
        self.process.threads.leave(self);
    }

    fn inside(&self) -> Quiescent<'_, Member> {
        Quiescent::begin(&self.process.threads, self)
    }

    fn check(&self) -> bool {
        self.process.writable.load(Ordering::Relaxed) == 1
    }

    fn store(&self, checked: bool) {
        if checked {
            self.process.data.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn check_and_store(&self) {
        self.store(self.check());
    }

    /// Runs a handler of the program.
    fn interrupt(&self, handler: impl FnOnce()) {
        let waiting = self.process.threads.begin_handler(self);
        let outer = self.over_user_code.get();
        self.over_user_code.set(outer || !waiting);
        handler();
        self.over_user_code.set(outer);
        self.process.threads.end_handler(self, waiting);
    }

    /// A release: takes the permission away if it can hold the others.
    fn release(&self, wait: bool) {
        let process = &self.process;
        if !self.over_user_code.get() {
            process.threads.pass(self);
        }
        self.register();
        let holds_bias = self.is_owner && process.bias.enter();
        self.holds_bias.set(holds_bias);
        if process.threads.begin_exclusive(self, wait) {
            self.take();
            process.threads.end_exclusive(self);
        }
        self.holds_bias.set(false);
        if holds_bias {
            process.bias.leave();
        }
    }

    fn take(&self) {
        let process = &self.process;
        process.writable.store(0, Ordering::Relaxed);
        // The first time: a handler may have taken it already.
        if process.published.load(Ordering::Relaxed) & TAKEN == 0 {
            process.published.store(TAKEN | process.data.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

/// Runs `user` in one thread and `taker` in another, which owns the process's bias if `has_owner`.
fn beside(has_owner: bool, user: fn(&Member), taker: impl Fn(&Member) + Send + Sync + 'static) {
    loom::model(move || {
        let process = Arc::new(Process {
            threads: UserCode::new(),
            bias: Bias::new(),
            writable: AtomicU32::new(1),
            data: AtomicU32::new(0),
            published: AtomicU32::new(0),
        });
        let others = process.clone();
        let thread = thread::spawn(move || user(&Member::new(&others, false)));
        taker(&Member::new(&process, has_owner));
        thread.join().unwrap();
        let published = process.published.load(Ordering::Relaxed);
        if published & TAKEN != 0 {
            assert_eq!(
                process.data.load(Ordering::Relaxed),
                published - TAKEN,
                "a store after the permission went"
            );
        }
    });
}

/// The thread beside any release: one of a thread that holds the bias until the other comes, or does not, that waits or not, from user code or not.
fn beside_releases(user: fn(&Member)) {
    for has_owner in [true, false] {
        for wait in [false, true] {
            beside(has_owner, user, move |taker| taker.release(wait));
            beside(has_owner, user, move |taker| {
                taker.enter();
                taker.check_and_store();
                taker.release(wait);
                taker.leave();
            });
        }
    }
}

#[test]
fn no_store_follows_a_downgrade() {
    beside_releases(|user| {
        user.enter();
        user.check_and_store();
        user.leave();
    });
}

#[test]
fn nor_behind_a_moment_in_the_runtime() {
    beside_releases(|user| {
        user.enter();
        drop(user.inside());
        user.check_and_store();
        user.leave();
    });
}

#[test]
fn nor_behind_another_release() {
    beside_releases(|user| {
        user.enter();
        user.release(false);
        user.check_and_store();
        user.leave();
    });
}

#[test]
fn nor_around_a_handler() {
    beside_releases(|user| {
        user.enter();
        let checked = user.check();
        user.interrupt(|| drop(user.inside()));
        user.store(checked);
        user.leave();
    });
}

#[test]
fn nor_around_a_handler_that_releases() {
    beside(
        false,
        |_| (),
        |taker| {
            taker.enter();
            let checked = taker.check();
            taker.interrupt(|| taker.release(true));
            taker.store(checked);
            taker.leave();
        },
    );
}

#[test]
fn nor_in_a_handler_that_interrupts_a_wait() {
    beside_releases(|user| {
        user.interrupt(|| user.check_and_store());
    });
}

#[test]
#[should_panic(expected = "a store after the permission went")]
fn a_downgrade_without_holding_is_seen() {
    beside(
        false,
        |user| {
            user.enter();
            user.check_and_store();
            user.leave();
        },
        Member::take,
    );
}
