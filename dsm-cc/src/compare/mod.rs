//! `dsm-compare`: builds each OpenMP source of a directory with the plain compiler and with dsm-cc, runs both, and
//! prints where they differ.
//!
//! Invariants: only programs that the plain compiler builds and that then succeed are judged; everything is written into one
//! temporary directory, which goes with the command; no program outlives its time limit or the command.
//!
//! [`options`] is the command line, [`sources`] finds the programs, [`judge`] compares one program, [`report`]
//! writes table and JSON.

mod judge;
mod options;
mod report;
mod sources;

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::tools::{self, Tools};
use crate::{execute, say};
use judge::{Judge, Verdict};
use options::Options;
use report::Report;

/// Why nothing was compared.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot {what}: {source}")]
    System { what: String, source: std::io::Error },
    #[error("no C, C++ or Fortran source in {}", .0.display())]
    NoSources(PathBuf),
    #[error(transparent)]
    Tools(#[from] tools::Error),
    #[error("interrupted")]
    Interrupted,
}

/// Runs the command on the process's arguments: status 0 if nothing differs, 1 if something does, 2 if nothing could be compared.
pub fn main() -> ExitCode {
    let options = Options::read();
    match run(&options) {
        Ok(report) => ExitCode::from(u8::from(report.differences() > 0)),
        Err(error) => {
            eprintln!("dsm-compare: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<Report, Error> {
    let system = |what: String| move |source| Error::System { what, source };
    execute::catch_signals().map_err(|error| system("catch signals".into())(error.into()))?;
    let mut sources = Vec::new();
    for path in &options.paths {
        let found = sources::under(path).map_err(system(format!("read {}", path.display())))?;
        if found.is_empty() {
            return Err(Error::NoSources(path.clone()));
        }
        sources.extend(found);
    }
    let directory = tempfile::Builder::new()
        .prefix("dsm-compare-")
        .tempdir()
        .map_err(system("make a temporary directory".into()))?;
    let judge = Judge::new(options, directory.path(), Tools::find("dsm-compare")?);
    // A file that cannot be written to ends the comparison before the programs have run.
    let json = match &options.json {
        Some(path) => {
            let file = File::create(path).map_err(system(format!("write {}", path.display())))?;
            Some((path, file))
        }
        None => None,
    };
    let verdicts = in_parallel(options.jobs(), sources.len(), |i| {
        let verdict = judge.judge(i, &sources[i]);
        if !options.quiet {
            eprintln!("{}", report::progress(&sources[i].path, &verdict));
        }
        verdict
    });
    if execute::interrupted() {
        return Err(Error::Interrupted);
    }
    let report = Report::new(options, sources.into_iter().zip(verdicts).collect());
    if let Some((path, mut file)) = json {
        file.write_all(report.json().as_bytes()).map_err(system(format!("write {}", path.display())))?;
    }
    say(&report.to_string()).map_err(system("write to standard output".into()))?;
    Ok(report)
}

/// `work` of each of `0..count`, some at a time, in order.
fn in_parallel(width: usize, count: usize, work: impl Fn(usize) -> Verdict + Sync) -> Vec<Verdict> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..width.min(count) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= count || execute::interrupted() {
                        return;
                    }
                    let verdict = work(i);
                    done.lock().expect("no thread panics with the lock").push((i, verdict));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panics with the lock");
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, verdict)| verdict).collect()
}
