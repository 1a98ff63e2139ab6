//! Outcomes as lines of text.

use crate::net::Phase;
use crate::run::Outcome;

/// Names of the columns.
pub fn header() -> String {
    format!(
        "{:<10} {:<9} {:>5} {:>7} {:>5} | {:>8} {:>8} {:>8} {:>8} {:>10} {:>9} | {:>10} {:>9} {:>10}",
        "workload",
        "protocol",
        "block",
        "notices",
        "procs",
        "access",
        "release",
        "acquire",
        "sync",
        "bytes",
        "hottest",
        "iter. us",
        "rel. us",
        "barrier us"
    )
}

/// One outcome. Messages and bytes are those of a process in an iteration.
pub fn row(o: &Outcome) -> String {
    let of = |phase| o.messages_of(phase);
    format!(
        "{:<10} {:<9} {:>5} {:>7} {:>5} | {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>10.0} {:>9.0} | {:>10.1} {:>9.2} {:>10.1}",
        name(&o.setting.workload),
        name(&o.setting.protocol),
        o.setting.block,
        o.setting.notices,
        o.setting.processes,
        of(Phase::Access),
        of(Phase::Release),
        of(Phase::Acquire),
        of(Phase::Synchronise),
        o.all_bytes(),
        o.hottest,
        o.iteration_us,
        o.release_us,
        o.barrier_us
    )
}

/// The name of an option's value, as typed.
pub fn name<T: clap::ValueEnum>(value: &T) -> String {
    value.to_possible_value().map_or_else(String::new, |v| v.get_name().to_string())
}
