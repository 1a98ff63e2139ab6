//! Random schedules of generated programs. A failure names its seed: `cargo run --profile explore -p dsm-explore -- --seed N SIZE` shows it.

use std::rc::Rc;

use dsm_explore::hunt::{PROGRAMS, shapes};
use dsm_explore::program::generate;
use dsm_explore::search::random;

fn explore(size: &str, runs: u64) {
    let bounds = PROGRAMS.iter().find(|(name, _)| *name == size).expect("a known size").1;
    let runs = if cfg!(debug_assertions) { runs / 50 } else { runs };
    for seed in 0..runs {
        if let Err(failure) = random::run(&Rc::new(generate(seed, bounds)), seed) {
            panic!("seed {seed} {size}: {}\n{}", failure.why, failure.program);
        }
    }
}

#[test]
fn small() {
    explore("small", 100_000);
}

#[test]
fn threads() {
    explore("threads", 40_000);
}

#[test]
fn single() {
    explore("single", 10_000);
}

#[test]
fn large() {
    explore("large", 6_000);
}

#[test]
fn shapes_of_former_failures() {
    let runs = if cfg!(debug_assertions) { 200 } else { 10_000 };
    for program in shapes() {
        let program = Rc::new(program);
        for seed in 0..runs {
            if let Err(failure) = random::run(&program, seed) {
                panic!("seed {seed}: {}\n{}", failure.why, failure.account());
            }
        }
    }
}
