//! Ways through the schedules: random ones, and all with a bounded number of preemptions.

use dsm_arrays::Fault;

use super::program::{Program, directed, generate};
use super::run::Run;
use crate::hash::Random;
use crate::preemption::{self, Schedulable};

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

/// All schedules of a program in which a thread that could go on is interrupted at most so often; the number of runs.
///
/// # Errors
/// Something went wrong.
pub fn exhaust(program: &Program, preemptions: u32) -> Result<u64, Failure> {
    preemption::exhaust(|| Run::new(program, false), preemptions).map_err(|(why, schedule)| Failure {
        why,
        program: program.clone(),
        schedule,
    })
}

/// Looks for a broken rule in at most so many random runs; its seed.
pub fn find_fault(fault: Fault, most: u64) -> Option<(u64, Failure)> {
    (0..most).find_map(|seed| run(seed, Some(fault)).err().map(|failure| (seed, failure)))
}
