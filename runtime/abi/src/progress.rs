//! What a process leaves for whoever looks at a running job (`dsm-top`): a record of [`RECORD_BYTES`] bytes in the job's memory file, behind the page of
//! [`job`](crate::job), made of words of 64 bits that the launcher reads at any moment. The process writes them, but for [`WATCH`].
//!
//! A record begins with words about the process, behind which are [`THREADS`] groups of words about its threads. Times are in ticks of the processor's time stamp counter unless
//! it says otherwise.

use crate::job::{JOB_PAGE_BYTES, MAX_PROCESSES};

/// Size of a record.
pub const RECORD_BYTES: usize = 16 * 1024;
/// The same in words.
pub const RECORD_WORDS: usize = RECORD_BYTES / 8;
/// Size of the job's memory file.
pub const JOB_FILE_BYTES: usize = record_offset(MAX_PROCESSES);

/// Where the record of a process is in the job's memory file.
pub const fn record_offset(rank: u32) -> usize {
    JOB_PAGE_BYTES + rank as usize * RECORD_BYTES
}

/// Changed by the launcher at each look: if not 0, the process measures time and samples misses. The process sets it to 0 when it has not changed for a while;
/// [`ALWAYS`] stays.
pub const WATCH: usize = 0;
/// Value of [`WATCH`] of a process that measures in any case.
pub const ALWAYS: u64 = u64::MAX;
/// How many groups of words were ever a thread's.
pub const THREADS_USED: usize = 1;
/// Threads that found no words.
pub const THREADS_LEFT_OUT: usize = 2;
/// Number of the region of several processes that the process has come to.
pub const REGION: usize = 3;
/// How many barriers of several processes it has come to in this region.
pub const BARRIERS: usize = 4;
/// Address of the program headers of the program's file where the program is loaded.
pub const HEADERS: usize = 5;
/// First of [`ACTIVITIES`] times in nanoseconds, over all threads, of what was measured.
pub const ACTIVITY_TIMES: usize = 8;
/// What is measured: misses without copying, copying, releases, acquires, waiting, waiting for tasks.
pub const ACTIVITIES: usize = 6;
/// First of [`SAMPLES`] addresses that missed, or 0, while somebody looked.
pub const SAMPLED: usize = 16;
/// See there.
pub const SAMPLES: usize = 128;

/// First word about threads.
pub const THREADS_AT: usize = 256;
/// Groups of words about threads.
pub const THREADS: usize = (RECORD_WORDS - THREADS_AT) / thread::WORDS;

/// Words about a thread.
pub mod thread {
    /// Its number in the system; 0 if the words are no thread's.
    pub const ID: usize = 0;
    /// What it does: a [`Doing`](super::Doing).
    pub const DOING: usize = 1;
    /// Address that it waits at, such as a lock's name; 0 if there is none.
    pub const OBJECT: usize = 2;
    /// Processes that take part in what it waits for.
    pub const PARTICIPANTS: usize = 3;
    /// When it began with that.
    pub const SINCE: usize = 4;
    /// Function of the region that it executes; 0 outside of regions.
    pub const FUNCTION: usize = 5;
    /// Misses.
    pub const MISSES: usize = 6;
    /// Bytes of the blocks that they were for.
    pub const BYTES: usize = 7;
    /// First of the times of what it did, without what it does now.
    pub const TIMES: usize = 8;
    /// First of [`LOCKS`] names of locks that it holds, or 0.
    pub const HELD: usize = TIMES + super::Doing::COUNT;
    /// Locks that are known: the first ones that it took.
    pub const LOCKS: usize = 4;
    /// Words about a thread.
    pub const WORDS: usize = 24;
    const _: () = assert!(HELD + LOCKS <= WORDS);
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Doing {
    /// Runs the program, or the runtime on behalf of it.
    Runs = 0,
    /// Waits at a barrier.
    Barrier = 1,
    /// Process 0: waits at the end of a region for the other processes.
    Join = 2,
    /// Has no region to work on.
    Idle = 3,
    /// Waits for a lock.
    Lock = 4,
    /// Waits for a condition variable.
    Condition = 5,
    /// Waits for tasks.
    Tasks = 6,
    /// Waits for something else: a turn of an ordered construct, a stream of another process.
    Other = 7,
}

impl Doing {
    /// How many there are.
    pub const COUNT: usize = 8;
    /// All of them, each at its number.
    pub const ALL: [Doing; Doing::COUNT] = [
        Doing::Runs,
        Doing::Barrier,
        Doing::Join,
        Doing::Idle,
        Doing::Lock,
        Doing::Condition,
        Doing::Tasks,
        Doing::Other,
    ];
}
