//! Kernels on two processes against their counterparts with MPI (`npb/mpi`).
//!
//! `MPICC` and `MPIRUN` name the MPI library's commands (mpicc, mpirun), the second with its options.

use std::process::Command;

use dsm_tests::toolchain;

use super::kernels::Kernel;
use super::row;
use crate::bench::{Bench, Contender, FLAGS, PROCESSES, last_number, output, show};
use crate::report::Row;

pub const NAME: &str = "mpi";
pub const ABOUT: &str = "Kernels on two processes, against the same ones written with MPI on two processes.";

const ALL: [&str; 4] = ["cg", "is", "mg", "ft"];

pub fn compiler() -> String {
    std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned())
}

/// The launcher's name and options.
pub fn launcher() -> Vec<String> {
    let text = std::env::var("MPIRUN").unwrap_or_else(|_| "mpirun".to_owned());
    text.split_whitespace().map(str::to_owned).collect()
}

/// The launcher, for a program with so many processes.
pub fn command(processes: u32, options: &[&str]) -> Command {
    let words = launcher();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(options).args(["-n", &processes.to_string()]);
    command
}

pub fn hindrance() -> Option<String> {
    let starts = |name: &String| Command::new(name).arg("--version").output().is_ok();
    let words = launcher();
    let names = [compiler(), words.first().cloned().unwrap_or_default()];
    if let Some(missing) = names.into_iter().find(|name| !starts(name)) {
        return Some(format!(
            "no {missing}; install an MPI library for C (Debian: openmpi-bin, libopenmpi-dev) or set MPICC and MPIRUN"
        ));
    }
    let mut command = Command::new(&words[0]);
    let started =
        command.args(&words[1..]).args(["-n", "2", "true"]).output().is_ok_and(|o| o.status.success());
    (!started).then(|| {
        format!(
            "{command:?} fails; give it options by MPIRUN, as root of Open MPI 'mpirun --allow-run-as-root'"
        )
    })
}

pub fn run(bench: &Bench, rows: &mut Vec<Row>) -> Result<(), String> {
    for name in bench.wanted(NAME, &ALL)? {
        let ours = Kernel::build(bench, name, &bench.compiler(), FLAGS)?;
        let target = format!("mpi-{name}");
        let theirs = bench.make(&target, &toolchain::clang(), FLAGS)?;
        let title = ours.title(&bench.class);
        let mpi = Contender {
            label: format!("{title} MPI"),
            run: Box::new(|| {
                let mut command = command(2, &[]);
                let text = output(command.arg(&theirs))?.0;
                let seconds = last_number(&text, "Time in seconds");
                let verified = text.contains("SUCCESSFUL") && !text.contains("UNSUCCESSFUL");
                seconds
                    .filter(|_| verified)
                    .map(|s| vec![s])
                    .ok_or(format!("{command:?} does not verify:\n{text}"))
            }),
        };
        let dsm = Contender {
            label: format!("{title} 2x1"),
            run: Box::new(|| Ok(vec![ours.time(&mut ours.launch(bench, PROCESSES))?.0])),
        };
        let samples = bench.alternate(&[mpi, dsm])?;
        let row = row(NAME, &title, "2x1", "s", &samples[1][0], ("MPI", &samples[0][0]));
        show(&row);
        rows.push(row);
    }
    Ok(())
}
