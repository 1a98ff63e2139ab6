//! Schedules that are given by what threads come to, or begin so: for interleavings of a few accesses that random ones hardly ever hit.

use std::rc::Rc;

use super::{Failure, random};
use crate::program::Program;
use crate::run::Run;
use crate::world::{Choice, Post};

/// A part of a schedule.
#[derive(Clone, Copy, Debug)]
pub enum Leg {
    /// A thread runs, alone, until a line of its account contains the text.
    To(usize, &'static str),
    /// A thread runs, alone, until it waits for others.
    ToWait(usize),
    /// From now on no posted write of a thread is placed.
    HoldPosts(usize),
    /// From now on no store of a thread becomes visible.
    HoldStores(usize),
    /// The oldest stores of a thread become visible, up to one whose line contains the text.
    Drain(usize, &'static str),
    /// The posted write or read of a thread at a cell whose name contains the text is placed, if there is one.
    Place(usize, &'static str),
    /// Nothing is held any more.
    Release,
}

/// Runs a program along the legs, and then to its end. `Err` if something went wrong, or a leg came to no end.
pub fn run(program: &Program, legs: &[Leg]) -> Result<(), Failure> {
    run_with(&Rc::new(program.clone()), legs, Steered::finish)
}

/// As [`run`], but to its end under the schedule of a seed.
pub fn run_randomly(program: &Rc<Program>, legs: &[Leg], seed: u64) -> Result<(), Failure> {
    run_with(program, legs, |steered| {
        random::finish(&mut steered.run, seed, &mut steered.schedule);
        steered.run.failure().map_or(Ok(()), Err)
    })
}

fn run_with(
    program: &Rc<Program>,
    legs: &[Leg],
    end: impl FnOnce(&mut Steered) -> Result<(), String>,
) -> Result<(), Failure> {
    let mut steered = Steered { run: Run::new(program, true), schedule: Vec::new(), held: Vec::new() };
    let outcome = legs
        .iter()
        .enumerate()
        .try_for_each(|(at, leg)| steered.go(*leg).map_err(|why| format!("leg {at}, {leg:?}: {why}")));
    let outcome = outcome.and_then(|()| end(&mut steered));
    outcome.map_err(|why| Failure { why, program: program.clone(), schedule: steered.schedule })
}

struct Steered {
    run: Run,
    schedule: Vec<Choice>,
    /// Stores, and posted writes, of which threads are held.
    held: Vec<(bool, usize)>,
}

impl Steered {
    fn choices(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        self.run.choices(&mut choices);
        choices
    }

    fn step(&mut self, choice: Choice) {
        self.schedule.push(choice);
        self.run.step(choice);
        self.let_memory_act();
    }

    /// What is not held reaches memory at once.
    fn let_memory_act(&mut self) {
        let free = |choice: &Choice| match *choice {
            Choice::Run(_) => false,
            Choice::Drain(thread) => !self.held.contains(&(true, thread)),
            // Numbers tell of the thread.
            Choice::Place(number) => !self.held.contains(&(false, number as usize >> 16)),
        };
        while self.run.failure().is_none()
            && let Some(choice) = self.choices().into_iter().find(free)
        {
            self.schedule.push(choice);
            self.run.step(choice);
        }
    }

    /// Does one thing after the other, as long as it can be done, until a line behind the first `seen` contains the text.
    fn until(&mut self, choice: Choice, text: Option<&str>) -> Result<(), String> {
        let lines = |run: &Run| run.world.borrow().trace.as_ref().map_or(0, Vec::len);
        let mut seen = lines(&self.run);
        while self.choices().contains(&choice) {
            self.step(choice);
            if let Some(why) = self.run.failure() {
                return Err(why);
            }
            let world = self.run.world.borrow();
            let new = &world.trace.as_ref().expect("an account is kept")[seen..];
            if text.is_some_and(|text| new.iter().any(|line| line.contains(text))) {
                return Ok(());
            }
            seen += new.len();
        }
        if text.is_none() { Ok(()) } else { Err("does not come there".into()) }
    }

    fn go(&mut self, leg: Leg) -> Result<(), String> {
        match leg {
            Leg::To(thread, text) => self.until(Choice::Run(thread), Some(text)),
            Leg::ToWait(thread) => self.until(Choice::Run(thread), None),
            Leg::Drain(thread, text) => self.until(Choice::Drain(thread), Some(text)),
            Leg::HoldPosts(thread) => {
                self.held.push((false, thread));
                Ok(())
            }
            Leg::HoldStores(thread) => {
                self.held.push((true, thread));
                Ok(())
            }
            Leg::Place(thread, text) => {
                let post = {
                    let world = self.run.world.borrow();
                    let is_it = |post: &&Post| {
                        (post.number >> 16) as usize == thread && world.layout.name(post.loc).contains(text)
                    };
                    world.posts.iter().find(is_it).map(|post| post.number)
                };
                if let Some(number) = post {
                    self.step(Choice::Place(number));
                }
                Ok(())
            }
            Leg::Release => {
                self.held.clear();
                self.let_memory_act();
                Ok(())
            }
        }
    }

    fn finish(&mut self) -> Result<(), String> {
        self.held.clear();
        self.let_memory_act();
        loop {
            let choices = self.choices();
            if self.run.finished(&choices) {
                return self.run.failure().map_or(Ok(()), Err);
            }
            // Another one than the last, if there is one.
            self.step(*choices.last().expect("not finished"));
        }
    }
}
