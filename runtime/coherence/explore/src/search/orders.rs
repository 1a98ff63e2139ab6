//! All schedules of a program that differ in more than the order of independent steps: dynamic partial-order reduction with source sets and sleep
//! sets (Abdulla, Aronis, Jonsson, Sagonas, POPL 2014). No states are kept, so memory does not bound the search.
//!
//! Steps are independent if they touch nothing in common that one of them changes. Each order of the dependent steps is run once: after a step the
//! search looks for earlier ones that could as well have come after it, and puts what has to come first instead on the list of what to try there.
//! What was tried already *sleeps* until something happens that it depends on.
//!
//! A posted write is a thread of one step, its placement, which follows its post and comes before the flush that waits for it. A step that had to wait is not tried before the
//! one that ended the wait, but before earlier ones that touch the same.
//!
//! Only for processes of one thread, whose stores become visible with their next step.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

use super::Failure;
use crate::hash::Digest;
use crate::program::{Closing, Memory, Program};
use crate::run::Run;
use crate::world::{Access, Choice, Thing, Wait};

/// What a search covered.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// Orders of dependent steps.
    pub orders: usize,
    /// Runs that were given up since all that could follow was tried elsewhere.
    pub cut: usize,
    /// Whether nothing was left out.
    pub complete: bool,
    /// What memory can be like when all operations have ended.
    pub ends: HashSet<u64>,
}

impl fmt::Display for Orders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = if self.complete { "complete" } else { "given up" };
        write!(f, "{} orders, {} runs cut, {} ends, {all}", self.orders, self.cut, self.ends.len())
    }
}

/// A set of steps, by their numbers in the run.
#[derive(Clone, Debug, Default)]
struct Steps(Vec<u64>);

impl Steps {
    fn insert(&mut self, step: usize) {
        if self.0.len() <= step / 64 {
            self.0.resize(step / 64 + 1, 0);
        }
        self.0[step / 64] |= 1 << (step % 64);
    }

    fn contains(&self, step: usize) -> bool {
        self.0.get(step / 64).is_some_and(|word| word >> (step % 64) & 1 != 0)
    }

    fn join(&mut self, other: &Steps) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    fn meets(&self, other: &Steps) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }
}

/// A step of the run.
#[derive(Debug)]
struct Step {
    choice: Choice,
    accesses: Rc<[Access]>,
    /// Steps that have to come before it.
    before: Steps,
}

/// A state on the way, with the step that follows.
#[derive(Debug)]
struct Frame {
    enabled: Vec<Choice>,
    /// What was tried here, or would lead to what was tried elsewhere.
    sleep: Vec<(Choice, Rc<[Access]>)>,
    /// What is to be tried, or was.
    wanted: Vec<Choice>,
    step: Option<Step>,
}

/// An access of a step of the run.
#[derive(Clone, Copy, Debug)]
struct Touch {
    step: usize,
    write: bool,
}

#[derive(Debug, Default)]
struct Search {
    frames: Vec<Frame>,
    touches: HashMap<Thing, Vec<Touch>, BuildHasherDefault<Digest>>,
    /// Steps of each thread.
    done: Vec<Vec<usize>>,
}

fn conflict(a: &[Access], b: &[Access]) -> bool {
    a.iter().any(|x| b.iter().any(|y| x.to == y.to && (x.write || y.write)))
}

/// Whether a step could have been taken before something it waits for changed; `None`: it does not wait for that.
fn was_enabled(choice: Choice, wait: Wait, change: &Access) -> Option<bool> {
    match (choice, wait, change.to) {
        (Choice::Place(number), _, Thing::Post(posted)) if number == posted => Some(false),
        (_, Wait::Differs(p, loc, seen), Thing::Cell(q, at)) if (p, loc) == (q, at) => {
            Some(change.before != seen)
        }
        (_, Wait::Even(p, loc), Thing::Cell(q, at)) if (p, loc) == (q, at) => {
            Some(change.before.is_multiple_of(2))
        }
        (_, Wait::Equals(p, loc, value), Thing::Cell(q, at)) if (p, loc) == (q, at) => {
            Some(change.before == value)
        }
        (_, Wait::LockFree(lock), Thing::Lock(other)) if lock == other => Some(change.before == 0),
        (_, Wait::Flagged(count), Thing::Flags) => Some(change.before > count),
        (_, Wait::Placed(..), Thing::Post(_))
        | (_, Wait::Arrived(..), Thing::Arrival(..))
        | (_, Wait::Signal(..), Thing::Signal(..)) => Some(false),
        _ => None,
    }
}

impl Search {
    fn step(&self, number: usize) -> &Step {
        self.frames[number].step.as_ref().expect("a step that was taken")
    }

    /// Takes a step from the last frame's state and notes what it has to do with earlier ones.
    fn take(&mut self, run: &mut Run, choice: Choice) {
        let number = self.frames.len() - 1;
        let wait = match choice {
            Choice::Run(t) => run.world.borrow().threads[t].wait,
            Choice::Drain(_) | Choice::Place(_) => Wait::Ready,
        };
        run.step(choice);
        let accesses: Rc<[Access]> = run.world.borrow().accesses.as_slice().into();
        let mut past = Steps::default();
        if let Choice::Run(t) | Choice::Drain(t) = choice {
            if let Some(last) = self.done[t].last() {
                past.join(&self.step(*last).before);
                past.insert(*last);
            }
            self.done[t].push(number);
        }
        let mut conflicts = Vec::new();
        for access in accesses.iter() {
            let earlier = self.touches.entry(access.to).or_default();
            conflicts.extend(
                earlier.iter().filter(|t| t.step != number && (t.write || access.write)).map(|t| t.step),
            );
            earlier.push(Touch { step: number, write: access.write });
        }
        conflicts.sort_unstable();
        conflicts.dedup();
        let mut before = past.clone();
        for step in conflicts.iter().rev() {
            if !before.contains(*step) {
                before.join(&self.step(*step).before);
                before.insert(*step);
            }
        }
        self.frames[number].step = Some(Step { choice, accesses, before });
        let mut covered = past;
        for earlier in conflicts.into_iter().rev() {
            if covered.contains(earlier) {
                continue;
            }
            let wakes = |change: &Access| change.write && was_enabled(choice, wait, change) == Some(false);
            if self.step(earlier).accesses.iter().any(wakes) {
                continue;
            }
            covered.join(&self.step(earlier).before);
            covered.insert(earlier);
            self.want(earlier, number);
        }
    }

    /// A step should also be tried before an earlier one: what has to be taken there instead.
    fn want(&mut self, earlier: usize, step: usize) {
        let mut others = Steps::default();
        let mut first = Vec::new();
        for k in (earlier + 1..step).filter(|k| !self.step(*k).before.contains(earlier)).chain([step]) {
            if !self.step(k).before.meets(&others) {
                first.push(self.step(k).choice);
            }
            others.insert(k);
        }
        let frame = &mut self.frames[earlier];
        if first.iter().any(|choice| frame.wanted.contains(choice)) {
            return;
        }
        match first.iter().find(|choice| frame.enabled.contains(choice)) {
            Some(choice) => frame.wanted.push(*choice),
            None => frame.wanted.clone_from(&frame.enabled),
        }
    }

    /// What sleeps behind the last frame's step.
    fn asleep(&self) -> Vec<(Choice, Rc<[Access]>)> {
        let Some(frame) = self.frames.last() else { return Vec::new() };
        let step = self.step(self.frames.len() - 1);
        let stays = |(choice, accesses): &&(Choice, Rc<[Access]>)| {
            *choice != step.choice && !conflict(accesses, &step.accesses)
        };
        frame.sleep.iter().filter(stays).cloned().collect()
    }

    /// Goes back to the last state where something is left to try, and returns what.
    fn back(&mut self) -> Option<Choice> {
        while !self.frames.is_empty() {
            let number = self.frames.len() - 1;
            let frame_step = self.frames[number].step.take().expect("a step that was taken");
            for access in frame_step.accesses.iter() {
                let list = self.touches.get_mut(&access.to).expect("noted when the step was taken");
                list.pop_if(|touch| touch.step == number);
            }
            if let Choice::Run(t) | Choice::Drain(t) = frame_step.choice {
                self.done[t].pop();
            }
            let frame = &mut self.frames[number];
            frame.sleep.push((frame_step.choice, frame_step.accesses));
            let left = frame.wanted.iter().find(|choice| !frame.sleep.iter().any(|(c, _)| c == *choice));
            if let Some(choice) = left {
                return Some(*choice);
            }
            self.frames.pop();
        }
        None
    }
}

/// Searches, in at most so many runs. `Err` at the first failure.
///
/// # Panics
/// Unless stores become visible promptly, meetings at the end are in order and processes have one thread.
pub fn search(program: &Rc<Program>, most: usize) -> Result<Orders, Failure> {
    assert!(program.threads == 1 && program.memory == Memory::Prompt && program.closing == Closing::InOrder);
    let mut search = Search { done: vec![Vec::new(); program.processes], ..Search::default() };
    let mut found = Orders::default();
    let mut choices = Vec::new();
    let mut next = None;
    loop {
        let mut run = Run::new(program, false);
        let whole = search.frames.len() - usize::from(next.is_some());
        for number in 0..whole {
            run.step(search.step(number).choice);
        }
        run.world.borrow_mut().recording = true;
        if let Some(choice) = next {
            search.take(&mut run, choice);
        }
        let mut cut = false;
        loop {
            run.choices(&mut choices);
            if run.finished(&choices) {
                break;
            }
            let closing = run.world.borrow().closing();
            // Memory settles before the meetings at the end.
            if closing {
                choices.retain(|choice| !matches!(choice, Choice::Run(_)));
            }
            if closing && choices.is_empty() {
                found.ends.insert(run.world.borrow().end());
                run.world.borrow_mut().recording = false;
                finish(&mut run, &mut choices);
                break;
            }
            let sleep = search.asleep();
            let Some(choice) = choices.iter().find(|c| !sleep.iter().any(|(s, _)| s == *c)).copied() else {
                cut = true;
                break;
            };
            search.frames.push(Frame { enabled: choices.clone(), sleep, wanted: vec![choice], step: None });
            search.take(&mut run, choice);
        }
        if let Some(why) = run.failure() {
            let schedule = (0..search.frames.len()).map(|number| search.step(number).choice).collect();
            return Err(Failure { why, program: program.clone(), schedule });
        }
        found.orders += usize::from(!cut);
        found.cut += usize::from(cut);
        if found.orders + found.cut >= most {
            return Ok(found);
        }
        next = search.back();
        if next.is_none() {
            found.complete = true;
            return Ok(found);
        }
    }
}

/// The meetings at the end, in their one order.
fn finish(run: &mut Run, choices: &mut Vec<Choice>) {
    loop {
        run.choices(choices);
        if run.finished(choices) {
            break;
        }
        run.step(choices[0]);
    }
}
