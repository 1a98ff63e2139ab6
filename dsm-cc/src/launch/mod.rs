//! The launcher: starts the processes of a job, passes signals on, and ends all of them together.
//!
//! Invariants: a job ends with at most one message; when the launcher returns, none of the processes that the job
//! started is left, grandchildren included; shared memory lives in memory files that only the job's processes hold.
//!
//! `options` is the command line, [`environment`] the table of variables for its `--help-env`, `program` finds and judges the program, `bind` chooses processors, `transports` lists how memory is reached,
//! `spawn` starts processes, `streams` connects them, `verdict` decides what an ended process means, `watch` waits and cleans up, [`looks`] answers `dsm-top`, `label` prefixes output, `output`
//! writes that of several hosts, which `merge` makes one stream of, [`trace`] writes traces.
//!
//! Where the command line names hosts ([`hosts`]), the launcher is the [`head`] of a job: on each host it starts itself once more as a [`daemon`], which does
//! there what the launcher does for a job of its own. The two talk in the messages of [`control`]; [`connect`] joins processes of different hosts, and the [`lines`] by
//! which a host that is cut off is noticed; [`collect`] brings files that processes write to the head.
//!
//! Where another launcher has started the processes, [`pmix`] makes a job of them.

mod bind;
mod collect;
mod connect;
pub(crate) mod control;
mod daemon;
pub mod environment;
mod facts;
mod head;
mod hosts;
mod label;
mod lines;
pub(crate) mod looks;
mod merge;
mod options;
mod output;
mod pmix;
pub(crate) mod program;
mod spawn;
mod streams;
mod trace;
mod transports;
mod verdict;
mod watch;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::say;
use bind::Binding;
use connect::Sockets;
use environment::Variables;
use looks::Looks;
use options::Options;
use streams::Streams;
use trace::Tracer;

/// Why a job was not started. The exit statuses are those of a shell.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{}: no such file{hint}", program.display())]
    NotFound { program: PathBuf, hint: String },
    #[error("{}: {reason}", program.display())]
    CannotRun { program: PathBuf, reason: String },
    #[error("cannot {what}: {source}")]
    System { what: &'static str, source: io::Error },
    #[error("cannot start process {rank} of {}: {source}{hint}", program.display())]
    Start { rank: u32, program: PathBuf, hint: &'static str, source: io::Error },
    #[error("{0}")]
    Usage(String),
    #[error(
        "the directory {} cannot be entered on {host}: {source}; all hosts need the directory that dsm-run is started in",
        directory.display()
    )]
    Directory { directory: PathBuf, host: String, source: io::Error },
    #[error("{} cannot be written to: {source}; name another file", path.display())]
    Collected { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Connect(String),
    #[error("{0}")]
    Hosts(String),
    #[error("this process was started by a process manager (PMIx), but cannot join the others: {0}")]
    Manager(String),
    #[error("{host}: {message}")]
    Host { host: String, message: String, status: u8 },
}

impl Error {
    fn exit_status(&self) -> u8 {
        match self {
            Error::NotFound { .. } => 127,
            Error::CannotRun { .. } => 126,
            Error::System { .. }
            | Error::Directory { .. }
            | Error::Collected { .. }
            | Error::Connect(_)
            | Error::Hosts(_)
            | Error::Manager(_) => 1,
            Error::Usage(_) => 2,
            Error::Host { status, .. } => *status,
            Error::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
            Error::Start { .. } => 126,
        }
    }
}

/// Runs the launcher on the process's arguments.
pub fn main() -> ExitCode {
    let options = Options::read(std::env::args_os()).unwrap_or_else(|error| error.exit());
    if options.daemon {
        return daemon::main();
    }
    match act(&options) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("dsm-run: {error}");
            ExitCode::from(error.exit_status())
        }
    }
}

/// Does what the options say; gives the exit status.
fn act(options: &Options) -> Result<u8, Error> {
    if options.help_env {
        return print(&environment::help());
    }
    if options.transports {
        return print(&transports::list());
    }
    if options.spill_has_no_effect(|name| std::env::var_os(name).is_some()) {
        return Err(Error::Usage("--spill has no effect without --memory (DSM_MEMORY)".into()));
    }
    if options.pmix {
        return pmix::run(options);
    }
    match head::placements(options)? {
        None => run(options),
        Some(placements) => head::run(options, placements),
    }
}

/// Answers a question.
fn print(text: &str) -> Result<u8, Error> {
    say(text).map_err(|source| Error::System { what: "write to standard output", source })?;
    Ok(0)
}

/// Variables that stand for options.
fn settings(options: &Options) -> Result<impl Iterator<Item = (OsString, OsString)>, Error> {
    let failed = |source| Error::System { what: "name this directory", source };
    let all = options.settings().map_err(failed)?;
    Ok(all.into_iter().map(|(name, value)| (name.into(), value)))
}

/// Tells the user that processes are not bound as wanted.
fn warn(host: Option<&str>, binding: &Binding) {
    let place = host.map(|host| format!("{host}: ")).unwrap_or_default();
    eprintln!("dsm-run: warning: {place}{binding}");
}

/// Runs a job on this host.
fn run(options: &Options) -> Result<u8, Error> {
    let program = program::find(options.program(), &std::env::var_os("PATH").unwrap_or_default())?;
    if !options.unchecked {
        program::check(&program)?;
    }
    let mut named = Variables::new();
    environment::add_named(&mut named, &options.variables).map_err(Error::Usage)?;
    named.extend(settings(options)?);
    let mut all: Variables = environment::forwarded();
    all.extend(named.clone());
    let processes = options.processes.unwrap_or(1);
    let ranks = 0..processes;
    let streams = Streams::new(processes, ranks.clone(), Sockets::new(), environment::has_streams(&all));
    let signals = watch::Signals::take()?;
    let start = |wish| Tracer::start(&wish, options.program(), ranks.clone());
    let tracer = options.trace_wish().map(start).transpose()?;
    let threads = options.threads.unwrap_or(1);
    let binding = Binding::here(options.bind, ranks.clone(), threads);
    let plan = spawn::Plan {
        program: &program,
        name: options.program(),
        arguments: options.arguments(),
        processes,
        ranks: ranks.clone(),
        files: &|_| tracer.iter().map(Tracer::inherited).collect(),
        threads,
        binding: &binding,
        environment: named.into_iter().map(|(name, value)| (name, Some(value))).collect(),
        has_outputs: options.label,
        has_input: false,
        mask: signals.before,
    };
    if binding.is_short {
        warn(None, &binding);
    }
    if options.verbose {
        eprintln!("dsm-run: {binding}");
    }
    let mut job = spawn::start(&plan, streams)?;
    let mut looks = Looks::new(options.program());
    looks.open();
    let label = job.take_outputs().map(label::Forwarder::start).transpose()?;
    let status = watch::until_end(&mut watch::Local { job: &job, signals: &signals, looks });
    if let Some(label) = label {
        label.finish();
    }
    if let Some(tracer) = tracer {
        tracer.finish();
    }
    Ok(status)
}
