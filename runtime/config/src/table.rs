//! The table of variables: a line each.

use dsm_abi::note::Checking;
use dsm_abi::part::Parts;

use super::parse::*;
use super::{Config, MIN_MEMORY, Policy, affinity, allocator, show};

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
    pub(super) set: fn(&mut Config, &str) -> Result<(), String>,
    /// What stands behind the name in the display of `OMP_DISPLAY_ENV`, for variables of OpenMP.
    pub(super) show: Option<fn(&Config) -> String>,
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
    "DSM_BLOCK", "BYTES", "8192", "Unit of coherence: a power of two, at least the line size the program was compiled for.",
        |c, s| set(&mut c.block_bytes, bytes(s).filter(|b| b.is_power_of_two() && (64..=1 << 16).contains(b)),
            "a power of two from 64 to 64K");
    "DSM_BLOCK_FILE", "PATH", "", "File with block sizes of single variables and allocations, a rule a line: \
        'symbol NAME BYTES', 'alloc FILE:LINE BYTES', 'size >=SIZE BYTES', 'size <SIZE BYTES'.",
        |c, s| set(&mut c.block_file, Some(s.to_owned()), "");
    "DSM_HEAP", "BYTES", "16G", "Address space of each process's part of the shared heap; only touched pages use memory.",
        |c, s| set(&mut c.heap_bytes, bytes(s).filter(|b| (1 << 20..=1 << 39).contains(b)), "a size from 1M to 512G");
    "DSM_STACK", "BYTES", "64M", "Address space of each thread's shared stack; only touched pages use memory.",
        |c, s| set(&mut c.stack_bytes, bytes(s).filter(|b| (1 << 16..=1 << 34).contains(b)), "a size from 64K to 16G");
    "DSM_STATS", "0|1|PATH", "0", "Print a table of misses, notices, bytes moved and time spent on them when the program ends. 1: to standard error; a path that ends in .json: as JSON.",
        |c, s| set(&mut c.stats, Some(destination(s)), "");
    "DSM_CHECK", "inline|mprotect", "as the program was compiled", "How accesses are checked: by code in front of them, or by the protection of pages \
        (for comparisons; -fdsm-check=mprotect leaves the code out).",
        |c, s| set(&mut c.check, Checking::parse(s).map(Some), "inline or mprotect");
    "DSM_GUARD", "0|1", "0", "For debugging: name library functions that touch shared memory which is not valid. Exact if DSM_BLOCK is at least 4096.",
        |c, s| set(&mut c.guard, boolean(s), "0 or 1");
    "DSM_RACE", "off|report|abort", "off", "Report variables that two processes wrote different values to without synchronisation; abort ends the job.",
        |c, s| set(&mut c.race, race_mode(s), "off, report or abort");
    "DSM_PROFILE", "0|1|PATH", "0", "Write a report when the program ends: which variables, allocations and lines miss, are falsely shared or wait, and what to do. \
        1: to standard error; a path that ends in .json: as JSON.",
        |c, s| set(&mut c.profile, Some(destination(s)), "");
    "DSM_NOTICES", "COUNT", "1024", "Write notices that travel with a synchronisation before old ones are dropped.",
        |c, s| set(&mut c.notices, s.parse().ok().filter(|n| (16..=1 << 20).contains(n)), "a number from 16 to 1048576");
    "DSM_TWINS", "BYTES", "64M", "Memory that a process may keep for copies of blocks from before it wrote to them; above, what it has not used lately goes back to the system.",
        |c, s| set(&mut c.twin_bytes, bytes(s), "a size such as 64M");
    "DSM_MEMORY", "BYTES", "", "Most memory for each process's copy of heap, stacks and globals; what does not fit goes to a file in the directory of DSM_SPILL and comes back when it is used.",
        |c, s| set(&mut c.memory_bytes, bytes(s).filter(|b| *b >= MIN_MEMORY).map(Some), "a size of at least 16M");
    "DSM_SPILL", "DIRECTORY", "/var/tmp", "Where memory goes that does not fit (DSM_MEMORY): a directory of each host, best on an SSD; the file has no name and is gone with the process.",
        |c, s| set(&mut c.spill, Some(s.to_owned()), "");
    "DSM_REPLACEMENT", "s3-fifo|second-chance", "s3-fifo", "How a process chooses what leaves memory (DSM_MEMORY).",
        |c, s| set(&mut c.replacement, Policy::parse(s), "s3-fifo or second-chance");
    "DSM_COOPERATION", "0|1", "1", "Whether a process gets what has left its memory (DSM_MEMORY) from another process that has the same contents in memory, before it reads it from disk; 0, for comparisons.",
        |c, s| set(&mut c.cooperation, boolean(s), "0 or 1");
    "DSM_HUGE", "0|1", "0", "Move shared data into huge pages at barriers, where the system can: what is at least half in use, each part once. For runs of many seconds.",
        |c, s| set(&mut c.huge_pages, boolean(s), "0 or 1");
    "DSM_ARRAY_CACHE", "0|1", "1", "Whether processes remember where the pages of relocatable arrays are; 0, for comparisons: they ask for each access.",
        |c, s| set(&mut c.array_cache, boolean(s), "0 or 1");
    "DSM_CACHE_LOCKS", "0|1", "1", "A process that takes a lock again and again caches it until another one takes it, and publishes what it wrote under it only then; 0: each time.",
        |c, s| set(&mut c.cache_locks, boolean(s), "0 or 1");
    "DSM_STATIC_BLOCKS", "0|1|auto", "auto", "Worksharing loops with schedule(static,CHUNK) of all processes: auto: where the compiler has shown that the program cannot tell which thread has which chunk, each thread gets chunks that follow each other, as many as the others, instead of every n-th one; \
        1: of all such loops, for programs that do not count on which thread has which chunk; 0: of none, as OpenMP prescribes.",
        |c, s| set(&mut c.static_blocks, static_blocks(s), "0, 1 or auto");
    "DSM_POST_ATOMICS", "0|1", "1", "Relaxed atomic additions without a result (omp atomic) to variables of other processes are kept for a millisecond at most and sent many at a time; 0: one by one.",
        |c, s| set(&mut c.post_atomics, boolean(s), "0 or 1");
    "DSM_PROTOCOL", "NAME[,NAME...]", "", "For experiments: parts of the protocol to leave out, of no-leases, no-migration (on a miss), no-exclusive-homes, fixed-homes, single-writer (with -fdsm-check=mprotect), no-open-records.",
        |c, s| set(&mut c.protocol, Parts::parse(s), "some of no-leases, no-migration, no-exclusive-homes, fixed-homes, single-writer, no-open-records");
    "DSM_TRANSPORT", "auto|shm|stream[:SEED]|[shm,]ofi[:PROVIDER]|[shm,]verbs[:DEVICE]", "auto", "How processes reach each other's memory: shm maps it; stream sends requests through sockets to a thread of its owner, which is slow; \
        ofi sends them by libfabric, for adapters that it has a PROVIDER for, and verbs by RDMA of a DEVICE for InfiniBand or RoCE; auto takes shm within a host and stream between hosts, and shm,ofi \
        takes ofi there, as shm,verbs does verbs. With SEED, a number, stream delays requests and tears transfers.",
        |c, s| set(&mut c.transport, transport(s), "auto, shm, stream, stream:SEED with a number, ofi, ofi:PROVIDER, verbs or verbs:DEVICE, or the latter four with shm, in front");
    "DSM_BULK_READ", "0|1", "0", "For experiments, over verbs and ofi: whether reads of at least 16 KiB of another process's data are done by the adapter alone (RDMA READ), but for those of the coherence protocol, whose calls bring contents in their replies. \
        The adapter holds on to what it reads; no effect with DSM_MEMORY.",
        |c, s| set(&mut c.bulk_read, boolean(s), "0 or 1");
    "DSM_ONE_SIDED_READ", "0|1", "0", "For experiments, over verbs: whether read misses of single blocks are made by the adapter alone (RDMA READ, and WRITE of a mark), where nothing has to be waited for, and bulk reads as by DSM_BULK_READ=1. The same \
        in all processes of a job. Over stream, each look is some requests in any order: a test. No effect with DSM_MEMORY.",
        |c, s| set(&mut c.one_sided_read, boolean(s), "0 or 1");
    "DSM_PMIX", "0|1", "1", "Whether processes that a process manager with PMIx (mpirun, srun) has started join to one job; 0: each runs on its own, as those of programs that call MPI always do.",
        |c, s| set(&mut c.pmix, boolean(s), "0 or 1");
    "DSM_SPIN", "MICROSECONDS", "50", "How long a waiting thread spins, letting others have the core now and then, before it sleeps; sooner, unless this is set above the default, where others keep the core. Overrides OMP_WAIT_POLICY.",
        |c, s| set(&mut c.spin_given_us, s.parse().ok().map(Some), "a number of microseconds");
    "DSM_JOB", "(internal)", "", "Set by dsm-run for the processes of a job.", |_, _| Ok(());
    "DSM_PASS_OPTIONS", "(internal)", "", "Set by dsm-cc for the compiler plugin; has no effect at run time.", |_, _| Ok(());
    "DSM_DISABLE", "0|1", "0", "dsm-cc acts as the plain compiler; has no effect at run time.", |_, _| Ok(());
    "DSM_CLANG", "PATH", "clang-22", "The compiler that dsm-cc stands in for; has no effect at run time.", |_, _| Ok(());
    "DSM_CLANGXX", "PATH", "clang++-22", "The compiler that dsm-c++ stands in for; has no effect at run time.", |_, _| Ok(());
    "DSM_FLANG", "PATH", "flang-22", "The compiler that dsm-fc stands in for; has no effect at run time.", |_, _| Ok(());
    "OMP_NUM_THREADS", "N[,N...]", "processes x threads per process", "Threads of a team, by nesting level. Not given, nested regions have the threads per process, and a program under dsm-run finds the threads of the job in it. Under mpirun and srun: the threads of each process.",
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
    "OMP_THREAD_LIMIT", "N", "2147483647", "Most threads of a contention group: of all regions that an initial thread has running at a time.",
        |c, s| set(&mut c.thread_limit, positive(s), "a positive number"), |c| show::quoted(c.thread_limit);
    "OMP_MAX_ACTIVE_LEVELS", "N", "1; more if OMP_NUM_THREADS or OMP_PROC_BIND is a list",
        "Nested parallel regions deeper than this run in one thread.",
        |c, s| set(&mut c.max_active_levels_given, number(s).map(Some), "a number"), |c| show::quoted(c.max_active_levels());
    "OMP_NESTED", "true|false", "false", "Deprecated: true stands for OMP_MAX_ACTIVE_LEVELS=2147483647.",
        |c, s| boolean(s).map(|on| c.max_active_levels_given = Some(if on { i32::MAX as u32 } else { 1 })).ok_or("true or false".into()),
        |c| format!(": deprecated; max-active-levels-var={}", c.max_active_levels());
    "OMP_PROC_BIND", "false|true or LIST of primary|close|spread", "false, or spread if OMP_PLACES is set",
        "How threads of teams are bound to places, by nesting level. Places are parts of the processors that a process may use; threads of processes with the same processors are placed together.",
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
    "OMP_TARGET_OFFLOAD", "disabled|default|mandatory", "default", "There is no device but the host: mandatory ends the program at its first target region that does not name the host.",
        |c, s| set(&mut c.target_offload, word(s, &["DISABLED", "DEFAULT", "MANDATORY"]), "disabled, default or mandatory"),
        |c| format!("={}", c.target_offload);
    "OMP_ALLOCATOR", "ALLOCATOR or MEMSPACE[:TRAIT=VALUE,...]", "omp_default_mem_alloc",
        "The allocator of routines, directives and clauses that name none. All memory is the shared heap; alignment, pool_size and fallback have an effect.",
        |c, s| set(&mut c.allocator, allocator::parse(s), "a predefined allocator, or a predefined memory space with traits"),
        |c| show::quoted(&c.allocator.text);
    "OMP_TOOL", "enabled|disabled", "enabled", "Whether the processes look for a tool (OMPT) and start it.",
        |c, s| set(&mut c.tool, word(s, &["enabled", "disabled"]), "enabled or disabled"), |c| show::quoted(c.tool);
    "OMP_TOOL_LIBRARIES", "PATHS", "", "Libraries with tools, separated by colons: the first whose ompt_start_tool returns one is attached to each process, unless the program brings a tool.",
        |c, s| set(&mut c.tool_libraries, Some(s.to_owned()), ""),
        |c| show::optional((!c.tool_libraries.is_empty()).then_some(&c.tool_libraries));
    "OMP_TOOL_VERBOSE_INIT", "disabled|stdout|stderr|PATH", "disabled", "Where each process says how it looks for a tool.",
        |c, s| set(&mut c.tool_verbose_init, Some(s.to_owned()), ""),
        |c| show::optional((!c.tool_verbose_init.is_empty()).then_some(&c.tool_verbose_init));
}

fn set<T>(slot: &mut T, value: Option<T>, wanted: &str) -> Result<(), String> {
    *slot = value.ok_or_else(|| wanted.to_owned())?;
    Ok(())
}
