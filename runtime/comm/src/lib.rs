//! The communication layer: the segments of all processes of a job, and operations on places in them.
//!
//! A *segment* is memory of one process that all processes may reach; a place in it is (rank, offset). Nobody outside of this crate gets the address
//! of a place in a peer's segment: [`Word`], [`Half`] and [`Bytes`] are handles, and what they refer to is reached by their methods only. What the
//! words mean is the caller's business.
//!
//! Over shared memory a peer's segment is mapped, and the requester itself does the loads, stores and atomics. Over another [`Transport`] nothing of a
//! peer is mapped; each operation is a request that the owner's process executes and answers. In both cases an operation is placed when it returns.
//!
//! Memory that others write is reached through raw pointers, atomics and `copy` only, never through references to bytes.

pub mod bulletin;

#[cfg(not(loom))]
pub mod copy;
#[cfg(not(loom))]
pub mod diff;
#[cfg(not(loom))]
mod place;
#[cfg(not(loom))]
pub mod segment;
#[cfg(not(loom))]
mod segments;
#[cfg(not(loom))]
pub mod stream;
#[cfg(not(loom))]
pub mod transport;

#[cfg(not(loom))]
pub use place::{Bytes, Half, Word};
#[cfg(not(loom))]
pub use segments::{Own, Segments};
#[cfg(not(loom))]
pub use transport::{Section, Transport, Update, Wake, Width};
