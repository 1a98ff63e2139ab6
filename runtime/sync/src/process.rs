//! One process's part.

use std::sync::atomic::{AtomicBool, AtomicU32};

use crate::reduction::ReductionState;
use crate::task::TaskState;

/// Rounds of a barrier of the most processes.
pub(crate) const ROUNDS: usize = 32;

/// What a process remembers from one synchronisation to the next.
#[derive(Debug)]
pub struct State {
    /// Signals that were taken so far, of each round of the barriers.
    pub(crate) signals: [AtomicU32; ROUNDS],
    /// Number of the last fork message that this process wrote or read.
    pub(crate) last_fork: AtomicU32,
    /// Arrivals at the ends of all regions so far, as process 0 expects them.
    pub(crate) joined: AtomicU32,
    /// Whether all processes have taken part in the last region, and process 0 has seen that all have arrived at its end.
    pub(crate) all_joined: AtomicBool,
    /// Whether the last region of this process has ended at a barrier of all processes.
    pub(crate) ended_at_barrier: AtomicBool,
    /// Whether the job has ended: no other process runs code of the program.
    pub(crate) has_ended: AtomicBool,
    pub(crate) tasks: TaskState,
    pub(crate) reduction: ReductionState,
}

impl State {
    /// Nothing has been synchronised yet.
    pub const fn new() -> State {
        State {
            signals: [const { AtomicU32::new(0) }; ROUNDS],
            last_fork: AtomicU32::new(0),
            joined: AtomicU32::new(0),
            all_joined: AtomicBool::new(false),
            ended_at_barrier: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            tasks: TaskState::new(),
            reduction: ReductionState::new(),
        }
    }
}

impl Default for State {
    fn default() -> State {
        State::new()
    }
}

/// One process's part in the synchronisation of the job, as one of its threads sees it. Any thread may use locks and conditions, and run tasks; barrier, fork, join,
/// the two sides of a reduction and [`Process::barrier_with_tasks`] are for one at a time.
#[derive(Debug)]
pub struct Process<'a, W> {
    /// What the process remembers.
    pub state: &'a State,
    /// The words, and the memory.
    pub words: &'a W,
}

impl<W> Clone for Process<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Process<'_, W> {}

impl<'a, W> Process<'a, W> {
    /// The part of a process.
    #[inline(always)]
    pub fn new(state: &'a State, words: &'a W) -> Process<'a, W> {
        Process { state, words }
    }
}
