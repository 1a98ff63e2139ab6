//! Random schedules: uniform, sticky, or by priorities with a few change points (probabilistic concurrency testing).

use std::rc::Rc;

use super::Failure;
use crate::hash::Random;
use crate::program::Program;
use crate::run::Run;
use crate::world::Choice;

/// How one run picks its steps.
enum Strategy {
    Uniform,
    /// Stays with a thread in so many of 100 steps; memory acts in so many.
    Sticky(usize, usize),
    /// Highest priority first; at some steps the running one falls to the bottom.
    Priorities {
        threads: Vec<u64>,
        memory_percent: usize,
        change_percent: usize,
    },
}

impl Strategy {
    fn new(random: &mut Random, threads: usize) -> Strategy {
        match random.below(5) {
            0 => Strategy::Uniform,
            1 => Strategy::Sticky(70 + random.below(29), [0, 2, 10, 40][random.below(4)]),
            _ => Strategy::Priorities {
                threads: (0..threads).map(|_| random.bits() >> 1 | 1 << 40).collect(),
                memory_percent: [0, 1, 5, 30][random.below(4)],
                change_percent: [1, 2, 4][random.below(3)],
            },
        }
    }

    fn pick(&mut self, random: &mut Random, choices: &[Choice], current: usize) -> Choice {
        let runs = choices.iter().take_while(|c| matches!(c, Choice::Run(_))).count();
        let memory = &choices[runs..];
        let any = choices[random.below(choices.len())];
        let of_memory = |random: &mut Random, percent| {
            (!memory.is_empty() && (runs == 0 || random.chance(percent)))
                .then(|| memory[random.below(memory.len())])
        };
        match self {
            Strategy::Uniform => any,
            Strategy::Sticky(stay, percent) => of_memory(random, *percent).unwrap_or_else(|| {
                if choices[0] == Choice::Run(current) && random.chance(*stay) {
                    choices[0]
                } else {
                    choices[random.below(runs)]
                }
            }),
            Strategy::Priorities { threads, memory_percent, change_percent } => {
                of_memory(random, *memory_percent).unwrap_or_else(|| {
                    if random.chance(*change_percent) {
                        threads[current] = random.bits() >> 24;
                    }
                    let priority = |c: &&Choice| match c {
                        Choice::Run(t) => threads[*t],
                        _ => 0,
                    };
                    *choices[..runs].iter().max_by_key(priority).expect("a thread that can run")
                })
            }
        }
    }
}

/// Runs a program under the schedule of a seed. `Err` if something went wrong.
pub fn run(program: &Rc<Program>, seed: u64) -> Result<usize, Failure> {
    let mut random = Random::new(seed ^ 0x5eed);
    let mut strategy = Strategy::new(&mut random, program.processes * program.threads);
    let mut run = Run::new(program, false);
    let mut choices = Vec::new();
    let mut schedule = Vec::new();
    loop {
        run.choices(&mut choices);
        if run.finished(&choices) {
            break;
        }
        let current = run.world.borrow().current;
        let choice = strategy.pick(&mut random, &choices, current);
        schedule.push(choice);
        run.step(choice);
    }
    match run.failure() {
        None => Ok(run.steps),
        Some(why) => Err(Failure { why, program: program.clone(), schedule }),
    }
}
