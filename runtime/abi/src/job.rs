//! What the launcher tells the processes of a job, and the page they share with it.
//!
//! The environment variable [`JOB_VARIABLE`] is `5:<rank>:<size>:<threads>:<first>-<last>:<jobfd>:<segment0>,<segment1>,...[:<variable>=<fd>]...`. `jobfd` is a memory file of
//! [`JOB_FILE_BYTES`](crate::progress::JOB_FILE_BYTES) zero bytes, which the processes of one host share: the page, and a record of each process
//! ([`progress`](crate::progress)). Processes `first` to `last` may use the same processors as this one, which is among them; others of the host may use others.
//! `segment<r>` is how the segment of rank r is reached:
//!
//! - a number: by the memory file that this descriptor leads to. Rank r gives it its size, and whoever has it maps it. The own segment is always reached so,
//!   those of other processes of the host unless `DSM_TRANSPORT` says otherwise. Ranks of such segments follow each other.
//! - `<requests>+<serves>+<waits>+<serves_waits>`: by requests over stream sockets. The other end of `requests` is rank r's `serves` for this process, that of `waits` its
//!   `serves_waits`. Nobody else holds an end of them.
//!
//! `<variable>=<fd>`: what the process would write to the file that this variable names goes to the descriptor, from where the launcher brings it to the host that the
//! user is at. It is only appended to. That of [`TRACE_FILE`](crate::trace::TRACE_FILE) has the host's trace buffers instead.
//!
//! All are inherited.

/// Name of the environment variable.
pub const JOB_VARIABLE: &str = "DSM_JOB";
/// First field of [`JOB_VARIABLE`].
pub const JOB_VERSION: u32 = 5;
/// Most processes of a job over one launcher.
pub const MAX_PROCESSES: u32 = 1024;
/// Limit of the stack, bytes, under which the launcher starts processes whose stack is not limited: without one, the system would place
/// everything else at low addresses. The processes lift it again.
pub const BOUNDED_STACK: u64 = 1 << 40;
/// Size of the job's page, bytes.
pub const JOB_PAGE_BYTES: usize = 64 * 1024;

/// Index of a `u32` in the job page: 1 once the program has ended in an orderly way. Set by process 0, and on other hosts by processes that leave because of it; a futex.
pub const FINISHED_WORD: usize = 0;
/// Index of a `u32`: number of the host's processes that sized their segments; a futex.
pub const READY_WORD: usize = 1;
/// Index of a `u32`: digest of the addresses that the host's first process has its globals at.
pub const ADDRESSES_WORD: usize = 2;
/// Index of a `u32`: the signals that the program handles or ignores in process 0, bit 0 for signal 1. Set by process 0.
pub const HANDLED_WORD: usize = 3;
/// Index of a `u32`: 1 once process 0 wants nothing of other processes any more. Set by process 0, for those of its host; a futex.
pub const SATISFIED_WORD: usize = 4;
/// Index of a `u32`: 1 once a process of the host has said why the job cannot start. Set by that process.
pub const COMPLAINED_WORD: usize = 5;
