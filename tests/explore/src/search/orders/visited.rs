//! What was done from states on that the search has left behind.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};

use super::steps::Steps;
use crate::hash::Digest;
use crate::world::{Access, Choice, Wait};

/// Something that a thread or memory does from some state on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deed {
    /// Who: not when its stores become visible.
    pub actor: Choice,
    /// What it waits for, if that can end by a change of what it touches.
    pub wait: Wait,
    /// What it touches, and how.
    pub access: Access,
}

/// Who makes a choice, whether it runs or its stores become visible.
pub fn actor(choice: Choice) -> Choice {
    match choice {
        Choice::Drain(t) => Choice::Run(t),
        other => other,
    }
}

/// Gives equal things equal numbers.
#[derive(Debug)]
struct Numbers<T> {
    all: Vec<T>,
    known: HashMap<T, u32, BuildHasherDefault<Digest>>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Numbers { all: Vec::new(), known: HashMap::default() }
    }
}

impl<T: Clone + Eq + Hash> Numbers<T> {
    fn of(&mut self, thing: &T) -> u32 {
        if let Some(number) = self.known.get(thing) {
            return *number;
        }
        let number = self.all.len() as u32;
        self.all.push(thing.clone());
        self.known.insert(thing.clone(), number);
        number
    }
}

/// A state where a search chooses.
#[derive(Debug)]
pub struct State {
    /// Its digest.
    pub digest: u64,
    /// What sleeps when the search comes there.
    pub asleep: Box<[Choice]>,
}

/// See the module documentation.
#[derive(Debug, Default)]
pub struct VisitedStates {
    deeds: Numbers<Deed>,
    futures: Numbers<Steps>,
    sleepers: Numbers<Box<[Choice]>>,
    /// By digest, what slept there and what was done from there on: 24 bytes each with what the table needs.
    states: HashMap<u64, (u32, u32), BuildHasherDefault<Digest>>,
}

impl VisitedStates {
    /// Number of states.
    pub fn states(&self) -> usize {
        self.states.len()
    }

    /// A number for a deed.
    pub fn number(&mut self, deed: &Deed) -> usize {
        self.deeds.of(deed) as usize
    }

    /// The deeds of some numbers.
    pub fn deeds(&self, numbers: &Steps) -> impl Iterator<Item = Deed> {
        numbers.numbers().map(|number| self.deeds.all[number])
    }

    /// All that can follow a state was tried, but what slept; `future`: the numbers of all deeds.
    pub fn leave(&mut self, state: State, future: &Steps) {
        let past = (self.sleepers.of(&state.asleep), self.futures.of(future));
        self.states.insert(state.digest, past);
    }

    /// What was done from a state on if no more slept there than now; else, `asleep` becomes what slept both then and now.
    pub fn future(&self, digest: u64, asleep: &mut Vec<Choice>) -> Option<Steps> {
        let (then, future) = self.states.get(&digest)?;
        let then = &self.sleepers.all[*then as usize];
        if then.iter().all(|choice| asleep.contains(choice)) {
            return Some(self.futures.all[*future as usize].clone());
        }
        asleep.retain(|choice| then.contains(choice));
        None
    }
}
