//! What `DSM_STATS` tells.

use std::time::Instant;

use dsm_tests::compile::{self, Target};
use dsm_tests::differential::run_command;
use dsm_tests::execute;
use dsm_tests::matrix::{Build, Shape};
use dsm_tests::program::Program;
use dsm_tests::toolchain;

#[test]
fn time_is_told_by_what_it_was_spent_on() {
    if toolchain::dsm().is_none() {
        return;
    }
    let (program, target) = (Program::load("time_spent"), Target::Dsm(Build { level: 2, line: 1024 }));
    let built = compile::compile(&program, target).unwrap_or_else(|failure| panic!("{failure}"));
    let mut command = run_command(&built, target, Shape::new(2, 1), &program);
    command.env("DSM_STATS", "1");
    let start = Instant::now();
    let outcome = execute::run(&mut command, "", execute::time_limit());
    let most = start.elapsed().as_micros() as u64;
    let errors = outcome.errors();
    assert_eq!(outcome.status, Some(0), "{errors}");
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
