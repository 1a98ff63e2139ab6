//! Threads as tools see them.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use super::abi::{Data, State, ThreadKind};
use super::{callbacks, is_active, region};
use crate::frame::{self, Frame};

/// What is known of the calling thread.
struct Thread {
    data: AtomicU64,
    /// None while no tool knows of it.
    kind: Cell<Option<ThreadKind>>,
    state: Cell<State>,
    /// What it waits for; 0 for nothing.
    wait: Cell<u64>,
    /// It is at a place where it may take another task.
    yields: Cell<bool>,
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            data: AtomicU64::new(0),
            kind: Cell::new(None),
            state: Cell::new(State::Undefined),
            wait: Cell::new(0),
            yields: Cell::new(false),
        }
    };
    static END: End = const { End };
}

/// Tells the end of a thread that the program made.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        if is_active() {
            detach();
        }
    }
}

/// The tool's word of the thread; null if it is none of OpenMP.
pub fn data() -> Data {
    THREAD.with(|t| t.kind.get().map_or(std::ptr::null_mut(), |_| t.data.as_ptr()))
}

/// The calling thread is one of OpenMP from now on.
pub fn begin(kind: ThreadKind) {
    THREAD.with(|t| {
        t.kind.set(Some(kind));
        t.state.set(if matches!(kind, ThreadKind::Worker) { State::Idle } else { State::WorkSerial });
    });
    callbacks::thread_begin(kind, data());
}

/// The calling thread runs an initial task, with this frame.
pub fn attach(frame: &Frame) {
    if THREAD.with(|t| t.kind.get()).is_none() {
        begin(ThreadKind::Initial);
        region::initial_task_begins(frame);
    }
}

/// As [`attach`], for a thread of the program, whose end is told when it comes.
#[cold]
pub fn attach_foreign(frame: &Frame) {
    attach(frame);
    // Has the value dropped when the thread ends.
    _ = END.try_with(|_| ());
}

/// The calling thread ends, as far as the tool is concerned.
pub fn detach() {
    let Some(kind) = THREAD.with(|t| t.kind.get()) else { return };
    if let (ThreadKind::Initial, Some(frame)) = (kind, frame::existing()) {
        region::initial_task_ends(frame.ancestor(0).unwrap_or(frame));
    }
    callbacks::thread_end(data());
    THREAD.with(|t| t.kind.set(None));
}

/// What the thread does, and what it waits for.
pub fn state() -> (State, u64) {
    THREAD.with(|t| (t.state.get(), t.wait.get()))
}

/// The thread does something else from now on.
pub fn set_state(state: State) {
    THREAD.with(|t| t.state.set(state));
}

/// The thread is in a state as long as this lives.
pub struct Doing(State, u64);

impl Doing {
    /// It begins; `wait` names what it waits for.
    pub fn begin(state: State, wait: u64) -> Doing {
        THREAD.with(|t| Doing(t.state.replace(state), t.wait.replace(wait)))
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        THREAD.with(|t| {
            t.state.set(self.0);
            t.wait.set(self.1);
        });
    }
}

/// Runs `body`, in which the thread may take another task because the program says so.
pub fn yielding<T>(body: impl FnOnce() -> T) -> T {
    THREAD.with(|t| t.yields.set(true));
    let result = body();
    THREAD.with(|t| t.yields.set(false));
    result
}

/// Whether that is so; only the first task that it takes counts.
pub fn takes_yield() -> bool {
    THREAD.with(|t| t.yields.take())
}

/// A number that no other call in the job gives.
pub fn unique_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    const OF_PROCESS: u32 = 44;
    u64::from(crate::sync::rank()) << OF_PROCESS | NEXT.fetch_add(1, Ordering::Relaxed)
}
