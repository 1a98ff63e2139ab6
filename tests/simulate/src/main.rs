//! Command line of the simulation.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::Parser;
use dsm_simulate::costs::Costs;
use dsm_simulate::figures;
use dsm_simulate::report;
use dsm_simulate::run::{Outcome, Protocol, Setting, run};
use dsm_simulate::sync::{Barrier, Lock};
use dsm_simulate::workload::{Sizes, Workload};

/// Runs workloads under the coherence protocol and under a directory, in virtual time, with 2 to 4096 processes.
///
/// Messages and bytes are means of a process and an iteration: in loads and stores, in releases, in acquires, and in barriers and locks
/// themselves. Runs depend on the options alone.
#[derive(Debug, Parser)]
#[command(name = "dsm-simulate", version, max_term_width = 100)]
struct Options {
    /// What processes do
    #[arg(
        short,
        long,
        value_delimiter = ',',
        default_value = "private,stencil,transpose,migratory,relay,table"
    )]
    workload: Vec<Workload>,
    /// What keeps their copies coherent
    #[arg(short, long, value_delimiter = ',', default_value = "dsm,directory")]
    protocol: Vec<Protocol>,
    /// Numbers of processes
    #[arg(short = 'n', long, value_delimiter = ',', default_value = "2,8,32,128", value_name = "N",
          value_parser = clap::value_parser!(u32).range(2..=4096))]
    processes: Vec<u32>,
    /// Bytes of a block
    #[arg(short, long, value_delimiter = ',', default_value = "256", value_name = "BYTES", value_parser = block)]
    block: Vec<u64>,
    /// Notices that a signature holds (DSM_NOTICES)
    #[arg(long, value_delimiter = ',', default_value = "1024", value_parser = notices)]
    notices: Vec<usize>,
    /// How barriers are built
    #[arg(long, value_delimiter = ',', default_value = "dissemination")]
    barrier: Vec<Barrier>,
    /// How a lock is passed on
    #[arg(long, value_delimiter = ',', default_value = "queue")]
    lock: Vec<Lock>,
    /// Iterations that are measured
    #[arg(short, long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1000))]
    iterations: u64,
    /// Iterations before those
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1000))]
    warm_up: u64,
    /// Write all figures to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Run what the book's chapter on scale shows, and write its figures, tables and numbers into a directory
    #[arg(long, value_name = "DIRECTORY", conflicts_with_all = ["workload", "protocol", "block", "json"])]
    figures: Option<PathBuf>,
    /// Greatest number of processes of the figures
    #[arg(long, value_name = "N", default_value_t = 4096, requires = "figures",
          value_parser = clap::value_parser!(u32).range(2..=4096))]
    most: u32,
    #[command(flatten)]
    costs: Costs,
}

fn block(text: &str) -> Result<u64, String> {
    let bytes: u64 = text.parse().map_err(|_| "not a number".to_string())?;
    if bytes.is_power_of_two() && (64..=65536).contains(&bytes) {
        Ok(bytes)
    } else {
        Err("blocks have a power of two from 64 to 65536 bytes".to_string())
    }
}

fn notices(text: &str) -> Result<usize, String> {
    let count = text.parse().map_err(|_| "not a number".to_string())?;
    if (16..=1 << 20).contains(&count) {
        Ok(count)
    } else {
        Err("a signature holds 16 to 1048576 notices".to_string())
    }
}

impl Options {
    fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        for &workload in &self.workload {
            for &protocol in &self.protocol {
                for &block in &self.block {
                    for &notices in &self.notices {
                        for &barrier in &self.barrier {
                            for &lock in &self.lock {
                                settings.extend(self.processes.iter().map(|&processes| Setting {
                                    workload,
                                    protocol,
                                    processes,
                                    block,
                                    notices,
                                    barrier,
                                    lock,
                                    sizes: Sizes { iterations: self.iterations, warm_up: self.warm_up },
                                    costs: self.costs.clone(),
                                }));
                            }
                        }
                    }
                }
            }
        }
        settings
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let done = match &options.figures {
        Some(directory) => all_figures(directory, &options),
        None => one_by_one(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("dsm-simulate: {why}");
            ExitCode::FAILURE
        }
    }
}

fn all_figures(directory: &Path, options: &Options) -> Result<(), String> {
    // What cannot be written to ends the command before the first run.
    std::fs::create_dir_all(directory).map_err(|e| format!("cannot make {}: {e}", directory.display()))?;
    say(&report::header())?;
    let failure = OnceLock::new();
    let progress = |outcome: &Outcome| {
        if let Err(why) = say(&report::row(outcome)) {
            // The first one counts.
            let _ = failure.set(why);
        }
    };
    figures::write(directory, options.most, &options.costs, progress)?;
    failure.into_inner().map_or(Ok(()), Err)
}

fn one_by_one(options: &Options) -> Result<(), String> {
    let json = match &options.json {
        Some(path) => Some((path, File::create(path).map_err(|error| cannot_write(path, &error))?)),
        None => None,
    };
    say(&report::header())?;
    let mut outcomes = Vec::new();
    for setting in options.settings() {
        let outcome = run(&setting);
        say(&report::row(&outcome))?;
        outcomes.push(outcome);
    }
    let Some((path, mut file)) = json else { return Ok(()) };
    let text = serde_json::to_string_pretty(&outcomes).map_err(|e| e.to_string())?;
    file.write_all((text + "\n").as_bytes()).map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

/// Writes a line to standard output. A reader that has closed a pipe wants no more, which is no error.
fn say(line: &str) -> Result<(), String> {
    match writeln!(io::stdout(), "{line}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {error}"))
        }
        _ => Ok(()),
    }
}
