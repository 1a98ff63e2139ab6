//! `dsm-sweep`: runs a program with many block sizes and finds the best one, for all of it and for each variable.
//!
//! Invariants: a run counts only if it ends with status 0 and its verification is right; one that does not is kept with its output, and the others go on; a run
//! is in the journal as soon as it has ended, and no run in the journal is made again.
//!
//! [`options`] is the command line, [`programs`] finds or builds the program for each line size, [`plan`] says which runs there are, [`measure`] makes one of them,
//! [`store`] keeps what came of them, [`progress`] tells how far it is. From the journal, [`summary`] makes medians, [`choice`] block sizes by the model of
//! [`cost`] and the neighbourhood in [`pages`], [`comparison`] a verdict about them, and [`mod@report`] tables and the chart; [`machine`] says where it ran.

mod choice;
mod comparison;
mod cost;
mod machine;
mod measure;
mod options;
mod pages;
mod plan;
mod programs;
mod progress;
mod report;
mod store;
mod summary;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::tools::{self, Tools};
use crate::{execute, say};
use choice::Choice;
use machine::Machine;
use measure::Meter;
use options::Options;
use plan::{Purpose, Run, Setting};
use progress::Progress;
use report::Results;
use store::Store;

/// Exit status after an interruption, as of a shell.
const INTERRUPTED: u8 = 130;

/// Why there is nothing to report.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot {what}: {source}")]
    System { what: String, source: std::io::Error },
    #[error("{0}")]
    Program(String),
    #[error(transparent)]
    Tools(#[from] tools::Error),
    #[error(
        "the program has lines of {line} bytes; for others say how to build it: --build 'make CC={{cc}} CFLAGS={{flags}}'"
    )]
    NeedsBuild { line: u32 },
    #[error("`{command}` failed with {end}; its last lines:\n{errors}")]
    Build { command: String, end: String, errors: String },
    #[error(
        "{} was built with lines of {found} bytes instead of {line}: does the command of --build compile it anew, with {{flags}}?",
        program.display()
    )]
    WrongLine { program: PathBuf, found: u32, line: u32 },
    #[error(
        "no block size of --block is as large as a line of {line} bytes; add larger ones, or build with smaller lines (--line, --build)"
    )]
    NoBlocks { line: u32 },
    #[error(
        "{} holds the runs of a sweep with other options: {differences}; give the same ones to go on with it, or another directory (--out), or delete this one",
        directory.display()
    )]
    Options { directory: PathBuf, differences: String },
    #[error("{} is not empty and not of a sweep; name another directory (--out)", .0.display())]
    Foreign(PathBuf),
    #[error("another dsm-sweep works in {}; wait for it, or name another directory (--out)", .0.display())]
    Busy(PathBuf),
    #[error("{}:{line}: {error}; delete this line to have the run made again", path.display())]
    Journal { path: PathBuf, line: usize, error: String },
    #[error("the chart cannot be drawn: {0}")]
    Chart(String),
    #[error("interrupted; the same command goes on where this one stopped")]
    Interrupted,
}

impl Error {
    fn exit_status(&self) -> u8 {
        match self {
            Error::Interrupted => INTERRUPTED,
            _ => 2,
        }
    }
}

/// Runs the command on the process's arguments; see its help for the exit status.
pub fn main() -> ExitCode {
    let options = Options::read();
    match run(&options) {
        Ok(failed) => ExitCode::from(u8::from(failed > 0)),
        Err(error) => {
            eprintln!("dsm-sweep: {error}");
            ExitCode::from(error.exit_status())
        }
    }
}

/// Makes all runs that are missing and reports; gives the number of those that failed.
fn run(options: &Options) -> Result<usize, Error> {
    execute::catch_signals()
        .map_err(|error| Error::System { what: "catch signals".into(), source: error.into() })?;
    let tools = Tools::find("dsm-sweep")?;
    let mut identity = options.identity();
    identity["program"] = programs::digest(options)?.into();
    let mut store = Store::open(&options.directory(), &identity)?;
    let directory = store.directory().to_owned();
    let programs = programs::prepare(options, &tools, &directory)?;
    let lines: Vec<u32> = programs.keys().copied().collect();
    if let Some(line) = lines.iter().find(|line| options.block.0.last() < Some(line)) {
        return Err(Error::NoBlocks { line: *line });
    }
    let settings = plan::settings(options, &lines);
    let meter = Meter { options, tools: &tools, programs: &programs, directory: &directory };
    // Each setting of several processes has a comparison, unless its block file turns out to say nothing new.
    let several: Vec<Setting> = settings.iter().copied().filter(|s| s.processes > 1).collect();
    let comparisons = plan::comparison(options, &several.iter().map(|s| (*s, 0)).collect::<Vec<_>>());
    make(&meter, &mut store, &plan::uniform(options, &settings), &comparisons)?;
    let choices = choices(options, &store, &several);
    for choice in &choices {
        store.write(&measure::block_file(choice.setting), &choice.block_file(&options.name()))?;
    }
    let files: Vec<(Setting, u32)> =
        choices.iter().filter(|c| c.has_other_sizes()).map(|c| (c.setting, c.uniform)).collect();
    make(&meter, &mut store, &plan::comparison(options, &files), &[])?;
    meter.finish();
    report(options, &store, &identity, choices)
}

/// Makes those of the runs that are not in the journal; `later` are runs that come behind them.
fn make(meter: &Meter, store: &mut Store, runs: &[Run], later: &[Run]) -> Result<(), Error> {
    let mut progress = Progress::default();
    store.records().iter().for_each(|record| progress.note(record));
    let missing: Vec<Run> = runs.iter().copied().filter(|run| store.find(run).is_none()).collect();
    let before = store.records().len();
    let mut left: Vec<Run> = missing.iter().chain(later).copied().collect();
    let all = before + left.len();
    for (number, run) in missing.into_iter().enumerate() {
        let failed = |source| Error::System { what: format!("make the run {run}"), source };
        let record = meter.measure(run).map_err(failed)?.ok_or(Error::Interrupted)?;
        left.remove(0);
        progress.note(&record);
        if !meter.options.quiet || record.failure.is_some() {
            eprintln!("{}", progress.line(&record, before + number + 1, all, &left));
        }
        store.add(record).map_err(failed)?;
    }
    Ok(())
}

fn choices(options: &Options, store: &Store, settings: &[Setting]) -> Vec<Choice> {
    let summaries = summary::all(store.records(), Purpose::Time, &options.cost);
    settings.iter().filter_map(|s| choice::choose(*s, &summaries, options.by, &options.cost)).collect()
}

/// Writes everything that follows from the journal; gives the number of failed runs.
fn report(
    options: &Options,
    store: &Store,
    identity: &serde_json::Value,
    choices: Vec<Choice>,
) -> Result<usize, Error> {
    let records = store.records();
    let compared = summary::all(records, Purpose::Comparison, &options.cost);
    let mut command = options.name();
    for word in options.arguments() {
        command += &format!(" {}", execute::quoted(&word.to_string_lossy()));
    }
    let results = Results {
        command,
        options: identity,
        machine: Machine::this(),
        summaries: summary::all(records, Purpose::Time, &options.cost),
        comparisons: choices
            .iter()
            .filter_map(|c| comparison::compare(c.setting, c.uniform, records, &compared))
            .collect(),
        choices,
    };
    let text = results.text();
    store.write("runs.csv", &report::csv(records))?;
    store.write("results.json", &results.json())?;
    store.write("chart.svg", &results.chart().map_err(Error::Chart)?)?;
    store.write("report.md", &text)?;
    let place = store.directory().display();
    let mut text = format!("{text}\nIn {place}: report.md, runs.csv, results.json, chart.svg\n");
    for choice in &results.choices {
        text += &format!(
            "DSM_BLOCK={} DSM_BLOCK_FILE={} is for {}\n",
            choice.uniform,
            store.directory().join(measure::block_file(choice.setting)).display(),
            choice.setting
        );
    }
    say(&text).map_err(|source| Error::System { what: "write to standard output".into(), source })?;
    let failed: Vec<_> = records.iter().filter_map(|r| Some((r.run, r.failure.as_ref()?))).collect();
    for (run, failure) in &failed {
        eprintln!(
            "dsm-sweep: {run}: {} ({})",
            failure.reason,
            store.directory().join(&failure.output).display()
        );
    }
    Ok(failed.len())
}
