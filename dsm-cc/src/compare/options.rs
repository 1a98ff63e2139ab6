//! The command line.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Parser;

/// Compares OpenMP programs built by dsm-cc with the same programs built by the plain compiler.
///
/// Each C, C++ or Fortran source with a main program, in the given directories and below, is built with the plain compiler and with
/// dsm-cc. Both programs run with as many threads as each layout has in all; standard output and exit status must agree. A program whose
/// output already varies between runs of the plain build is compared by its status alone. Programs that the plain compiler rejects, or
/// that fail or take too long when it built them, are counted but not judged. The compilers' remarks (-fdsm-remarks) and what
/// DSM_GUARD=1 reports stand below each difference.
///
/// The exit status is 0 if nothing differs, 1 if something does, 2 if nothing could be compared.
#[derive(Debug, Parser)]
#[command(name = "dsm-compare", version, max_term_width = 100)]
#[command(override_usage = "dsm-compare [OPTIONS] <PATH>... [-- FLAG...]")]
pub struct Options {
    /// Directories, or single sources
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Flags of all compilers, -O2 -fopenmp if none are given
    #[arg(last = true, value_name = "FLAG")]
    flags: Vec<String>,

    /// Processes x threads of a process, separated by commas
    #[arg(short, long, value_delimiter = ',', default_value = "1x1,1x4,2x2,4x1")]
    pub layouts: Vec<Layout>,

    /// Seconds that a program may run, and a compiler ten times as long
    #[arg(short, long, value_name = "SECONDS", default_value_t = 20,
          value_parser = clap::value_parser!(u64).range(1..))]
    time_limit: u64,

    /// Programs at a time; by default half as many as there are processors
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Runs of the plain program that must agree before outputs are compared
    #[arg(short, long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,

    /// Write the results to a file as JSON, too
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// No line for each program on standard error
    #[arg(short, long)]
    pub quiet: bool,
}

impl Options {
    /// From the process's arguments; errors and help end the process.
    pub fn read() -> Options {
        Options::parse()
    }

    /// The compilers' flags.
    pub fn flags(&self) -> Vec<&str> {
        if self.flags.is_empty() {
            vec!["-O2", "-fopenmp"]
        } else {
            self.flags.iter().map(String::as_str).collect()
        }
    }

    /// How long a program may run.
    pub fn time_limit(&self) -> Duration {
        Duration::from_secs(self.time_limit)
    }

    /// Programs at a time.
    pub fn jobs(&self) -> usize {
        let half = || std::thread::available_parallelism().map_or(1, |n| n.get().div_ceil(2));
        self.jobs.map_or_else(half, usize::from)
    }
}

/// Processes and threads of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Processes.
    pub processes: u32,
    /// Threads of a process.
    pub threads: u32,
}

impl Layout {
    /// Threads of all processes.
    pub fn total(self) -> u32 {
        self.processes * self.threads
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.processes, self.threads)
    }
}

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Layout, String> {
        let number = |text: &str| text.trim().parse().ok().filter(|n| (1..=256).contains(n));
        let parts = text.split_once('x').and_then(|(p, t)| Some((number(p)?, number(t)?)));
        let (processes, threads) = parts.ok_or("expected processes x threads, such as 2x4")?;
        Ok(Layout { processes, threads })
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
    fn flags_stand_behind_two_hyphens() {
        let read = |line: &str| Options::try_parse_from(line.split_whitespace());
        let options = read("dsm-compare a b -l 2x1,1x2 -j 3 -- -O3 -fopenmp").unwrap();
        assert_eq!(options.flags(), ["-O3", "-fopenmp"]);
        assert_eq!(
            options.layouts,
            [Layout { processes: 2, threads: 1 }, Layout { processes: 1, threads: 2 }]
        );
        assert_eq!((options.paths.len(), options.jobs()), (2, 3));
        assert_eq!(read("dsm-compare a").unwrap().flags(), ["-O2", "-fopenmp"]);
        for line in ["dsm-compare", "dsm-compare a -l 2", "dsm-compare a -l 0x1", "dsm-compare a -j 0"] {
            assert_eq!(read(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }
}
