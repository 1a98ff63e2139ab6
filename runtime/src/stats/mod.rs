//! The table of counters at the end of a run (`DSM_STATS=1`).

pub mod time;

use std::fmt::Write as _;

use crate::memory;

/// Most counters a process reports.
const MAX: usize = 96;

/// This process's counters with names, memory included; empty in a single process.
pub fn values() -> Vec<(&'static str, u64)> {
    let Some(shared) = memory::shared() else { return Vec::new() };
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
    values.extend(crate::omp::task::counters::values());
    values.extend(time::values());
    assert!(values.len() <= MAX);
    values
}

/// Leaves this process's counters where process 0 can read them.
pub fn deposit() {
    for (i, (_, value)) in values().into_iter().enumerate() {
        crate::sync::control::stats_word(crate::sync::rank(), i)
            .store(value, std::sync::atomic::Ordering::SeqCst);
    }
}

/// The table: a line per counter, a column per process.
pub fn table() -> String {
    let names = values();
    let size = crate::sync::size();
    let mut out = format!("{:24}", "process");
    for rank in 0..size {
        let _ = write!(out, "{rank:>16}");
    }
    for (i, (name, _)) in names.iter().enumerate() {
        let _ = write!(out, "\n{name:24}");
        for rank in 0..size {
            let value = crate::sync::control::stats_word(rank, i).load(std::sync::atomic::Ordering::SeqCst);
            let _ = write!(out, "{value:>16}");
        }
    }
    out.push('\n');
    out
}
