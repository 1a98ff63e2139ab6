//! What the runtime tells of itself and of the program: races, a profile, a trace, times, progress, counted accesses.
//!
//! What happens is noted by inlined functions that look at a flag; the crate knows nobody who calls them. What it has to know of the memory of a job, start
//! tells it once ([`memory::observe`]), with functions to call for what is done elsewhere.

pub mod access_counters;
pub mod checked;
pub mod memory;
pub mod profile;
pub mod progress;
pub mod race;
pub mod time;
pub mod trace;

use dsm_config as config;
use dsm_job::{self as job, image};
