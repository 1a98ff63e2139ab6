//! What threads have seen. A thread is a deterministic function of it, so states are recognised by it; what makes no difference any more is forgotten, and whether
//! it makes none can be checked.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};
use std::panic::Location;
use std::rc::Rc;

use super::World;
use crate::hash::{Digest, mix};
use crate::layout::Loc;

/// What the threads of a program did at all places of all runs so far, by all that could decide on it.
pub type Script = Rc<RefCell<HashMap<u64, u64, BuildHasherDefault<Digest>>>>;

/// Something that a thread does.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Reads a cell.
    Read,
    /// Stores to a cell of its own process.
    Write,
    /// Has changed a cell atomically.
    Update,
    /// Posts a write.
    Post,
    /// Waits.
    Wait,
}

/// How a search tells threads apart that are at the same place of their operation.
#[derive(Clone, Debug, Default)]
pub enum Memories {
    /// Not at all: the search recognises no states.
    None,
    /// By what they have seen and not forgotten.
    #[default]
    Forgetful,
    /// By all that they have seen since the operation began.
    Whole,
    /// As `Whole`, and two that `Forgetful` would not tell apart have to do the same.
    Checked(Script),
}

impl World {
    /// A step of the running thread begins; `protocol`: digest of what its process has beside memory.
    pub fn begin_step(&mut self, protocol: u64) {
        self.decided = mix(mix(self.current as u64, protocol), self.threads[self.current].history);
        // Steps that observe nothing move on too.
        self.observe(1);
    }

    /// What the running thread has observed goes into its history.
    pub fn observe(&mut self, value: u64) {
        let thread = &mut self.threads[self.current];
        thread.history = mix(thread.history, value);
        thread.whole = mix(thread.whole, value);
        self.decided = mix(self.decided, value);
    }

    /// What the running thread has seen so far: its state, if it is known where in the code it is.
    pub fn checkpoint(&self) -> u64 {
        self.threads[self.current].history
    }

    /// The running thread's variables follow from what they were at a checkpoint, from the caller's place in the code and from `live`.
    #[track_caller]
    pub fn live_since(&mut self, checkpoint: u64, live: impl Hash) {
        if !self.recognises_states() {
            return;
        }
        let place = Location::caller();
        let mut d = Digest::default();
        d.add(checkpoint);
        d.add(u64::from(place.line()) << 32 | u64::from(place.column()));
        place.file().hash(&mut d);
        live.hash(&mut d);
        self.threads[self.current].history = d.value();
    }

    fn recognises_states(&self) -> bool {
        matches!(self.memories, Memories::Forgetful | Memories::Checked(_))
    }

    /// The running thread begins an operation; `protocol`: digest of what its process has beside memory.
    pub fn begins(&mut self, operation: u64, protocol: impl FnOnce() -> u64) {
        let protocol = if matches!(self.memories, Memories::None) { 0 } else { protocol() };
        let thread = &mut self.threads[self.current];
        thread.operation = operation;
        thread.history = mix(operation, protocol);
        thread.whole = thread.history;
    }

    /// It comes to a place inside its operation, by number, where nothing counts that it has seen before.
    pub fn comes_to(&mut self, place: u64, protocol: impl FnOnce() -> u64) {
        if self.recognises_states() {
            let thread = &mut self.threads[self.current];
            thread.history = mix(mix(thread.operation, place), protocol());
        }
    }

    /// The running thread does something, to a cell of a process. What follows from the same must be the same.
    pub fn acts(&mut self, act: Act, process: usize, loc: Loc, value: u64) {
        let Memories::Checked(script) = &self.memories else { return };
        let act = mix(mix(act as u64, u64::from(loc) << 8 | process as u64), value);
        let before = *script.borrow_mut().entry(self.decided).or_insert(act);
        self.decided = mix(self.decided, act);
        if before != act {
            self.fail("a thread does something else than before, although it has seen the same".to_string());
        }
    }
}
