//! `dsm-run --profile` as a new user meets it: each of the programs that are slow on purpose is named with its variable, its line and a remedy, and is
//! better once it has been mended so.

use std::path::PathBuf;
use std::process::Command;

use dsm_tests::compile::{self, Target};
use dsm_tests::execute::{self, Outcome, Scratch};
use dsm_tests::matrix::Build;
use dsm_tests::program::Program;
use dsm_tests::toolchain;
use serde_json::Value;

const TARGET: Target = Target::Dsm(Build { level: 2, line: 1024 });

fn source(name: &str) -> PathBuf {
    toolchain::workspace().join(format!("examples/{name}.c"))
}

/// Runs an example; `None` where plain clang stands in for the toolchain.
fn run(name: &str, flags: &[&str], options: &[&str], environment: &[(&str, &str)]) -> Option<Outcome> {
    let dsm = toolchain::dsm()?;
    let mut program = Program::from_source(name, &source(name));
    program.flags = flags.iter().map(ToString::to_string).collect();
    let built = compile::compile(&program, TARGET).unwrap_or_else(|failure| panic!("{failure}"));
    let mut command = Command::new(&dsm.run);
    command.args(options).arg(&built.path).envs(environment.iter().copied());
    execute::hide_own_variables(&mut command);
    Some(execute::run(&mut command, "", execute::time_limit()))
}

/// What the profile of an example says, and the run.
fn profile(name: &str, flags: &[&str], environment: &[(&str, &str)]) -> Option<(Value, Outcome)> {
    let directory = Scratch::directory("profile");
    let file = directory.path().join("report.json");
    let option = format!("--profile={}", file.display());
    let outcome = run(name, &[&["-g"], flags].concat(), &["-n2", "-s", &option], environment)?;
    assert_eq!((outcome.status, outcome.text().as_str()), (Some(0), "verified\n"), "{}", outcome.errors());
    let text = std::fs::read_to_string(&file).expect("the profile was written");
    Some((serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}")), outcome))
}

fn finding<'a>(profile: &'a Value, kind: &str, subject: &str) -> Option<&'a Value> {
    let all = profile["findings"].as_array().expect("a list of findings");
    all.iter().find(|f| f["kind"] == kind && f["subject"].as_str().is_some_and(|text| text.contains(subject)))
}

/// [`profile`] of an example that has a finding, in one of five runs: a machine that runs the processes one after the other for a while keeps them from each other's data.
fn profile_with(
    kind: &str,
    subject: &str,
    name: &str,
    environment: &[(&str, &str)],
) -> Option<(Value, Outcome)> {
    let mut last = Value::Null;
    for _ in 0..5 {
        let (report, outcome) = profile(name, &[], environment)?;
        if finding(&report, kind, subject).is_some() {
            return Some((report, outcome));
        }
        last = report;
    }
    panic!("no {kind} of {subject} in {last:#}")
}

/// Place of the only line of an example that contains `text`.
fn place(name: &str, text: &str) -> String {
    let lines = std::fs::read_to_string(source(name)).expect("the example is there");
    let line = 1 + lines.lines().position(|l| l.contains(text)).expect("the example has the line");
    format!("examples/{name}.c:{line} ")
}

/// Runs an example that is slow on purpose, and its mended form: the former has the finding at the line, with the remedy, the latter does not have it and
/// moves less than a tenth of the bytes.
fn mended(name: &str, kind: &str, subject: &str, line: &str, remedy: &str) {
    let Some((slow, before)) = profile_with(kind, subject, name, &[]) else { return };
    let found = finding(&slow, kind, subject).expect("it was found");
    let lines = found["lines"].as_array().expect("a list of lines");
    let has = |value: &Value, text: &str| value.as_str().is_some_and(|v| v.contains(text));
    let is_named = lines.iter().any(|l| has(&l["place"], &place(name, line)) && has(&l["text"], line));
    assert!(is_named, "{found:#}");
    assert!(found["remedy"][0].as_str().is_some_and(|r| r.contains(remedy)), "{found:#}");
    let Some((fast, after)) = profile(name, &["-DMENDED"], &[]) else { return };
    assert!(finding(&fast, kind, subject).is_none(), "{fast:#}");
    let moved = |outcome: &Outcome| outcome.counter("bytes_moved").iter().sum::<u64>();
    let (before, after) = (moved(&before), moved(&after));
    assert!(before > 1 << 22 && 10 * after < before, "bytes moved: {before}, mended {after}");
}

#[test]
fn false_sharing_is_named_and_padding_ends_it() {
    mended(
        "slow_false_sharing",
        "false_sharing",
        "variable bins",
        "BIN(thread, i) +=",
        "pad it to 8192 bytes",
    );
}

#[test]
fn who_writes_which_bytes_is_told() {
    // Twins of blocks of several pages need not lie in one piece.
    for block in ["4096", "16384"] {
        let sharing = ("false_sharing", "variable bins");
        let blocks = [("DSM_BLOCK", block)];
        let Some((slow, _)) = profile_with(sharing.0, sharing.1, "slow_false_sharing", &blocks) else {
            return;
        };
        let found = finding(&slow, sharing.0, sharing.1).expect("it was found");
        let what = found["what"].as_array().expect("sentences");
        for rank in 0..2 {
            let start = format!("process {rank} writes ");
            let is_told = |s: &str| s.starts_with(&start) && s.contains("of variable bins");
            assert!(what.iter().any(|s| s.as_str().is_some_and(is_told)), "{block}: {what:?}");
        }
    }
}

#[test]
fn serial_first_touch_is_named_and_parallel_initialisation_ends_it() {
    let allocated = format!(
        "allocated at {}",
        toolchain::workspace().join(place("slow_first_touch", "malloc(")).display()
    );
    let remedy = "initialise it in a parallel loop";
    mended("slow_first_touch", "serial_first_touch", &allocated, "part[at] += i", remedy);
}

#[test]
fn strided_misses_are_named_and_an_array_of_the_field_ends_them() {
    let remedy = "put the fields it uses into an array of their own";
    mended("slow_stride", "strided_misses", "variable records", "sum += KEY(i)", remedy);
}

/// Where other processes' memory is reached through sockets, as between hosts.
#[test]
fn a_profile_needs_no_mapping() {
    profile_with("strided_misses", "variable records", "slow_stride", &[("DSM_TRANSPORT", "stream")]);
}

#[test]
fn the_text_is_for_people_and_functions_have_names_without_debug_information() {
    let Some(outcome) = run("slow_stride", &[], &["-n2", "--profile"], &[]) else { return };
    let errors = outcome.errors();
    let has = |text: &str| errors.lines().any(|line| line.contains(text));
    assert!(has("single misses along a stride: variable records"), "{errors}");
    assert!(
        has("add_up.omp_outlined (no debug information: compile with -g for the line) reads"),
        "{errors}"
    );
    assert!(has("      remedy  keep what the loop uses together"), "{errors}");
}

#[test]
fn nothing_is_written_unless_asked_for() {
    let Some(outcome) = run("slow_stride", &[], &["-n2"], &[]) else { return };
    assert_eq!((outcome.status, outcome.errors().as_str()), (Some(0), ""));
}

#[test]
fn a_file_that_cannot_be_written_ends_the_job_before_the_program_runs() {
    let Some(outcome) = run("slow_stride", &[], &["-n2", "--profile=/nonexistent/profile"], &[]) else {
        return;
    };
    assert_eq!((outcome.status, outcome.text().as_str()), (Some(1), ""));
    assert!(
        outcome.errors().contains("the profile cannot be written to /nonexistent/profile"),
        "{}",
        outcome.errors()
    );
}

#[test]
fn one_process_has_nothing_to_profile() {
    let Some(outcome) = run("slow_stride", &[], &["--profile"], &[]) else { return };
    assert_eq!((outcome.status, outcome.text().as_str()), (Some(0), "verified\n"));
    assert!(outcome.errors().contains("run it with -n 2 or more"), "{}", outcome.errors());
}
