//! Random data-race-free OpenMP programs whose result is known.
//!
//! [`model`] defines what a program is and runs it sequentially; [`make`] draws one from a seed;
//! [`emit`] writes it as C with the expected contents of every array embedded at each check. The C
//! program needs no reference: it says `ok`, or the first wrong element with its array and phase.
//!
//! A program is free of data races by construction: between two barriers, an element is either written
//! by one iteration of one loop (and read by nobody else), or changed only under one lock or only by
//! atomic operations of one commutative kind, or only read.

pub mod emit;
pub mod make;
pub mod model;

use crate::compile::{self, Target, shell_line};
use crate::differential::run_command;
use crate::evidence;
use crate::execute;
use crate::matrix::{Build, Config};
use crate::program::Program;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;

/// A deliberate fault, to show that the tests can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The program as drawn.
    None,
    /// One element of one loop is not written.
    LostWrite,
    /// One barrier is missing: a data race.
    MissingBarrier,
    /// Locks do nothing: a data race.
    MissingLocks,
}

/// The programs of `seeds` as one C program: each seed a function, all run in turn.
pub fn source(seeds: Range<u64>, fault: Fault) -> String {
    let mut text = String::from(emit::PROLOGUE);
    let mut calls = String::new();
    for seed in seeds {
        let program = make::program(seed);
        text.push_str(&emit::function(&program, fault));
        let _ =
            writeln!(calls, "    if (only < 0 || only == {seed}) failed += report({seed}, seed_{seed}());");
    }
    let _ = write!(
        text,
        "int main(int argc, char **argv) {{\n    long only = argc > 1 ? atol(argv[1]) : -1;\n    int failed = 0;\n\
         {calls}    return failed != 0;\n}}\n"
    );
    text
}

/// A batch of seeds as a test program, its source in the scratch directory.
///
/// # Panics
/// If the scratch directory cannot be written.
pub fn program(seeds: Range<u64>, fault: Fault) -> Program {
    let name = format!("seeds-{}-{}-{fault:?}", seeds.start, seeds.end);
    let directory = crate::toolchain::scratch().join("generated");
    std::fs::create_dir_all(&directory).expect("scratch directory can be made");
    let path: PathBuf = directory.join(format!("{name}.c"));
    let text = source(seeds, fault);
    // Tests share batches: an unchanged file is left alone while another thread may be compiling it.
    if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
        return Program::from_source(&name, &path);
    }
    let partial =
        path.with_extension(format!("{}.{:?}.part", std::process::id(), std::thread::current().id()));
    std::fs::write(&partial, text).expect("scratch file can be written");
    std::fs::rename(&partial, &path).expect("scratch file can be renamed");
    Program::from_source(&name, &path)
}

/// Compiles and runs a batch.
///
/// # Errors
/// What was wrong, with the commands that show it and the command that repeats the failing seeds.
pub fn check(
    seeds: Range<u64>,
    fault: Fault,
    target: Target,
    shape: crate::matrix::Shape,
) -> Result<(), String> {
    let program = program(seeds.clone(), fault);
    let built = compile::compile(&program, target)?;
    let mut command = run_command(&built, target, shape, &program);
    let outcome = execute::run(&mut command, "", execute::time_limit());
    let expected: String = seeds.clone().map(|seed| format!("seed {seed} ok\n")).collect();
    if outcome.status == Some(0) && outcome.text() == expected {
        return Ok(());
    }
    let text = outcome.text();
    let wrong: Vec<&str> = text.lines().filter(|l| !l.ends_with(" ok")).take(8).collect();
    let last =
        text.lines().rev().find_map(|l| l.strip_prefix("seed ")?.strip_suffix(" ok")?.parse::<u64>().ok());
    let blamed = match wrong.first().and_then(|l| l.split_whitespace().nth(1)) {
        Some(seed) => seed.to_string(),
        None => last.map_or(seeds.start, |l| l + 1).to_string(),
    };
    let errors = outcome.errors();
    let mut message = format!("seeds {seeds:?} {shape}: status {:?}\n", outcome.status);
    for line in wrong.into_iter().chain(errors.lines().take(8)) {
        let _ = writeln!(message, "  | {line}");
    }
    let _ = writeln!(message, "  {}\n  {}", built.command, shell_line(&command));
    let _ =
        writeln!(message, "{}", evidence::keep(&program.name, &built, &command, &outcome, &program.sources));
    let _ = write!(message, "  seed {blamed} alone: append the argument {blamed}");
    if let Target::Dsm(build) = target {
        let _ = write!(message, ", or:\n  {}", fuzz_command(&blamed, build, shape));
    }
    Err(message)
}

fn fuzz_command(seeds: &str, build: Build, shape: crate::matrix::Shape) -> String {
    format!(
        "cargo run -p dsm-tests --release --bin fuzz -- --seeds {seeds} -n {} -t {} -O {} --line {}",
        shape.processes, shape.threads, build.level, build.line
    )
}

/// Checks a batch in one configuration of the matrix.
///
/// # Errors
/// As [`check`].
pub fn check_config(seeds: Range<u64>, config: Config) -> Result<(), String> {
    check(seeds, Fault::None, Target::Dsm(config.build), config.shape)
}
