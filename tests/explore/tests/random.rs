//! Random schedules of generated programs. A failure names its seed: `cargo run --profile explore -p dsm-explore -- --seed N SIZE` shows it.
//! Each run tests the same programs, as many as take about a minute; `DSM_TEST_RUNS=N` takes N times as many. A change of the protocol needs others: `--random FROM COUNT SIZE`.

use std::rc::Rc;

use dsm_coherence::{Part, Parts};
use dsm_explore::directed;
use dsm_explore::fault_search::{PROGRAMS, handed_over, overwritten_between, shapes};
use dsm_explore::program::{Program, generate};
use dsm_explore::search::random;

/// How often a test runs that runs so often here: less often without optimisation, more often if the environment says so.
fn scaled(runs: u64) -> u64 {
    let factor =
        std::env::var("DSM_TEST_RUNS").ok().map(|text| text.parse().expect("DSM_TEST_RUNS is a number"));
    if cfg!(debug_assertions) { runs / 50 } else { runs * factor.unwrap_or(1) }
}

fn explore(size: &str, runs: u64) {
    let bounds = PROGRAMS.iter().find(|(name, _)| *name == size).expect("a known size").1;
    for seed in 0..scaled(runs) {
        if let Err(failure) = random::run(&Rc::new(generate(seed, bounds)), seed) {
            panic!("seed {seed} {size}: {}\n{}", failure.why, failure.program);
        }
    }
}

#[test]
fn small() {
    explore("small", 20_000);
}

#[test]
fn threads() {
    explore("threads", 15_000);
}

#[test]
fn single() {
    explore("single", 4000);
}

/// Single blocks are read without their homes' agents wherever that is possible.
#[test]
fn one_sided() {
    for (size, runs) in [("small", 4000), ("threads", 4000), ("single", 1000), ("large", 500)] {
        let bounds = PROGRAMS.iter().find(|(name, _)| *name == size).expect("a known size").1;
        for seed in 0..scaled(runs) {
            let program = Rc::new(generate(seed, bounds).one_sided());
            if let Err(failure) = random::run(&program, seed) {
                panic!("seed {seed} {size}: {}\n{}", failure.why, failure.program);
            }
        }
    }
}

#[test]
fn large() {
    explore("large", 4000);
}

/// Each part of the protocol that experiments leave out, and all that go together.
#[test]
fn without_parts() {
    let one = Part::ALL.iter().map(|part| part.name_without().to_owned());
    // One writer takes homes for its stores.
    let all = Part::ALL.iter().filter(|part| **part != Part::MultipleWriters);
    let all: Vec<&str> = all.map(|part| part.name_without()).collect();
    for names in one.chain([all.join(",")]) {
        let parts = Parts::parse(&names).expect("names of parts");
        for (size, runs) in [("small", 1500), ("threads", 500)] {
            let bounds = PROGRAMS.iter().find(|(name, _)| *name == size).expect("a known size").1;
            for seed in 0..scaled(runs) {
                let program = Rc::new(generate(seed, bounds).without(parts));
                if let Err(failure) = random::run(&program, seed) {
                    panic!("{names}, seed {seed} {size}: {}\n{}", failure.why, failure.program);
                }
            }
        }
    }
}

#[test]
fn homes_that_follow_locks() {
    run_all(handed_over(), 1500);
}

#[test]
fn runs_of_blocks_with_and_without_twins() {
    run_all(vec![overwritten_between()], 5000);
}

#[test]
fn directed_programs() {
    for (program, runs) in directed::programs() {
        run_all(vec![program], runs);
    }
}

#[test]
fn shapes_of_former_failures() {
    run_all(shapes(), 1500);
}

fn run_all(programs: Vec<Program>, runs: u64) {
    for program in programs {
        let program = Rc::new(program);
        for seed in 0..scaled(runs) {
            if let Err(failure) = random::run(&program, seed) {
                panic!("seed {seed}: {}\n{}", failure.why, failure.account());
            }
        }
    }
}
