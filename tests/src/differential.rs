//! Comparing a program under test with the same program under plain clang.

use crate::compile::{self, Built, Target, shell_line};
use crate::evidence;
use crate::execute::{self, Outcome, Scratch};
use crate::matrix::{Config, Shape};
use crate::program::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The command that runs `built` with `shape`, environment included.
pub fn run_command(built: &Built, target: Target, shape: Shape, program: &Program) -> Command {
    let mut command = match target.toolchain() {
        Some(dsm) if shape.launched => {
            let mut command = Command::new(&dsm.run);
            command
                .args(["-n", &shape.processes.to_string(), "-t", &shape.threads.to_string()])
                .arg(&built.path);
            command.env_remove("OMP_NUM_THREADS");
            command
        }
        _ => {
            let mut command = Command::new(&built.path);
            command.env("OMP_NUM_THREADS", shape.total().to_string());
            command
        }
    };
    execute::hide_own_variables(&mut command);
    command.args(&program.arguments).envs(program.environment.iter().cloned());
    command
}

/// What plain clang's executable does with `threads` threads.
///
/// # Errors
/// The commands, if it does not compile or ends with another status than the program says.
pub fn reference(program: &Program, threads: u32) -> Result<Outcome, String> {
    let built = compile::compile(program, Target::Native)?;
    let mut command = run_command(&built, Target::Native, Shape::alone(threads), program);
    let outcome = until_it_ends(&mut command, &program.input);
    if outcome.status != Some(program.status) {
        return Err(format!(
            "{}: plain clang's program ended with {:?}, not {}\n  {}\n  {}\n{}",
            program.name,
            outcome.status,
            program.status,
            built.command,
            shell_line(&command),
            outcome.errors()
        ));
    }
    Ok(outcome)
}

/// Runs a reference again if it hangs: libomp does at times, and it is not what is tested here.
fn until_it_ends(command: &mut Command, input: &str) -> Outcome {
    const TRIES: u32 = 4;
    let limit = execute::time_limit() / TRIES;
    let directory = Scratch::directory("reference");
    command.current_dir(directory.path());
    let mut outcome = execute::run(command, input, limit);
    for _ in 1..TRIES {
        if outcome.status.is_some() {
            break;
        }
        outcome = execute::run(command, input, limit);
    }
    outcome
}

/// Tests `program` in `configs`; returns a description of each failure.
pub fn check(program: &Program, configs: &[Config]) -> Vec<String> {
    let (references, mut failures) = match references(program, configs) {
        Ok(found) => found,
        Err(failure) => return vec![failure],
    };
    for config in configs {
        failures.extend(check_one(program, *config, &references[&config.shape.total()]).err());
    }
    failures
}

type References = BTreeMap<u32, Outcome>;

/// The reference for every number of threads in `configs`, and how they contradict each other: a program
/// whose output depends on the number of threads is no measure, unless it says that it does.
fn references(program: &Program, configs: &[Config]) -> Result<(References, Vec<String>), String> {
    let totals: BTreeSet<u32> = configs.iter().map(|c| c.shape.total()).collect();
    let mut found = References::new();
    for total in totals {
        found.insert(total, reference(program, total)?);
    }
    let first = found.values().next().map(|o| o.stdout.clone()).unwrap_or_default();
    let differs = |(total, outcome): (&u32, &Outcome)| {
        (!program.varies && outcome.stdout != first).then(|| {
            let difference = first_difference(&first, &outcome.stdout);
            format!("{}: the reference differs with {total} threads; {difference}", program.name)
        })
    };
    let failures = found.iter().filter_map(differs).collect();
    Ok((found, failures))
}

fn check_one(program: &Program, config: Config, expected: &Outcome) -> Result<(), String> {
    let target = Target::Dsm(config.build);
    let built = compile::compile(program, target)?;
    let mut command = run_command(&built, target, config.shape, program);
    let directory = Scratch::directory("run");
    command.current_dir(directory.path());
    let outcome = execute::run(&mut command, &program.input, execute::time_limit());
    let Some(problem) = judge(expected, &outcome) else { return Ok(()) };
    let errors = outcome.errors();
    let tail: Vec<&str> = errors.lines().rev().take(12).collect();
    let kept = evidence::keep(&program.name, &built, &command, &outcome, &program.sources);
    Err(format!(
        "{} [{config}]: {problem}\n  {}\n  {}\n{kept}\n{}",
        program.name,
        built.command,
        shell_line(&command),
        tail.into_iter().rev().map(|l| format!("  | {l}\n")).collect::<String>()
    ))
}

/// What is wrong with `outcome`, if anything.
fn judge(expected: &Outcome, outcome: &Outcome) -> Option<String> {
    let Some(status) = outcome.status else {
        return Some(format!("no end within {:?}", execute::time_limit()));
    };
    if Some(status) != expected.status {
        return Some(format!("ended with {status}, expected {:?}", expected.status.unwrap_or(-1)));
    }
    (outcome.stdout != expected.stdout).then(|| first_difference(&expected.stdout, &outcome.stdout))
}

fn first_difference(expected: &[u8], actual: &[u8]) -> String {
    let (expected, actual) = (String::from_utf8_lossy(expected), String::from_utf8_lossy(actual));
    let (mut left, mut right) = (expected.split('\n'), actual.split('\n'));
    for line in 1.. {
        match (left.next(), right.next()) {
            (a, b) if a == b && a.is_some() => {}
            (a, b) => return format!("line {line} of the output: expected {a:?}, got {b:?}"),
        }
    }
    unreachable!("the outputs differ")
}

#[cfg(test)]
mod tests {
    use super::judge;
    use crate::execute::Outcome;

    fn outcome(status: Option<i32>, stdout: &str) -> Outcome {
        Outcome { status, stdout: stdout.into(), stderr: Vec::new() }
    }

    #[test]
    fn equal_outcomes_pass_whatever_is_on_standard_error() {
        let mut noisy = outcome(Some(3), "a\n");
        noisy.stderr = b"statistics".to_vec();
        assert_eq!(judge(&outcome(Some(3), "a\n"), &noisy), None);
    }

    #[test]
    fn each_kind_of_difference_is_named() {
        let good = outcome(Some(0), "a\nb\n");
        let message = |bad: &Outcome| judge(&good, bad).expect("must be reported");
        assert!(message(&outcome(Some(0), "a\nc\n")).contains("line 2"));
        assert!(message(&outcome(Some(0), "a\nb")).contains("line 3"));
        assert!(message(&outcome(Some(1), "a\nb\n")).contains("ended with 1"));
        assert!(message(&outcome(None, "a\nb\n")).contains("no end"));
    }
}
