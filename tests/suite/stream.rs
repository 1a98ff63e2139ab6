//! Programs over the stream transport, where nothing of another process is mapped (`DSM_TRANSPORT=stream`): as [`super::differential`], each program in
//! one configuration of several processes, every second one with delays and torn transfers. One program in five; `DSM_TEST_MATRIX=full` takes all.

use dsm_tests::matrix::Config;
use dsm_tests::{differential, matrix, program};

/// Use more locks than are worth several messages each.
pub const TOO_MANY_MESSAGES: [&str; 3] = ["cxx_mutex_lifetimes", "lock_evictions", "lock_lifetimes"];
/// Tests that the programs are spread over.
const PARTS: usize = 4;

fn check(part: usize) {
    let names = program::all_names();
    let step = if matrix::is_full() { 1 } else { 5 };
    let numbers = (part..names.len()).step_by(PARTS * step);
    let mut failures = Vec::new();
    for number in numbers.filter(|number| !TOO_MANY_MESSAGES.contains(&names[*number].as_str())) {
        let mut program = program::Program::load(&names[number]);
        let transport = if number % 2 == 0 { "stream".into() } else { format!("stream:{number}") };
        program.environment.push(("DSM_TRANSPORT".into(), transport));
        // Every other one reads single blocks one-sidedly, as over RDMA: each word of a look is a request.
        let one_sided = number / (step * PARTS) % 2;
        program.environment.push(("DSM_ONE_SIDED_READ".into(), one_sided.to_string()));
        failures.extend(differential::check(&program, &[configuration(number)]));
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// One of the program's configurations in [`super::differential`], so that it is compiled already.
pub fn configuration(number: usize) -> Config {
    let several: Vec<_> = matrix::sample(number).into_iter().filter(|c| c.shape.processes > 1).collect();
    several[number / PARTS % several.len()]
}

#[test]
fn programs_0() {
    check(0);
}

#[test]
fn programs_1() {
    check(1);
}

#[test]
fn programs_2() {
    check(2);
}

#[test]
fn programs_3() {
    check(3);
}

/// A home that gets differences in messages finds by what bytes had been that others have changed them, too.
#[test]
fn values_that_race_do_not_mix() {
    let name = "racing_values";
    let number = program::all_names().iter().position(|other| other == name).expect("the program is there");
    let mut program = program::Program::load(name);
    program.environment.push(("DSM_TRANSPORT".into(), "stream".into()));
    let failures = differential::check(&program, &[configuration(number)]);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
