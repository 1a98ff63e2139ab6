//! All schedules of a program, depth first. Futures cannot be copied, so each branch is run again from the start; states that were reached
//! before are not entered again, and a step that nobody else can notice is not a choice. See [`super::orders`] for less work.
//!
//! A state is memory, what is under way to it, and for each thread the sequence of values that it has observed since its operation began and that can make
//! a difference still: a thread is a deterministic function of these. See [`crate::world::Memories`].
//!
//! With a bound on delays, only schedules that leave the default order (the running thread first, stores as late as possible) at most so
//! often are searched.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Coverage, Failure};
use crate::program::Program;
use crate::run::Run;
use crate::world::{Choice, Memories};

/// Bounds of a search.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Number of departures from the default order; `None`: all schedules.
    pub delays: Option<u8>,
    /// States after which the search gives up.
    pub states: usize,
}

struct Frame {
    choices: Vec<Choice>,
    next: usize,
    delays: u8,
}

impl Limits {
    /// All schedules, up to so many states.
    pub fn all(states: usize) -> Limits {
        Limits { delays: None, states }
    }

    /// Schedules with at most so many delays.
    pub fn delays(delays: u8, states: usize) -> Limits {
        Limits { delays: Some(delays), states }
    }
}

/// Searches. `Err` at the first failure.
pub fn search(program: &Rc<Program>, limits: Limits) -> Result<Coverage, Failure> {
    search_with(program, limits, &Memories::default())
}

/// As [`search`], with threads told apart in some other way.
pub fn search_with(program: &Rc<Program>, limits: Limits, memories: &Memories) -> Result<Coverage, Failure> {
    let mut frames: Vec<Frame> = Vec::new();
    let mut visited: HashMap<u64, u8> = HashMap::new();
    let mut coverage = Coverage::default();
    let most = limits.delays.unwrap_or(0);
    let mut choices = Vec::new();
    loop {
        coverage.runs += 1;
        let mut run = Run::new(program, false);
        run.world.borrow_mut().memories = memories.clone();
        for frame in &frames {
            run.step(frame.choices[frame.next]);
        }
        let mut closed = false;
        loop {
            run.choices(&mut choices);
            if run.finished(&choices) {
                break;
            }
            let delays =
                frames.last().map_or(most, |f| f.delays - u8::from(limits.delays.is_some() && f.next > 0));
            let closing = run.world.borrow().closing();
            if closing && !closed {
                coverage.ends.insert(run.world.borrow().end());
            }
            closed = closing;
            // Where nothing is to be chosen, the next choice recognises the state.
            if choices.len() > 1 && !closing {
                let digest =
                    run.digest() ^ (run.world.borrow().current as u64 * u64::from(limits.delays.is_some()));
                match visited.get(&digest) {
                    Some(left) if *left >= delays => break,
                    _ => visited.insert(digest, delays),
                };
            }
            if limits.delays.is_some() && delays == 0 {
                choices.truncate(1);
            }
            run.step(choices[0]);
            if !run.world.borrow().visible || closing {
                choices.truncate(1);
            }
            frames.push(Frame { choices: choices.clone(), next: 0, delays });
        }
        if let Some(why) = run.failure() {
            let schedule = frames.iter().map(|f| f.choices[f.next]).collect();
            return Err(Failure { why, program: program.clone(), schedule });
        }
        if visited.len() > limits.states {
            break;
        }
        while frames.last().is_some_and(|f| f.next + 1 >= f.choices.len()) {
            frames.pop();
        }
        match frames.last_mut() {
            Some(frame) => frame.next += 1,
            None => {
                coverage.complete = true;
                break;
            }
        }
    }
    coverage.states = visited.len();
    Ok(coverage)
}
