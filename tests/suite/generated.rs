//! Generated programs with known results: 240 fixed seeds, each batch built once and run in every shape.

use dsm_tests::compile::Target;
use dsm_tests::generator::{self, Fault};
use dsm_tests::matrix::{BUILDS, SHAPES, Shape};

const BATCH: u64 = 20;

/// Batches of seeds, each with the next build of the matrix.
fn batches(numbers: std::ops::Range<u64>) {
    let mut failures = Vec::new();
    for number in numbers {
        let target = Target::Dsm(BUILDS[number as usize % BUILDS.len()]);
        for shape in SHAPES {
            let seeds = number * BATCH..(number + 1) * BATCH;
            if let Err(message) = generator::check(seeds, Fault::None, target, shape) {
                failures.push(message);
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn seeds_0_to_59() {
    batches(0..3);
}

#[test]
fn seeds_60_to_119() {
    batches(3..6);
}

#[test]
fn seeds_120_to_179() {
    batches(6..9);
}

#[test]
fn seeds_180_to_239() {
    batches(9..12);
}

#[test]
fn plain_clang_agrees_with_the_expected_results() {
    for shape in [Shape::alone(1), Shape::alone(3)] {
        if let Err(message) = generator::check(0..BATCH, Fault::None, Target::Native, shape) {
            panic!("{message}");
        }
    }
}

#[test]
fn a_lost_write_is_found() {
    let faulty = (0..BATCH).filter(|s| {
        let seed = *s..*s + 1;
        generator::source(seed.clone(), Fault::LostWrite) != generator::source(seed, Fault::None)
    });
    let faulty = faulty.count();
    let message = generator::check(0..BATCH, Fault::LostWrite, Target::Native, Shape::alone(2))
        .expect_err("lost writes must be noticed");
    assert!(message.contains("index"), "{message}");
    assert!(faulty > 10, "the fault went into {faulty} programs only");
}
