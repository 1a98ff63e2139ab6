//! `dsm-run` as its users see it.

mod cut;
mod end;
mod hosts;
mod mpirun;
mod output;
mod signals;
mod start;
mod victim;

use std::time::Duration;

/// A job must have ended this long after its cause.
const AT_ONCE: Duration = Duration::from_secs(1);
