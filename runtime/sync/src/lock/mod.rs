//! Locks.

mod cache;
mod queue;
mod slot;
mod stripe;
mod table;

pub use queue::Turn;

pub(crate) use cache::{ENTRY, Revocation};
pub(crate) use queue::Queued;
pub(crate) use slot::{Seen, Slot};
