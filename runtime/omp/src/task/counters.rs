//! What happened to tasks, for the table of `DSM_STATS`. Without it nothing is counted.

use std::sync::atomic::{AtomicU64, Ordering};

use super::node::Node;
use super::steal::{self, Obstacle};
use crate::time;

/// A row of the table.
pub struct Counter {
    name: &'static str,
    value: AtomicU64,
}

impl Counter {
    const fn new(name: &'static str) -> Counter {
        Counter { name, value: AtomicU64::new(0) }
    }

    /// Adds to it, if anything is counted.
    #[inline]
    pub fn add(&self, more: u64) {
        if time::is_measured() {
            self.value.fetch_add(more, Ordering::Relaxed);
        }
    }
}

/// Tasks that this process made.
pub static MADE: Counter = Counter::new("tasks_made");
/// Of these, run at once by the thread that made them.
pub static RUN_AT_ONCE: Counter = Counter::new("tasks_run_at_once");
/// Tasks that went to other processes.
pub static HANDED_OVER: Counter = Counter::new("tasks_handed_over");
/// Messages that they went in.
pub static BATCHES: Counter = Counter::new("task_batches");
/// Times that a thread requested tasks of other processes.
pub static REQUESTS: Counter = Counter::new("task_requests");
/// Tasks that came from other processes.
pub static RECEIVED: Counter = Counter::new("tasks_received");
static KEPT_DETACHABLE: Counter = Counter::new("tasks_kept_detachable");
static KEPT_EXCLUSIVE: Counter = Counter::new("tasks_kept_exclusive");
static KEPT_REDUCING: Counter = Counter::new("tasks_kept_reducing");
static KEPT_CANCELLABLE: Counter = Counter::new("tasks_kept_cancellable");

static ALL: [&Counter; 10] = [
    &MADE,
    &RUN_AT_ONCE,
    &HANDED_OVER,
    &BATCHES,
    &REQUESTS,
    &RECEIVED,
    &KEPT_DETACHABLE,
    &KEPT_EXCLUSIVE,
    &KEPT_REDUCING,
    &KEPT_CANCELLABLE,
];

/// A task was put into a queue: counts it if it has to stay in this process.
#[inline]
pub fn queued(node: &Node) {
    if !time::is_measured() {
        return;
    }
    match steal::obstacle(node) {
        // The team is of one process.
        None | Some(Obstacle::Private) => {}
        Some(Obstacle::Detachable) => KEPT_DETACHABLE.add(1),
        Some(Obstacle::Exclusive) => KEPT_EXCLUSIVE.add(1),
        Some(Obstacle::Reducing) => KEPT_REDUCING.add(1),
        Some(Obstacle::Cancellable) => KEPT_CANCELLABLE.add(1),
    }
}

/// Names and values.
pub fn values() -> impl Iterator<Item = (&'static str, u64)> {
    ALL.into_iter().map(|counter| (counter.name, counter.value.load(Ordering::Relaxed)))
}
