//! Memory that the processes of a job share, and one-sided operations on it.
//!
//! The crate knows segments, offsets and words; what they mean is the caller's business. This is the shared-memory transport: a peer's
//! segment is mapped, and the requester itself does the loads, stores and atomics, so an operation is complete when it returns.
//!
//! Memory that others write is reached through raw pointers, atomics and `copy` only, never through references to bytes.

pub mod bulletin;

#[cfg(not(loom))]
pub mod copy;
#[cfg(not(loom))]
pub mod diff;
#[cfg(not(loom))]
pub mod segment;
#[cfg(not(loom))]
pub mod shm;
#[cfg(not(loom))]
pub mod stream;
