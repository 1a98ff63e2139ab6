//! The text of a report, printed once for each variable and job.

use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::Range;
use std::sync::atomic::Ordering;

use dsm_coherence::Block;
use dsm_comm::Segments;

use super::{last_write, sites};
use crate::config::{self, RaceMode};
use crate::image;
use crate::memory;
use dsm_geometry::Geometry;

/// Most reports of a job.
pub const REPORTS: usize = 64;

/// A race that was found.
pub struct Race<'a> {
    /// All segments.
    pub segments: &'a Segments,
    /// Layout.
    pub geometry: &'a Geometry,
    /// Block that both wrote to.
    pub block: Block,
    /// Addresses of the bytes that both changed.
    pub bytes: Range<usize>,
    /// The other process.
    pub from: u32,
}

/// What the bytes belong to.
struct Owner {
    /// Identifies it in the job.
    key: usize,
    /// Its addresses.
    range: Range<usize>,
    /// Name of its byte number `.0`.
    name: Box<dyn Fn(usize) -> String>,
    /// Where it comes from, for what has no name.
    origin: Option<String>,
}

/// Prints a report unless there was one about the same variable or allocation; ends the job if that was asked for.
pub fn report(race: &Race) {
    let owner = owner(race);
    match claim(race, owner.key) {
        Claim::New => print(&text(race, &owner)),
        Claim::Full => print(&format!("dsm: race: {REPORTS} variables were reported; there are more\n")),
        Claim::Known => {}
    }
    if config::get().race == RaceMode::Abort {
        // SAFETY: plain calls; the program's own handler must not keep the job alive.
        unsafe {
            libc::signal(libc::SIGABRT, libc::SIG_DFL);
            libc::abort()
        }
    }
}

/// In one piece, so that lines of several processes do not mix.
fn print(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

enum Claim {
    New,
    Known,
    Full,
}

/// Reserves the report about `key` in the job's table, in process 0's segment.
fn claim(race: &Race, key: usize) -> Claim {
    let Some(memory) = memory::get() else { return Claim::Known };
    let slot = |i: usize| race.segments.word(0, memory.reports + 8 * i);
    for i in 0..REPORTS {
        match slot(i).compare_exchange(0, key as u64, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => return Claim::New,
            Err(other) if other == key as u64 => return Claim::Known,
            Err(_) => {}
        }
    }
    if slot(REPORTS).swap(1, Ordering::SeqCst) == 0 { Claim::Full } else { Claim::Known }
}

fn owner(race: &Race) -> Owner {
    let address = race.bytes.start;
    if let Some(v) = image::variable_at(address) {
        return Owner {
            key: v.address,
            range: v.address..v.address + v.bytes,
            name: Box::new(|offset| format!("{}+{offset}", v.name)),
            origin: None,
        };
    }
    let geometry = race.geometry;
    let home = geometry.default_home(race.block).0;
    if geometry.arena(home).contains(&address)
        && let Some(found) = sites::find(race.segments, geometry, home, address)
    {
        let place = match found.site {
            0 => "the runtime".to_string(),
            site => image::call_site(site).to_string(),
        };
        return Owner {
            key: found.address,
            range: found.address..found.address + found.bytes,
            name: Box::new(move |offset| format!("byte {offset} of {} allocated bytes", found.bytes)),
            origin: Some(format!("allocated by process {home} at {place}")),
        };
    }
    let range = geometry.address(race.block)..geometry.address(race.block) + geometry.block_bytes(race.block);
    let what = match geometry.stack_of(address) {
        Some((rank, thread)) => {
            format!("a local variable in the shared stack of thread {thread} of process {rank}")
        }
        None => format!("address {address:#x}"),
    };
    Owner { key: range.start, range, name: Box::new(move |_| what.clone()), origin: None }
}

fn text(race: &Race, owner: &Owner) -> String {
    let me = memory::rank();
    let offset = race.bytes.start - owner.range.start;
    let end = race.bytes.end.min(owner.range.end).max(race.bytes.start + 1);
    let count = end - race.bytes.start;
    let mut out = format!(
        "dsm: race: {} ({count} {}): processes {me} and {} wrote different values and did not synchronise in between\n",
        (owner.name)(offset),
        if count == 1 { "byte" } else { "bytes" },
        race.from,
    );
    if let Some(origin) = &owner.origin {
        let _ = writeln!(out, "dsm: race:   {origin}");
    }
    for rank in [me, race.from] {
        let write = last_write(race.segments, race.geometry, rank, race.block);
        let place = match write.pc {
            0 => "at an unknown place".to_string(),
            pc if owner.range.contains(&write.address) => format!("at {}", image::call_site(pc)),
            pc => format!("near a write to the same block at {}", image::call_site(pc)),
        };
        let _ = writeln!(out, "dsm: race:   process {rank} wrote {place}");
    }
    out
}
