//! Environment variables: one table gives names, parsing, defaults and help.
//!
//! Every `DSM_*` and `OMP_*` variable is one line of [`VARIABLES`]. The settings are read once, at start, and
//! never change; what `omp_set_*` changes lives in the task's own control variables. An unknown `DSM_*` name and
//! a malformed value give one warning in process 0 and leave the default.

pub mod affinity;
mod parse;
pub mod show;

use std::fmt::Write as _;
use std::sync::OnceLock;

use affinity::{Binding, Places};
pub use parse::bytes;
use parse::*;

/// Most threads of one process; the shared stacks' address space is laid out for this many.
pub const MAX_THREADS: u32 = 256;

/// Loop schedule of `OMP_SCHEDULE` and `omp_set_schedule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// How iterations are handed out.
    pub kind: ScheduleKind,
    /// Chunk size; 0 means the kind's default.
    pub chunk: u32,
    /// Whether a thread must see its chunks in increasing order.
    pub monotonic: bool,
}

/// The kinds a program can name; the values are `omp_sched_t`'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ScheduleKind {
    /// Fixed shares.
    Static = 1,
    /// Chunks on demand.
    Dynamic = 2,
    /// Shrinking chunks on demand.
    Guided = 3,
    /// The runtime chooses: fixed shares.
    Auto = 4,
}

/// How a waiting thread spends its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Spins briefly, then sleeps.
    Default,
    /// Spins long before it sleeps.
    Active,
    /// Sleeps at once.
    Passive,
}

/// What to do about write-write races.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaceMode {
    /// Do not look for them.
    Off,
    /// Print a report.
    Report,
    /// Print a report and end the job.
    Abort,
}

/// `OMP_DISPLAY_ENV`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisplayEnv {
    /// Print nothing.
    No,
    /// Print the `OMP_*` settings at start.
    Yes,
    /// Print the `DSM_*` settings as well.
    Verbose,
}

/// All settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `DSM_BLOCK`: bytes of a coherence block; a power of two.
    pub block_bytes: usize,
    /// `DSM_BLOCK_FILE`: file with block sizes of single variables and allocations; may be empty.
    pub block_file: String,
    /// `DSM_HEAP`: address space of a process's heap arena, bytes.
    pub heap_bytes: usize,
    /// `DSM_STACK`: address space of a thread's shared stack, bytes.
    pub stack_bytes: usize,
    /// `DSM_STATS`: print the counters at the end.
    pub stats: bool,
    /// `DSM_GUARD`: report libraries that touch memory which is not valid.
    pub guard: bool,
    /// `DSM_RACE`: look for write-write races.
    pub race: RaceMode,
    /// `DSM_NOTICES`: write notices that a signature holds before it drops old ones.
    pub notices: usize,
    /// `DSM_TWINS`: bytes of a process's twins above which unused ones are given back.
    pub twin_bytes: usize,
    /// `DSM_SPIN`: microseconds a waiting thread spins before it sleeps; `None` if not given.
    pub spin_given_us: Option<u32>,
    /// `OMP_NUM_THREADS`: team sizes by nesting level; empty if not given.
    pub num_threads: Vec<u32>,
    /// `OMP_SCHEDULE`.
    pub schedule: Schedule,
    /// `OMP_DYNAMIC`.
    pub dynamic: bool,
    /// `OMP_STACKSIZE`: native stack of a team thread, bytes.
    pub native_stack_bytes: usize,
    /// `OMP_WAIT_POLICY`.
    pub wait_policy: WaitPolicy,
    /// `OMP_DISPLAY_ENV`.
    pub display_env: DisplayEnv,
    /// `OMP_THREAD_LIMIT`: most threads of a team.
    pub thread_limit: u32,
    /// `OMP_MAX_ACTIVE_LEVELS` or what `OMP_NESTED` stands for; `None` if neither is given.
    pub max_active_levels_given: Option<u32>,
    /// `OMP_PROC_BIND`: policies by nesting level; empty if not given.
    pub proc_bind: Vec<Binding>,
    /// `OMP_PLACES`.
    pub places: Option<Places>,
    /// `OMP_DISPLAY_AFFINITY`: print where threads run.
    pub display_affinity: bool,
    /// `OMP_AFFINITY_FORMAT`.
    pub affinity_format: String,
    /// `OMP_DEFAULT_DEVICE`.
    pub default_device: i32,
    /// `OMP_ALLOCATOR`, as given.
    pub allocator: String,
    /// `OMP_TARGET_OFFLOAD`, in capitals.
    pub target_offload: &'static str,
    /// `OMP_TOOL`.
    pub tool: &'static str,
    /// `OMP_TOOL_LIBRARIES`, as given.
    pub tool_libraries: String,
    /// `OMP_CANCELLATION`.
    pub cancellation: bool,
    /// `OMP_MAX_TASK_PRIORITY`.
    pub max_task_priority: u32,
    /// `OMP_NUM_TEAMS`: 0 if not given.
    pub num_teams: u32,
    /// `OMP_TEAMS_THREAD_LIMIT`: 0 if not given.
    pub teams_thread_limit: u32,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            block_bytes: 4096,
            block_file: String::new(),
            heap_bytes: 16 << 30,
            stack_bytes: 64 << 20,
            stats: false,
            guard: false,
            race: RaceMode::Off,
            notices: 1024,
            twin_bytes: 64 << 20,
            spin_given_us: None,
            num_threads: Vec::new(),
            schedule: Schedule { kind: ScheduleKind::Static, chunk: 0, monotonic: true },
            dynamic: false,
            native_stack_bytes: 8 << 20,
            wait_policy: WaitPolicy::Default,
            display_env: DisplayEnv::No,
            thread_limit: i32::MAX as u32,
            max_active_levels_given: None,
            proc_bind: Vec::new(),
            places: None,
            display_affinity: false,
            affinity_format: affinity::DEFAULT_FORMAT.into(),
            default_device: 0,
            allocator: "omp_default_mem_alloc".into(),
            target_offload: "DEFAULT",
            tool: "enabled",
            tool_libraries: String::new(),
            cancellation: false,
            max_task_priority: 0,
            num_teams: 0,
            teams_thread_limit: 0,
        }
    }
}

impl Config {
    /// Microseconds a waiting thread spins before it sleeps.
    pub fn spin_us(&self) -> u32 {
        match (self.wait_policy, self.spin_given_us) {
            (_, Some(us)) => us,
            (WaitPolicy::Default, None) => 50,
            (WaitPolicy::Active, None) => 200_000,
            (WaitPolicy::Passive, None) => 0,
        }
    }

    /// Active levels that may be nested: with lists by level and nothing else given, any number.
    pub fn max_active_levels(&self) -> u32 {
        let listed = self.num_threads.len() > 1 || self.proc_bind.len() > 1;
        self.max_active_levels_given.unwrap_or(if listed { i32::MAX as u32 } else { 1 })
    }

    /// How threads at a nesting level are bound.
    pub fn binding(&self, level: usize) -> Binding {
        let unset = if self.places.is_some() { Binding::Spread } else { Binding::False };
        self.proc_bind.get(level).or(self.proc_bind.last()).copied().unwrap_or(unset)
    }

    /// Reads all variables through `lookup`; gives the complaints along.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> (Config, Vec<String>) {
        let mut config = Config::default();
        let mut complaints = Vec::new();
        for variable in VARIABLES {
            let Some(text) = lookup(variable.name) else { continue };
            let trimmed = text.trim();
            if let Err(wanted) = (variable.set)(&mut config, trimmed) {
                complaints.push(format!(
                    "{}={trimmed}: expected {wanted}; using {}",
                    variable.name,
                    if variable.default.is_empty() { "the default" } else { variable.default }
                ));
            }
        }
        (config, complaints)
    }
}

static CONFIG: OnceLock<Config> = OnceLock::new();

/// The process's settings; the environment is read at the first call.
pub fn get() -> &'static Config {
    CONFIG.get_or_init(|| Config::read(|name| std::env::var(name).ok()).0)
}

/// Reads the environment and prints what is wrong with it; once, at the start of process 0.
pub fn warn_about_environment() {
    let (_, mut complaints) = Config::read(|name| std::env::var(name).ok());
    complaints.extend(std::env::vars_os().filter_map(|(name, _)| unknown_name(name.to_str()?)));
    for complaint in complaints {
        eprintln!("dsm: warning: {complaint}");
    }
}

/// Complaint about a `DSM_*` name that is not in the table.
fn unknown_name(name: &str) -> Option<String> {
    if !name.starts_with("DSM_") || VARIABLES.iter().any(|v| v.name == name) {
        return None;
    }
    let nearest = VARIABLES
        .iter()
        .map(|v| (edit_distance(name, v.name), v.name))
        .filter(|(distance, known)| known.starts_with("DSM_") && *distance <= 3)
        .min();
    Some(match nearest {
        Some((_, known)) => format!("unknown variable {name}; did you mean {known}?"),
        None => format!("unknown variable {name}; dsm-run --help-env lists them"),
    })
}

/// Levenshtein distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The table as text, a paragraph per variable.
pub fn help() -> String {
    let mut out = String::new();
    for v in VARIABLES {
        let default = if v.default.is_empty() { String::new() } else { format!(" (default {})", v.default) };
        let _ = writeln!(out, "{}={}{default}\n    {}", v.name, v.values, v.help);
    }
    out
}

/// The table as a page of the book, which a test compares with `book/src/environment.md`.
pub fn page() -> String {
    let mut out = String::from(
        "# Environment variables\n\n\
         <!-- Made by `cargo run -q -p dsm-cc --example environment > book/src/environment.md` from runtime/src/config/mod.rs. -->\n\n\
         What programs built by `dsm-cc` obey; `dsm-run --help-env` prints the same. A malformed value or an unknown name that starts with\n\
         `DSM_` gets one warning, and the default is used. Sizes take the suffixes `K`, `M` and `G`.\n",
    );
    for (title, prefix) in [("Of the runtime", "DSM_"), ("Of OpenMP", "OMP_")] {
        let _ = write!(
            out,
            "\n## {title}\n\n| variable | values | default | meaning |\n| --- | --- | --- | --- |\n"
        );
        for v in VARIABLES.iter().filter(|v| v.name.starts_with(prefix)) {
            let values = v.values.replace('|', "\\|");
            let _ = writeln!(out, "| `{}` | {values} | {} | {} |", v.name, v.default, v.help);
        }
    }
    out
}

/// One environment variable.
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What values look like.
    pub values: &'static str,
    /// The default in words; may be empty.
    pub default: &'static str,
    /// What it does.
    pub help: &'static str,
    set: fn(&mut Config, &str) -> Result<(), String>,
    /// What stands behind the name in the display of `OMP_DISPLAY_ENV`, for variables of OpenMP.
    show: Option<fn(&Config) -> String>,
}

macro_rules! variables {
    (@show) => { None };
    (@show $show:expr) => { Some($show) };
    ($($name:literal, $values:literal, $default:literal, $help:literal, $set:expr $(, $show:expr)?;)*) => {
        /// Every variable that the runtime knows.
        pub static VARIABLES: &[Variable] = &[
            $(Variable { name: $name, values: $values, default: $default, help: $help, set: $set, show: variables!(@show $($show)?) },)*
        ];
    };
}

variables! {
    "DSM_BLOCK", "BYTES", "4096", "Unit of coherence: a power of two, at least the line size the program was compiled for.",
        |c, s| set(&mut c.block_bytes, bytes(s).filter(|b| b.is_power_of_two() && (64..=1 << 16).contains(b)),
            "a power of two from 64 to 64K");
    "DSM_BLOCK_FILE", "PATH", "", "File with block sizes of single variables and allocations, a rule a line: \
        'symbol NAME BYTES', 'alloc FILE:LINE BYTES', 'size >=SIZE BYTES', 'size <SIZE BYTES'.",
        |c, s| set(&mut c.block_file, Some(s.to_owned()), "");
    "DSM_HEAP", "BYTES", "16G", "Address space of each process's part of the shared heap; only touched pages use memory.",
        |c, s| set(&mut c.heap_bytes, bytes(s).filter(|b| (1 << 20..=1 << 39).contains(b)), "a size from 1M to 512G");
    "DSM_STACK", "BYTES", "64M", "Address space of each thread's shared stack; only touched pages use memory.",
        |c, s| set(&mut c.stack_bytes, bytes(s).filter(|b| (1 << 16..=1 << 34).contains(b)), "a size from 64K to 16G");
    "DSM_STATS", "0|1", "0", "Print a table of misses, notices and bytes moved when the program ends.",
        |c, s| set(&mut c.stats, boolean(s), "0 or 1");
    "DSM_GUARD", "0|1", "0", "For debugging: name library functions that touch shared memory which is not valid. Exact if DSM_BLOCK is at least 4096.",
        |c, s| set(&mut c.guard, boolean(s), "0 or 1");
    "DSM_RACE", "off|report|abort", "off", "Report variables that two processes wrote different values to without synchronisation; abort ends the job.",
        |c, s| set(&mut c.race, race_mode(s), "off, report or abort");
    "DSM_NOTICES", "COUNT", "1024", "Write notices that travel with a synchronisation before old ones are dropped.",
        |c, s| set(&mut c.notices, s.parse().ok().filter(|n| (16..=1 << 20).contains(n)), "a number from 16 to 1048576");
    "DSM_TWINS", "BYTES", "64M", "Memory that a process may keep for copies of blocks from before it wrote to them; above, what it has not used lately goes back to the system.",
        |c, s| set(&mut c.twin_bytes, bytes(s), "a size such as 64M");
    "DSM_SPIN", "MICROSECONDS", "50", "How long a waiting thread spins, letting others have the core now and then, before it sleeps; overrides OMP_WAIT_POLICY.",
        |c, s| set(&mut c.spin_given_us, s.parse().ok().map(Some), "a number of microseconds");
    "DSM_JOB", "(internal)", "", "Set by dsm-run for the processes of a job.", |_, _| Ok(());
    "DSM_PASS_OPTIONS", "(internal)", "", "Set by dsm-cc for the compiler plugin; has no effect at run time.", |_, _| Ok(());
    "DSM_DISABLE", "0|1", "0", "dsm-cc acts as the plain compiler; has no effect at run time.", |_, _| Ok(());
    "OMP_NUM_THREADS", "N[,N...]", "processes x threads per process", "Threads of a team, by nesting level.",
        |c, s| set(&mut c.num_threads, list(s), "positive numbers separated by commas"), show::num_threads;
    "OMP_SCHEDULE", "[monotonic:|nonmonotonic:]static|dynamic|guided|auto[,CHUNK]", "static",
        "What schedule(runtime) means.",
        |c, s| set(&mut c.schedule, schedule(s), "a schedule such as dynamic,4"), show::schedule;
    "OMP_DYNAMIC", "true|false", "false", "Accepted; teams always have the size asked for.",
        |c, s| set(&mut c.dynamic, boolean(s), "true or false"), |c| show::truth(c.dynamic);
    "OMP_STACKSIZE", "SIZE[B|K|M|G]", "8M", "Native stack of each team thread; a bare number counts kilobytes.",
        |c, s| set(&mut c.native_stack_bytes, kilobytes(s).filter(|b| (1 << 14..=1 << 40).contains(b)),
            "a size from 16K, for example 16M"), |c| show::size(c.native_stack_bytes);
    "OMP_WAIT_POLICY", "active|passive", "spin briefly, then sleep", "How waiting threads spend their time.",
        |c, s| set(&mut c.wait_policy, wait_policy(s), "active or passive"), show::wait_policy;
    "OMP_DISPLAY_ENV", "true|false|verbose", "false", "Print the settings at start; verbose: those of the runtime, too.",
        |c, s| set(&mut c.display_env, display_env(s), "true, false or verbose"), show::display_env;
    "OMP_THREAD_LIMIT", "N", "2147483647", "Most threads of a team.",
        |c, s| set(&mut c.thread_limit, positive(s), "a positive number"), |c| show::quoted(c.thread_limit);
    "OMP_MAX_ACTIVE_LEVELS", "N", "1; more if OMP_NUM_THREADS or OMP_PROC_BIND is a list",
        "Nested parallel regions deeper than this run in one thread.",
        |c, s| set(&mut c.max_active_levels_given, number(s).map(Some), "a number"), |c| show::quoted(c.max_active_levels());
    "OMP_NESTED", "true|false", "false", "Deprecated: true stands for OMP_MAX_ACTIVE_LEVELS=2147483647.",
        |c, s| boolean(s).map(|on| c.max_active_levels_given = Some(if on { i32::MAX as u32 } else { 1 })).ok_or("true or false".into()),
        |c| format!(": deprecated; max-active-levels-var={}", c.max_active_levels());
    "OMP_PROC_BIND", "false|true or LIST of primary|close|spread", "false, or spread if OMP_PLACES is set",
        "How threads of teams are bound to places, by nesting level. The places are those of the machine, for all processes.",
        |c, s| set(&mut c.proc_bind, affinity::bindings(s), "false, true, or a list of primary, close and spread"), show::proc_bind;
    "OMP_PLACES", "threads|cores|ll_caches|sockets|numa_domains[(N)] or LIST", "cores",
        "Places that threads are bound to: a list is one of places such as {0:4},{4:4} or {0:2}:4:2.",
        |c, s| set(&mut c.places, affinity::places(s).map(Some), "an abstract name or a list of places such as {0,1},{2:2}"),
        |c| show::optional(c.places.as_ref());
    "OMP_DISPLAY_AFFINITY", "true|false", "false", "Print where the threads of a team run when that changes.",
        |c, s| set(&mut c.display_affinity, boolean(s), "true or false"), |c| show::truth(c.display_affinity);
    "OMP_AFFINITY_FORMAT", "FORMAT", "OMP: pid %P tid %i thread %n bound to OS proc set {%A}", "What is printed then.",
        |c, s| set(&mut c.affinity_format, Some(s.to_owned()), ""), |c| show::quoted(&c.affinity_format);
    "OMP_CANCELLATION", "true|false", "false", "Whether cancel constructs take effect.",
        |c, s| set(&mut c.cancellation, boolean(s), "true or false"), |c| show::truth(c.cancellation);
    "OMP_MAX_TASK_PRIORITY", "N", "0", "Largest value of the priority clause that is told apart.",
        |c, s| set(&mut c.max_task_priority, number(s), "a number"), |c| show::quoted(c.max_task_priority);
    "OMP_NUM_TEAMS", "N", "1", "Teams of a league whose construct names no number.",
        |c, s| set(&mut c.num_teams, positive(s), "a positive number"), |c| show::quoted(c.num_teams);
    "OMP_TEAMS_THREAD_LIMIT", "N", "", "Most threads of each team of a league.",
        |c, s| set(&mut c.teams_thread_limit, positive(s), "a positive number"), |c| show::quoted(c.teams_thread_limit);
    "OMP_DEFAULT_DEVICE", "N", "0", "What omp_get_default_device returns; there is no device but the host.",
        |c, s| set(&mut c.default_device, number(s).map(|n| n as i32), "a number"), |c| show::quoted(c.default_device);
    "OMP_TARGET_OFFLOAD", "disabled|default|mandatory", "default", "Accepted; there is no device but the host.",
        |c, s| set(&mut c.target_offload, word(s, &["DISABLED", "DEFAULT", "MANDATORY"]), "disabled, default or mandatory"),
        |c| format!("={}", c.target_offload);
    "OMP_ALLOCATOR", "NAME", "omp_default_mem_alloc", "Accepted; all allocators are the shared heap.",
        |c, s| set(&mut c.allocator, Some(s.to_owned()), ""), |c| show::quoted(&c.allocator);
    "OMP_TOOL", "enabled|disabled", "enabled", "Accepted; there is no tools interface.",
        |c, s| set(&mut c.tool, word(s, &["enabled", "disabled"]), "enabled or disabled"), |c| show::quoted(c.tool);
    "OMP_TOOL_LIBRARIES", "PATHS", "", "Accepted; there is no tools interface.",
        |c, s| set(&mut c.tool_libraries, Some(s.to_owned()), ""),
        |c| show::optional((!c.tool_libraries.is_empty()).then_some(&c.tool_libraries));
}

fn set<T>(slot: &mut T, value: Option<T>, wanted: &str) -> Result<(), String> {
    *slot = value.ok_or_else(|| wanted.to_owned())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> (Config, Vec<String>) {
        Config::read(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
    }

    #[test]
    fn empty_environment_gives_defaults() {
        assert_eq!(read(&[]), (Config::default(), Vec::new()));
    }

    #[test]
    fn reads_sizes_lists_and_schedules() {
        let (c, complaints) = read(&[
            ("DSM_BLOCK", "4K"),
            ("DSM_HEAP", "2G"),
            ("OMP_STACKSIZE", "512"),
            ("OMP_NUM_THREADS", "4, 2"),
            ("OMP_SCHEDULE", "nonmonotonic:Guided, 7"),
        ]);
        assert_eq!(complaints, Vec::<String>::new());
        assert_eq!((c.block_bytes, c.heap_bytes, c.native_stack_bytes), (4096, 2 << 30, 512 << 10));
        assert_eq!(c.num_threads, [4, 2]);
        assert_eq!(c.schedule, Schedule { kind: ScheduleKind::Guided, chunk: 7, monotonic: false });
    }

    #[test]
    fn malformed_values_complain_and_leave_the_default() {
        for (name, value) in [
            ("DSM_BLOCK", "1000"),
            ("DSM_BLOCK", "32"),
            ("DSM_HEAP", "12Q"),
            ("OMP_NUM_THREADS", "0"),
            ("OMP_NUM_THREADS", "2,,3"),
            ("OMP_SCHEDULE", "dynamic,0"),
            ("OMP_SCHEDULE", "fast"),
            ("OMP_WAIT_POLICY", "lazy"),
            ("OMP_PROC_BIND", "near"),
            ("OMP_PROC_BIND", "close,true"),
            ("OMP_PLACES", "corners"),
            ("OMP_PLACES", "{0,1"),
            ("OMP_PLACES", "{0:0}"),
            ("OMP_MAX_ACTIVE_LEVELS", "-1"),
            ("OMP_DEFAULT_DEVICE", "gpu"),
            ("OMP_TARGET_OFFLOAD", "never"),
            ("OMP_TOOL", "on"),
            ("DSM_RACE", "find"),
        ] {
            let (config, complaints) = read(&[(name, value)]);
            assert_eq!(config, Config::default(), "{name}={value}");
            assert_eq!(complaints.len(), 1, "{name}={value}");
            assert!(complaints[0].starts_with(&format!("{name}={value}: expected ")), "{complaints:?}");
        }
    }

    #[test]
    fn wait_policy_sets_the_spin_time_unless_given() {
        assert_eq!(read(&[("OMP_WAIT_POLICY", "PASSIVE")]).0.spin_us(), 0);
        assert_eq!(read(&[("OMP_WAIT_POLICY", "passive"), ("DSM_SPIN", "7")]).0.spin_us(), 7);
        assert!(read(&[("OMP_WAIT_POLICY", "active")]).0.spin_us() > Config::default().spin_us());
    }

    #[test]
    fn unknown_names_get_the_nearest_known_one() {
        assert_eq!(unknown_name("DSM_BLOK").unwrap(), "unknown variable DSM_BLOK; did you mean DSM_BLOCK?");
        assert!(unknown_name("DSM_COMPLETELY_ELSE").unwrap().contains("--help-env"));
        assert_eq!(unknown_name("DSM_HEAP"), None);
        assert_eq!(unknown_name("OMP_WHATEVER"), None);
    }

    #[test]
    fn the_page_of_the_book_is_current() {
        let remedy = "run: cargo run -q -p dsm-cc --example environment > book/src/environment.md";
        assert!(page() == include_str!("../../../book/src/environment.md"), "{remedy}");
        assert!(VARIABLES.iter().all(|v| ["DSM_", "OMP_"].iter().any(|p| v.name.starts_with(p))));
    }

    #[test]
    fn help_names_every_variable_once() {
        let text = help();
        for v in VARIABLES {
            assert_eq!(
                text.lines().filter(|l| l.starts_with(&format!("{}=", v.name))).count(),
                1,
                "{}",
                v.name
            );
        }
    }
}
