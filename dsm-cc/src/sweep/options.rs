//! The command line.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use regex_lite::Regex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cost::Costs;
use super::store::VERSION;

/// Smallest and largest size of a block, and of a line.
const SIZES: std::ops::RangeInclusive<u32> = 64..=1 << 16;

/// Runs a program with many block sizes, says which is best, and which is best for each variable.
///
/// Each combination of block size, line size, processes and threads runs as often as --repeat says. Each repetition runs all of them, in another order, so
/// that what else the machine does meanwhile hits all alike. One more run of each, with a profile, counts what happens to each variable. From these counts the
/// best block size of each variable follows, and a file for DSM_BLOCK_FILE; runs with it alternate with runs of the best uniform size, to see whether it
/// is better.
///
/// Every run is noted as soon as it has ended: interrupted or killed, the command goes on where it stopped when it is started again with the same options.
///
/// The exit status is 0 if all runs succeeded, 1 if some failed, 2 if there is nothing to report, 130 after an interruption.
#[derive(Debug, Parser)]
#[command(name = "dsm-sweep", version, max_term_width = 100)]
#[command(override_usage = "dsm-sweep [OPTIONS] -- <PROGRAM> [ARGUMENT]...")]
pub struct Options {
    /// Block sizes: powers of two, separated by commas, or all from one to another
    #[arg(short, long, value_name = "SIZES", default_value = "64..65536")]
    pub block: Sizes,

    /// Line sizes, for which --build builds the program [default: the program's]
    #[arg(long, value_name = "SIZES")]
    pub line: Option<Sizes>,

    /// Numbers of processes; with one, which has nothing to keep coherent, the program runs with one block size only
    #[arg(short = 'n', long, alias = "procs", value_name = "N,...", value_delimiter = ',', default_value = "2",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub processes: Vec<u32>,

    /// Numbers of threads of a process
    #[arg(short, long, value_name = "T,...", value_delimiter = ',', default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: Vec<u32>,

    /// Runs of each combination that are timed
    #[arg(short, long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,

    /// Command for the shell that builds the program: {cc}, {cxx}, {fc} are the compilers, {flags} is --flags with the line size, {line} the size alone
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,

    /// What {flags} begins with
    #[arg(long, value_name = "FLAGS", default_value = "-O3 -g -fopenmp", requires = "build")]
    pub flags: String,

    /// Where everything is kept [default: sweep-PROGRAM]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// A run has to print what this fits; without it, a run whose output has NPB's verification must be successful, and any other has to end with status 0
    #[arg(long, value_name = "REGEX")]
    pub verify: Option<Regex>,

    /// What prints the seconds that count, in a group [default: the time from start to end]
    #[arg(long, value_name = "REGEX", value_parser = with_group)]
    pub time: Option<Regex>,

    /// Seconds that a run may take
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    time_limit: u64,

    /// What the best uniform size is chosen by; counts do not depend on what else the machine does
    #[arg(long, default_value = "time")]
    pub by: By,

    /// Nanoseconds that counts stand for: of a miss, of each of its blocks, of 1024 bytes that are copied, of a changed block at a release
    #[arg(long, value_name = "MISS,BLOCK,KIB,CHANGE", default_value_t)]
    pub cost: Costs,

    /// No line for each run on standard error
    #[arg(short, long)]
    pub quiet: bool,

    /// The program, looked up in PATH if it has no slash, and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// What the best uniform block size is chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The median time.
    Time,
    /// The cost of what was counted.
    Counts,
}

impl Options {
    /// From the process's arguments; errors and help end the process.
    pub fn read() -> Options {
        Options::parse()
    }

    /// The program as typed.
    pub fn program(&self) -> &OsString {
        &self.command[0]
    }

    /// The program's arguments.
    pub fn arguments(&self) -> &[OsString] {
        &self.command[1..]
    }

    /// The program without its directory.
    pub fn name(&self) -> String {
        let name = Path::new(self.program()).file_name().unwrap_or(self.program());
        name.to_string_lossy().into_owned()
    }

    /// Where everything is kept.
    pub fn directory(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| format!("sweep-{}", self.name()).into())
    }

    /// How long a run may take.
    pub fn time_limit(&self) -> Duration {
        Duration::from_secs(self.time_limit)
    }

    /// What decides about the results: all options, the variables that programs obey, and the directory that names of files are relative to.
    pub fn identity(&self) -> Value {
        let command: Vec<_> = self.command.iter().map(|word| word.to_string_lossy()).collect();
        let pattern = |regex: &Option<Regex>| regex.as_ref().map(|r| r.as_str().to_owned());
        let mut variables: Vec<String> = std::env::vars()
            .filter(|(name, _)| name.starts_with("DSM_") || name.starts_with("OMP_"))
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        variables.sort();
        json!({
            VERSION: env!("CARGO_PKG_VERSION"),
            "directory": std::env::current_dir().ok(),
            "command": command,
            "environment": variables,
            "--block": self.block.to_string(),
            "--line": self.line.as_ref().map(Sizes::to_string),
            "--processes": self.processes,
            "--threads": self.threads,
            "--repeat": self.repeat,
            "--build": self.build,
            "--flags": self.flags,
            "--verify": pattern(&self.verify),
            "--time": pattern(&self.time),
            "--time-limit": self.time_limit,
            "--by": format!("{:?}", self.by).to_lowercase(),
            "--cost": self.cost.to_string(),
        })
    }
}

fn with_group(text: &str) -> Result<Regex, String> {
    let regex = Regex::new(text).map_err(|error| error.to_string())?;
    match regex.captures_len() {
        2 => Ok(regex),
        _ => Err("put parentheses around the seconds, and around nothing else".into()),
    }
}

/// Sizes in increasing order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes(pub Vec<u32>);

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Sizes, String> {
        let size = |text: &str| {
            let (digits, unit) = match text.trim().strip_suffix(['k', 'K']) {
                Some(digits) => (digits, 1024),
                None => (text.trim(), 1),
            };
            let bytes = digits.parse::<u32>().ok().and_then(|n| n.checked_mul(unit));
            bytes.filter(|n| n.is_power_of_two() && SIZES.contains(n)).ok_or_else(|| {
                format!(
                    "\"{text}\" is no size; write powers of two from {} to {}, such as 64,1024 or 64..4096",
                    SIZES.start(),
                    SIZES.end()
                )
            })
        };
        let mut all = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once("..").unwrap_or((part, part));
            let (first, last) = (size(first)?, size(last)?);
            if first > last {
                return Err(format!("\"{part}\" goes from the larger to the smaller size"));
            }
            all.extend((first.ilog2()..=last.ilog2()).map(|shift| 1 << shift));
        }
        all.sort_unstable();
        all.dedup();
        Ok(Sizes(all))
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&all.join(","))
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

    #[test]
    fn sizes_are_lists_and_ranges() {
        let read = |text: &str| text.parse::<Sizes>().map(|sizes| sizes.0);
        assert_eq!(read("64..1024"), Ok(vec![64, 128, 256, 512, 1024]));
        assert_eq!(read("64K,64,64..256"), Ok(vec![64, 128, 256, 65536]));
        for wrong in ["", "32", "100", "128K", "1024..64", "64..", "x"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_program_stands_behind_two_hyphens() {
        let read = |line: &str| Options::try_parse_from(line.split_whitespace());
        let options =
            read("dsm-sweep --block 64,1K -n 1,2 -t 2 --time (.*)s -- ./bin/cg.A -n 3").expect("it is right");
        assert_eq!((options.name().as_str(), options.arguments()), ("cg.A", &["-n".into(), "3".into()][..]));
        assert_eq!((&options.processes[..], &options.threads[..]), (&[1, 2][..], &[2][..]));
        assert_eq!(options.directory(), Path::new("sweep-cg.A"));
        for wrong in [
            "dsm-sweep",
            "dsm-sweep ./x",
            "dsm-sweep -n 0 -- ./x",
            "dsm-sweep --verify ( -- ./x",
            "dsm-sweep --time .* -- ./x",
            "dsm-sweep --flags -O2 -- ./x",
            "dsm-sweep --cost 1,2 -- ./x",
        ] {
            assert_eq!(read(wrong).expect_err(wrong).exit_code(), 2, "{wrong}");
        }
    }

    #[test]
    fn processes_have_their_former_name_too() {
        for line in ["dsm-sweep --processes 1,2 -- ./x", "dsm-sweep --procs 1,2 -- ./x"] {
            let options = Options::try_parse_from(line.split_whitespace()).expect("it is right");
            assert_eq!(options.processes, [1, 2], "{line}");
        }
    }

    #[test]
    fn different_options_have_different_identities() {
        let identity =
            |line: &str| Options::try_parse_from(line.split_whitespace()).expect("it is right").identity();
        let first = identity("dsm-sweep -- ./x 1");
        assert_eq!(first, identity("dsm-sweep -q --out y -- ./x 1"));
        for other in ["dsm-sweep -- ./x 2", "dsm-sweep -r 4 -- ./x 1", "dsm-sweep --verify y -- ./x 1"] {
            assert_ne!(first, identity(other), "{other}");
        }
    }
}
