//! Global synchronisation: the fork and the join of a region (libomp's fork and join barriers), and the barrier.
//!
//! Each is one message a process: a word in the receiver's (or process 0's) control area, on which the receiver spins. The state word of the sender's signature
//! travels in the same cache line, so a receiver for which there is nothing new touches nothing else of the sender.

use crate::hooks::hooks;
use crate::words::process;
use crate::{rank, size};
use dsm_memory::threads::Quiescent;
use dsm_observe::checked::Synchronising;
use dsm_observe::race;
use dsm_sync::Worker;

/// See [`dsm_sync::Process::fork`].
pub fn fork(message: &[u64], participants: u32) {
    if size() > 1 {
        process().fork(message, participants);
    }
}

/// Process 0, at the orderly end of the program. See [`dsm_sync::Process::end_job`].
pub fn end_job() {
    if size() > 1 {
        process().end_job();
    }
}

/// Other processes: sleeps until the next fork they take part in, and acquires. `None`: the program has ended.
pub fn wait_fork(message: &mut Vec<u64>) -> Option<()> {
    process().wait_fork(message)?;
    (hooks().after_fork)();
    Some(())
}

/// End of a region: the others release and return at once; process 0 waits for all participants and acquires.
pub fn join(participants: u32) {
    drop(Synchronising::begin());
    if size() > 1 {
        let _quiescent = (rank() == 0).then(Quiescent::begin);
        process().join(participants);
    }
}

/// End of a region whose processes have just met at a barrier. See [`dsm_sync::Process::end_at_barrier`].
pub fn end_at_barrier(participants: u32) {
    process().end_at_barrier(participants);
}

/// See [`dsm_sync::Process::barrier_with_tasks`]. For several processes.
pub fn barrier_with_tasks(worker: &impl Worker, participants: u32, is_empty: impl Fn() -> bool) {
    drop(Synchronising::begin());
    crate::give_up_locks();
    process().barrier_with_tasks(worker, participants, is_empty);
    // Of a task that a process has run behind its signal, only who made it knows there.
    if race::is_on() {
        process().barrier(participants);
    }
}

/// See [`dsm_sync::Process::barrier`].
pub fn barrier(participants: u32) {
    drop(Synchronising::begin());
    if size() == 1 || participants == 1 {
        return;
    }
    let _quiescent = Quiescent::begin();
    crate::give_up_locks();
    process().barrier(participants);
}
