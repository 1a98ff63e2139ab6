//! Random schedules of generated programs. A failure names its seed: `cargo run --profile explore -p dsm-explore -- --seed N SIZE` shows it.
//! Each run tests the same programs, as many as take about a minute. A change of the protocol needs others: `--random FROM COUNT SIZE`.

use std::rc::Rc;

use dsm_coherence::{Part, Parts};
use dsm_explore::directed;
use dsm_explore::fault_search::{PROGRAMS, handed_over, overwritten_between, shapes};
use dsm_explore::program::{Program, generate};
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
    explore("small", 30_000);
}

#[test]
fn threads() {
    explore("threads", 20_000);
}

#[test]
fn single() {
    explore("single", 10_000);
}

/// Single blocks are read without their homes' agents wherever that is possible.
#[test]
fn one_sided() {
    for (size, runs) in [("small", 6000), ("threads", 6000), ("single", 2000), ("large", 800)] {
        let bounds = PROGRAMS.iter().find(|(name, _)| *name == size).expect("a known size").1;
        let runs = if cfg!(debug_assertions) { runs / 50 } else { runs };
        for seed in 0..runs {
            let program = Rc::new(generate(seed, bounds).one_sided());
            if let Err(failure) = random::run(&program, seed) {
                panic!("seed {seed} {size}: {}\n{}", failure.why, failure.program);
            }
        }
    }
}

#[test]
fn large() {
    explore("large", 6_000);
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
            let runs = if cfg!(debug_assertions) { runs / 50 } else { runs };
            for seed in 0..runs {
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
    run_all(handed_over(), if cfg!(debug_assertions) { 100 } else { 3000 });
}

#[test]
fn runs_of_blocks_with_and_without_twins() {
    run_all(vec![overwritten_between()], if cfg!(debug_assertions) { 200 } else { 5000 });
}

#[test]
fn directed_programs() {
    for (program, runs) in directed::programs() {
        run_all(vec![program], if cfg!(debug_assertions) { 200 } else { runs });
    }
}

#[test]
fn shapes_of_former_failures() {
    run_all(shapes(), if cfg!(debug_assertions) { 200 } else { 3_000 });
}

fn run_all(programs: Vec<Program>, runs: u64) {
    for program in programs {
        let program = Rc::new(program);
        for seed in 0..runs {
            if let Err(failure) = random::run(&program, seed) {
                panic!("seed {seed}: {}\n{}", failure.why, failure.account());
            }
        }
    }
}
