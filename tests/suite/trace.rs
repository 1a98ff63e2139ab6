//! `dsm-run --trace`: what is in the file, also when a process or the launcher was killed, or buffers were full.

use std::path::PathBuf;
use std::process::Command;

use dsm_tests::compile::{self, Target};
use dsm_tests::execute::{self, Outcome, Scratch};
use dsm_tests::matrix::Build;
use dsm_tests::program::Program;
use dsm_tests::toolchain;
use dsm_tests::trace::{Moment, Trace};

use super::hosts;

const TARGET: Target = Target::Dsm(Build { level: 2, line: 1024 });

struct Traced {
    outcome: Outcome,
    trace: Trace,
}

/// Runs `events` in a mode; `None` where plain clang stands in for the toolchain. `{trace}` in it is the trace's path.
fn run(options: &[&str], mode: &[&str]) -> Option<Traced> {
    let dsm = toolchain::dsm()?;
    let source = toolchain::workspace().join("tests/trace/events.c");
    let mut program = Program::from_source("trace_events", &source);
    program.flags = vec!["-g".into()];
    let built = compile::compile(&program, TARGET).unwrap_or_else(|failure| panic!("{failure}"));
    let directory = Scratch::directory("trace");
    let file: PathBuf = directory.path().join("trace");
    let mut command = Command::new(&dsm.run);
    command.args(options).arg("--trace").arg(&file).arg(&built.path);
    command.args(mode.iter().map(|word| word.replace("{trace}", &file.to_string_lossy())));
    execute::hide_own_variables(&mut command);
    command.env_remove("OMP_NUM_THREADS").env("DSM_BLOCK", "4096").current_dir(directory.path());
    let outcome = execute::run(&mut command, "", execute::time_limit());
    let is_cut = mode[0] == "launcher";
    Some(Traced { outcome, trace: Trace::read(&file, is_cut) })
}

/// What holds for every trace: arrows go forward, to another process.
fn check_arrows(trace: &Trace) -> Vec<(&Moment, &Moment)> {
    let arrows = trace.arrows();
    for (from, to) in &arrows {
        assert!(from.time < to.time && from.rank != to.rank, "{from:?} {to:?}");
        assert!(["release", "acquire"].contains(&&*from.name) && to.name == "acquire", "{from:?} {to:?}");
        assert_eq!(to.about["peer"], from.rank.to_string(), "{from:?} {to:?}");
    }
    arrows
}

#[test]
fn every_kind_of_event_is_there_as_often_as_it_is_counted() {
    let Some(Traced { outcome, trace }) = run(&["-n2", "-s"], &["all"]) else { return };
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    assert!(!outcome.errors().contains("trace"), "{}", outcome.errors());
    let ends = |rank: usize, end: &str| trace.processes[rank].ends_with(end);
    assert!(trace.processes.len() == 2 && ends(0, ", process 0") && ends(1, ", process 1"));
    for (name, counter) in [
        ("read miss", "read_misses"),
        ("write miss", "write_misses"),
        ("release", "releases"),
        ("acquire", "acquires"),
    ] {
        assert_eq!(trace.counts(name), outcome.counter(counter), "{name}\n{}", outcome.errors());
        assert!(trace.counts(name).iter().all(|count| *count > 0), "{name}");
    }
    assert!(trace.open().values().all(Vec::is_empty), "{:?}", trace.open());
    let begins = |start: &str| trace.events.iter().filter(|event| event.name.starts_with(start)).count();
    // Two threads, four rounds of two loops, each with a barrier, and a third.
    assert_eq!(begins("region all (events.c:"), 2);
    assert_eq!(begins("loop events.c:"), 2 * 4 * 2);
    assert!(begins("barrier events.c:") >= 2 * 4 * 3);
    assert_eq!(begins("task events.c:"), 63);
    assert_eq!(begins("end of region all"), 1);
    assert!(begins("wait") > 0);
    let of_records =
        |name| trace.named(name).filter(|e| e.about.get("variable").is_some_and(|v| v == "records"));
    for name in ["read miss", "write miss", "fetch"] {
        assert!(of_records(name).count() > 0, "{name}");
    }
    assert!(of_records("fetch").all(|event| event.about["peer"] == (1 - event.rank).to_string()));
    let arrows = check_arrows(&trace);
    // Each barrier between the processes has one in each direction, and the region one to begin and one to end.
    assert!(arrows.len() >= 2 * 4 * 3 + 2, "{}", arrows.len());
    for rank in 0..2 {
        assert!(arrows.iter().any(|(from, _)| from.rank == rank));
    }
}

#[test]
fn a_trace_is_whole_when_a_process_is_killed() {
    let Some(Traced { outcome, trace }) = run(&["-n2"], &["killed"]) else { return };
    assert_eq!(outcome.status, Some(137), "{}", outcome.errors());
    let open = trace.open();
    let waits = |stack: &&Vec<&str>| stack.first().is_some_and(|name| name.starts_with("region killed"));
    // Both were in the region: the one that was killed, and the one that waited for it.
    assert_eq!(open.values().filter(waits).count(), 2, "{open:?}");
    assert!(
        open.values().any(|stack| stack.last().is_some_and(|name| name.starts_with("barrier"))),
        "{open:?}"
    );
    check_arrows(&trace);
}

#[test]
fn what_was_written_is_a_trace_when_the_launcher_is_killed() {
    let Some(Traced { outcome, trace }) = run(&["-n2"], &["launcher", "{trace}"]) else { return };
    assert_eq!(outcome.status, Some(137), "{}", outcome.errors());
    assert!(!trace.processes.is_empty());
}

#[test]
fn events_that_find_no_space_are_counted() {
    let Some(Traced { outcome, trace }) = run(&["-n2", "-s", "--trace-buffer=4"], &["many", "60000"]) else {
        return;
    };
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    let errors = outcome.errors();
    let told: Vec<&str> = errors.lines().filter(|line| line.starts_with("dsm-run: ")).collect();
    let [message] = told[..] else { panic!("one message: {errors}") };
    let missing: u64 = message.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect(message);
    assert!(message.contains("events are missing") && message.contains("--trace-buffer"), "{message}");
    let counted =
        trace.named("events dropped").map(|event| event.about["count"].parse::<u64>().expect("a number"));
    assert_eq!((counted.sum::<u64>(), missing > 0), (missing, true), "{message}");
    let misses = outcome.counter("read_misses").iter().sum::<u64>();
    assert!(trace.counts("read miss").iter().sum::<u64>() < misses);
    assert!(trace.open().values().all(Vec::is_empty), "what is there has an end: {:?}", trace.open());
    check_arrows(&trace);
}

#[test]
fn a_job_on_two_hosts_has_one_trace() {
    let directory = Scratch::directory("hosts");
    let rsh = format!("--rsh={}", hosts::shell(&directory, hosts::SHELL).display());
    let options = [&rsh, "-H", "127.0.0.1:1,127.0.0.2:1", "-s"];
    let Some(Traced { outcome, trace }) = run(&options, &["all"]) else { return };
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    assert!(
        trace.processes[0].ends_with("process 0 on 127.0.0.1")
            && trace.processes[1].ends_with("process 1 on 127.0.0.2")
    );
    assert_eq!(trace.counts("read miss"), outcome.counter("read_misses"));
    assert!(trace.named("request lend").count() + trace.named("request take").count() > 0);
    assert!(trace.open().values().all(Vec::is_empty));
    assert!(!check_arrows(&trace).is_empty());
}

#[test]
fn a_trace_that_cannot_be_written_ends_the_job_before_it_starts() {
    let Some(dsm) = toolchain::dsm() else { return };
    let mut command = Command::new(&dsm.run);
    command.args(["--unchecked", "--trace", "/nowhere/trace", "--", "echo", "started"]);
    execute::hide_own_variables(&mut command);
    let outcome = execute::run(&mut command, "", execute::time_limit());
    assert_eq!((outcome.status, outcome.text().as_str()), (Some(1), ""));
    assert!(
        outcome.errors().starts_with("dsm-run: /nowhere/trace cannot be written to:"),
        "{}",
        outcome.errors()
    );
}
