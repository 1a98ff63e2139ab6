//! What the pagers of a host's processes tell each other, in words of their segments: for each page whether it is in the memory file, whether another process wants it, whether another process has
//! stored to it ([`dsm_pager::stores`]), and whether nobody needs its contents.

use std::ops::Range;
use std::sync::atomic::Ordering;

use dsm_comm::{Segments, Word};
use dsm_pager::linux::Peers;
use dsm_pager::requests::{Requests, is_waiting};
use dsm_pager::stores::{SharedWord, Stores};
use dsm_pager::{PAGE_BYTES, Page, Run};
use dsm_threads::backoff::Backoff;

use crate::geometry::{Geometry, PAGING_WORDS};
use dsm_control::Cell;

/// Words of a group of 64 pages.
#[derive(Clone, Copy)]
enum Set {
    Present,
    Wanted,
    Stored,
    /// Pages whose contents nobody needs.
    Discardable,
    /// [`Stores::gate`].
    Gate,
}

const _: () = assert!(Set::Gate as usize + 1 == PAGING_WORDS);

/// A word of a segment.
#[derive(Clone, Copy)]
struct PagingWord(Word);

impl SharedWord for PagingWord {
    fn load(self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn set(self, bits: u64) {
        self.0.fetch_or(bits, Ordering::SeqCst);
    }

    fn clear(self, bits: u64) {
        self.0.fetch_and(!bits, Ordering::SeqCst);
    }

    fn add(self, value: u64) {
        self.0.fetch_add(value, Ordering::SeqCst);
    }

    fn replace(self, old: u64, new: u64) -> bool {
        self.0.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
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

fn word(segments: &Segments, geometry: &Geometry, at: u32, set: Set, group: usize) -> PagingWord {
    PagingWord(segments.word(at, geometry.paging_offset() + 8 * (PAGING_WORDS * group + set as usize)))
}

fn stores(segments: &Segments, geometry: &Geometry, at: u32, group: usize) -> Stores<PagingWord> {
    let word = |set| word(segments, geometry, at, set, group);
    Stores { gate: word(Set::Gate), stored: word(Set::Stored) }
}

fn pause() -> impl FnMut() {
    let mut backoff = Backoff::default();
    move || backoff.pause()
}

/// The pages that a range of offsets has parts of.
fn pages(offsets: &Range<usize>) -> Run {
    Run::between((offsets.start / PAGE_BYTES) as u32, offsets.end.div_ceil(PAGE_BYTES) as u32)
}

/// Whether a process of this host, or this one, has a page in memory.
pub(super) fn has_page(segments: &Segments, geometry: &Geometry, at: u32, page: Page) -> bool {
    groups(Run::single(page))
        .all(|(group, mask)| word(segments, geometry, at, Set::Present, group).load() & mask != 0)
}

dsm_control::declare! {
    /// Requests for pages that are on the process's disk, and answers to its own.
    static BELL: Cell;
    /// Number of such answers that the process waits for.
    static WAITS: u64;
}

/// What a process's pager sleeps at: there are requests for its pages, or answers to its own.
pub(super) fn bell(rank: u32) -> Cell {
    BELL.of(rank, 0)
}

/// Number of answers that a process waits for.
fn waits(rank: u32) -> PagingWord {
    PagingWord(WAITS.of(rank, 0))
}

/// A store to another process's paged memory that is under way; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Store<'a> {
    segments: &'a Segments,
    geometry: &'a Geometry,
    at: u32,
    pages: Run,
}

impl<'a> Store<'a> {
    /// This process is about to store to another one's paged memory, at these offsets. `None`: its pager sees that, as the process is remote.
    #[cold]
    pub(crate) fn begin(
        segments: &'a Segments,
        geometry: &'a Geometry,
        at: u32,
        offsets: Range<usize>,
    ) -> Option<Store<'a>> {
        if !segments.is_mapped(at) {
            return None;
        }
        let pages = pages(&offsets);
        for (group, mask) in groups(pages) {
            stores(segments, geometry, at, group).begin(mask, pause());
        }
        Some(Store { segments, geometry, at, pages })
    }
}

impl Drop for Store<'_> {
    fn drop(&mut self) {
        for (group, _) in groups(self.pages) {
            stores(self.segments, self.geometry, self.at, group).end();
        }
    }
}

/// From now on nobody needs what is in these pages, until [`unmark_discardable`].
#[cold]
pub(crate) fn mark_discardable(segments: &Segments, geometry: &Geometry, at: u32, offsets: Range<usize>) {
    for (group, mask) in groups(pages(&offsets)) {
        word(segments, geometry, at, Set::Discardable, group).set(mask);
    }
}

/// From now on pages keep what is stored there. They may have anything now.
#[cold]
pub(crate) fn unmark_discardable(segments: &Segments, geometry: &Geometry, at: u32, offsets: Range<usize>) {
    for (group, mask) in groups(pages(&offsets)) {
        let discardable = word(segments, geometry, at, Set::Discardable, group);
        if discardable.load() & mask != 0 {
            stores(segments, geometry, at, group).change(pause(), || discardable.clear(mask));
        }
    }
}

/// The processes of the job, as a pager sees them.
pub(super) struct JobPeers {
    geometry: &'static Geometry,
    segments: Segments,
    rank: u32,
}

impl JobPeers {
    pub(super) fn new(geometry: &'static Geometry, segments: Segments, rank: u32) -> JobPeers {
        JobPeers { geometry, segments, rank }
    }

    fn word(&self, at: u32, set: Set, group: usize) -> PagingWord {
        word(&self.segments, self.geometry, at, set, group)
    }

    fn stores(&self, group: usize) -> Stores<PagingWord> {
        stores(&self.segments, self.geometry, self.rank, group)
    }

    fn requests(&self, at: u32, group: usize) -> Requests<PagingWord> {
        Requests(self.word(at, Set::Wanted, group))
    }

    /// Rings for the processes of this host that wait for answers.
    fn ring_waiting(&self) {
        let others = (0..self.geometry.processes()).filter(|rank| *rank != self.rank);
        for rank in others.filter(|rank| self.segments.is_mapped(*rank) && is_waiting(waits(*rank))) {
            bell(rank).increment();
        }
    }

    fn change(&self, set: Set, run: Run, on: bool) {
        for (group, mask) in groups(run) {
            let word = self.word(self.rank, set, group);
            if on { word.set(mask) } else { word.clear(mask) }
        }
    }

    /// Calls `remove` while nobody stores to the pages, if `may_go` says so of each group then.
    fn remove_if(&self, run: Run, may_go: impl Fn(usize, u64) -> bool, remove: &mut dyn FnMut()) -> bool {
        let excluded: Vec<_> = groups(run).take_while(|(group, _)| self.stores(*group).exclude()).collect();
        let removes = excluded.len() == groups(run).count()
            && excluded.iter().all(|(group, mask)| may_go(*group, *mask));
        if removes {
            remove();
        }
        excluded.iter().for_each(|(group, _)| self.stores(*group).admit());
        removes
    }
}

impl Peers for JobPeers {
    fn watch(&mut self, run: Run) {
        groups(run).for_each(|(group, mask)| self.stores(group).watch(mask));
    }

    fn exclude(&mut self, run: Run, remove: &mut dyn FnMut()) -> bool {
        self.remove_if(run, |group, mask| self.stores(group).stored.load() & mask == 0, remove)
    }

    fn are_discardable(&mut self, run: Run) -> bool {
        groups(run).all(|(group, mask)| self.word(self.rank, Set::Discardable, group).load() & mask == mask)
    }

    fn drop_discardable(&mut self, run: Run, remove: &mut dyn FnMut()) -> bool {
        let discardable = |group, mask| self.word(self.rank, Set::Discardable, group).load() & mask == mask;
        self.remove_if(run, discardable, remove)
    }

    fn set_present(&mut self, run: Run, present: bool) {
        self.change(Set::Present, run, present);
        let answer = |asked: bool, (group, mask)| self.requests(self.rank, group).answer(mask) || asked;
        if present && groups(run).fold(false, answer) {
            self.ring_waiting();
        }
    }

    fn request(&mut self, rank: u32, page: Page) {
        for (group, mask) in groups(Run::single(page)) {
            self.requests(rank, group).ask(mask, waits(self.rank));
            let summary = self.segments.word(rank, self.geometry.paging_summary_offset() + 8 * (group / 64));
            summary.fetch_or(1 << (group % 64), Ordering::SeqCst);
        }
        bell(rank).increment();
    }

    fn take_answer(&mut self, rank: u32, page: Page) -> bool {
        groups(Run::single(page))
            .all(|(group, mask)| self.requests(rank, group).take_answer(mask, waits(self.rank)))
    }

    fn take_requests(&mut self, take: &mut dyn FnMut(Page)) {
        let mut is_asked = false;
        for index in 0..self.geometry.paging_groups().div_ceil(64) {
            let summary = self.segments.word(self.rank, self.geometry.paging_summary_offset() + 8 * index);
            if summary.load(Ordering::SeqCst) == 0 {
                continue;
            }
            let mut wanted = summary.swap(0, Ordering::SeqCst);
            while wanted != 0 {
                let group = 64 * index + wanted.trailing_zeros() as usize;
                wanted &= wanted - 1;
                let requests = self.requests(self.rank, group);
                let present = self.word(self.rank, Set::Present, group).load();
                is_asked |= requests.answer(present);
                let mut pages = requests.open() & !present;
                while pages != 0 {
                    take(Page(64 * group as u32 + pages.trailing_zeros()));
                    pages &= pages - 1;
                }
            }
        }
        if is_asked {
            self.ring_waiting();
        }
    }
}
