//! The launcher: starts the processes of a job, passes signals on, and ends all of them together.
//!
//! Invariants: a job ends with at most one message; when the launcher returns, none of the processes that the job
//! started is left, grandchildren included; shared memory lives in memory files that only the job's processes hold.
//!
//! `options` is the command line, [`environment`] the table of variables for its `--help-env`, `program` finds and judges the program,
//! `spawn` starts processes, `streams` connects them, `verdict` decides what an ended process means, `watch` waits and cleans up, `label` prefixes output.

pub mod environment;
mod label;
mod options;
mod program;
mod spawn;
mod streams;
mod verdict;
mod watch;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use options::Options;

/// Why a job was not started. The exit statuses are those of a shell.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("{}: no such file{hint}", program.display())]
    NotFound { program: PathBuf, hint: String },
    #[error("{}: {reason}", program.display())]
    CannotRun { program: PathBuf, reason: String },
    #[error("cannot {what}: {source}")]
    System { what: &'static str, source: io::Error },
    #[error("cannot start process {rank} of {}: {source}{hint}", program.display())]
    Start { rank: u32, program: PathBuf, hint: &'static str, source: io::Error },
}

impl Error {
    fn exit_status(&self) -> u8 {
        match self {
            Error::NotFound { .. } => 127,
            Error::CannotRun { .. } => 126,
            Error::System { .. } => 1,
            Error::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
            Error::Start { .. } => 126,
        }
    }
}

/// Runs the launcher on the process's arguments.
pub fn main() -> ExitCode {
    let options = Options::read(std::env::args_os()).unwrap_or_else(|error| error.exit());
    if options.help_env {
        // Nobody needs what a closed pipe does not take.
        let _ = io::stdout().write_all(environment::help().as_bytes());
        return ExitCode::SUCCESS;
    }
    match run(&options) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("dsm-run: {error}");
            ExitCode::from(error.exit_status())
        }
    }
}

fn run(options: &Options) -> Result<u8, Error> {
    let program = program::find(options.program())?;
    if !options.unchecked {
        program::check(&program)?;
    }
    let signals = watch::Signals::take()?;
    let mut job = spawn::start(options, &program, signals.before)?;
    let label = job.take_outputs().map(label::Forwarder::start).transpose()?;
    let status = watch::until_end(&job, &signals);
    if let Some(label) = label {
        label.finish();
    }
    Ok(status)
}
