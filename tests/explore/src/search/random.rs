//! Random schedules: uniform, sticky, or by priorities with a few change points (probabilistic concurrency testing).

use std::rc::Rc;

use super::Failure;
use crate::hash::Random;
use crate::program::Program;
use crate::run::Run;
use crate::world::{Choice, Memories};

/// How one run picks its steps.
enum Strategy {
    Uniform,
    /// Stays with a thread in so many of 100 steps.
    Sticky(usize, Delays),
    /// Highest priority first; at some steps the running one falls to the bottom.
    Priorities {
        threads: Vec<u64>,
        delays: Delays,
        change_percent: usize,
    },
}

/// In how many of 100 steps a store becomes visible, and in how many a posted write is placed, if one can be.
#[derive(Clone, Copy)]
struct Delays {
    drain: usize,
    place: usize,
}

impl Delays {
    fn new(random: &mut Random) -> Delays {
        const PERCENT: [usize; 5] = [0, 1, 5, 30, 100];
        Delays { drain: PERCENT[random.below(5)], place: PERCENT[random.below(5)] }
    }

    /// What memory does next, if anything. `idle`: nothing else can happen.
    fn pick(self, random: &mut Random, memory: &[Choice], idle: bool) -> Option<Choice> {
        let (drains, posts) =
            memory.split_at(memory.iter().take_while(|c| matches!(c, Choice::Drain(_))).count());
        for (list, percent) in
            [(drains, self.drain), (posts, self.place), (memory, if idle { 100 } else { 0 })]
        {
            if !list.is_empty() && random.chance(percent) {
                return Some(list[random.below(list.len())]);
            }
        }
        None
    }
}

impl Strategy {
    fn new(random: &mut Random, threads: usize) -> Strategy {
        match random.below(5) {
            0 => Strategy::Uniform,
            1 => Strategy::Sticky(70 + random.below(29), Delays::new(random)),
            _ => Strategy::Priorities {
                threads: (0..threads).map(|_| random.bits() >> 1 | 1 << 40).collect(),
                delays: Delays::new(random),
                change_percent: [1, 2, 4][random.below(3)],
            },
        }
    }

    fn pick(&mut self, random: &mut Random, choices: &[Choice], current: usize) -> Choice {
        let runs = choices.iter().take_while(|c| matches!(c, Choice::Run(_))).count();
        let memory = &choices[runs..];
        let any = choices[random.below(choices.len())];
        match self {
            Strategy::Uniform => any,
            Strategy::Sticky(stay, delays) => delays.pick(random, memory, runs == 0).unwrap_or_else(|| {
                if choices[0] == Choice::Run(current) && random.chance(*stay) {
                    choices[0]
                } else {
                    choices[random.below(runs)]
                }
            }),
            Strategy::Priorities { threads, delays, change_percent } => {
                delays.pick(random, memory, runs == 0).unwrap_or_else(|| {
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
    run_with(program, seed, &Memories::None)
}

/// As [`run`], with a look at what threads do.
pub fn run_with(program: &Rc<Program>, seed: u64, memories: &Memories) -> Result<usize, Failure> {
    let mut run = Run::new(program, false);
    run.world.borrow_mut().memories = memories.clone();
    let mut schedule = Vec::new();
    finish(&mut run, seed, &mut schedule);
    match run.failure() {
        None => Ok(run.steps),
        Some(why) => Err(Failure { why, program: program.clone(), schedule }),
    }
}

/// Goes on with a run under the schedule of a seed, to its end.
pub(super) fn finish(run: &mut Run, seed: u64, schedule: &mut Vec<Choice>) {
    let mut random = Random::new(seed ^ 0x5eed);
    let mut strategy = Strategy::new(&mut random, run.world.borrow().threads.len());
    let mut choices = Vec::new();
    loop {
        run.choices(&mut choices);
        if run.finished(&choices) {
            return;
        }
        let current = run.world.borrow().current;
        let choice = strategy.pick(&mut random, &choices, current);
        schedule.push(choice);
        run.step(choice);
    }
}
