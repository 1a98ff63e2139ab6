//! Variants of the protocol and page protection: programs compute the same, and what is left out is not done.

use dsm_tests::compile::{self, Target};
use dsm_tests::differential::run_command;
use dsm_tests::execute::{self, Outcome};
use dsm_tests::matrix::{Build, Shape};
use dsm_tests::program::Program;
use dsm_tests::toolchain;

use super::case::Case;

/// Both processes store to all blocks, and each takes turns with a lock.
const SOURCE: &str = "#include <stdio.h>
static long shares[65536], total;
int main(void) {
    for (int round = 1; round <= 4; round++) {
#pragma omp parallel for schedule(static, 1)
        for (int i = 0; i < 65536; i++) shares[i] += i * round;
#pragma omp parallel
        for (int i = 0; i < 20; i++)
#pragma omp critical
            total += shares[i];
    }
    printf(\"%ld %ld\\n\", total / 2, shares[65535]);
    return 0;
}
";

/// Each process stores to blocks of its own, round after round.
const OWN_BLOCKS: &str = "#include <omp.h>
#include <stdio.h>
static _Alignas(65536) long own[2][65536];
int main(void) {
    long sum = 0;
#pragma omp parallel reduction(+ : sum)
    for (int round = 1; round <= 50; round++) {
        long *mine = own[omp_get_thread_num() % 2];
        for (int i = 0; i < 65536; i += 512) mine[i] += round;
        sum += mine[512];
#pragma omp barrier
    }
    printf(\"%ld\\n\", sum);
    return 0;
}
";

fn written(name: &str, source: &str, flags: &[&str]) -> Program {
    let path = toolchain::scratch().join(name).with_extension("c");
    std::fs::write(&path, source).expect("the scratch directory is writable");
    let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
    Program { flags, ..Program::from_source(name, &path) }
}

fn program(flags: &[&str]) -> Program {
    written("variants", SOURCE, flags)
}

fn run(program: &Program, shape: Shape, environment: &[(&str, &str)]) -> Option<Outcome> {
    toolchain::dsm()?;
    let target = Target::Dsm(Build { level: 2, line: 4096 });
    let built = compile::compile(program, target).unwrap_or_else(|failure| panic!("{failure}"));
    let mut command = run_command(&built, target, shape, program);
    command.envs(environment.iter().copied());
    Some(execute::run(&mut command, &program.input, execute::time_limit()))
}

/// The sum of a counter over two processes of a program that prints this.
fn counted(program: &Program, printed: &str, protocol: &str, counter: &str) -> Option<u64> {
    let environment = [("DSM_STATS", "1"), ("DSM_PROTOCOL", protocol)];
    let outcome = run(program, Shape::new(2, 1), &environment)?;
    let seen = (outcome.status, outcome.text());
    assert_eq!(seen, (Some(0), printed.to_owned()), "{protocol}: {}", outcome.errors());
    Some(outcome.counter(counter).iter().sum())
}

#[test]
fn what_is_left_out_is_not_done() {
    let all_blocks = program(&[]);
    let sums = |protocol, counter| counted(&all_blocks, "3800 655350\n", protocol, counter);
    for (part, counter) in [("no-migration", "homes_taken_on_miss"), ("fixed-homes", "homes_taken")] {
        let (Some(with), Some(without)) = (sums("", counter), sums(part, counter)) else { return };
        assert!(with > 0 && without == 0, "{part}: {counter} {with} and {without}");
    }
    // Nobody has copies of what a process stores to in each of 50 rounds.
    let own_blocks = written("own_blocks", OWN_BLOCKS, &[]);
    let shared = |protocol| counted(&own_blocks, "44200\n", protocol, "homes_shared");
    let (Some(with), Some(without)) = (shared(""), shared("no-exclusive-homes")) else { return };
    assert!(without > 10 * with, "{with} and {without}");
}

/// Nobody makes twins; permissions go from process to process.
#[test]
fn one_writer_at_a_time() {
    let protected = program(&["-fdsm-check=mprotect"]);
    for shape in [Shape::new(2, 1), Shape::new(2, 2), Shape::new(4, 1)] {
        let environment = [("DSM_STATS", "1"), ("DSM_PROTOCOL", "single-writer")];
        let (Some(plain), Some(outcome)) =
            (run(&protected, shape, &[("DSM_STATS", "1")]), run(&protected, shape, &environment))
        else {
            return;
        };
        assert_eq!(
            (outcome.status, outcome.text()),
            (Some(0), plain.text()),
            "{shape}: {}",
            outcome.errors()
        );
        let sums = |outcome: &Outcome| {
            ["twins_made", "permissions_revoked"].map(|name| outcome.counter(name).iter().sum::<u64>())
        };
        let ([twins, none], [no_twins, revoked]) = (sums(&plain), sums(&outcome));
        assert!(twins > 0 && none == 0 && no_twins == 0 && revoked > 0, "{shape}: {}", outcome.errors());
    }
}

#[test]
fn one_writer_at_a_time_needs_page_protection_and_homes_that_move() {
    for (flags, protocol, named) in [
        (&[][..], "single-writer", "-fdsm-check=mprotect"),
        (&["-fdsm-check=mprotect"], "single-writer,fixed-homes", "fixed-homes"),
    ] {
        let Some(outcome) = run(&program(flags), Shape::new(2, 1), &[("DSM_PROTOCOL", protocol)]) else {
            return;
        };
        assert_eq!(outcome.status, Some(1), "{}", outcome.errors());
        assert!(outcome.errors().contains(named), "{}", outcome.errors());
    }
}

#[test]
fn an_unknown_part_is_named() {
    let Some(outcome) = run(&program(&[]), Shape::new(2, 1), &[("DSM_PROTOCOL", "no-homes")]) else { return };
    assert!(
        outcome.errors().contains("DSM_PROTOCOL") && outcome.errors().contains("fixed-homes"),
        "{}",
        outcome.errors()
    );
}

/// Without any check, and with library and system calls on shared memory.
#[test]
fn programs_compute_the_same_under_page_protection() {
    for name in ["locks", "atomic_library", "library_memory", "shared_streams", "heap_handover"] {
        let loaded = Program::load(name);
        let flags = [loaded.flags.clone(), vec!["-fdsm-check=mprotect".to_owned()]].concat();
        let checked = Program { flags, ..Program::load(name) };
        let Some(plain) = run(&loaded, Shape::new(1, 1), &[]) else { return };
        for (shape, protocol) in
            [(Shape::new(2, 1), ""), (Shape::new(2, 2), ""), (Shape::new(2, 2), "single-writer")]
        {
            let Some(outcome) = run(&checked, shape, &[("DSM_PROTOCOL", protocol)]) else { return };
            let same = (outcome.status, outcome.text()) == (plain.status, plain.text());
            let errors = outcome.errors();
            assert!(same, "{name} {shape} {protocol}: {:?}\n{}{errors}", outcome.status, outcome.text());
        }
    }
}

#[test]
fn ways_of_checking_do_not_mix() {
    let sources = [
        ("main.c", "int seven(void);\nint main(void) { return seven() - 7; }\n"),
        ("part.c", "int seven(void) { return 7; }\n"),
    ];
    let Some(case) = Case::new("checking", &sources) else { return };
    case.compiled("-O2 -fdsm-line=4096 -c ../main.c -o main.o");
    case.compiled("-O2 -fdsm-check=mprotect -c ../part.c -o part.o");
    case.refused(
        "main.o part.o -o x",
        "x",
        &["part.o", "-fdsm-check=mprotect", "main.o", "-fdsm-check=inline"],
    );
    case.refused("../main.c -fdsm-check=mprotect -fdsm-line=64 -o x", "x", &["-fdsm-check=mprotect", "4096"]);
}

#[test]
fn a_program_without_checks_is_not_run_as_if_it_had_some() {
    let protected = program(&["-fdsm-check=mprotect"]);
    let Some(outcome) = run(&protected, Shape::new(2, 1), &[("DSM_CHECK", "inline")]) else { return };
    assert_eq!(outcome.status, Some(1), "{}", outcome.errors());
    assert!(
        outcome.errors().contains("DSM_CHECK") && outcome.errors().contains("-fdsm-check=mprotect"),
        "{}",
        outcome.errors()
    );
}
