//! `-fdsm-verify`: no access of the test programs, of random programs and of the kernels is without its check, in any build.

use std::process::Command;
use std::time::Duration;

use dsm_tests::compile::{self, Target, shell_line};
use dsm_tests::differential::run_command;
use dsm_tests::execute;
use dsm_tests::generator::Fault;
use dsm_tests::generator::batch::{Batch, Kind};
use dsm_tests::matrix::{Build, Shape};
use dsm_tests::program::{self, Language, Program};
use dsm_tests::toolchain;

/// Neighbouring programs see all of them.
const BUILDS: [(Build, &str); 4] = [
    (Build { level: 2, line: 64 }, ""),
    (Build { level: 3, line: 1024 }, "-march=native"),
    (Build { level: 0, line: 64 }, ""),
    (Build { level: 2, line: 64 }, "-fdsm-disable=merge,hoist,version"),
];

/// In a single process no state refuses, but checks are asserted as elsewhere; on two, states are as well. With one thread a process, libraries are
/// guarded: another thread's acquire could take away what was made valid for them, which `DSM_GUARD` would report.
const SHAPES: [Shape; 3] = [Shape::new(2, 1), Shape::new(1, 2), Shape::new(2, 2)];

/// Runs a program whose accesses are verified, and those of libraries guarded; what is wrong with that.
fn verified(mut program: Program, build: Build, flags: &str, shape: Shape) -> Result<(), String> {
    program.flags.extend(["-fdsm-verify", "-g"].map(String::from));
    program.flags.extend(flags.split_whitespace().map(String::from));
    if shape.threads == 1 {
        program.environment.push(("DSM_GUARD".into(), "1".into()));
    }
    let target = Target::Dsm(build);
    let built = compile::compile(&program, target)?;
    let mut command = run_command(&built, target, shape, &program);
    let directory = execute::Scratch::directory("verify");
    command.current_dir(directory.path());
    // A program that asks for more threads than processes has several in one, and then a report of guarded memory may be of another thread's acquire. What a
    // library must not touch is reported in every run.
    let attempts = if shape.threads == 1 { 3 } else { 1 };
    let mut outcome;
    let mut left = attempts;
    loop {
        outcome = execute::run(&mut command, &program.input, execute::time_limit());
        let reports = |what: &str| outcome.errors().contains(what);
        if outcome.status == Some(program.status) && !reports("dsm: error: verify") && !reports("dsm: guard")
        {
            return Ok(());
        }
        left -= 1;
        if left == 0 || !reports("dsm: guard") {
            break;
        }
    }
    let (name, status, errors) = (&program.name, outcome.status, outcome.errors());
    let first: String = errors.lines().take(4).map(|l| format!("  | {l}\n")).collect();
    let run = shell_line(&command);
    Err(format!("{name} at {shape}: status {status:?}\n  {}\n  {run}\n{first}", built.command))
}

/// The programs whose number is `part` modulo 8.
fn programs(part: usize) {
    let Some(_) = toolchain::dsm() else { return };
    let names = program::all_names();
    let chosen = names.iter().enumerate().filter(|(i, _)| i % 8 == part);
    let failures: Vec<String> = chosen
        .flat_map(|(i, name)| {
            let (build, flags) = BUILDS[(i / 4) % BUILDS.len()];
            // Every second time that a build comes round, another shape as well.
            let shapes = if i / 16 % 2 == 0 { &SHAPES[..1] } else { &[SHAPES[0], SHAPES[1 + i % 2]][..] };
            shapes
                .iter()
                .map(|&shape| verified(Program::load(name), build, flags, shape).err())
                .collect::<Vec<_>>()
                .into_iter()
                .flatten()
        })
        .collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

macro_rules! parts {
    ($($name:ident $part:literal)*) => { $(#[test] fn $name() { programs($part); })* };
}

// Short enough that no core is idle for long at the end of the suite.
parts! {
    programs_0 0
    programs_1 1
    programs_2 2
    programs_3 3
    programs_4 4
    programs_5 5
    programs_6 6
    programs_7 7
}

/// Threads of a process miss, and post atomic additions, in the same chunk: what a miss waits for takes no permission away.
#[test]
fn misses_beside_posted_atomics() {
    let Some(_) = toolchain::dsm() else { return };
    let (build, flags) = BUILDS[3];
    for _ in 0..20 {
        verified(Program::load("many_captures"), build, flags, Shape::new(2, 2))
            .unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn random_programs() {
    let Some(_) = toolchain::dsm() else { return };
    let mut failures = Vec::new();
    for (i, (build, flags)) in BUILDS.into_iter().enumerate() {
        let seeds = |count: u64| i as u64 * count..(i as u64 + 1) * count;
        let language = [Language::C, Language::Cxx, Language::Fortran][i % 3];
        let kind = if i % 2 == 0 { Kind::Loops } else { Kind::Tasks };
        for batch in [
            Batch { kind: Kind::Phases, language: Language::C, seeds: seeds(4), fault: Fault::None },
            Batch { kind, language, seeds: seeds(2), fault: Fault::None },
        ] {
            for shape in [SHAPES[0], SHAPES[2]] {
                failures.extend(verified(batch.program(), build, flags, shape).err());
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// The kernels verify, and their accesses are verified.
#[test]
fn kernels() {
    let Some(dsm) = toolchain::dsm() else { return };
    let bin = execute::Scratch::directory("verify");
    let mut failures = Vec::new();
    for kernel in ["ep", "cg", "is", "mg", "ft", "bt", "sp", "lu"] {
        let mut make = Command::new("make");
        make.arg("-C").arg(toolchain::workspace().join("npb")).arg(kernel);
        make.args(["CLASS=S", "CFLAGS=-O3 -fopenmp -g -fdsm-verify", &format!("CC={}", dsm.cc.display())]);
        make.arg(format!("BINDIR={}", bin.path().display()));
        let made = execute::run(&mut make, "", Duration::from_secs(300));
        assert_eq!(made.status, Some(0), "{}\n{}", shell_line(&make), made.errors());
        let mut command = Command::new(&dsm.run);
        command.args(["-n", "2"]).arg(bin.path().join(format!("{kernel}.S"))).env("DSM_GUARD", "1");
        let outcome = execute::run(&mut command, "", Duration::from_secs(300));
        let text = outcome.text();
        let verified = text.lines().any(|l| l.contains("Verification") && l.contains("SUCCESSFUL"));
        if outcome.status != Some(0) || !verified || !outcome.errors().is_empty() {
            failures.push(format!("{kernel}: {:?}\n{text}{}", outcome.status, outcome.errors()));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
