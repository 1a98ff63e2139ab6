//! `dsm-top`: shows what the processes of a running job do.
//!
//! `jobs` finds the job and asks its launcher (`launch::looks`) for what the processes have left of themselves, twice; [`report`] makes of two looks what
//! happened in between, with `names` for addresses and `waits` for who waits for whom; `table` writes it for people.

mod jobs;
mod names;
mod report;
mod table;
mod waits;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::Parser;

use jobs::{Error, Job};
use report::Report;

/// Shows what the processes of a running job do: on what they spend their time, how much they miss, which variable that is, and who waits for whom.
///
/// Times and rates are those of the last interval. To look costs the processes about as much as DSM_STATS=1 does, until ten seconds after the last look; a
/// job that nobody looks at pays next to nothing.
///
/// The exit status is 0 if the job ended while it was shown, 1 if there is no such job, 2 if the command line is wrong.
#[derive(Debug, Parser)]
#[command(name = "dsm-top", version, max_term_width = 100)]
struct Options {
    /// Process id of dsm-run, or name of the program; without it the only job, or a list of all that run
    job: Option<String>,

    /// Show one interval, and end
    #[arg(short = '1', long)]
    once: bool,

    /// Write each interval as one line of JSON
    #[arg(long)]
    json: bool,

    /// Seconds of an interval
    #[arg(short, long, value_name = "SECONDS", default_value_t = 1.0, value_parser = interval)]
    interval: f64,
}

fn interval(text: &str) -> Result<f64, String> {
    let parsed = text.parse().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    parsed.ok_or_else(|| "a number of seconds from 0.1 to 3600".into())
}

/// Runs `dsm-top` on the process's arguments.
pub fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dsm-top: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Error> {
    let own = jobs::running();
    let job = match &options.job {
        Some(name) => jobs::find(&own, name)?,
        None => match own.as_slice() {
            [job] => job,
            _ => return list(&own),
        },
    };
    let interval = Duration::from_secs_f64(options.interval);
    let mut is_shown = false;
    loop {
        match observe(job, interval) {
            Ok(report) => show(&report, options)?,
            Err(Error::Ended { .. }) if is_shown => {
                // To standard error: the table, or the JSON, is the output.
                eprintln!("dsm-top: {job} has ended");
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        is_shown = true;
        if options.once {
            return Ok(());
        }
    }
}

/// What happens within an interval that begins now.
fn observe(job: &Job, interval: Duration) -> Result<Report, Error> {
    let before = job.look()?;
    thread::sleep(interval);
    let after = job.look()?;
    Ok(Report::new(job.launcher, &before, &after))
}

fn list(jobs: &[Job]) -> Result<(), Error> {
    let text = match jobs {
        [] => "no job of this user is running\n".to_owned(),
        _ => jobs.iter().map(|job| format!("{:>8}  {}\n", job.launcher, job.program)).collect(),
    };
    write(&text)
}

fn show(report: &Report, options: &Options) -> Result<(), Error> {
    if options.json {
        return write(&(serde_json::to_string(report).expect("numbers and strings") + "\n"));
    }
    let text = table::text(report);
    match options.once || !io::stdout().is_terminal() {
        true => write(&text),
        // From the upper left corner; what was there is erased line by line, which does not flicker.
        false => write(&format!("\x1b[H{}\x1b[J", text.replace('\n', "\x1b[K\n"))),
    }
}

/// Nobody needs what a closed pipe does not take.
fn write(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        result => result.map_err(Error::Output),
    }
}

/// In the launcher: writes a table about its own job to standard error, a second later, from a thread of its own.
pub fn print_own() {
    let print = || {
        let own = std::process::id().cast_signed();
        let found = jobs::running().into_iter().find(|job| job.launcher == own);
        let found = found.ok_or(Error::Deaf);
        let text =
            found.and_then(|job| observe(&job, Duration::from_secs(1))).map(|report| table::text(&report));
        match text {
            Ok(text) => eprint!("{text}"),
            Err(Error::Ended { .. }) => {}
            Err(error) => eprintln!("dsm-run: {error}"),
        }
    };
    if let Err(error) = thread::Builder::new().name("look".into()).spawn(print) {
        eprintln!("dsm-run: cannot start a thread that looks at the job: {error}");
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_book_has_every_option() {
        crate::assert_documented(&Options::command());
    }
}
