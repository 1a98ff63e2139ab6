//! Ways through the schedules: random ones, and all with a bounded number of preemptions.

use dsm_sync::Fault;

use super::program::{Program, directed, generate};
use super::run::{Choice, Ordered, Run};
use crate::hash::Random;
use crate::preemption::{self, Schedulable};

/// A failed run.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong.
    pub why: String,
    /// The program.
    pub program: Program,
    /// What happened in which order.
    pub schedule: Vec<Choice>,
}

impl Failure {
    /// Runs the schedule again and gives a readable account.
    pub fn account(&self) -> String {
        let mut run = Run::new(&self.program, true);
        self.schedule.iter().for_each(|choice| run.step(*choice));
        format!("{}{}\n{}", self.program, run.trace().join("\n"), self.why)
    }
}

/// The program of a seed, under its schedule; whether it came to an end that says something.
///
/// # Errors
/// Something went wrong.
pub fn run(seed: u64, fault: Option<Fault>) -> Result<bool, Failure> {
    let mut random = Random::new(seed ^ 0x5eed);
    let mut program = match directed() {
        programs if seed.is_multiple_of(3) => programs[random.below(programs.len())].clone(),
        _ => generate(seed),
    };
    program.fault = fault;
    let stay = [0, 50, 90, 97][random.below(4)];
    let place = [1, 10, 50, 100][random.below(4)];
    let (mut run, mut schedule) = (Run::new(&program, false), Vec::new());
    while !run.is_over() {
        let choices = run.choices();
        let (places, runs): (Vec<_>, Vec<_>) =
            choices.into_iter().partition(|choice| matches!(choice, Choice::Place(_)));
        let last = schedule.last().filter(|last| runs.contains(last)).copied();
        let choice = match last {
            _ if !places.is_empty() && (runs.is_empty() || random.chance(place)) => {
                places[random.below(places.len())]
            }
            Some(last) if random.chance(stay) => last,
            _ => runs[random.below(runs.len())],
        };
        schedule.push(choice);
        run.step(choice);
    }
    match run.verdict() {
        Some(why) => Err(Failure { why, program, schedule }),
        None => Ok(!run.is_void()),
    }
}

/// All schedules of a program with at most so many departures from the default; the number of runs. With more than two threads, one that has to wait goes on
/// to the next one by default.
///
/// # Errors
/// Something went wrong.
pub fn exhaust(program: &Program, departures: u32) -> Result<u64, Failure> {
    let begin = || Run::new(program, false);
    let found = match program.threads.len() > 2 {
        true => preemption::exhaust(|| Ordered(begin()), departures),
        false => preemption::exhaust(begin, departures),
    };
    found.map_err(|(why, schedule)| Failure { why, program: program.clone(), schedule })
}

/// Looks for a broken rule in at most so many random runs; its seed.
pub fn find_fault(fault: Fault, most: u64) -> Option<(u64, Failure)> {
    (0..most).find_map(|seed| run(seed, Some(fault)).err().map(|failure| (seed, failure)))
}
