//! Benchmarks with a memory: what is measured is kept, shown, and compared with what was measured before.
//!
//! A report ([`report`]) is made of rows that suites ([`suites`]) measure in turns with their references, on a machine that it describes ([`machine`]). It is shown
//! as a table ([`table`]) and a picture ([`plot`]), and two of them are compared row by row ([`mod@compare`]).

mod bench;
mod compare;
mod machine;
mod plot;
mod report;
mod suites;
mod table;
#[cfg(test)]
mod testing;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use dsm_tests::toolchain;

use bench::Bench;
use machine::Machine;
use report::Report;
use suites::SUITES;

/// Measures dsm-cc and its runtime against references of the same run, and compares results.
#[derive(Parser)]
#[command(name = "dsm-bench")]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure, and write bench.json, bench.md and bench.svg
    Run(Run),
    /// Compare two results row by row; the status is 1 if a row became worse by more than noise
    Compare {
        /// The result from before
        old: PathBuf,
        /// The result from now
        new: PathBuf,
    },
    /// Write the table and the plot of a result anew
    Show {
        /// The result
        report: PathBuf,
        /// Directory of the files
        #[arg(long, default_value = ".")]
        out: PathBuf,
    },
}

#[derive(Args)]
struct Run {
    /// NPB class of the kernels
    #[arg(long, default_value = "A", value_parser = ["S", "W", "A", "B", "C"])]
    class: String,
    /// Runs of each program, in turns with its reference
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Suites (micro, constructs, kernels, mpi, operations, variants, arrays, hosts, paging), or single rows of them such as kernels/cg; all unless given
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Directory of the files
    #[arg(long, default_value = ".")]
    out: PathBuf,
}

fn main() -> ExitCode {
    let outcome = match Options::parse().command {
        Command::Run(options) => run(options),
        Command::Compare { old, new } => compare(&old, &new),
        Command::Show { report, out } => {
            Report::read(&report).and_then(|r| write(&r, &out)).map(|()| ExitCode::SUCCESS)
        }
    };
    outcome.unwrap_or_else(|message| {
        eprintln!("dsm-bench: {message}");
        ExitCode::from(2)
    })
}

fn run(options: Run) -> Result<ExitCode, String> {
    let only: Vec<String> = options.only.into_iter().filter(|o| !o.is_empty()).collect();
    let known = |o: &&String| SUITES.iter().any(|s| o.split('/').next() == Some(s.name));
    if let Some(unknown) = only.iter().find(|o| !known(o)) {
        let names: Vec<&str> = SUITES.iter().map(|s| s.name).collect();
        return Err(format!("no suite {unknown}; there are {}", names.join(", ")));
    }
    let dsm = toolchain::dsm().ok_or("DSM_TEST_NATIVE=1 leaves nothing to measure; unset it")?;
    let directory = dsm_tests::execute::Scratch::directory("bench");
    let runs = options.runs as usize;
    let bench = Bench { dsm, class: options.class, runs, only, directory: directory.path().to_owned() };
    let machine = Machine::describe(&toolchain::clang());
    let mut report = Report { machine, class: bench.class.clone(), runs, left_out: vec![], rows: vec![] };
    for suite in SUITES.iter().filter(|s| bench.wants_suite(s.name)) {
        if let Some(reason) = (suite.hindrance)() {
            eprintln!("dsm-bench: {} is left out: {reason}", suite.name);
            report.left_out.push(format!("{}: {reason}", suite.name));
            continue;
        }
        (suite.run)(&bench, &mut report.rows)?;
        report.machine.finish();
        // After each suite: what is measured is kept if a later one fails.
        write(&report, &options.out)?;
    }
    write(&report, &options.out)?;
    Ok(ExitCode::SUCCESS)
}

fn write(report: &Report, directory: &Path) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|e| format!("cannot make {}: {e}", directory.display()))?;
    for (ending, text) in
        [("json", report.json()), ("md", table::markdown(report)), ("svg", plot::svg(report)?)]
    {
        let path = directory.join(format!("bench.{ending}"));
        fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    Ok(())
}

fn compare(old: &Path, new: &Path) -> Result<ExitCode, String> {
    let (old, new) = (Report::read(old)?, Report::read(new)?);
    if old.class != new.class {
        eprintln!("dsm-bench: warning: kernels are of class {} and of class {}", old.class, new.class);
    }
    let comparison = compare::compare(&old, &new);
    print!("{}", comparison.table());
    Ok(ExitCode::from(u8::from(comparison.is_worse())))
}
