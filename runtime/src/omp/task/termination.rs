//! The end of all tasks at a barrier of several processes.
//!
//! A barrier ends when all processes are quiet at the same time. A process is quiet when all its threads have arrived and none of its tasks,
//! those that run elsewhere included, is pending; it then adds itself to a count. A quiet process can get a task only from one that is not counted and
//! stays so until the task is reported, and it takes itself out of the count before it begins. So a full count means that there is no task.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::pool;
use crate::omp::frame::Frame;
use crate::sync;
use sync::tasks as words;

/// Whether this process is in the count.
static COUNTED: AtomicBool = AtomicBool::new(false);
/// Guards this process's mailbox and its place in the count.
static MAILBOX: Mutex<()> = Mutex::new(());

/// Nobody else takes tasks out of the process's mailbox, or counts it.
pub fn lock_mailbox() -> MutexGuard<'static, ()> {
    MAILBOX.lock()
}

/// Tasks have come, which are begun in the pool: takes the process out of the count.
pub fn leave_count() {
    if COUNTED.swap(false, Ordering::SeqCst) {
        words::quiet().fetch_sub(1, Ordering::SeqCst);
    }
}

/// The last thread of the process to arrive at a barrier: runs tasks until there is none in any process.
pub fn quiesce(frame: &Frame) {
    let team = frame.team();
    let seen = words::epoch().load(Ordering::SeqCst);
    let ended = || words::epoch().load(Ordering::SeqCst) != seen;
    pool::help(frame, || {
        if team.pool.is_empty() && !COUNTED.load(Ordering::SeqCst) {
            count(frame);
        }
        ended()
    });
    COUNTED.store(false, Ordering::SeqCst);
}

fn count(frame: &Frame) {
    let team = frame.team();
    let _mailbox = lock_mailbox();
    let sender = words::message(sync::rank(), 0).load(Ordering::SeqCst);
    if !team.pool.is_empty() || sender != 0 || COUNTED.load(Ordering::SeqCst) {
        return;
    }
    COUNTED.store(true, Ordering::SeqCst);
    if words::quiet().fetch_add(1, Ordering::SeqCst) + 1 == u64::from(team.participants) {
        words::quiet().store(0, Ordering::SeqCst);
        words::epoch().fetch_add(1, Ordering::SeqCst);
        (0..team.participants).for_each(|rank| {
            words::cell(rank).increment();
        });
    }
}
