//! Generated programs: fixed seeds, each batch built once and run in several layouts.

use dsm_abi::options::SWITCHES;
use dsm_tests::compile::{self, Target};
use dsm_tests::generator::batch::{Batch, Kind};
use dsm_tests::generator::{Fault, emit_phases};
use dsm_tests::matrix::{BUILDS, KERNEL_BUILDS, SHAPES, Shape, is_full};
use dsm_tests::program::Language;
use dsm_tests::toolchain;
use std::collections::BTreeMap;

const BATCH: u64 = 10;
/// Batches of each run; `DSM_TEST_MATRIX=full` takes twice as many.
const BATCHES: u64 = 12;

fn phases(number: u64, fault: Fault) -> Batch {
    Batch { kind: Kind::Phases, language: Language::C, seeds: number * BATCH..(number + 1) * BATCH, fault }
}

/// Batches of programs with known results, each with the next build of the matrix.
fn batches(numbers: std::ops::Range<u64>) {
    let mut failures = Vec::new();
    let further = is_full().then_some(BATCHES + numbers.start..BATCHES + numbers.end);
    for number in numbers.chain(further.into_iter().flatten()) {
        let target = Target::Dsm(BUILDS[number as usize % BUILDS.len()]);
        failures.extend(phases(number, Fault::None).check(target, &SHAPES));
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn seeds_0_to_29() {
    batches(0..3);
}

#[test]
fn seeds_30_to_59() {
    batches(3..6);
}

#[test]
fn seeds_60_to_89() {
    batches(6..9);
}

#[test]
fn seeds_90_to_119() {
    batches(9..12);
}

#[test]
fn plain_clang_agrees_with_the_expected_results() {
    let failures = phases(0, Fault::None).check(Target::Native, &[Shape::alone(1), Shape::alone(3)]);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_lost_write_is_found() {
    let faulty = (0..BATCH)
        .filter(|s| emit_phases(*s..*s + 1, Fault::LostWrite) != emit_phases(*s..*s + 1, Fault::None))
        .count();
    let failures = phases(0, Fault::LostWrite).check(Target::Native, &[Shape::alone(2)]);
    let message = failures.first().expect("lost writes must be noticed");
    assert!(message.contains("index"), "{message}");
    assert!(faulty > 5, "the fault went into {faulty} programs only");
}

/// Programs of kernels in one executable.
const KERNELS: u64 = 4;
/// Executables of each language.
const EXECUTABLES: u64 = 4;

/// The fixed programs of kernels: of each kind in turn, each with the next build.
fn kernels(language: Language) -> impl Iterator<Item = (Batch, Target)> {
    (0..EXECUTABLES).map(move |number| {
        let kind = if number % 2 == 0 { Kind::Loops } else { Kind::Tasks };
        let seeds = number * KERNELS..(number + 1) * KERNELS;
        let build = KERNEL_BUILDS[(number as usize + language as usize) % KERNEL_BUILDS.len()];
        (Batch { kind, language, seeds, fault: Fault::None }, Target::Dsm(build))
    })
}

/// Two processes, two of two threads, four, in turn with one; each executable in two layouts.
fn kernels_agree(language: Language) {
    const LAYOUTS: [Shape; 4] = [Shape::new(2, 2), Shape::new(4, 1), Shape::new(2, 1), Shape::new(1, 1)];
    let mut failures = Vec::new();
    for (number, (batch, target)) in kernels(language).enumerate() {
        let layouts = [LAYOUTS[number % 4], LAYOUTS[(number + 1) % 4]];
        failures.extend(batch.check(target, &layouts));
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn kernels_in_c() {
    kernels_agree(Language::C);
}

#[test]
fn kernels_in_cxx() {
    kernels_agree(Language::Cxx);
}

#[test]
fn kernels_in_fortran() {
    kernels_agree(Language::Fortran);
}

#[test]
fn a_lost_write_of_a_kernel_is_found() {
    for language in [Language::C, Language::Cxx, Language::Fortran] {
        let batch = Batch { kind: Kind::Loops, language, seeds: 0..1, fault: Fault::LostWrite };
        let failures = batch.check(Target::Native, &[Shape::alone(2)]);
        assert!(failures.iter().any(|message| message.contains("expected \"round")), "{failures:?}");
    }
}

/// How often each optimisation was applied in an executable, by the compiler's totals of its files.
fn applied(messages: &str, totals: &mut BTreeMap<String, u64>) {
    for line in messages.lines().filter_map(|line| line.split_once(", applied: ")) {
        let words: Vec<&str> = line.1.split_whitespace().collect();
        for pair in words.chunks(2) {
            let count: u64 = pair[1].parse().expect("counters are numbers");
            *totals.entry(pair[0].to_owned()).or_default() += count;
        }
    }
}

#[test]
fn every_optimisation_is_applied_in_some_program() {
    if toolchain::dsm().is_none() {
        return;
    }
    let mut totals = BTreeMap::new();
    for (batch, target) in [Language::C, Language::Cxx, Language::Fortran].into_iter().flat_map(kernels) {
        let built = compile::compile(&batch.program_with_statistics(), target);
        let built = built.unwrap_or_else(|failure| panic!("{failure}"));
        applied(&compile::messages(&built), &mut totals);
    }
    println!("{totals:?}");
    let never: Vec<_> = SWITCHES.iter().filter(|s| totals.get(**s).is_none_or(|count| *count == 0)).collect();
    assert!(never.is_empty(), "never applied: {never:?} of {totals:?}");
}
