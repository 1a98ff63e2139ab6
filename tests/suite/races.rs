//! `DSM_RACE` names what two processes wrote without synchronisation, and nothing else.

use dsm_tests::compile::{self, Target, shell_line};
use dsm_tests::differential::run_command;
use dsm_tests::execute::{self, Outcome};
use dsm_tests::matrix::{Build, Shape};
use dsm_tests::program::Program;
use dsm_tests::toolchain;

fn racy(name: &str, debug: bool) -> Program {
    let path = toolchain::package().join(format!("races/{name}.c"));
    let mut program = Program::from_source(name, &path);
    program.flags = if debug { vec!["-g".into()] } else { Vec::new() };
    program
}

/// Runs `program` with `DSM_RACE=mode`; `None` where plain clang stands in for the toolchain.
fn run(program: &Program, build: Build, shape: Shape, mode: &str) -> Option<Outcome> {
    toolchain::dsm()?;
    let built = compile::compile(program, Target::Dsm(build)).unwrap_or_else(|e| panic!("{e}"));
    let mut command = run_command(&built, Target::Dsm(build), shape, program);
    command.env("DSM_RACE", mode);
    let outcome = execute::run(&mut command, &program.input, execute::time_limit());
    println!("{}\n{}", shell_line(&command), outcome.errors());
    Some(outcome)
}

/// The line of the report's text that is about `what`, and the lines behind it.
fn report<'a>(errors: &'a str, what: &str) -> Vec<&'a str> {
    let lines: Vec<&str> = errors.lines().collect();
    let at = lines.iter().position(|l| l.starts_with("dsm: race: ") && l.contains(what));
    let at = at.unwrap_or_else(|| panic!("no report about {what} in\n{errors}"));
    lines[at..]
        .iter()
        .enumerate()
        .take_while(|(i, l)| *i == 0 || l.starts_with("dsm: race:   "))
        .map(|(_, l)| *l)
        .collect()
}

const BUILD: Build = Build { level: 2, line: 64 };

#[test]
fn each_variable_is_named_once_with_both_places() {
    let line_of = |text: &str| {
        let source =
            std::fs::read_to_string(toolchain::package().join("races/racy.c")).expect("the program is there");
        1 + source.lines().position(|l| l.contains(text)).expect("the program contains the line")
    };
    for shape in [Shape::new(2, 1), Shape::new(3, 1), Shape::new(2, 2)] {
        let Some(outcome) = run(&racy("racy", true), BUILD, shape, "report") else { return };
        assert_eq!(
            (outcome.status, outcome.text().as_str()),
            (Some(0), "done\n"),
            "a report does not change the program"
        );
        let errors = outcome.errors();
        for (what, place) in
            [("sums+62", "sums[7] ="), ("flag+0", ""), ("byte 400 of 4000 allocated bytes", "heap[100] =")]
        {
            let lines = report(&errors, what);
            let written: Vec<&&str> = lines
                .iter()
                .filter(|l| l.contains(" wrote ") && l.starts_with("dsm: race:   process "))
                .collect();
            assert_eq!(written.len(), 2, "{what} {shape}");
            for line in written.iter().filter(|_| !place.is_empty()) {
                assert!(
                    line.contains(&format!("races/racy.c:{} (main.omp_outlined", line_of(place))),
                    "{what} {shape}: {line}"
                );
            }
        }
        let allocated = format!(
            "allocated by process 0 at {}/races/racy.c:{} (main)",
            toolchain::package().display(),
            line_of("malloc(")
        );
        assert!(errors.contains(&allocated), "{shape}: {allocated}");
        assert!(
            report(&errors, "a local variable in the shared stack of thread 0 of process 0").len() == 3,
            "{shape}"
        );
        assert_eq!(
            errors.lines().filter(|l| l.contains("did not synchronise")).count(),
            4,
            "{shape}: nothing else"
        );
    }
}

#[test]
fn without_debug_information_functions_are_named() {
    let Some(outcome) = run(&racy("racy", false), BUILD, Shape::new(2, 1), "1") else { return };
    let errors = outcome.errors();
    assert!(
        report(&errors, "sums+62")[1].contains("main.omp_outlined (no debug information: compile with -g"),
        "{errors}"
    );
}

#[test]
fn a_write_that_was_seen_but_not_acquired_is_a_race() {
    let Some(outcome) = run(&racy("late", true), BUILD, Shape::new(2, 1), "report") else { return };
    assert_eq!(outcome.text(), "1 1\n");
    report(&outcome.errors(), "published+12 (1 byte)");
    report(&outcome.errors(), "early+12 (1 byte)");
}

#[test]
fn abort_ends_the_job_with_one_message() {
    let Some(outcome) = run(&racy("racy", true), BUILD, Shape::new(2, 1), "abort") else { return };
    assert_eq!(outcome.status, Some(134));
    let errors = outcome.errors();
    assert_eq!(errors.lines().filter(|l| l.starts_with("dsm-run: process ")).count(), 1, "{errors}");
    assert_eq!(errors.lines().filter(|l| l.contains("did not synchronise")).count(), 1, "{errors}");
}

#[test]
fn nothing_is_reported_unless_asked_for() {
    let Some(outcome) = run(&racy("racy", true), BUILD, Shape::new(2, 1), "off") else { return };
    assert_eq!((outcome.status, outcome.errors().as_str()), (Some(0), ""));
}

/// Programs that synchronise in every way there is; `abort` makes any report a failure. `DSM_RACE=abort` with the differential suite does the same
/// for all programs.
#[test]
fn race_free_programs_are_silent() {
    let names = [
        "atomic_int",
        "byte_neighbours",
        "critical",
        "flags",
        "flush_flag",
        "for_dynamic",
        "hash_table",
        "heap_kinds",
        "locks",
        "ordered",
        "private_clauses",
        "queue_pool",
        "reduction_array",
        "short_neighbours",
        "single_copyprivate",
        "tasks",
        "writer_rotation",
    ];
    for (i, name) in names.iter().enumerate() {
        let program = Program::load(name);
        let shapes = [Shape::new(2, 1), Shape::new(3, 1), Shape::new(2, 2)];
        let Some(outcome) = run(&program, BUILD, shapes[i % 3], "abort") else { return };
        assert_eq!(outcome.status, Some(program.status), "{name}: {}", outcome.errors());
        assert!(!outcome.errors().contains("dsm: race"), "{name}: {}", outcome.errors());
    }
}
