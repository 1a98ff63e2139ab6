//! All schedules of a program that differ in more than the order of independent steps: dynamic partial-order reduction with source sets and sleep
//! sets (Abdulla, Aronis, Jonsson, Sagonas, POPL 2014), which enters no state twice (Yang, Chen, Gopalakrishnan, Kirby, SPIN 2008).
//!
//! Steps are independent if they touch nothing in common that one of them changes. Each order of the dependent steps is run once: after a step the
//! search looks for earlier ones that could as well have come after it, and puts what has to come first instead on the list of what to try there.
//! What was tried already *sleeps* until something happens that it depends on.
//!
//! A state is left behind with all that was done from there on, and what slept there. Who comes back, with no less asleep, would do the same again: instead, all of
//! that is looked at as if it were done now, for earlier steps that could come after it.
//!
//! A posted write is a thread of one step, its placement, which follows its post and comes before the flush that waits for it. A step that had to wait is not tried before the
//! one that ended the wait, but before earlier ones that touch the same.
//!
//! Only for processes of one thread, whose stores become visible with their next step.

mod steps;
mod visited;

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::rc::Rc;

use super::{Coverage, Failure};
use crate::hash::Digest;
use crate::program::{Closing, Memory, Program};
use crate::run::Run;
use crate::world::{Access, Choice, Memories, Thing, Wait};
use steps::Steps;
use visited::{Deed, State, VisitedStates, actor};

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
    /// `None`: it is not remembered.
    state: Option<State>,
    /// The deeds from here on.
    future: Steps,
}

impl Frame {
    /// One of these should be tried here.
    fn want_one_of(&mut self, first: &[Choice]) {
        if first.iter().any(|choice| self.wanted.contains(choice)) {
            return;
        }
        match first.iter().find(|choice| self.enabled.contains(choice)) {
            Some(choice) => self.wanted.push(*choice),
            None => self.wanted.clone_from(&self.enabled),
        }
    }
}

/// An access of a step of the run.
#[derive(Clone, Copy, Debug)]
struct Touch {
    step: usize,
    access: Access,
}

#[derive(Debug, Default)]
struct Search {
    frames: Vec<Frame>,
    touches: HashMap<Thing, Vec<Touch>, BuildHasherDefault<Digest>>,
    /// Steps of each thread.
    done: Vec<Vec<usize>>,
    visited: VisitedStates,
}

fn conflict(a: &[Access], b: &[Access]) -> bool {
    a.iter().any(|x| b.iter().any(|y| x.to == y.to && x.depends(y)))
}

/// Whether a step could have been taken before something it waits for changed; `None`: it does not wait for that.
fn was_enabled(choice: Choice, wait: Wait, change: &Access) -> Option<bool> {
    match (choice, wait, change.to) {
        (Choice::Place(number), _, Thing::Post(posted)) if number == posted => Some(false),
        (_, Wait::Differs(p, loc, seen), Thing::Cell(q, at)) if (p, loc) == (q, at) => {
            Some(change.before != seen)
        }
        (_, Wait::EvenOrOpen(p, loc), Thing::Cell(q, at)) if (p, loc) == (q, at) => {
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
            let dependent = |t: &&Touch| t.step != number && t.access.depends(access);
            conflicts.extend(earlier.iter().filter(dependent).map(|t| t.step));
            earlier.push(Touch { step: number, access: *access });
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
        for access in accesses.iter() {
            let relevant = was_enabled(choice, wait, &Access { write: true, ..*access }).is_some();
            let wait = if relevant { wait } else { Wait::Ready };
            let deed = Deed { actor: actor(choice), wait, access: access.timeless() };
            let deed = self.visited.number(&deed);
            self.frames[number].future.insert(deed);
        }
        self.frames[number].step = Some(Step { choice, accesses, before });
        let mut covered = past;
        for earlier in conflicts.into_iter().rev() {
            if covered.contains(earlier) {
                continue;
            }
            let wakes = |change: &Access| change.write && was_enabled(choice, wait, change) == Some(false);
            let woken = self.step(earlier).accesses.iter().any(wakes);
            // Of a posted write, what came before its post.
            if !woken || matches!(choice, Choice::Place(_)) {
                covered.join(&self.step(earlier).before);
                covered.insert(earlier);
            }
            if woken {
                continue;
            }
            self.want(earlier, number);
        }
    }

    /// A step should also be tried before an earlier one.
    fn want(&mut self, earlier: usize, step: usize) {
        let first = self.first_without(earlier, Some(step));
        self.frames[earlier].want_one_of(&first);
    }

    /// What can come first of the steps that do not depend on an earlier one, up to `last` and with it, or all.
    fn first_without(&self, earlier: usize, last: Option<usize>) -> Vec<Choice> {
        let mut others = Steps::default();
        let mut first = Vec::new();
        let end = last.unwrap_or(self.frames.len());
        for k in (earlier + 1..end).filter(|k| !self.step(*k).before.contains(earlier)).chain(last) {
            if !self.step(k).before.intersects(&others) {
                first.push(self.step(k).choice);
            }
            others.insert(k);
        }
        first
    }

    /// Comes to a state from where everything was tried: what was done from there on should also be tried before steps on the way here.
    fn reach_visited(&mut self, future: &Steps) {
        let (mut earlier, mut actors) = (HashSet::new(), HashSet::new());
        for deed in self.visited.deeds(future) {
            let Deed { wait, access, .. } = deed;
            if matches!(access.to, Thing::Post(_)) {
                // A write is posted, placed and waited for in one order.
                continue;
            }
            actors.insert(deed.actor);
            let mut covered = Steps::default();
            if let Choice::Run(t) = deed.actor
                && let Some(last) = self.done[t].last()
            {
                covered.join(&self.step(*last).before);
                covered.insert(*last);
            }
            let wakes =
                |change: &Access| change.write && was_enabled(deed.actor, wait, change) == Some(false);
            for touch in self.touches.get(&access.to).into_iter().flatten().rev() {
                let step = self.step(touch.step);
                let dependent = touch.access.depends(&access) && actor(step.choice) != deed.actor;
                if dependent && !covered.contains(touch.step) && !step.accesses.iter().any(wakes) {
                    covered.join(&step.before);
                    covered.insert(touch.step);
                    earlier.insert(touch.step);
                }
            }
        }
        for step in earlier {
            self.want_any(step, &actors);
        }
        self.frames.last_mut().expect("a step led here").future.join(future);
    }

    /// Something that comes after the last step, of one of the actors, should also be tried before an earlier one.
    fn want_any(&mut self, earlier: usize, actors: &HashSet<Choice>) {
        let first = self.first_without(earlier, None);
        let own = actor(self.step(earlier).choice);
        let frame = &mut self.frames[earlier];
        if !first.is_empty() {
            return frame.want_one_of(&first);
        }
        // Everything on the way here depends on that step: then what comes first is one of what comes later.
        let later = |choice: &&Choice| actor(**choice) != own && actors.contains(&actor(**choice));
        let wanted: Vec<Choice> = frame.enabled.iter().filter(later).copied().collect();
        let wanted = if wanted.is_empty() { &frame.enabled } else { &wanted };
        frame.wanted.extend(
            wanted.iter().filter(|choice| !frame.wanted.contains(choice)).copied().collect::<Vec<_>>(),
        );
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

    /// Takes a step that is worth while, if there is one. `choices` becomes what there is.
    fn advance(&mut self, run: &mut Run, choices: &mut Vec<Choice>) -> bool {
        run.choices(choices);
        if run.finished(choices) {
            return false;
        }
        // All stores become visible before the barriers at the end.
        if run.world.borrow().closing() {
            choices.retain(|choice| !matches!(choice, Choice::Run(_)));
        }
        let mut sleep = self.asleep();
        let mut state = None;
        if choices.len() > 1 {
            let digest = run.digest();
            let mut asleep = sleep.iter().map(|(choice, _)| *choice).collect();
            if let Some(future) = self.visited.future(digest, &mut asleep) {
                self.reach_visited(&future);
                return false;
            }
            sleep.retain(|(choice, _)| asleep.contains(choice));
            state = Some(State { digest, asleep: asleep.into() });
        }
        let Some(choice) = choices.iter().find(|c| !sleep.iter().any(|(s, _)| s == *c)).copied() else {
            return false;
        };
        let wanted = vec![choice];
        self.frames.push(Frame {
            enabled: choices.clone(),
            sleep,
            wanted,
            step: None,
            state,
            future: Steps::default(),
        });
        self.take(run, choice);
        true
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
            let frame = self.frames.pop().expect("looked at above");
            if let Some(state) = frame.state {
                self.visited.leave(state, &frame.future);
            }
            if let Some(parent) = self.frames.last_mut() {
                parent.future.join(&frame.future);
            }
        }
        None
    }
}

/// Searches, in at most so many runs. `Err` at the first failure.
///
/// # Panics
/// Unless stores become visible promptly, barriers at the end are in order and processes have one thread.
pub fn search(program: &Rc<Program>, most: usize) -> Result<Coverage, Failure> {
    search_with(program, most, &Memories::default())
}

/// As [`search`], with threads told apart in some other way.
///
/// # Panics
/// As [`search`].
pub fn search_with(program: &Rc<Program>, most: usize, memories: &Memories) -> Result<Coverage, Failure> {
    assert!(program.threads == 1 && program.memory == Memory::Prompt && program.closing == Closing::InOrder);
    let mut search = Search { done: vec![Vec::new(); program.processes], ..Search::default() };
    let mut found = Coverage::default();
    let mut ended = HashSet::new();
    let mut choices = Vec::new();
    let mut next = None;
    loop {
        let mut run = Run::new(program, false);
        run.world.borrow_mut().memories = memories.clone();
        let whole = search.frames.len() - usize::from(next.is_some());
        for number in 0..whole {
            run.step(search.step(number).choice);
        }
        run.world.borrow_mut().recording = true;
        if let Some(choice) = next {
            search.take(&mut run, choice);
        }
        while search.advance(&mut run, &mut choices) {}
        let closed = run.world.borrow().closing() && choices.is_empty() && run.failure().is_none();
        if closed && ended.insert(run.digest()) {
            found.ends.insert(run.world.borrow().end());
            run.world.borrow_mut().recording = false;
            finish(&mut run, &mut choices);
        }
        if let Some(why) = run.failure() {
            let schedule = (0..search.frames.len()).map(|number| search.step(number).choice).collect();
            return Err(Failure { why, program: program.clone(), schedule });
        }
        found.runs += 1;
        next = search.back();
        found.states = search.visited.states();
        found.complete = next.is_none();
        if found.complete || found.runs >= most {
            return Ok(found);
        }
    }
}

/// The barriers at the end, in their one order.
fn finish(run: &mut Run, choices: &mut Vec<Choice>) {
    loop {
        run.choices(choices);
        if run.finished(choices) {
            break;
        }
        run.step(choices[0]);
    }
}
