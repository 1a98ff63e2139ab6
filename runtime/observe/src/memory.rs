//! The memory that is observed, as start describes it. A job of one process has none.

use std::fmt::{self, Debug, Formatter};
use std::sync::OnceLock;

use dsm_coherence::Extent;
use dsm_coherence::stats::Stats;
use dsm_comm::Segments;
use dsm_geometry::{Geometry, Observed};

use crate::{profile, race};

/// What is to be known of the memory of a job of several processes.
pub struct Memory {
    /// Where notes are left for peers.
    pub segments: Segments,
    /// Layout.
    pub geometry: &'static Geometry,
    /// This process's number.
    pub rank: u32,
    /// Segment offset, in process 0, of the keys of the races reported so far: [`race::REPORTS`] words and one that says that there were more.
    pub reports: usize,
    /// Makes the next stores to blocks ask.
    pub watch: fn(&mut dyn Iterator<Item = Extent>),
    /// What the protocol counts.
    pub counters: fn() -> &'static Stats,
}

impl Debug for Memory {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("rank", &self.rank).finish_non_exhaustive()
    }
}

static MEMORY: OnceLock<Memory> = OnceLock::new();

/// From now on, this memory is observed; once, before any code of the program runs.
pub fn observe(memory: Memory) {
    assert!(MEMORY.set(memory).is_ok(), "memory is set up once");
}

pub(crate) fn get() -> Option<&'static Memory> {
    MEMORY.get()
}

/// This process's number.
pub(crate) fn rank() -> u32 {
    get().map_or(0, |memory| memory.rank)
}

/// Processes of the job.
pub(crate) fn processes() -> u32 {
    get().map_or(1, |memory| memory.geometry.processes())
}

/// Space that is needed in each segment of a job of so many processes.
pub fn space(processes: u32) -> Observed {
    let if_any = |is_on: bool, size: usize| if is_on { size } else { 0 };
    let (race, profile) = (race::is_on(), profile::is_wanted());
    Observed {
        write_bytes: if_any(race, race::WRITE_BYTES),
        sites_bytes: if_any(race || profile, race::sites::AREA_BYTES),
        profile_bytes: if_any(profile, profile::AREA_BYTES),
        clock_words: if_any(race, processes as usize + race::clocks::ARRIVALS),
    }
}
