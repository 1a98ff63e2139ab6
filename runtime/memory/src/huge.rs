//! The shared data in huge pages.
//!
//! Shared memory comes in small pages unless the administrator allows more, and walking their tables is what most of the difference between private memory and
//! shared memory costs where a program goes over more of it than the processor's translation buffers reach. With `DSM_HUGE=1`, at barriers,
//! each process has the system move those parts of its own copy that are at least half in use into huge pages, each part once. Peers see the same pages.
//! Moving takes up to as long as touching the memory did, which short runs do not earn back: hence the switch.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use dsm_comm::segment::{self, HUGE_PAGE, MemoryFile};

use super::geometry::Geometry;
use crate::{self as memory, config};

/// Most bytes that are moved at one barrier: some tens of milliseconds.
const MOST: usize = 128 << 20;
/// Looks at the first barriers, which often follow the setting up of data.
const EAGER: u32 = 16;
/// Most barriers between two looks. The number doubles when there was nothing to do.
const LONGEST: u32 = 1 << 14;

/// Barriers until the next look.
static LEFT: AtomicU32 = AtomicU32::new(1);
static BYTES: AtomicU64 = AtomicU64::new(0);
static PROGRESS: Mutex<Option<Progress>> = Mutex::new(None);

/// What was done so far.
#[derive(Debug)]
struct Progress {
    /// Numbers of the parts that were moved, or cannot be.
    done: HashSet<usize>,
    looks: u32,
    interval: u32,
}

/// Bytes that this process moved into huge pages.
pub fn bytes() -> u64 {
    BYTES.load(Ordering::Relaxed)
}

/// After a global synchronisation. Called by one thread of the process at a time.
pub fn after_sync() {
    let left = LEFT.load(Ordering::Relaxed);
    if left != 1 {
        // 0: never again.
        LEFT.store(left.saturating_sub(1), Ordering::Relaxed);
        return;
    }
    look();
}

#[cold]
fn look() {
    // Pages of a pager come and go.
    let wanted = config::get().huge_pages && !memory::paging::is_on();
    let (Some(shared), true) = (memory::shared(), wanted) else {
        return LEFT.store(0, Ordering::Relaxed);
    };
    let mut progress = PROGRESS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let progress = progress.get_or_insert_with(|| Progress { done: HashSet::new(), looks: 0, interval: 1 });
    let geometry = memory::get().geometry();
    let found = progress.candidates(geometry, shared.own_file);
    progress.looks += 1;
    progress.interval = match found.is_empty() && progress.looks > EAGER {
        true => (2 * progress.interval).min(LONGEST),
        false => 1,
    };
    let next = if move_all(geometry, found) { progress.interval } else { 0 };
    LEFT.store(next, Ordering::Relaxed);
}

/// Segment offsets of the heap and of the globals, as far as they are whole huge pages. Stacks are mostly empty.
fn data(geometry: &Geometry) -> impl Iterator<Item = Range<usize>> + '_ {
    let globals = geometry.globals().placed().map(|(range, offset)| offset..offset + range.len());
    let arenas = (0..geometry.processes()).map(|rank| {
        let arena = geometry.arena(rank);
        geometry.offset(arena.start)..geometry.offset(arena.end - 1) + 1
    });
    globals.chain(arenas).map(|part| part.start.next_multiple_of(HUGE_PAGE)..part.end / HUGE_PAGE * HUGE_PAGE)
}

impl Progress {
    /// Segment offsets to move: huge pages that are at least half in use, as runs. They count as done.
    fn candidates(&mut self, geometry: &Geometry, own: &MemoryFile) -> Vec<Range<usize>> {
        let (mut found, mut bytes): (Vec<Range<usize>>, _) = (Vec::new(), 0);
        for part in data(geometry) {
            let mut at = part.start;
            while at < part.end && bytes < MOST {
                at = own.next_resident(at..part.end) / HUGE_PAGE * HUGE_PAGE;
                let page = at..at + HUGE_PAGE;
                if at < part.end
                    && !self.done.contains(&(at / HUGE_PAGE))
                    && own.resident_bytes_of(page.clone()) >= HUGE_PAGE as u64 / 2
                {
                    self.done.insert(at / HUGE_PAGE);
                    bytes += HUGE_PAGE;
                    match found.last_mut() {
                        Some(last) if last.end == at => last.end = page.end,
                        _ => found.push(page),
                    }
                }
                at += HUGE_PAGE;
            }
        }
        found
    }
}

/// Returns whether it is worth trying again.
fn move_all(geometry: &Geometry, runs: Vec<Range<usize>>) -> bool {
    let mut refused = 0;
    let count = runs.len();
    for run in runs {
        match segment::into_huge_pages(geometry.address_at(run.start), run.len()) {
            Ok(()) => _ = BYTES.fetch_add(run.len() as u64, Ordering::Relaxed),
            Err(_) => refused += 1,
        }
    }
    // Nothing of it was possible: an old system, or one whose memory is in too small pieces.
    count == 0 || refused < count
}
