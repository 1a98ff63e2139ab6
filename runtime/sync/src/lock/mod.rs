//! Locks.

mod keep;
mod queue;
mod slot;
mod stripe;
mod table;

pub use queue::Turn;

pub(crate) use keep::{ENTRY, Wish};
pub(crate) use queue::Queued;
pub(crate) use slot::{Seen, Slot};
