//! What all suites share: settings, builds, and runs in turns.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dsm_tests::execute;
use dsm_tests::toolchain::{self, Dsm};

use crate::report::{Row, Summary};

/// Flags of all programs.
pub const FLAGS: &str = "-O3 -march=native -fopenmp";

/// Longest time of a run.
const LIMIT: Duration = Duration::from_secs(1800);

/// Settings of a series of measurements.
#[derive(Debug)]
pub struct Bench {
    /// The commands under test.
    pub dsm: &'static Dsm,
    /// NPB class of the kernels.
    pub class: String,
    /// Runs of each program.
    pub runs: usize,
    /// Suites, or `suite/name`; all if empty.
    pub only: Vec<String>,
    /// For executables.
    pub directory: PathBuf,
}

/// One of the things that are run in turns.
pub struct Contender<'a> {
    /// How it is shown while it runs.
    pub label: String,
    /// A run: a sample of each of its figures.
    pub run: Box<dyn Fn() -> Result<Vec<f64>, String> + 'a>,
}

impl Bench {
    /// Whether any row of a suite is wanted.
    pub fn wants_suite(&self, suite: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|o| o.split('/').next() == Some(suite))
    }

    /// The names of those of `all` that are wanted of a suite.
    ///
    /// # Errors
    /// A sentence about a name that there is not.
    pub fn wanted<'a>(&self, suite: &str, all: &[&'a str]) -> Result<Vec<&'a str>, String> {
        let named = |o: &String| o.strip_prefix(suite)?.strip_prefix('/').map(str::to_owned);
        let names: Vec<String> = self.only.iter().filter_map(named).collect();
        if let Some(unknown) = names.iter().find(|name| !all.contains(&name.as_str())) {
            return Err(format!("{suite} has no {unknown}; it has {}", all.join(", ")));
        }
        let whole = self.only.is_empty() || self.only.iter().any(|o| o == suite);
        Ok(all.iter().copied().filter(|name| whole || names.iter().any(|n| n == name)).collect())
    }

    /// Runs all contenders in turns; the samples of each, figure by figure.
    ///
    /// # Errors
    /// Of the first run that fails.
    pub fn alternate(&self, contenders: &[Contender]) -> Result<Vec<Vec<Vec<f64>>>, String> {
        let mut samples: Vec<Vec<Vec<f64>>> = vec![vec![]; contenders.len()];
        for run in 0..self.runs {
            for (contender, samples) in contenders.iter().zip(&mut samples) {
                eprintln!("[{}/{}] {}", run + 1, self.runs, contender.label);
                let figures = (contender.run)()?;
                samples.resize(figures.len().max(samples.len()), vec![]);
                for (sample, figure) in samples.iter_mut().zip(figures) {
                    sample.push(rounded(figure));
                }
            }
        }
        Ok(samples)
    }

    /// The launcher, for a program in a layout of processes and threads.
    pub fn launch(&self, program: &Path, layout: Layout) -> Command {
        let mut command = Command::new(&self.dsm.run);
        command.args(["-n", &layout.processes.to_string(), "-t", &layout.threads.to_string()]).arg(program);
        execute::hide_own_variables(&mut command);
        command
    }

    /// The launcher, for a program with a process on each of two hosts, which are addresses of this machine: between them is TCP.
    ///
    /// # Errors
    /// The remote shell, a script that runs commands here, cannot be written.
    pub fn launch_on_two_hosts(&self, program: &Path) -> Result<Command, String> {
        let shell = self.directory.join("remote-shell");
        fs::write(&shell, "#!/bin/sh\nshift\nexec sh -c \"$*\"\n")
            .and_then(|()| fs::set_permissions(&shell, Permissions::from_mode(0o755)))
            .map_err(|error| format!("{}: {error}", shell.display()))?;
        let mut command = Command::new(&self.dsm.run);
        command.arg("--rsh").arg(&shell).args(["-H", "127.0.0.1:1,127.0.0.2:1"]).arg(program);
        execute::hide_own_variables(&mut command);
        Ok(command)
    }

    /// Builds a target of the Makefile in `npb`.
    ///
    /// # Errors
    /// What the compiler said.
    pub fn make(&self, target: &str, compiler: &str, flags: &str) -> Result<PathBuf, String> {
        let tag = Path::new(compiler).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let place = self.directory.join(tag + &flags.replace(|c: char| !c.is_ascii_alphanumeric(), ""));
        let mut command = Command::new("make");
        command.args(["-B", "-s", "-C"]).arg(toolchain::workspace().join("npb")).arg(target);
        command.args([
            format!("CLASS={}", self.class),
            format!("CC={compiler}"),
            format!("CFLAGS={flags}"),
            format!("BINDIR={}", place.display()),
        ]);
        output(&mut command)?;
        Ok(place.join(format!("{target}.{}", self.class)))
    }

    /// Compiles a program of one source.
    ///
    /// # Errors
    /// What the compiler said.
    pub fn compile(&self, source: &Path, compiler: &str, flags: &str) -> Result<PathBuf, String> {
        let stem = source.file_stem().unwrap_or_default().to_string_lossy();
        let tag = Path::new(compiler).file_name().unwrap_or_default().to_string_lossy();
        let tag = format!("{tag}{}", flags.replace(|c: char| !c.is_ascii_alphanumeric(), ""));
        let program = self.directory.join(format!("{stem}-{tag}"));
        let mut command = Command::new(compiler);
        command.args(flags.split_whitespace()).arg(source).arg("-o").arg(&program).arg("-lm");
        output(&mut command)?;
        Ok(program)
    }

    /// The compiler under test.
    pub fn compiler(&self) -> String {
        self.dsm.cc.display().to_string()
    }
}

/// Processes and threads of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Number of processes.
    pub processes: u32,
    /// Threads of a process.
    pub threads: u32,
}

impl Layout {
    /// As options and tables have it.
    pub fn name(self) -> String {
        format!("{}x{}", self.processes, self.threads)
    }
}

/// One process of one thread.
pub const ALONE: Layout = Layout { processes: 1, threads: 1 };
/// Two threads of one process.
pub const THREADS: Layout = Layout { processes: 1, threads: 2 };
/// Two processes of one thread.
pub const PROCESSES: Layout = Layout { processes: 2, threads: 1 };

/// A program of the plain compiler with so many threads.
pub fn plain(program: &Path, threads: u32) -> Command {
    let mut command = Command::new(program);
    command.env("OMP_NUM_THREADS", threads.to_string());
    command
}

/// Runs a command; what it prints on standard output, and on standard error.
///
/// # Errors
/// How it failed, with what it said.
pub fn output(command: &mut Command) -> Result<(String, String), String> {
    let outcome = execute::run(command, "", LIMIT);
    if outcome.status == Some(0) {
        return Ok((outcome.text(), outcome.errors()));
    }
    let how = match outcome.status {
        Some(status) => format!("ended with status {status}"),
        None => format!("ran for more than {} s", LIMIT.as_secs()),
    };
    Err(format!("{command:?} {how}:\n{}{}", outcome.text(), outcome.errors()))
}

/// Runs a program; the number that it says behind a name.
///
/// # Errors
/// It fails, or says none.
pub fn figure(command: &mut Command, name: &str) -> Result<Vec<f64>, String> {
    let text = output(command)?.0;
    let value = last_number(&text, name);
    value.map(|value| vec![value]).ok_or_else(|| format!("{command:?} says nothing of {name}:\n{text}"))
}

/// What stands behind `label` at the begin of a line, its last word, as a number.
pub fn last_number(text: &str, label: &str) -> Option<f64> {
    let line = text.lines().map(str::trim).find(|line| line.starts_with(label))?;
    line.split_whitespace().last()?.parse().ok()
}

/// Four significant digits: more are noise, and make files long.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number was printed")
}

/// Medians of counters over runs.
pub fn median(sample: &[f64]) -> f64 {
    Summary::of(sample).map_or(0.0, |summary| summary.median)
}

/// What a suite has to say of each row when it is done.
pub fn show(row: &Row) {
    let ratio =
        row.ratio().map_or("-".to_owned(), |r| format!("{:.2} ({:.2} to {:.2})", r.median, r.low, r.high));
    println!(
        "{:32} {:>12.4} {:2} {:>12.4} {:2}  ratio {ratio}",
        row.key(),
        median(&row.measured),
        row.unit,
        median(&row.reference),
        row.unit
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_and_rounded() {
        let text = "header 7\n Time in seconds =    12.34\n";
        assert_eq!(last_number(text, "Time in seconds"), Some(12.34));
        assert_eq!(last_number(text, "Mop/s"), None);
        assert_eq!(rounded(123_456.0), 123_500.0);
        assert_eq!(rounded(-0.000_012_344), -0.000_012_34);
    }
}
