//! What the pagers of a host's processes tell each other, in words of their segments: for each page whether it is in the memory file, whether another process wants it, and whether another
//! process has stored to it.
//!
//! Other processes store to this one's data with the records of the chunk locked ([`dsm_coherence::calls`]). So a page is taken out of the memory file with the records of its chunks locked.

use std::ops::Range;
use std::sync::atomic::Ordering;

use dsm_coherence::{CHUNK_BLOCKS, Chunk};
use dsm_comm::{Segments, Word};
use dsm_pager::linux::Peers;
use dsm_pager::{PAGE_BYTES, Page, Run};

use crate::memory::geometry::{Geometry, PAGING_WORDS};
use crate::sync::cell::Cell;
use crate::sync::layout;

/// Words of a group of 64 pages.
#[derive(Clone, Copy)]
enum Set {
    Present,
    Wanted,
    Stored,
}

/// Groups of pages with the bits of a run in them.
fn groups(run: Run) -> impl Iterator<Item = (usize, u64)> {
    let (first, last) = (run.first.0, run.end() - 1);
    (first / 64..=last / 64).map(move |group| {
        let from = first.max(64 * group) % 64;
        let to = last.min(64 * group + 63) % 64;
        (group as usize, u64::MAX >> (63 - to) & u64::MAX << from)
    })
}

fn word(segments: &Segments, geometry: &Geometry, at: u32, set: Set, group: usize) -> Word {
    segments.word(at, geometry.paging_offset() + 8 * (PAGING_WORDS * group + set as usize))
}

/// Whether a process of this host, or this one, has a page in memory.
pub(super) fn has_page(segments: &Segments, geometry: &Geometry, at: u32, page: Page) -> bool {
    groups(Run::single(page)).all(|(group, mask)| {
        word(segments, geometry, at, Set::Present, group).load(Ordering::SeqCst) & mask != 0
    })
}

/// Requests for pages of a process.
pub(super) fn requests(rank: u32) -> Cell {
    Cell::at(rank, layout::PAGE_REQUESTS)
}

/// This process is about to store to another one's data, at these offsets. It has the records of their chunks locked. For remote processes it has no effect.
#[cold]
pub(crate) fn note_store(segments: &Segments, geometry: &Geometry, at: u32, offsets: Range<usize>) {
    if !segments.is_mapped(at) {
        return;
    }
    let run = Run::between((offsets.start / PAGE_BYTES) as u32, offsets.end.div_ceil(PAGE_BYTES) as u32);
    for (group, mask) in groups(run) {
        word(segments, geometry, at, Set::Stored, group).fetch_or(mask, Ordering::SeqCst);
    }
}

/// The processes of the job, as a pager sees them.
pub(super) struct JobPeers {
    geometry: &'static Geometry,
    segments: Segments,
    rank: u32,
    /// Chunks whose records are locked.
    held: Vec<Chunk>,
}

impl JobPeers {
    pub(super) fn new(geometry: &'static Geometry, segments: Segments, rank: u32) -> JobPeers {
        JobPeers { geometry, segments, rank, held: Vec::new() }
    }

    fn word(&self, at: u32, set: Set, group: usize) -> Word {
        word(&self.segments, self.geometry, at, set, group)
    }

    fn change(&self, set: Set, run: Run, on: bool) {
        for (group, mask) in groups(run) {
            let word = self.word(self.rank, set, group);
            match on {
                true => word.fetch_or(mask, Ordering::SeqCst),
                false => word.fetch_and(!mask, Ordering::SeqCst),
            };
        }
    }

    /// The chunks that pages have parts of; the same one more than once where block sizes change.
    fn chunks(&self, run: Run) -> impl Iterator<Item = Chunk> + use<> {
        let geometry = self.geometry;
        let blocks = geometry.blocks();
        let end = (run.offset() + run.bytes()).min(geometry.data_and_metadata().0.end);
        let mut at = run.offset();
        std::iter::from_fn(move || {
            let block = (at < end).then(|| blocks.block(at))?;
            let behind = CHUNK_BLOCKS - block.0 % CHUNK_BLOCKS;
            let chunk_end = blocks.offset(block) + behind as usize * geometry.block_bytes(block);
            at = blocks.run_end(at, chunk_end.min(end) - 1) + 1;
            Some(block.chunk())
        })
    }

    fn records(&self, chunk: Chunk) -> Word {
        self.segments.word(self.rank, self.geometry.header_offset(chunk))
    }

    /// Locks the records of the chunks, if all are free.
    fn lock(&mut self, run: Run) -> bool {
        for chunk in self.chunks(run) {
            if self.held.contains(&chunk) {
                continue;
            }
            let word = self.records(chunk);
            let seen = word.load(Ordering::SeqCst);
            let free = seen.is_multiple_of(2);
            if !free || word.compare_exchange(seen, seen + 1, Ordering::SeqCst, Ordering::SeqCst).is_err() {
                return false;
            }
            self.held.push(chunk);
        }
        true
    }

    fn unlock(&mut self) {
        for chunk in std::mem::take(&mut self.held) {
            self.records(chunk).fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Peers for JobPeers {
    fn watch(&mut self, run: Run) {
        self.change(Set::Stored, run, false);
        // Whoever holds the records now may have said so before.
        if self.chunks(run).any(|chunk| !self.records(chunk).load(Ordering::SeqCst).is_multiple_of(2)) {
            self.change(Set::Stored, run, true);
        }
    }

    fn exclude(&mut self, run: Run, remove: &mut dyn FnMut()) -> bool {
        let locked = self.lock(run);
        let stored =
            |(group, mask)| self.word(self.rank, Set::Stored, group).load(Ordering::SeqCst) & mask != 0;
        let excluded = locked && !groups(run).any(stored);
        if excluded {
            remove();
        }
        self.unlock();
        excluded
    }

    fn set_present(&mut self, run: Run, present: bool) {
        self.change(Set::Present, run, present);
    }

    fn request(&mut self, rank: u32, page: Page) {
        for (group, mask) in groups(Run::single(page)) {
            self.word(rank, Set::Wanted, group).fetch_or(mask, Ordering::SeqCst);
            let summary = self.segments.word(rank, self.geometry.paging_summary_offset() + 8 * (group / 64));
            summary.fetch_or(1 << (group % 64), Ordering::SeqCst);
        }
        requests(rank).increment();
    }

    fn is_present(&mut self, rank: u32, page: Page) -> bool {
        has_page(&self.segments, self.geometry, rank, page)
    }

    fn take_requests(&mut self, take: &mut dyn FnMut(Page)) {
        for index in 0..self.geometry.paging_groups().div_ceil(64) {
            let summary = self.segments.word(self.rank, self.geometry.paging_summary_offset() + 8 * index);
            if summary.load(Ordering::SeqCst) == 0 {
                continue;
            }
            let mut wanted = summary.swap(0, Ordering::SeqCst);
            while wanted != 0 {
                let group = 64 * index + wanted.trailing_zeros() as usize;
                wanted &= wanted - 1;
                let mut pages = self.word(self.rank, Set::Wanted, group).swap(0, Ordering::SeqCst);
                while pages != 0 {
                    take(Page(64 * group as u32 + pages.trailing_zeros()));
                    pages &= pages - 1;
                }
            }
        }
    }
}
