//! What the launcher tells the processes of a job, and the page they share with it.
//!
//! The environment variable [`JOB_VARIABLE`] is `2:<rank>:<size>:<threads>:<jobfd>:<segfd0>,<segfd1>,...`: `jobfd` is a memory file of
//! [`JOB_PAGE_BYTES`] zero bytes, `segfd<r>` the empty memory file that rank r sizes and the others map. All are inherited.
//!
//! If the processes are to reach each other's memory over sockets (`DSM_TRANSPORT=stream`), `:<streams0>,<streams1>,...` follows: `streams<r>` is `-`
//! for the own rank, and `<requests>+<serves>+<waits>+<serves_waits>` for others, inherited stream sockets. The other end of `requests` is rank r's
//! `serves` for this process, that of `waits` its `serves_waits`. Nobody else holds an end of them. Such a process needs no segment file but its own,
//! though it gets all.

/// Name of the environment variable.
pub const JOB_VARIABLE: &str = "DSM_JOB";
/// First field of [`JOB_VARIABLE`].
pub const JOB_VERSION: u32 = 2;
/// Most processes of a job over one launcher.
pub const MAX_PROCESSES: u32 = 1024;
/// Limit of the stack, bytes, under which the launcher starts processes whose stack is not limited: without one, the system would place
/// everything else at low addresses. The processes lift it again.
pub const BOUNDED_STACK: u64 = 1 << 40;
/// Size of the job's page, bytes.
pub const JOB_PAGE_BYTES: usize = 64 * 1024;

/// Index of a `u32` in the job page: 1 once the program has ended in an orderly way. Set by process 0; a futex.
pub const FINISHED_WORD: usize = 0;
/// Index of a `u32`: number of processes that sized their segments; a futex.
pub const READY_WORD: usize = 1;
/// Index of a `u32`: digest of the addresses that the first process has its globals at.
pub const ADDRESSES_WORD: usize = 2;
/// Index of a `u32`: the signals that the program handles or ignores in process 0, bit 0 for signal 1. Set by process 0.
pub const HANDLED_WORD: usize = 3;
