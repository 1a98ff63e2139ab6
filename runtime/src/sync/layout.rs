//! The control area of each segment: words that never migrate. Offsets in bytes.
//!
//! Fork, join, control words, locks and streams are used in process 0's segment, the others in every process's own.

/// Hand-off of a block's lock.
pub const GRANT: usize = 0;
/// State of the signature.
pub const LOG_STATE: usize = 64;
/// `min_wr_ts` of the signature. Not in the line of the state word, which changes with every release: takers of homes read it.
pub const LOG_MIN: usize = 128;
/// Number of processes that have left their counters, in process 0.
pub const LEFT: usize = 192;
/// The block that another process wants to store to, see [`dsm_coherence::Word::Revoked`].
pub const REVOKED: usize = 256;
/// Requests of this kind: a [`super::cell::Cell`].
pub const REVOCATIONS: usize = 320;
/// Requests for pages that are on this process's disk, and answers to its own: a [`super::cell::Cell`].
pub const PAGE_BELL: usize = 384;
/// Number of such answers that this process waits for.
pub const PAGE_WAITS: usize = 448;
/// Arrivals of each barrier round: a [`super::cell::Cell`], then how far the signalling process's signature is published.
pub const BARRIER: usize = 4096;
/// Distance between barrier rounds.
pub const BARRIER_STRIDE: usize = 64;
/// Number of forks so far, then the message.
pub const FORK: usize = 16384;
/// Longest fork message, words.
pub const FORK_WORDS: usize = 4096;
/// Counters left for the table at the end.
pub const STATS: usize = 8192;
/// Sleepers on control words.
pub const CONTROL_SLEEPERS: usize = 12288;
/// State words of the peers' signatures, up to which they have been applied.
pub const CURSORS: usize = 64 << 10;
/// Arrivals at the end of parallel regions: a [`super::cell::Cell`], then for each process from 1 on how far its signature is published.
pub const JOIN: usize = 128 << 10;
/// Keys of the races reported so far, then a word that says that there were more.
pub const RACE: usize = 1 << 19;
/// 1 once an assertion of `-fdsm-verify` has failed, in process 0.
pub const VERIFY_FAILED: usize = RACE + 8 * (RACE_SLOTS + 2);
/// Reports of a job.
pub const RACE_SLOTS: usize = crate::race::REPORTS;
/// Threads without tasks: a [`super::cell::Cell`].
pub const TASK_CELL: usize = 49 << 20;
/// Which tasks the process requests.
pub const TASK_WISH: usize = (49 << 20) + 64;
/// Processes that request tasks: a word of each process.
pub const TASK_THIEVES: usize = (49 << 20) + 128;
/// Processes without tasks, in process 0.
pub const TASK_QUIET: usize = (49 << 20) + 192;
/// Barriers at which tasks ended, in process 0.
pub const TASK_EPOCH: usize = (49 << 20) + 256;
/// Tasks given to the process: its mailbox.
pub const TASK_MESSAGE: usize = (49 << 20) + 1024;
/// Words of that.
pub const TASK_MESSAGE_WORDS: usize = 192;
/// Calls of the thread that hands out the process's tasks: a [`super::cell::Cell`].
pub const TASK_SERVICE: usize = (49 << 20) + 512;
/// Ends of tasks that went elsewhere.
pub const TASK_SLOTS: usize = 48 << 20;
/// Number of these.
pub const TASK_SLOT_COUNT: usize = 1 << 16;
/// What two processes have for a reduction of this one: for each a [`super::cell::Cell`] that counts the messages, then the last one.
pub const REDUCTION: usize = 50 << 20;
/// Longest message of a reduction, words.
pub const REDUCTION_WORDS: usize = 128;
/// Messages of this process for reductions that were taken: a [`super::cell::Cell`].
pub const REDUCTION_TAKEN: usize = REDUCTION + 4096;
/// Control words.
pub const CONTROL: usize = 1 << 20;
/// Lock slots, in process 0.
pub const LOCKS: usize = 64 << 20;
/// Number of lock slots; a power of two. Few in tests, which want them to run out.
pub const LOCK_SLOTS: usize = if cfg!(test) { 128 } else { 1 << 21 };
/// Neighbouring slots in which a name may live that is not at home.
pub const LOCK_WINDOW: usize = 32;
/// Bytes of a lock slot: a cache line.
pub const LOCK_BYTES: usize = 64;
/// For each lock slot a bit: whether a name whose home it is was ever put elsewhere.
pub const LOCK_SPILLED: usize = LOCKS + LOCK_SLOTS * LOCK_BYTES;
/// Locks of the table of locks: a cache line each.
pub const LOCK_STRIPES: usize = LOCK_SPILLED + (LOCK_SLOTS / 8).next_multiple_of(64);
/// Number of these.
pub const LOCK_STRIPES_COUNT: usize = 64;
/// Number of locks that lost their slots.
pub const LOCK_EVICTIONS: usize = LOCK_STRIPES + 64 * LOCK_STRIPES_COUNT;
/// Counters of notifications with their sleepers, in process 0: a cache line each.
pub const CONDITIONS: usize = 2 << 20;
/// Number of these.
pub const CONDITION_SLOTS: usize = 1 << 16;
/// Memory of this process that others have freed: number of buffers that came, then their addresses, a word each.
pub const FREED: usize = 8 << 20;
/// Buffers that wait for a process.
pub const FREED_BUFFERS: usize = 63;
/// Streams of the C library by owner, in process 0: hash slots, a word each.
pub const STREAMS: usize = 40 << 20;
/// Number of stream slots.
pub const STREAM_SLOTS: usize = 4096;
/// 1 while the stream slots are being changed.
pub const STREAMS_LOCK: usize = STREAMS + 8 * STREAM_SLOTS;
/// Number of changes of the stream slots.
pub const STREAMS_CHANGES: usize = STREAMS_LOCK + 64;
/// Requests to use a stream of the process: state and sleepers, then the request's words.
pub const MAILBOX: usize = STREAMS_CHANGES + 64;
/// Bytes read or written.
pub const MAILBOX_DATA: usize = 41 << 20;
/// Size of a mailbox's data, bytes.
pub const MAILBOX_DATA_BYTES: usize = 64 << 10;
/// Numbers of descriptors of a process.
pub const DESCRIPTOR_RANGE: usize = 4096;
/// Numbers of the descriptors that the program has opened in process 0: a set of bits.
pub const DESCRIPTORS: usize = MAILBOX_DATA + MAILBOX_DATA_BYTES;
/// Numbers of the process's descriptors that others have copies of, likewise.
pub const IMPORTED: usize = DESCRIPTORS + DESCRIPTOR_RANGE / 8;
/// 1 once the process has copies of other processes' descriptors.
pub const IMPORTS: usize = IMPORTED + DESCRIPTOR_RANGE / 8;
/// How often process 0 has put another file in the place of standard output, and of standard error.
pub const STANDARD_CHANGES: usize = IMPORTS + 64;
/// Keys for thread-specific data that were made.
pub const KEYS_MADE: usize = STANDARD_CHANGES + 64;
/// Their destructors.
pub const KEYS: usize = KEYS_MADE + 64;
/// Number of keys.
pub const KEY_SLOTS: usize = 1024;

/// Rules for allocations that some allocation followed: bits, in process 0.
pub const RULES_FOLLOWED: usize = KEYS + 8 * KEY_SLOTS;
/// First address of what `sbrk` gives, and how much it has given, in process 0.
pub const BREAK: usize = RULES_FOLLOWED + 64;

/// What the C library keeps for a process and the program takes for its own, see [`crate::process_state`]: lines of words, in process 0.
pub const PROCESS_STATE: usize = (BREAK + 16).next_multiple_of(64);
/// Size of that, bytes.
pub const PROCESS_STATE_BYTES: usize = 2048;

/// Signals for the process's functions: a [`super::cell::Cell`] that counts them, then the queue that they are in.
pub const SIGNALS: usize = 44 << 20;
/// Signals of this process that others have executed: for each of those a [`super::cell::Cell`].
pub const SIGNALS_DONE: usize = SIGNALS + 4096;

const _: () = assert!(PROCESS_STATE + PROCESS_STATE_BYTES <= SIGNALS);
const _: () = assert!(SIGNALS_DONE + 8 * dsm_abi::job::MAX_PROCESSES as usize <= TASK_SLOTS);
const _: () = assert!(CURSORS + 8 * dsm_abi::job::MAX_PROCESSES as usize <= JOIN);
const _: () = assert!(JOIN + 8 * dsm_abi::job::MAX_PROCESSES as usize <= RACE);
const _: () = assert!(RACE + 8 * (RACE_SLOTS + 1) <= CONTROL);
const _: () = assert!(CONTROL + 8 * super::control::CONTROL_WORDS <= CONDITIONS);
const _: () =
    assert!(CONDITIONS + 64 * CONDITION_SLOTS <= FREED && FREED + 8 * (1 + FREED_BUFFERS) <= STREAMS);
const _: () = assert!(
    TASK_SERVICE + 8 <= TASK_MESSAGE
        && TASK_MESSAGE + 8 * TASK_MESSAGE_WORDS <= REDUCTION
        && MAILBOX + 64 <= MAILBOX_DATA
);
const _: () = assert!(MAILBOX_DATA + MAILBOX_DATA_BYTES <= TASK_SLOTS);
const _: () = assert!(TASK_SLOTS + 8 * TASK_SLOT_COUNT <= TASK_CELL);
