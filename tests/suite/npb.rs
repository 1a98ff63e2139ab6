//! The NPB kernels verify in classes S and W, the applications in class S, whatever the number of processes and threads.

use dsm_tests::compile::Built;
use dsm_tests::compile::{Target, shell_line};
use dsm_tests::differential::run_command;
use dsm_tests::execute;
use dsm_tests::matrix::{Build, Shape};
use dsm_tests::program::Program;
use dsm_tests::toolchain;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

const LAYOUTS: [Shape; 5] =
    [Shape::new(1, 1), Shape::new(2, 1), Shape::new(1, 2), Shape::new(2, 2), Shape::new(4, 1)];

/// Two runs of make in one directory would race for its intermediate files.
static MAKE: Mutex<()> = Mutex::new(());

/// Builds a kernel in a directory of the scratch directory.
pub fn build(kernel: &str, class: &str, directory: &str) -> Built {
    let bin = toolchain::scratch().join(directory);
    std::fs::create_dir_all(&bin).expect("scratch directory can be made");
    let target = Target::Dsm(Build { level: 3, line: 64 });
    let compiler = target.toolchain().map_or_else(toolchain::clang, |dsm| dsm.cc.display().to_string());
    let mut make = Command::new("make");
    make.arg("-C").arg(toolchain::workspace().join("npb")).arg(kernel);
    make.args([&format!("CLASS={class}"), &format!("CC={compiler}"), "CFLAGS=-O3 -fopenmp"]);
    make.arg(format!("BINDIR={}", bin.display()));
    let path = bin.join(format!("{kernel}.{class}"));
    let outcome = {
        let _one_at_a_time = MAKE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = std::fs::remove_file(&path);
        execute::run(&mut make, "", Duration::from_secs(300))
    };
    assert_eq!(outcome.status, Some(0), "{}\n{}{}", shell_line(&make), outcome.text(), outcome.errors());
    Built { path, command: shell_line(&make) }
}

fn verify(kernel: &str, class: &str) {
    let built = build(kernel, class, "npb");
    let target = Target::Dsm(Build { level: 3, line: 64 });
    let mut failures = Vec::new();
    for shape in LAYOUTS {
        let mut command = run_command(&built, target, shape, &Program::default());
        let outcome = execute::run(&mut command, "", Duration::from_secs(180));
        let text = outcome.text();
        let verified = text.lines().any(|l| l.contains("Verification") && l.contains("SUCCESSFUL"));
        if outcome.status != Some(0) || !verified || text.contains("UNSUCCESSFUL") {
            let status = outcome.status;
            failures.push(format!(
                "{kernel}.{class} {shape}: status {status:?}\n  {}\n  {}\n{text}{}",
                built.command,
                shell_line(&command),
                outcome.errors()
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

macro_rules! kernels {
    ($($test:ident $kernel:literal $class:literal)*) => {
        $(#[test] fn $test() { verify($kernel, $class); })*
    };
}

kernels! {
    ep_s "ep" "S"
    ep_w "ep" "W"
    cg_s "cg" "S"
    cg_w "cg" "W"
    is_s "is" "S"
    is_w "is" "W"
    mg_s "mg" "S"
    mg_w "mg" "W"
    ft_s "ft" "S"
    ft_w "ft" "W"
    bt_s "bt" "S"
    sp_s "sp" "S"
    lu_s "lu" "S"
    ua_s "ua" "S"
}
