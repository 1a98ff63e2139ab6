//! Low-level communication between the processes of a job: memory that peers can reach, and one-sided operations on it.
//!
//! The crate knows segments, offsets and words; what they mean is the caller's business. This is the shared-memory transport: a peer's
//! segment is mapped, and the requester itself does the loads, stores and atomics, so an operation is complete when it returns.
//!
//! Memory that others write is reached through raw pointers, atomics and [`copy`] only, never through references to bytes.

//! The lock-free parts take their atomics from `primitive`, so that loom can search their interleavings; the rest does without it then.

pub mod backoff;
pub mod bias;
pub mod bulletin;
mod primitive;
pub mod quiesce;
pub mod user_code;
pub mod wait;
pub mod yielding;

#[cfg(not(loom))]
pub mod copy;
#[cfg(not(loom))]
pub mod diff;
#[cfg(not(loom))]
pub mod futex;
#[cfg(not(loom))]
pub mod segment;
#[cfg(not(loom))]
pub mod shm;
