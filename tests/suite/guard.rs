//! `DSM_GUARD=1` names library functions that touch memory which is not valid, and nothing else.

use dsm_tests::compile::{self, Target};
use dsm_tests::differential::run_command;
use dsm_tests::execute::{self, Outcome};
use dsm_tests::matrix::{Build, Shape};
use dsm_tests::program::Program;
use dsm_tests::toolchain;

/// Runs a program on two processes under guard.
fn guarded(program: &Program) -> Option<Outcome> {
    toolchain::dsm()?;
    let target = Target::Dsm(Build { level: 2, line: 4096 });
    let built = compile::compile(program, target).expect("the program compiles");
    let shape = Shape { processes: 2, threads: 1, launched: true };
    let mut command = run_command(&built, target, shape, program);
    Some(execute::run(command.env("DSM_GUARD", "1"), &program.input, execute::time_limit()))
}

/// `argz_count` is in no table: the second thread's call reads what the first has written.
#[test]
fn a_library_function_without_checks_is_named() {
    let source = "#define _GNU_SOURCE
#include <argz.h>
#include <omp.h>
#include <stdio.h>
static char words[8192];
int main(void) {
    int ok = 0;
    for (int i = 0; i < 8192; i++) words[i] = i % 8 ? 'a' : 0;
#pragma omp parallel num_threads(2) reduction(+ : ok)
    if (omp_get_thread_num() == 1) ok += argz_count(words, 8192) > 0;
    printf(\"%d\\n\", ok);
    return 0;
}
";
    let path = toolchain::scratch().join("guard.c");
    std::fs::write(&path, source).expect("the scratch directory is writable");
    // The link would warn of the function.
    let program = Program { flags: vec!["-w".to_owned()], ..Program::from_source("guard", &path) };
    let Some(outcome) = guarded(&program) else { return };
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    let errors = outcome.errors();
    assert!(errors.contains("guard: process 1:") && errors.contains("argz_count (libc"), "{errors}");
    assert!(errors.contains("reads 0x"), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

/// Programs that keep to the table pass in silence, and do what they do without guard.
#[test]
fn checked_programs_pass() {
    for name in ["string_functions", "library_memory", "run_time_formats", "sort_search", "shared_streams"] {
        let program = Program::load(name);
        let Some(outcome) = guarded(&program) else { return };
        assert_eq!(outcome.status, Some(program.status), "{name}: {}", outcome.errors());
        assert_eq!(outcome.errors(), "", "{name}");
    }
}
