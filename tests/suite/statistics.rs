//! What `DSM_STATS` tells.

use std::time::Instant;

use dsm_tests::compile::{self, Target};
use dsm_tests::differential::run_command;
use dsm_tests::execute::{self, Outcome};
use dsm_tests::matrix::{Build, Shape};
use dsm_tests::program::Program;
use dsm_tests::toolchain;

/// Runs `time_spent` with two processes.
fn run(environment: &[(&str, &str)]) -> Option<Outcome> {
    toolchain::dsm()?;
    let (program, target) = (Program::load("time_spent"), Target::Dsm(Build { level: 2, line: 1024 }));
    let built = compile::compile(&program, target).unwrap_or_else(|failure| panic!("{failure}"));
    let mut command = run_command(&built, target, Shape::new(2, 1), &program);
    command.env("DSM_STATS", "1").envs(environment.iter().copied());
    let outcome = execute::run(&mut command, "", execute::time_limit());
    assert_eq!((outcome.status, outcome.text().as_str()), (Some(0), "3145722\n"), "{}", outcome.errors());
    Some(outcome)
}

/// Whether the system moves shared memory into huge pages when it is asked to: Linux does from 6.1 on.
fn has_huge_pages() -> bool {
    let size = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let version: Vec<u32> = release.split(['.', '-']).map_while(|part| part.parse().ok()).take(2).collect();
    size.is_ok_and(|bytes| bytes.trim() == HUGE_PAGE.to_string()) && version >= vec![6, 1]
}

const HUGE_PAGE: u64 = 2 << 20;

#[test]
fn data_goes_into_huge_pages_when_asked_to() {
    for wanted in ["0", "1"] {
        let Some(outcome) = run(&[("DSM_HUGE", wanted)]) else { return };
        // Four megabytes that both processes have, at any place in a huge page. The system may refuse one of them.
        let moved = outcome.counter("huge_page_bytes");
        let expected = if wanted == "1" && has_huge_pages() { HUGE_PAGE..=3 * HUGE_PAGE } else { 0..=0 };
        let most = moved.iter().max().expect("there are processes");
        assert!(expected.contains(most), "{moved:?}\n{}", outcome.errors());
        assert!(moved.iter().all(|bytes| bytes % HUGE_PAGE == 0), "{moved:?}\n{}", outcome.errors());
    }
}

/// Processes other than the first end through flang's library if the program is in Fortran.
#[test]
fn each_process_of_a_fortran_program_counts() {
    let Some(_) = toolchain::dsm() else { return };
    let (program, target) = (Program::load("f_loops"), Target::Dsm(Build { level: 2, line: 1024 }));
    let built = compile::compile(&program, target).unwrap_or_else(|failure| panic!("{failure}"));
    let mut command = run_command(&built, target, Shape::new(3, 1), &program);
    let outcome = execute::run(command.env("DSM_STATS", "1"), "", execute::time_limit());
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    let releases = outcome.counter("releases");
    assert!(releases.len() == 3 && !releases.contains(&0), "{}", outcome.errors());
}

/// Half of an array of 2048 pages that process 0 has allocated goes to process 1 without contents, and some of two more, to which both store side by side.
#[test]
fn memory_that_nobody_has_stored_to_moves_without_contents() {
    let Some(outcome) = run_counted("first_touch") else { return };
    let errors = outcome.errors();
    let [_, holes] = outcome.counter("blocks_of_holes")[..] else { panic!("{errors}") };
    assert!((1024..=4 * 1024).contains(&holes), "{errors}");
}

/// Three times 256 rows of about a block each, which another process has written, in walks that use a part of each.
#[test]
fn a_walk_whose_steps_are_nearer_than_blocks_asks_for_its_blocks_at_once() {
    let Some(outcome) = run_counted("dense_walks") else { return };
    let errors = outcome.errors();
    let [_, misses] = outcome.counter("read_misses")[..] else { panic!("{errors}") };
    let [_, blocks] = outcome.counter("blocks_fetched")[..] else { panic!("{errors}") };
    assert!(misses <= 3 * 10 && (3 * 256..=3 * 264).contains(&blocks), "{errors}");
}

/// Runs a program, which is made for blocks of 4096 bytes, with two processes and returns its counters.
fn run_counted(program: &str) -> Option<Outcome> {
    toolchain::dsm()?;
    let (program, target) = (Program::load(program), Target::Dsm(Build { level: 2, line: 1024 }));
    let built = compile::compile(&program, target).unwrap_or_else(|failure| panic!("{failure}"));
    let mut command = run_command(&built, target, Shape::new(2, 1), &program);
    let outcome =
        execute::run(command.env("DSM_STATS", "1").env("DSM_BLOCK", "4096"), "", execute::time_limit());
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    Some(outcome)
}

/// Each of forty tasks waits until the other process has begun the next one, and then for its end: half of them by `taskwait`, half at the end of a group.
#[test]
fn processes_that_wait_for_tasks_run_tasks_below_them() {
    let Some(outcome) = run_counted("task_waiters") else { return };
    for row in ["tasks_made", "tasks_handed_over", "tasks_received"] {
        assert_eq!(outcome.counter(row), [20, 20], "{row}\n{}", outcome.errors());
    }
}

/// Ten pairs of untied tasks wait for each other. None of them has anything that keeps it.
#[test]
fn untied_tasks_run_in_both_processes() {
    let Some(outcome) = run_counted("task_untied") else { return };
    let errors = outcome.errors();
    let total = |row: &str| outcome.counter(row).iter().sum::<u64>();
    assert_eq!(total("tasks_made"), 10 * 2 * (2 + 1 + 100 + 1), "{errors}");
    assert!(
        total("tasks_received") >= 10 && total("tasks_received") == total("tasks_handed_over"),
        "{errors}"
    );
    for kept in ["detachable", "exclusive", "reducing", "cancellable"] {
        assert_eq!(total(&format!("tasks_kept_{kept}")), 0, "{errors}");
    }
}

#[test]
fn time_is_told_by_what_it_was_spent_on() {
    let start = Instant::now();
    let Some(outcome) = run(&[]) else { return };
    let most = start.elapsed().as_micros() as u64;
    let errors = outcome.errors();
    let rows = ["miss_us", "fetch_us", "release_us", "acquire_us", "wait_us"].map(|row| outcome.counter(row));
    let [_, fetch, release, _, wait] = &rows;
    // Process 1 sleeps while process 0 waits, then process 0 fetches four megabytes.
    assert!(wait[0] >= 55_000 && wait[0] <= most, "{errors}");
    assert!(fetch[0] >= 50 && fetch[0] > fetch[1], "{errors}");
    assert!(release[1] > 0, "{errors}");
    for rank in 0..2 {
        assert!(rows.iter().map(|row| row[rank]).sum::<u64>() <= most, "{most}\n{errors}");
    }
}
