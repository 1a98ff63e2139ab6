//! `dsm-sweep`: which runs it makes, what it writes, how it goes on after an interruption, and which block sizes it chooses.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use dsm_tests::compile::{self, Built, Target};
use dsm_tests::execute::{self, Outcome, Scratch};
use dsm_tests::matrix::Build;
use dsm_tests::program::Program;
use dsm_tests::toolchain;

/// One process has one run a repetition and no profile; two have two sizes, and pairs with the block file.
const OPTIONS: &[&str] = &["--block", "64,65536", "-n", "1,2", "--repeat", "2", "--by", "counts"];
const UNIFORM_RUNS: usize = 2 + 2 * (1 + 2);
const RUNS: usize = UNIFORM_RUNS + 1 + 2 * 2;
/// Two profiles, two timed runs, and a profile and a pair with the block file.
const FEW: &[&str] = &["--block", "64,65536", "--repeat", "1", "--by", "counts"];
const FEW_RUNS: usize = 2 + 2 + 1 + 2;

fn source() -> PathBuf {
    toolchain::package().join("sweep/two_variables.c")
}

fn program() -> Option<Built> {
    toolchain::dsm()?;
    let mut program = Program::from_source("two_variables", &source());
    program.flags = vec!["-g".into()];
    let target = Target::Dsm(Build { level: 2, line: 64 });
    Some(compile::compile(&program, target).unwrap_or_else(|failure| panic!("{failure}")))
}

fn sweep(directory: &Path, options: &[&str], program: &[&str]) -> Command {
    let dsm = toolchain::dsm().expect("the program was built");
    let mut command = Command::new(dsm.run.with_file_name("dsm-sweep"));
    command.args(options).arg("--out").arg(directory.join("out")).arg("--").args(program);
    execute::hide_own_variables(&mut command);
    command
}

fn run(command: &mut Command) -> Outcome {
    execute::run(command, "", execute::time_limit())
}

fn read(directory: &Path, name: &str) -> String {
    let path = directory.join("out").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The runs in the CSV as `line,processes,threads,blocks,block,purpose,repetition`, and their status.
fn runs(directory: &Path) -> Vec<(String, String)> {
    let text = read(directory, "runs.csv");
    let fields = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    text.lines().skip(1).map(fields).map(|f| (f[..7].join(","), f[7].clone())).collect()
}

fn failures(outcome: &Outcome) -> usize {
    outcome.errors().matches("FAILED").count()
}

#[test]
fn every_run_is_a_row_and_each_variable_gets_the_size_that_its_counts_ask_for() {
    let Some(built) = program() else { return };
    let scratch = Scratch::directory("sweep");
    let path = built.path.display().to_string();
    let outcome = run(&mut sweep(scratch.path(), OPTIONS, &[&path]));
    assert_eq!(outcome.status, Some(0), "{}{}", outcome.text(), outcome.errors());
    let rows = runs(scratch.path());
    let names: BTreeSet<&str> = rows.iter().map(|(name, _)| &**name).collect();
    assert_eq!((rows.len(), names.len()), (RUNS, RUNS), "{names:?}");
    let expected = ["64,1,1,unset,,time,2", "64,2,1,uniform,64,profile,0", "64,2,1,uniform,65536,time,1"];
    assert!(expected.iter().all(|name| names.contains(name)), "{names:?}");
    assert!(names.iter().any(|name| name.contains(",file,") && name.ends_with(",comparison,2")), "{names:?}");
    assert!(rows.iter().all(|(_, status)| status == "ok"), "{rows:?}");

    let rules = read(scratch.path(), "blocks-2x1-line-64.conf");
    for rule in ["symbol bins 64\t", "symbol table 65536\t"] {
        assert!(rules.lines().any(|line| line.starts_with(rule)), "{rules}");
    }
    let results: serde_json::Value =
        serde_json::from_str(&read(scratch.path(), "results.json")).expect("it is JSON");
    assert_eq!(results["comparisons"][0]["by_counts"], "better", "{}", outcome.text());
    // The verdict of two pairs about times, whatever they are.
    assert!(outcome.text().contains("too few pairs for a verdict"), "{}", outcome.text());
    assert!(read(scratch.path(), "chart.svg").contains("misses of falsely shared blocks"));
    let file = scratch.path().join("out/blocks-2x1-line-64.conf");
    let dsm = toolchain::dsm().expect("the program was built");
    let mut alone = Command::new(&dsm.run);
    alone.args(["-n2", &path]).env("DSM_BLOCK_FILE", file).env("DSM_BLOCK", "4096");
    execute::hide_own_variables(&mut alone);
    let outcome = run(&mut alone);
    assert_eq!(
        (outcome.status, outcome.text().as_str(), outcome.errors().as_str()),
        (Some(0), "right\n", "")
    );
}

/// Starts a sweep whose third run does not end, and ends the sweep by `signal` then.
fn interrupted(scratch: &Path, program: &[&str], signal: i32) -> Outcome {
    let gate = scratch.join("gate");
    std::fs::write(&gate, "").expect("a scratch file can be written");
    let errors = std::fs::File::create(scratch.join("errors")).expect("a scratch file can be made");
    let mut command = sweep(scratch, FEW, program);
    command.stdout(std::process::Stdio::null()).stderr(errors);
    let child = execute::start(&mut command);
    let deadline = Instant::now() + execute::time_limit();
    let pid = loop {
        let text = std::fs::read_to_string(scratch.join("pid")).unwrap_or_default();
        if let Some(pid) = text.strip_suffix('\n') {
            break pid.to_owned();
        }
        assert!(Instant::now() < deadline, "the third run has not begun");
        std::thread::sleep(Duration::from_millis(2));
    };
    // SAFETY: kill(2) takes no pointers; the process is a child that was not waited for.
    unsafe { libc::kill(child.id() as i32, signal) };
    let status = execute::wait(child, execute::time_limit()).map(execute::shell_status);
    while Path::new("/proc").join(&pid).exists() {
        assert!(Instant::now() < deadline, "the third run goes on");
        std::thread::sleep(Duration::from_millis(2));
    }
    std::fs::remove_file(gate).expect("it is there");
    let stderr = std::fs::read(scratch.join("errors")).expect("it is there");
    Outcome { status, stdout: Vec::new(), stderr }
}

#[test]
fn a_sweep_that_was_interrupted_or_killed_makes_only_the_runs_that_are_missing() {
    let Some(built) = program() else { return };
    let path = built.path.display().to_string();
    for (signal, expected) in [(libc::SIGINT, 130), (libc::SIGKILL, 137)] {
        let scratch = Scratch::directory("sweep");
        let counted = scratch.path().display().to_string();
        let program = [&*path, "count", &counted];
        let outcome = interrupted(scratch.path(), &program, signal);
        assert_eq!(outcome.status, Some(expected), "{}", outcome.errors());
        assert!(
            signal == libc::SIGKILL || outcome.errors().contains("the same command goes on"),
            "{}",
            outcome.errors()
        );
        assert_eq!(read(scratch.path(), "journal.jsonl").lines().count(), 2);
        let outcome = run(&mut sweep(scratch.path(), FEW, &program));
        assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
        let made = || std::fs::metadata(scratch.path().join("runs")).expect("each run adds a byte").len();
        // The one that did not end was made again.
        assert_eq!((made() as usize, runs(scratch.path()).len()), (FEW_RUNS + 1, FEW_RUNS));
        let written = read(scratch.path(), "runs.csv");
        let outcome = run(&mut sweep(scratch.path(), FEW, &program));
        assert_eq!((outcome.status, made() as usize), (Some(0), FEW_RUNS + 1), "{}", outcome.errors());
        assert_eq!(read(scratch.path(), "runs.csv"), written);

        let other = [FEW, &["--time-limit", "9"]].concat();
        let outcome = run(&mut sweep(scratch.path(), &other, &program));
        assert_eq!((outcome.status, made() as usize), (Some(2), FEW_RUNS + 1));
        let message = outcome.errors();
        assert!(message.contains("--time-limit was 600, is 9") && message.contains("--out"), "{message}");
    }
}

#[test]
fn runs_that_are_not_verified_are_reported_and_the_others_count() {
    let Some(built) = program() else { return };
    let scratch = Scratch::directory("sweep");
    let path = built.path.display().to_string();
    let options = ["--block", "64,65536", "-r", "1", "--verify", "^right"];
    let outcome = run(&mut sweep(scratch.path(), &options, &[&path, "wrong"]));
    assert_eq!((outcome.status, failures(&outcome)), (Some(1), 2), "{}", outcome.errors());
    for (name, status) in runs(scratch.path()) {
        assert_eq!(status, if name.contains(",65536,") { "failed" } else { "ok" }, "{name}");
    }
    let kept = read(scratch.path(), "failed/2x1-line-64-block-65536-time-1.txt");
    assert!(kept.contains("DSM_BLOCK=65536 ") && kept.contains("--- standard output\nwrong\n"), "{kept}");
    let message = "2x1, line 64, block 65536, repetition 1: it prints nothing that --verify '^right' fits";
    assert!(outcome.errors().contains(message), "{}", outcome.errors());
    assert!(outcome.text().contains("| 65536 | failed |"), "{}", outcome.text());
    assert!(outcome.text().contains("Best uniform size: 64"), "{}", outcome.text());
}

#[test]
fn lines_are_built_by_the_users_command() {
    let Some(_) = toolchain::dsm() else { return };
    let scratch = Scratch::directory("sweep");
    let built = scratch.path().join("two").display().to_string();
    let command = format!("{{cc}} {{flags}} {} -o {built}", source().display());
    let options = ["--block", "1024", "--line", "64,1024", "-r", "1", "--build", &command];
    let outcome = run(&mut sweep(scratch.path(), &options, &[&built]));
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    let lines: BTreeSet<String> = runs(scratch.path())
        .iter()
        .map(|(name, _)| name.split(',').next().unwrap_or("").to_owned())
        .collect();
    assert_eq!(lines, ["1024".to_owned(), "64".to_owned()].into());

    let other = Scratch::directory("sweep");
    let options = ["--line", "64", "-r", "1", "--build", "true"];
    let outcome = run(&mut sweep(other.path(), &options, &[&built]));
    assert_eq!(outcome.status, Some(2));
    assert!(
        outcome.errors().contains("was built with lines of 1024 bytes instead of 64"),
        "{}",
        outcome.errors()
    );
    let outcome = run(&mut sweep(&other.path().join("x"), &["--line", "64"], &[&built]));
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.errors().contains("--build 'make CC={cc} CFLAGS={flags}'"), "{}", outcome.errors());
    let outcome = run(&mut sweep(&other.path().join("y"), &[], &["./missing"]));
    assert_eq!(
        (outcome.status, outcome.errors().as_str()),
        (Some(2), "dsm-sweep: ./missing: no such file\n")
    );
    assert!(!other.path().join("y").exists());
}
