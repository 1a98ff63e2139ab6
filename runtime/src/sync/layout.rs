//! The control area of each segment: words that never migrate. Offsets in bytes.
//!
//! Fork, join, control words and locks are used in process 0's segment, the others in every process's own.

/// Hand-off of a block's lock.
pub const GRANT: usize = 0;
/// State of the signature.
pub const LOG_STATE: usize = 64;
/// `min_wr_ts` of the two signature buffers.
pub const LOG_MIN: usize = 128;
/// Arrivals of each barrier round: a [`super::cell::Cell`] each.
pub const BARRIER: usize = 4096;
/// Distance between barrier rounds.
pub const BARRIER_STRIDE: usize = 64;
/// Arrivals at the end of parallel regions.
pub const JOIN: usize = 16384;
/// Number of forks so far.
pub const FORK: usize = 16448;
/// Participants and length of the fork message, in words, then the message.
pub const FORK_MESSAGE: usize = 20480;
/// Longest fork message, words.
pub const FORK_WORDS: usize = 4096;
/// Counters left for the table at the end.
pub const STATS: usize = 8192;
/// Sleepers on control words.
pub const CONTROL_SLEEPERS: usize = 16512;
/// Control words.
pub const CONTROL: usize = 1 << 20;
/// Lock slots.
pub const LOCKS: usize = 2 << 20;
/// Number of lock slots; a power of two.
pub const LOCK_SLOTS: usize = 1 << 20;
/// Bytes of a lock slot.
pub const LOCK_BYTES: usize = 32;

const _: () = assert!(FORK_MESSAGE + 16 + 8 * FORK_WORDS <= CONTROL);
const _: () = assert!(CONTROL + 8 * super::CONTROL_WORDS <= LOCKS);
const _: () = assert!(LOCKS + LOCK_SLOTS * LOCK_BYTES <= crate::memory::geometry::CONTROL_BYTES);
