//! The pass can be found out: for each of its seeded faults there is a program in `faults/` whose build with that fault is seen to be wrong,
//! and whose build without it is seen to be right.
//!
//! The program says how many processes and threads it needs (`//@ layout:`) and by what the fault is seen (`//@ found:`): by an assertion of
//! `-fdsm-verify`; by its output, where an assertion cannot see it; by `DSM_GUARD`, where a library's function does what is wrong. `elsewhere` are
//! those that `llvm-pass/tests/filecheck.rs` and the suite `driver` find.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use dsm_tests::compile::shell_line;
use dsm_tests::execute::{self, Outcome, Scratch};
use dsm_tests::toolchain;

/// Faults that only the code of the pass shows, and those by which no code comes out (suite `driver`).
const ELSEWHERE: [&str; 4] = ["state-order", "invalid-code", "fatal-code", "crash"];

struct Case {
    name: String,
    source: PathBuf,
    layout: (String, String),
    found: String,
    flags: Vec<String>,
}

impl Case {
    fn read(source: PathBuf) -> Case {
        let text = std::fs::read_to_string(&source).expect("a program can be read");
        let direction = |key: &str| {
            let found = text.lines().find_map(|l| l.strip_prefix(&format!("//@ {key}: ")));
            found.unwrap_or_default().to_owned()
        };
        let layout = direction("layout");
        let (processes, threads) = layout.split_once('x').expect("a layout is PROCESSESxTHREADS");
        let mut flags: Vec<String> = direction("flags").split_whitespace().map(String::from).collect();
        if !flags.iter().any(|f| f.starts_with("-fdsm-line")) {
            flags.push("-fdsm-line=64".into());
        }
        let name = source.file_stem().expect("it has a name").to_string_lossy().into_owned();
        let layout = (processes.to_owned(), threads.to_owned());
        Case { name, source, layout, found: direction("found"), flags }
    }

    /// Compiles it with further flags and runs it.
    fn run(&self, directory: &Scratch, flags: &[&str], guard: bool) -> (Outcome, String) {
        let dsm = toolchain::dsm().expect("looked at before");
        let executable = directory.path().join(&self.name);
        let mut compiler = Command::new(&dsm.cc);
        compiler.args(["-O2", "-g", "-w", "-fopenmp"]).args(&self.flags).args(flags);
        compiler.arg(&self.source).arg("-o").arg(&executable);
        let compiled = execute::run(&mut compiler, "", Duration::from_secs(120));
        assert_eq!(compiled.status, Some(0), "{}\n{}", shell_line(&compiler), compiled.errors());
        let mut command = Command::new(&dsm.run);
        command.args(["-n", &self.layout.0, "-t", &self.layout.1]).arg(&executable);
        if guard {
            command.env("DSM_GUARD", "1");
        }
        let outcome = execute::run(&mut command, "", execute::time_limit());
        let commands =
            format!("  {}\n  {}\n{}", shell_line(&compiler), shell_line(&command), outcome.errors());
        (outcome, commands)
    }

    /// What is wrong with the test's result, if anything.
    fn check(&self) -> Result<(), String> {
        let directory = Scratch::directory("faults");
        let clean = if self.found == "verify" { &["-fdsm-verify"][..] } else { &[] };
        let guard = self.found == "guard";
        let (right, commands) = self.run(&directory, clean, guard);
        if right.status != Some(0) || !right.errors().is_empty() {
            return Err(format!("{}: seen without the fault\n{commands}", self.name));
        }
        let fault = format!("-fdsm-fault={}", self.name);
        let (wrong, commands) = self.run(&directory, &[clean, &[&fault]].concat(), guard);
        let errors = wrong.errors();
        let seen = match self.found.as_str() {
            "verify" => {
                let reports = errors.matches("dsm: error: verify: process ").count();
                let place = format!("{}.c:", self.name);
                wrong.status != Some(0)
                    && reports == 1
                    && errors.contains(&place)
                    && errors.contains("relied on")
            }
            "output" => wrong.stdout != right.stdout || wrong.status != Some(0),
            "guard" => errors.contains("dsm: guard: process 1: "),
            other => panic!("{}: found by {other}?", self.name),
        };
        if seen { Ok(()) } else { Err(format!("{}: not seen by {}\n{commands}", self.name, self.found)) }
    }
}

fn cases() -> Vec<Case> {
    let directory = toolchain::package().join("faults");
    let entries = std::fs::read_dir(directory).expect("the programs' directory can be read");
    let mut sources: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    sources.sort();
    sources.into_iter().map(Case::read).collect()
}

/// The cases whose number is `part` modulo 2.
fn find(part: usize) {
    if toolchain::dsm().is_none() {
        return;
    }
    let cases = cases();
    let chosen = cases.iter().enumerate().filter(|(i, _)| i % 2 == part).map(|(_, case)| case);
    let missed: Vec<String> = chosen.filter_map(|case| case.check().err()).collect();
    assert!(missed.is_empty(), "{} missed\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn every_other_fault_is_found() {
    find(0);
}

#[test]
fn the_other_faults_are_found() {
    find(1);
}

#[test]
fn each_fault_has_a_program() {
    let Some(dsm) = toolchain::dsm() else { return };
    let directory = Scratch::directory("faults");
    let source = directory.path().join("empty.c");
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("the scratch directory is writable");
    let mut compiler = Command::new(&dsm.cc);
    compiler.args(["-fdsm-fault=none", "-c"]).arg(&source).arg("-o").arg(source.with_extension("o"));
    let refused = execute::run(&mut compiler, "", Duration::from_secs(120));
    assert_ne!(refused.status, Some(0));
    let errors = refused.errors();
    let (_, known) = errors.split_once("`fault` knows ").expect("the message lists the faults");
    let (known, _) = known.split_once(';').expect("and ends");
    let known: BTreeSet<String> = known.split(", ").map(str::to_owned).collect();
    let tested = cases().into_iter().map(|c| c.name).chain(ELSEWHERE.map(String::from)).collect();
    assert_eq!(known, tested);
    assert!(known.len() >= 25, "{}", known.len());
}
