//! The launcher's command line.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Arg, ArgAction, CommandFactory, Parser};
use dsm_abi::job::MAX_PROCESSES;
use dsm_config::MIN_MEMORY;
use dsm_config::parse::bytes;

use super::bind::Target;
use super::environment::MAX_THREADS;
use super::trace::Wish;

/// Starts a program compiled by dsm-cc as several processes with one address space.
///
/// While it runs, `dsm-top` shows what the processes do; SIGUSR1 has dsm-run print that to standard error, unless the program handles the signal.
///
/// The job's exit status is that of process 0, 128 plus the signal's number if a signal ended the job, 127 or 126
/// if the program could not be found or run, 2 if the command line is wrong.
#[derive(Debug, Parser)]
#[command(name = "dsm-run", version, max_term_width = 100)]
#[command(override_usage = "dsm-run [OPTIONS] [--] <PROGRAM> [ARGUMENT]...")]
pub struct Options {
    /// Number of processes [default: 1, or all slots of the hosts]
    #[arg(short = 'n', long, value_name = "N",
          value_parser = RangedU64ValueParser::<u32>::new().range(1..=u64::from(MAX_PROCESSES)))]
    pub processes: Option<u32>,

    /// Threads of each process [default: 1; with --pmix OMP_NUM_THREADS, or else the process's share of the processors]
    #[arg(short = 't', long, value_name = "T",
          value_parser = RangedU64ValueParser::<u32>::new().range(1..=u64::from(MAX_THREADS)))]
    pub threads: Option<u32>,

    /// Prefix each line of output with the number of its process, and keep lines whole, as those from several hosts always are
    #[arg(short = 'l', long)]
    pub label: bool,

    /// Print a table of misses, notices, bytes moved and time spent on them at the end, to standard error or a file (as JSON if its name ends in .json)
    /// (DSM_STATS)
    #[arg(short = 's', long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub stats: Option<Option<PathBuf>>,

    /// Say what the processes are bound to, and with several hosts what is done to start them: commands, addresses
    #[arg(short = 'v', long)]
    pub verbose: bool,
    /// Write a report at the end, to standard error or a file (as JSON if its name ends in .json): which variables, allocations and lines miss, are falsely
    /// shared or wait, what that costs, and what to do (DSM_PROFILE)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub profile: Option<Option<PathBuf>>,

    /// Write a trace that ui.perfetto.dev opens: when which thread computed, missed, synchronised and waited
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// Memory for events of each thread that are not in the trace yet, in KiB
    #[arg(long, value_name = "KIB", default_value_t = 1024, requires = "trace",
          value_parser = RangedU64ValueParser::<u64>::new().range(4..=32768))]
    trace_buffer: u64,

    /// Most memory for each process's copy of the shared data; what does not fit goes to a file on disk and comes back when it is used (DSM_MEMORY)
    #[arg(long, value_name = "BYTES", value_parser = parse_memory)]
    pub memory: Option<String>,

    /// Directory of each host for that file, best on an SSD [default: /var/tmp] (DSM_SPILL)
    #[arg(long, value_name = "DIRECTORY")]
    pub spill: Option<PathBuf>,

    /// Start the program even if it does not look like one compiled by dsm-cc (a script or tool that starts it)
    #[arg(long)]
    pub unchecked: bool,

    /// Start the processes on these hosts, in this order: so many on each as it has slots
    #[arg(short = 'H', long = "host", value_name = "HOST[:SLOTS],...")]
    pub hosts: Option<String>,

    /// Start the processes on the hosts that a file has in lines HOST [slots=N]
    #[arg(long, value_name = "FILE", conflicts_with = "hosts")]
    pub hostfile: Option<PathBuf>,

    /// How to run a command on a host: words that its name and the command are put behind
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "ssh -x -o BatchMode=yes -o ServerAliveInterval=15 -o ServerAliveCountMax=3"
    )]
    pub rsh: String,

    /// An environment variable for the processes on all hosts; DSM_*, OMP_*, KMP_*, GOMP_*, PATH and LD_LIBRARY_PATH are passed on anyway
    #[arg(short = 'x', value_name = "NAME[=VALUE]", action = ArgAction::Append)]
    pub variables: Vec<OsString>,

    /// What the processes of each host are bound to [default: numa, where that leaves each thread a core; else none]
    #[arg(long, value_enum)]
    pub bind: Option<Target>,

    /// Join the processes that mpirun or srun has started to one job: `mpirun -n 4 dsm-run --pmix ./x`. A program that they start does that by itself
    #[arg(long, conflicts_with_all = ["processes", "hosts", "hostfile", "trace", "label", "bind"])]
    pub pmix: bool,

    /// Act as the part of the launcher on a host: orders come from standard input
    #[arg(long, hide = true, exclusive = true)]
    pub daemon: bool,

    /// List the ways by which processes reach each other's memory, and whether they can be used on this host
    #[arg(long, exclusive = true)]
    pub transports: bool,

    /// Print the environment variables that programs built by dsm-cc obey
    #[arg(long, exclusive = true)]
    pub help_env: bool,

    /// The program, looked up in PATH if it has no slash, and its arguments
    #[arg(required_unless_present_any = ["help_env", "transports", "daemon"], last = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

impl Options {
    /// From the words of a command line, the first of which is the launcher's name.
    ///
    /// # Errors
    /// clap's, which print themselves and know their exit status; help and version are among them.
    pub fn read(line: impl IntoIterator<Item = OsString>) -> Result<Options, clap::Error> {
        Options::try_parse_from(with_separator(line.into_iter().collect()))
    }

    /// Variables that stand for options.
    ///
    /// # Errors
    /// If this directory has no name.
    pub fn settings(&self) -> io::Result<Vec<(&'static str, OsString)>> {
        let mut all = Vec::new();
        for (name, destination) in [("DSM_STATS", &self.stats), ("DSM_PROFILE", &self.profile)] {
            match destination {
                Some(Some(path)) => all.push((name, std::path::absolute(path)?.into())),
                Some(None) => all.push((name, "1".into())),
                None => {}
            }
        }
        if let Some(memory) = &self.memory {
            all.push(("DSM_MEMORY", memory.into()));
        }
        if let Some(directory) = &self.spill {
            all.push(("DSM_SPILL", std::path::absolute(directory)?.into()));
        }
        Ok(all)
    }

    /// Whether `--spill` names a directory for memory that has no limit; `is_set` knows the launcher's own variables.
    pub fn spill_has_no_effect(&self, is_set: impl Fn(&str) -> bool) -> bool {
        const LIMIT: &str = "DSM_MEMORY";
        let is_named =
            self.variables.iter().any(|word| word.to_string_lossy().split('=').next() == Some(LIMIT));
        self.spill.is_some() && self.memory.is_none() && !is_named && !is_set(LIMIT)
    }

    /// The trace that is asked for.
    pub fn trace_wish(&self) -> Option<Wish> {
        let path = self.trace.clone()?;
        Some(Wish { path, bytes: self.trace_buffer << 10 })
    }

    /// The program as typed.
    pub fn program(&self) -> &OsStr {
        self.command.first().map_or(OsStr::new(""), OsString::as_os_str)
    }

    /// The program's arguments.
    pub fn arguments(&self) -> &[OsString] {
        self.command.get(1..).unwrap_or(&[])
    }
}

/// A size that the runtime takes for `DSM_MEMORY`.
fn parse_memory(text: &str) -> Result<String, String> {
    match bytes(text) {
        Some(MIN_MEMORY..) => Ok(text.into()),
        Some(_) => Err("at least 16M are needed".into()),
        None => Err("expected a number with K, M, G or T behind it, such as 2G".into()),
    }
}

/// Puts `--` in front of the program unless it is there. clap alone would either look for its options among the
/// program's arguments or take a mistyped option for the program.
fn with_separator(mut line: Vec<OsString>) -> Vec<OsString> {
    let known = Options::command();
    let takes_value = |is_it: &dyn Fn(&Arg) -> bool| {
        let takes_next =
            |argument: &Arg| argument.get_action().takes_values() && !argument.is_require_equals_set();
        known.get_arguments().any(|argument| is_it(argument) && takes_next(argument))
    };
    let mut at = 1;
    while let Some(word) = line.get(at).map(|word| word.to_string_lossy()) {
        if word == "--" {
            return line;
        }
        let value_follows = if let Some(name) = word.strip_prefix("--") {
            takes_value(&|argument| argument.get_long() == Some(name))
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            // The first letter that wants a value takes the rest of the word, or else the next one.
            let wants = letters
                .chars()
                .take_while(|c| *c != '=')
                .position(|c| takes_value(&|argument| argument.get_short() == Some(c)));
            wants.is_some_and(|i| i + 1 == letters.chars().count())
        } else {
            break;
        };
        at += 1 + usize::from(value_follows);
    }
    if at < line.len() {
        line.insert(at, "--".into());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, clap::Error> {
        Options::read(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_program_ends_the_options() {
        for own in ["-n 4 -t2 -l", "-n4 -lt 2", "-lt2 --processes 4", "--threads=2 --label -n=4"] {
            let options = parse(&format!("dsm-run {own} ./x -n 7")).unwrap();
            assert_eq!(
                (options.processes, options.threads, options.label),
                (Some(4), Some(2), true),
                "{own}"
            );
            assert_eq!(options.arguments(), ["-n", "7"], "{own}");
        }
        let options = parse("dsm-run -n 4 -t2 -l ./x -n 7 --label -- y").unwrap();
        assert_eq!(options.program(), "./x");
        assert_eq!(options.arguments(), ["-n", "7", "--label", "--", "y"]);
    }

    #[test]
    fn what_follows_the_program_belongs_to_it() {
        for (line, expected) in [
            ("dsm-run ./x -n 7 -l --help --help-env", "./x -n 7 -l --help --help-env"),
            ("dsm-run -n 2 -- ./x -n 7", "./x -n 7"),
            ("dsm-run -n 2 ./x -- -n 7", "./x -- -n 7"),
            ("dsm-run ./x a -t 3", "./x a -t 3"),
            ("dsm-run -- -x y", "-x y"),
            ("dsm-run --processes 2 ./x 3", "./x 3"),
            ("dsm-run --processes=2 3 4", "3 4"),
            ("dsm-run -n2 3 4", "3 4"),
            ("dsm-run - x", "- x"),
            ("dsm-run -H a:2,b -x A -x B=1 --rsh rsh ./x -x C", "./x -x C"),
            ("dsm-run --hostfile f ./x --daemon", "./x --daemon"),
            ("dsm-run --profile ./x --profile=y", "./x --profile=y"),
            ("dsm-run --profile=y.json ./x", "./x"),
            ("dsm-run --trace t --trace-buffer=64 ./x --trace u", "./x --trace u"),
            ("dsm-run --bind none ./x --bind core", "./x --bind core"),
            ("dsm-run --pmix -- ./x -n 2", "./x -n 2"),
            ("dsm-run -s ./x -s", "./x -s"),
            ("dsm-run -s=out ./x", "./x"),
            ("dsm-run --stats=y.json ./x", "./x"),
        ] {
            let options = parse(line).unwrap();
            let command: Vec<_> =
                [options.program()].into_iter().chain(options.arguments().iter().map(|a| &**a)).collect();
            assert_eq!(command.join(OsStr::new(" ")), expected, "{line}");
            assert_eq!((options.threads, options.label), (None, false), "{line}");
        }
    }

    #[test]
    fn the_book_has_every_option() {
        crate::assert_documented(&Options::command());
    }

    #[test]
    fn options_become_variables() {
        let settings = |line: &str| parse(line).unwrap().settings().unwrap();
        assert_eq!(settings("dsm-run ./x"), []);
        assert_eq!(
            settings("dsm-run -s --profile ./x"),
            [("DSM_STATS", "1".into()), ("DSM_PROFILE", "1".into())]
        );
        // The program may change its directory.
        let [(name, value)] = &settings("dsm-run --profile=1 ./x")[..] else { panic!("one variable") };
        assert_eq!(*name, "DSM_PROFILE");
        assert!(
            std::path::Path::new(value).is_absolute() && value.to_string_lossy().ends_with("/1"),
            "{value:?}"
        );
    }

    #[test]
    fn memory_has_the_sizes_of_its_variable() {
        for size in ["16M", "2GB", "64MiB", "1t", "16777216"] {
            assert_eq!(parse(&format!("dsm-run --memory {size} ./x")).unwrap().memory.as_deref(), Some(size));
        }
        for size in ["15M", "2X", "", "-1", "99999999T"] {
            assert!(
                Options::read(["dsm-run", "--memory", size, "./x"].map(OsString::from)).is_err(),
                "{size}"
            );
        }
    }

    #[test]
    fn memory_may_be_limited_by_a_variable() {
        let has_none = |line: &str, set: bool| parse(line).unwrap().spill_has_no_effect(|_| set);
        assert!(has_none("dsm-run --spill /tmp ./x", false));
        assert!(has_none("dsm-run --spill /tmp -x DSM_MEMORYLESS=1 ./x", false));
        for (line, set) in [
            ("dsm-run --spill /tmp ./x", true),
            ("dsm-run --spill /tmp --memory 64M ./x", false),
            ("dsm-run --spill /tmp -x DSM_MEMORY=64M ./x", false),
            ("dsm-run ./x", false),
        ] {
            assert!(!has_none(line, set), "{line}");
        }
    }

    #[test]
    fn a_trace_has_a_file_and_buffers() {
        assert_eq!(parse("dsm-run ./x").unwrap().trace_wish(), None);
        assert_eq!(parse("dsm-run --trace-buffer 64 ./x").unwrap_err().exit_code(), 2);
        let wish = |buffer: &str| parse(&format!("dsm-run --trace t {buffer} ./x")).unwrap().trace_wish();
        let with = |bytes| Some(Wish { path: "t".into(), bytes });
        assert_eq!([wish(""), wish("--trace-buffer=4")], [with(1 << 20), with(4096)]);
    }

    #[test]
    fn unknown_options_are_not_programs() {
        for line in [
            "-q ./x",
            "--frob ./x",
            "-n 2",
            "",
            "-n 1 -n 2 ./x",
            "--help-env ./x",
            "--daemon ./x",
            "--transports ./x",
            "--bind socket ./x",
            "--pmix -n 2 ./x",
            "-H a --hostfile f ./x",
        ] {
            assert_eq!(parse(&format!("dsm-run {line}")).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn wrong_numbers_are_refused_with_the_range() {
        for line in [
            "--trace t --trace-buffer 3 ./x",
            "-n 0 ./x",
            "-n -1 ./x",
            "-n 1025 ./x",
            "-n two ./x",
            "-t 0 ./x",
            "-t 9999 ./x",
            "-n 2",
        ] {
            let error = parse(&format!("dsm-run {line}")).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{line}");
        }
        assert!(parse("dsm-run -n 1025 ./x").unwrap_err().to_string().contains("1..=1024"));
    }
}
