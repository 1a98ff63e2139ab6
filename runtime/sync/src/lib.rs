//! Synchronisation of the processes of a job: locks, barriers, fork and join of regions, conditions, hand-over of tasks, and reductions.
//!
//! Everything is built on words that never migrate ([`Words`]) and on release and acquire of the coherent memory ([`Memory`]); how these are reached is the business of
//! whoever implements the two traits: the runtime, over shared memory or a network, the schedule explorer, and the simulator. All three run what is here.
//!
//! A release publishes what a process wrote. What tells another process of it, a lock's slot, a barrier's signal or a fork's message, carries a
//! [`ReleaseToken`](dsm_coherence::ReleaseToken) or its first word, so that the acquire that follows knows how far to go.
//!
//! - Locks ([`Process::lock`]): ticket locks in a table at process 0.
//! - Barriers ([`Process::barrier`]): dissemination.
//! - Regions ([`Process::fork`], [`Process::wait_fork`], [`Process::join`]): a bulletin that process 0 writes, and a counter.
//! - Conditions ([`Process::condition_wait`]): counters of notifications.
//! - Tasks ([`Process::help`], [`Process::barrier_with_tasks`]): a process without tasks asks for some, and a barrier ends when there are none left.
//! - Reductions ([`Process::send_reduction`]): messages up a binary tree.
#![forbid(unsafe_code)]

#[cfg(not(loom))]
mod barrier;
mod bulletin;
#[cfg(not(loom))]
mod call;
#[cfg(not(loom))]
mod condition;
#[cfg(not(loom))]
mod fault;
#[cfg(not(loom))]
mod layout;
#[cfg(not(loom))]
mod lock;
#[cfg(not(loom))]
mod process;
#[cfg(not(loom))]
mod reduction;
#[cfg(not(loom))]
mod region;
#[cfg(not(loom))]
mod task;
#[cfg(not(loom))]
mod words;

#[cfg(not(loom))]
mod public {
    pub use crate::call::{KIND, REPLY_BYTES, serve};
    pub use crate::fault::Fault;
    pub use crate::layout::{Layout, Reductions, Tasks};
    pub use crate::lock::Turn;
    pub use crate::process::{Process, State};
    pub use crate::task::{Wish, Worker};
    pub use crate::words::{ALL, Cell, Edge, LINE, Memory, Waiting, Words};
}
#[cfg(not(loom))]
pub use public::*;

/// What tells those who wait for a ticket's turn from most others who wait for the same lock.
#[cfg(not(loom))]
pub(crate) fn mask(ticket: u32) -> u32 {
    1 << (ticket % 32)
}
