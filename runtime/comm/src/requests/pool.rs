//! Threads that wait for words of the own segment on behalf of other processes.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::carrier::Answerer;
use super::memory::Segment;
use super::{Spawn, Wake, slice, wire};

/// A wait that a peer has asked for.
pub(super) struct Wait {
    /// Where the answer goes.
    pub(super) answers: Answerer,
    pub(super) offset: usize,
    pub(super) seen: u32,
    pub(super) wake: Wake,
    pub(super) id: u32,
}

/// The threads: as many as there were waits at the same time.
pub(super) struct Pool {
    segment: Segment,
    spawn: Spawn,
    state: Mutex<State>,
    ready: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Wait>,
    /// Threads that will look at the queue as soon as they are woken.
    idle: usize,
}

impl Pool {
    pub(super) fn new(segment: Segment, spawn: Spawn) -> Arc<Pool> {
        Arc::new(Pool { segment, spawn, state: Mutex::default(), ready: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a wait to a thread.
    pub(super) fn submit(self: &Arc<Pool>, wait: Wait) {
        let mut state = self.lock();
        state.queue.push_back(wait);
        let is_short = state.queue.len() > state.idle;
        drop(state);
        if is_short {
            let pool = self.clone();
            (self.spawn)("dsm-wait", Box::new(move || pool.serve()));
        } else {
            self.ready.notify_one();
        }
    }

    fn serve(&self) {
        slice::shorten();
        let mut state = self.lock();
        loop {
            let Some(wait) = state.queue.pop_front() else {
                state.idle += 1;
                state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            };
            drop(state);
            let value = self.segment.wait_change(wait.offset, wait.seen, wait.wake);
            // Whoever has gone needs no answer.
            let mut answers = wait.answers.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = answers.send(&wire::answer(wait.id, value));
            drop(answers);
            drop(wait);
            state = self.lock();
        }
    }
}
