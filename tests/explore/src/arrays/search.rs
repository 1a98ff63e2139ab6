//! Ways through the schedules: random ones, and all with a bounded number of preemptions (Musuvathi, Qadeer, PLDI 2007).

use dsm_arrays::Fault;

use super::program::{Program, directed, generate};
use super::run::Run;
use crate::hash::Random;

/// A failed run.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong.
    pub why: String,
    /// The program.
    pub program: Program,
    /// Which thread took each step.
    pub schedule: Vec<usize>,
}

impl Failure {
    /// Runs the schedule again and gives a readable account.
    pub fn account(&self) -> String {
        let mut run = Run::new(&self.program, true);
        self.schedule.iter().for_each(|thread| run.step(*thread));
        format!("{}{}\n{}", self.program, run.trace().join("\n"), self.why)
    }
}

/// The program of a seed, under its schedule.
///
/// # Errors
/// Something went wrong.
pub fn run(seed: u64, fault: Option<Fault>) -> Result<(), Failure> {
    let mut random = Random::new(seed ^ 0x5eed);
    // Programs of no particular form, and those that are searched, in turn.
    let mut program = match directed() {
        programs if seed.is_multiple_of(2) => programs[random.below(programs.len())].clone(),
        _ => generate(seed),
    };
    program.fault = fault;
    let stay = [0, 50, 90, 97, 100][random.below(5)];
    // Steps at which a thread is interrupted that stays otherwise (Burckhardt et al., ASPLOS 2010).
    let interrupted = [(); 3].map(|()| random.below(100));
    let (mut run, mut schedule) = (Run::new(&program, false), Vec::new());
    while !run.is_over() {
        let choices = run.choices();
        let thread = match schedule.last() {
            Some(last)
                if choices.contains(last)
                    && random.chance(stay)
                    && !(stay == 100 && interrupted.contains(&schedule.len())) =>
            {
                *last
            }
            _ => choices[random.below(choices.len())],
        };
        schedule.push(thread);
        run.step(thread);
    }
    match run.verdict() {
        Some(why) => Err(Failure { why, program, schedule }),
        None => Ok(()),
    }
}

struct Choice {
    options: Vec<usize>,
    next: usize,
    /// Whether all options but the first interrupt a thread.
    preempts: bool,
    /// How many of them are allowed from here on.
    left: u32,
}

impl Choice {
    fn new(run: &Run, last: Option<&Choice>, most: u32) -> Choice {
        let mut options = run.choices();
        let left = last.map_or(most, |last| last.left - u32::from(last.preempts && last.next > 0));
        let running = last.and_then(|last| options.iter().position(|t| *t == last.options[last.next]));
        if let Some(at) = running {
            options.swap(0, at);
            options.truncate(if left == 0 { 1 } else { options.len() });
        }
        Choice { options, next: 0, preempts: running.is_some(), left }
    }
}

/// All schedules of a program in which a thread that could go on is interrupted at most so often; the number of runs.
///
/// # Errors
/// Something went wrong.
pub fn exhaust(program: &Program, preemptions: u32) -> Result<u64, Failure> {
    let mut choices: Vec<Choice> = Vec::new();
    let mut runs = 0;
    loop {
        runs += 1;
        let mut run = Run::new(program, false);
        choices.iter().for_each(|choice| run.step(choice.options[choice.next]));
        while !run.is_over() {
            let choice = Choice::new(&run, choices.last(), preemptions);
            run.step(choice.options[0]);
            choices.push(choice);
        }
        if let Some(why) = run.verdict() {
            let schedule = choices.iter().map(|choice| choice.options[choice.next]).collect();
            return Err(Failure { why, program: program.clone(), schedule });
        }
        while choices.last().is_some_and(|choice| choice.next + 1 == choice.options.len()) {
            choices.pop();
        }
        match choices.last_mut() {
            Some(choice) => choice.next += 1,
            None => return Ok(runs),
        }
    }
}

/// Looks for a broken rule in at most so many random runs; its seed.
pub fn find_fault(fault: Fault, most: u64) -> Option<(u64, Failure)> {
    (0..most).find_map(|seed| run(seed, Some(fault)).err().map(|failure| (seed, failure)))
}
