//! Low-level communication between the processes of a job: memory that peers can reach, and one-sided operations on it.
//!
//! The crate knows segments, offsets and words; what they mean is the caller's business. This is the shared-memory transport: a peer's
//! segment is mapped, and the requester itself does the loads, stores and atomics, so an operation is complete when it returns.
//!
//! Memory that others write is reached through raw pointers, atomics and [`copy`] only, never through references to bytes.

pub mod backoff;
pub mod copy;
pub mod futex;
pub mod segment;
pub mod shm;
