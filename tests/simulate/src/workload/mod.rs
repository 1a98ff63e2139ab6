//! Workloads. Each checks what it reads, so a protocol that loses a write fails the run.

mod locked;
mod private;
mod relay;
mod stencil;
mod table;
mod transpose;

use std::rc::Rc;

use clap::ValueEnum;
use serde::Serialize;

use crate::machine::Machine;
use crate::net::Regions;
use crate::sync::Participant;

/// What processes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Each process writes its own data between barriers; nobody reads it
    Private,
    /// Each process updates its part of an array from the neighbours' edges, between barriers
    Stencil,
    /// Each process writes a row of a matrix, then reads columns: pieces of 64 bytes from everybody
    Transpose,
    /// A record that is read and written under a lock by one process after another
    Migratory,
    /// A record that half of the processes hand on under a lock, read by the others, who never had it
    Relay,
    /// A table of 64-byte entries that all read at random; one process changes a few entries between two barriers
    Table,
}

/// Sizes of a workload that have one default for all figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sizes {
    /// Iterations that are measured. (One of [`Workload::Migratory`] is one passing of the lock by every process.)
    pub iterations: u64,
    /// Iterations before those, in which homes come to rest.
    pub warm_up: u64,
}

/// Bytes at which regions begin: above every block size.
const ALIGN: u64 = 1 << 16;

fn regions(processes: u32, parts: &[u64]) -> Regions {
    let mut at = 0;
    let mut regions = Regions::default();
    for part in parts {
        regions.parts.push((at, *part));
        at += (part * u64::from(processes)).next_multiple_of(ALIGN);
    }
    regions
}

impl Workload {
    /// Where its data is.
    pub fn regions(self, processes: u32) -> Regions {
        match self {
            Workload::Private => regions(processes, &[private::BYTES]),
            Workload::Stencil => regions(processes, &[stencil::BYTES, stencil::BYTES]),
            Workload::Transpose => regions(processes, &[transpose::row(processes)]),
            Workload::Migratory => regions(processes, &[locked::BYTES]),
            Workload::Relay => regions(processes, &[relay::PART]),
            Workload::Table => regions(processes, &[table::part(processes)]),
        }
    }

    /// What one process does.
    pub async fn run<M: Machine + 'static>(self, m: Rc<M>, participant: Participant<M>, sizes: Sizes) {
        match self {
            Workload::Private => private::run(&*m, &participant, sizes).await,
            Workload::Stencil => stencil::run(&*m, &participant, sizes).await,
            Workload::Transpose => transpose::run(&*m, &participant, sizes).await,
            Workload::Migratory => locked::run(&*m, &participant, sizes).await,
            Workload::Relay => relay::run(&*m, &participant, sizes).await,
            Workload::Table => table::run(&*m, &participant, sizes).await,
        }
    }
}

/// Measures from here on if `iteration` is the first after warming up. Called behind a barrier.
fn begin<M: Machine>(m: &M, iteration: u64, sizes: Sizes) {
    if iteration != sizes.warm_up {
        return;
    }
    let world = m.world();
    let process = world.process(m.rank());
    process.measuring.set(true);
    let begin = &mut world.times.borrow_mut().begin;
    *begin = world.engine.now().max(*begin);
}

/// Ends what a process does.
async fn end<M: Machine>(m: &M) {
    let world = m.world();
    world.wait_until_idle(m.rank()).await;
    world.process(m.rank()).measuring.set(false);
    let end = &mut world.times.borrow_mut().end;
    *end = world.engine.now().max(*end);
}

/// Demands that a load saw what the program's order demands.
fn expect(found: u64, wanted: u64, what: std::fmt::Arguments<'_>) {
    assert_eq!(found, wanted, "stale or lost: {what}");
}
