//! The counters at the end of a run (`DSM_STATS`): a table, or the same as JSON.

use std::fmt::Write as _;
use std::sync::atomic::Ordering::SeqCst;

use serde::Serialize;

use crate::job::Job;
use crate::job::destination::{self, Destination};
use crate::posted::deferred;
use crate::{config, image, memory, omp, sync, time};

static REPORT: Destination = Destination::new("DSM_STATS", "table of counters");

/// Whether they were asked for.
pub fn are_wanted() -> bool {
    !config::get().stats.is_empty()
}

/// Process 0, at the start.
pub fn prepare(job: &Job) {
    REPORT.prepare(job, &config::get().stats);
}

/// Process 0, at the end, when all have left theirs: writes them.
pub fn write() {
    let path = &config::get().stats;
    REPORT.put(path, &if destination::is_json(path) { json() } else { table() });
}

/// Most counters a process reports.
const MAX: usize = 96;

crate::control::declare! {
    /// Counters that the process leaves for the table at the end.
    static COUNTERS: u64, MAX;
}

/// This process's counters with names, memory included; of a single process those of the pager, if there is one.
pub fn values() -> Vec<(&'static str, u64)> {
    let Some(shared) = memory::shared() else { return memory::paging::values() };
    let mut values = shared.coherence.stats().values();
    let (twins, most_twins) = shared.twins.bytes(memory::get().rank());
    let (data, metadata) = shared.data_and_metadata_bytes();
    values.extend([
        ("segment_bytes_resident", shared.resident_bytes()),
        ("data_bytes", data),
        ("metadata_bytes", metadata),
        ("metadata_per_1000", (1000 * metadata).div_ceil(data.max(1))),
        ("huge_page_bytes", memory::huge::bytes()),
        ("twin_bytes", twins),
        ("twin_bytes_peak", most_twins),
    ]);
    values.extend(memory::paging::values());
    values.extend(crate::omp::task::counters::values());
    values.extend(deferred::counters());
    values.extend(time::values());
    assert!(values.len() <= MAX);
    values
}

/// Leaves this process's counters where process 0 can read them.
pub fn deposit() {
    for (i, (_, value)) in values().into_iter().enumerate() {
        COUNTERS.of(sync::rank(), i).store(value, SeqCst);
    }
}

/// A counter of all processes.
fn of_processes(number: usize) -> Vec<u64> {
    (0..sync::size()).map(|rank| COUNTERS.of(rank, number).load(SeqCst)).collect()
}

/// A line per counter, a column per process.
fn table() -> String {
    let mut out = format!("{:24}", "process");
    for rank in 0..sync::size() {
        let _ = write!(out, "{rank:>16}");
    }
    for (i, (name, _)) in values().iter().enumerate() {
        let _ = write!(out, "\n{name:24}");
        for value in of_processes(i) {
            let _ = write!(out, "{value:>16}");
        }
    }
    out.push('\n');
    out
}

/// The same for programs.
#[derive(Debug, Serialize)]
struct Counters {
    program: String,
    processes: u32,
    threads: u32,
    /// By name; a value for each process.
    counters: serde_json::Map<String, serde_json::Value>,
}

fn json() -> String {
    let counters =
        values().into_iter().enumerate().map(|(i, (name, _))| (name.to_string(), of_processes(i).into()));
    let all = Counters {
        program: image::program().display().to_string(),
        processes: sync::size(),
        threads: omp::threads_in_job(),
        counters: counters.collect(),
    };
    serde_json::to_string_pretty(&all).expect("numbers and strings") + "\n"
}
