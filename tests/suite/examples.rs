//! The examples build with their own Makefile, run, and verify themselves.

use dsm_tests::compile::{Built, Target, shell_line};
use dsm_tests::differential::run_command;
use dsm_tests::execute;
use dsm_tests::matrix::{Build, Shape};
use dsm_tests::program::{Language, Program};
use dsm_tests::toolchain;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

const TARGET: Target = Target::Dsm(Build { level: 2, line: 64 });

/// Builds all examples once; the directory of the executables.
fn built() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let bin = toolchain::scratch().join("examples");
        let compiler = TARGET.toolchain().map_or_else(toolchain::clang, |dsm| dsm.cc.display().to_string());
        let fortran = TARGET.toolchain().map_or_else(toolchain::flang, |dsm| dsm.fc.display().to_string());
        let mut make = Command::new("make");
        make.arg("-B").arg("-C").arg(toolchain::workspace().join("examples"));
        make.args([format!("CC={compiler}"), format!("FC={fortran}"), format!("BINDIR={}", bin.display())]);
        let outcome = execute::run(&mut make, "", Duration::from_secs(120));
        assert_eq!(outcome.status, Some(0), "{}\n{}", shell_line(&make), outcome.errors());
        bin
    })
}

fn check(name: &str) {
    let built = Built { path: built().join(name), command: String::new() };
    for shape in [Shape::new(1, 1), Shape::new(2, 1), Shape::new(2, 2), Shape::new(4, 1), Shape::alone(2)] {
        let mut command = run_command(&built, TARGET, shape, &Program::default());
        let outcome = execute::run(&mut command, "", execute::time_limit());
        let text = outcome.text();
        let right = outcome.status == Some(0) && text.lines().last() == Some("verified");
        assert!(
            right,
            "{shape}: {:?}\n  {}\n{text}{}",
            outcome.status,
            shell_line(&command),
            outcome.errors()
        );
    }
}

macro_rules! examples {
    ($($name:ident)*) => {
        $(#[test] fn $name() { check(stringify!($name)); })*

        #[test]
        fn every_example_is_tested() {
            let entries = std::fs::read_dir(toolchain::workspace().join("examples")).expect("examples exist");
            let files = entries.flatten().map(|e| e.path()).filter(|p| Language::of(p).is_some());
            let mut found: Vec<String> =
                files.map(|p| p.file_stem().unwrap_or_default().to_string_lossy().into_owned()).collect();
            found.sort();
            assert_eq!(found, [$(stringify!($name)),*]);
        }
    };
}

examples! {
    false_sharing
    heat
    jacobi
    larger_than_memory
    linked_structure
    migratory_data
    moving_bodies
    producer_consumer
    slow_false_sharing
    slow_first_touch
    slow_stride
    stencil
    work_queue
}
