//! Environment variables: one table gives names, parsing, defaults and help.
//!
//! Every `DSM_*` and `OMP_*` variable is one line of [`VARIABLES`] (`table.rs`). The settings are read once, at start, and
//! never change; what `omp_set_*` changes lives in the task's own control variables. An unknown `DSM_*` name and
//! a malformed value give one warning in process 0 and leave the default.

pub mod affinity;
pub mod allocator;
mod help;
pub mod machine;
pub mod parse;
pub mod show;
mod table;

use std::sync::OnceLock;

use affinity::{Binding, Places};
use dsm_abi::note::Checking;
use dsm_abi::part::Parts;
pub use help::{help, page};
pub use table::VARIABLES;

/// Most threads of one process; the shared stacks' address space is laid out for this many.
pub const MAX_THREADS: u32 = 256;

/// The name of a report's destination that stands for standard error.
pub const STANDARD_ERROR: &str = "-";

/// Loop schedule of `OMP_SCHEDULE` and `omp_set_schedule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// How iterations are handed out.
    pub kind: ScheduleKind,
    /// Chunk size; 0 means the kind's default.
    pub chunk: u32,
    /// The modifier, if one was given: whether a thread must see its chunks in increasing order.
    pub monotonic: Option<bool>,
}

impl Schedule {
    /// The chunk size that `omp_get_schedule` gives: kinds other than static have a default of 1, and auto takes none.
    pub fn reported_chunk(&self) -> u32 {
        match self.kind {
            ScheduleKind::Static => self.chunk,
            ScheduleKind::Dynamic | ScheduleKind::Guided => self.chunk.max(1),
            ScheduleKind::Auto => 1,
        }
    }
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

/// How processes reach each other's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// They map it within a host, and send requests between hosts.
    Auto,
    /// They map it.
    Shm,
    /// They send requests over sockets to a thread of its owner; with a seed, irregularly.
    Stream(Option<u64>),
    /// They send requests by libfabric to a thread of its owner.
    Ofi {
        /// Of libfabric; any if empty.
        provider: String,
        /// Whether they map it within a host.
        maps: bool,
    },
    /// They send requests by RDMA to a thread of its owner.
    Verbs {
        /// `DEVICE` or `DEVICE:PORT`; any if empty.
        device: String,
        /// Whether they map it within a host.
        maps: bool,
    },
}

/// Least value of `DSM_MEMORY`, bytes.
pub const MIN_MEMORY: usize = 16 << 20;

/// `DSM_REPLACEMENT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// See `S3Fifo` in `dsm_pager::replacement`.
    S3Fifo,
    /// See `SecondChance` there.
    SecondChance,
}

/// Which loops with `schedule(static, CHUNK)` give each thread consecutive chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaticBlocks {
    /// None.
    Never,
    /// All.
    Always,
    /// Those of which the program cannot tell which thread has which chunk.
    Auto,
}

impl Policy {
    fn parse(text: &str) -> Option<Policy> {
        match text {
            "s3-fifo" => Some(Policy::S3Fifo),
            "second-chance" => Some(Policy::SecondChance),
            _ => None,
        }
    }
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
    /// `DSM_STATS`: `-` for standard error, or the file that the counters are written to at the end; empty if they are not wanted.
    pub stats: String,
    /// `DSM_CHECK`: how accesses are checked; `None`: as the program was compiled.
    pub check: Option<Checking>,
    /// `DSM_GUARD`: report libraries that touch memory which is not valid.
    pub guard: bool,
    /// `DSM_RACE`: look for write-write races.
    pub race: RaceMode,
    /// `DSM_PROFILE`: `-` for standard error, or the file that a profile is written to; empty if none is wanted.
    pub profile: String,
    /// `DSM_NOTICES`: write notices that a signature holds before it drops old ones.
    pub notices: usize,
    /// `DSM_TWINS`: bytes of a process's twins above which unused ones are given back.
    pub twin_bytes: usize,
    /// `DSM_MEMORY`: most memory for the data of a process, bytes; `None`: as much as there is.
    pub memory_bytes: Option<usize>,
    /// `DSM_SPILL`: directory of the file for what does not fit.
    pub spill: String,
    /// `DSM_REPLACEMENT`: what leaves memory.
    pub replacement: Policy,
    /// Whether shared data goes into huge pages.
    pub huge_pages: bool,
    /// `DSM_ARRAY_CACHE`: remember where pages of relocatable arrays are.
    pub array_cache: bool,
    /// `DSM_COOPERATION`: get pages that have left memory from other processes that have them there.
    pub cooperation: bool,
    /// `DSM_CACHE_LOCKS`: a process caches locks that it takes again and again.
    pub cache_locks: bool,
    /// `DSM_STATIC_BLOCKS`: whether threads have consecutive chunks of static schedules.
    pub static_blocks: StaticBlocks,
    /// `DSM_POST_ATOMICS`: keep relaxed additions without a result.
    pub post_atomics: bool,
    /// `DSM_PROTOCOL`: parts of the protocol that are left out.
    pub protocol: Parts,
    /// `DSM_TRANSPORT`: how processes reach each other's memory.
    pub transport: Transport,
    /// `DSM_ONE_SIDED_READ`: read misses of single blocks by the adapter alone, where there is one.
    pub one_sided_read: bool,
    /// `DSM_BULK_READ`: long reads of peers' memory by the adapter, where there is one.
    pub bulk_read: bool,
    /// `DSM_PMIX`: join to one job with the processes that a process manager has started.
    pub pmix: bool,
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
    /// `OMP_ALLOCATOR`.
    pub allocator: allocator::Allocator,
    /// `OMP_TARGET_OFFLOAD`, in capitals.
    pub target_offload: &'static str,
    /// `OMP_TOOL`.
    pub tool: &'static str,
    /// `OMP_TOOL_LIBRARIES`, as given.
    pub tool_libraries: String,
    /// `OMP_TOOL_VERBOSE_INIT`, as given.
    pub tool_verbose_init: String,
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
            block_bytes: 8192,
            block_file: String::new(),
            heap_bytes: 16 << 30,
            array_cache: true,
            cooperation: true,
            cache_locks: true,
            static_blocks: StaticBlocks::Auto,
            post_atomics: true,
            bulk_read: false,
            one_sided_read: false,
            stack_bytes: 64 << 20,
            stats: String::new(),
            check: None,
            guard: false,
            race: RaceMode::Off,
            profile: String::new(),
            notices: 1024,
            twin_bytes: 64 << 20,
            memory_bytes: None,
            spill: "/var/tmp".into(),
            replacement: Policy::S3Fifo,
            huge_pages: false,
            protocol: Parts::default(),
            transport: Transport::Auto,
            pmix: true,
            spin_given_us: None,
            num_threads: Vec::new(),
            schedule: Schedule { kind: ScheduleKind::Static, chunk: 0, monotonic: None },
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
            allocator: allocator::Allocator::default(),
            target_offload: "DEFAULT",
            tool: "enabled",
            tool_libraries: String::new(),
            tool_verbose_init: String::new(),
            cancellation: false,
            max_task_priority: 0,
            num_teams: 0,
            teams_thread_limit: 0,
        }
    }
}

impl Config {
    /// Bytes of twins above which unused ones are given back.
    pub fn twin_bytes(&self) -> usize {
        /// Part of limited memory: one of so many.
        const PART: usize = 8;
        self.memory_bytes.map_or(self.twin_bytes, |memory| self.twin_bytes.min(memory / PART))
    }

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

    /// Whether target regions may not run on the host instead of a device.
    pub fn is_offload_mandatory(&self) -> bool {
        self.target_offload == "MANDATORY"
    }

    /// The initial `default-device-var`: with mandatory offloading and no device, none that is valid.
    pub fn initial_device(&self) -> i32 {
        const INVALID_DEVICE: i32 = -2;
        if self.is_offload_mandatory() { INVALID_DEVICE } else { self.default_device }
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
#[inline]
pub fn get() -> &'static Config {
    CONFIG.get_or_init(|| Config::read(|name| std::env::var(name).ok()).0)
}

/// Reads the environment and prints what is wrong with it; once, at the start of process 0.
pub fn warn_about_environment() {
    let (_, mut complaints) = Config::read(|name| std::env::var(name).ok());
    complaints.extend(std::env::vars_os().filter_map(|(name, _)| help::unknown_name(name.to_str()?)));
    for complaint in complaints {
        eprintln!("dsm: warning: {complaint}");
    }
}

#[cfg(test)]
mod tests {
    use super::help::unknown_name;
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
        assert_eq!(c.schedule, Schedule { kind: ScheduleKind::Guided, chunk: 7, monotonic: Some(false) });
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
            ("OMP_ALLOCATOR", "fast"),
            ("DSM_RACE", "find"),
            ("DSM_TRANSPORT", "tcp"),
            ("DSM_TRANSPORT", "streams"),
            ("DSM_TRANSPORT", "stream:"),
            ("DSM_TRANSPORT", "stream:x"),
            ("DSM_TRANSPORT", "stream:-1"),
            ("DSM_TRANSPORT", "shm:1"),
            ("DSM_TRANSPORT", "ofi:"),
            ("DSM_TRANSPORT", "shm,stream"),
            ("DSM_TRANSPORT", "verbs:"),
            ("DSM_TRANSPORT", "shm,verb"),
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
    fn transports_have_names() {
        let transport = |text| read(&[("DSM_TRANSPORT", text)]).0.transport;
        assert_eq!(transport("auto"), Transport::Auto);
        assert_eq!(transport("shm"), Transport::Shm);
        assert_eq!(transport(" Stream "), Transport::Stream(None));
        assert_eq!(transport("stream:0"), Transport::Stream(Some(0)));
        assert_eq!(transport("stream:18446744073709551615"), Transport::Stream(Some(u64::MAX)));
        let ofi = |provider: &str, maps| Transport::Ofi { provider: provider.into(), maps };
        assert_eq!(transport("ofi"), ofi("", false));
        assert_eq!(transport("ofi:tcp;ofi_rxm"), ofi("tcp;ofi_rxm", false));
        assert_eq!(transport("shm,OFI"), ofi("", true));
        assert_eq!(transport("shm,ofi:efa"), ofi("efa", true));
        let verbs = |device: &str, maps| Transport::Verbs { device: device.into(), maps };
        assert_eq!(transport("verbs"), verbs("", false));
        assert_eq!(transport("verbs:mlx5_0:1"), verbs("mlx5_0:1", false));
        assert_eq!(transport("SHM,verbs:rxe0"), verbs("rxe0", true));
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
        let remedy = "run: cargo run -q -p dsm-cc --example environment > book/src/user/environment.md";
        assert!(page() == include_str!("../../../book/src/user/environment.md"), "{remedy}");
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
