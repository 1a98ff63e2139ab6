//! Where pages are in the file on disk: a table from pages to *slots*, and which slots are free.
//!
//! A page gets its slot when it is written, as in swap space, so that pages that leave together are one write wherever they are in memory. The file is divided into clusters. Pages that are not
//! part of a long run go into one cluster until that is full, then into the one with most free slots (as a log that threads through the holes: M. Rosenblum, J. Ousterhout, SOSP 1991, 3.4). A long
//! run continues behind the page in front of it, or begins a cluster of its own: so each of several streams of accesses in order has pages that follow each other in the file, too.
//!
//! # Invariants
//! A page has a slot from the begin of its write until its contents there are old or nobody needs them, and no other page has this slot. So there are never more slots than pages with contents, and
//! the file has at most a cluster more: there is a free slot for each page without one.

use std::collections::BTreeSet;

use crate::page::{PAGE_BYTES, Page, Run};

/// Slots of a cluster.
pub(crate) const CLUSTER: u32 = 512;
/// Pages of a run that is long.
const LONG: u32 = 16;
const WORDS: usize = CLUSTER as usize / 64;

/// Pages that are written at once: runs, whose pages have slots that follow each other, from this one on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Of the first page.
    pub slot: u32,
    /// Pages.
    pub runs: Vec<Run>,
}

impl Extent {
    /// How many pages.
    pub fn pages(&self) -> u32 {
        self.runs.iter().map(|run| run.count).sum()
    }

    /// Takes the first pages off, so many.
    pub(crate) fn take(&mut self, mut pages: u32) -> Extent {
        let slot = self.slot;
        self.slot += pages;
        let whole = self.runs.iter().take_while(|run| {
            let is_whole = run.count <= pages;
            pages -= if is_whole { run.count } else { 0 };
            is_whole
        });
        let whole = whole.count();
        let mut runs: Vec<Run> = self.runs.drain(..whole).collect();
        if let Some(run) = self.runs.first_mut().filter(|_| pages > 0) {
            runs.push(Run { first: run.first, count: pages });
            *run = Run { first: Page(run.first.0 + pages), count: run.count - pages };
        }
        Extent { slot, runs }
    }

    /// Length.
    pub fn bytes(&self) -> usize {
        self.pages() as usize * PAGE_BYTES
    }

    /// Offset in the file.
    pub fn offset(&self) -> usize {
        self.slot as usize * PAGE_BYTES
    }
}

/// Slots that are used, one bit for each.
#[derive(Clone, Copy, Debug, Default)]
struct Cluster {
    used: [u64; WORDS],
    count: u32,
}

impl Cluster {
    fn is_used(&self, at: u32) -> bool {
        self.used[at as usize / 64] & 1 << (at % 64) != 0
    }

    /// The first free slot from one on.
    fn first_free(&self, from: u32) -> Option<u32> {
        let mut at = from;
        while at < CLUSTER {
            let free = !self.used[at as usize / 64] >> (at % 64);
            if free != 0 {
                return Some(at + free.trailing_zeros());
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Slots {
    /// By page: its slot, and one; 0: none. Zeros take no memory.
    of: Vec<u32>,
    /// The clusters that the file has.
    clusters: Vec<Cluster>,
    /// Those with free slots, by used ones.
    open: BTreeSet<(u32, u32)>,
    /// Slot of the last page that was not part of a long run. The next one goes behind it, if there is a free slot up to the end of the cluster.
    log: Option<u32>,
}

impl Slots {
    pub(crate) fn new(pages: u32) -> Slots {
        Slots { of: vec![0; pages as usize], clusters: Vec::new(), open: BTreeSet::new(), log: None }
    }

    /// The most bytes of a file for so many pages.
    pub(crate) fn file_bytes(pages: usize) -> usize {
        (pages.div_ceil(CLUSTER as usize) + 1) * CLUSTER as usize * PAGE_BYTES
    }

    pub(crate) fn slot(&self, page: Page) -> Option<u32> {
        self.of[page.0 as usize].checked_sub(1)
    }

    /// The first pages of a run that follow each other in the file, all of which have slots, with the first slot.
    pub(crate) fn extent(&self, run: Run) -> (Run, u32) {
        let slot = self.slot(run.first).expect("a page on disk has a slot");
        let follows = |at: u32| self.slot(Page(run.first.0 + at)) == Some(slot + at);
        let count = 1 + (1..run.count).take_while(|at| follows(*at)).count() as u32;
        (Run { first: run.first, count }, slot)
    }

    /// A page's slot is free, if it has one.
    pub(crate) fn release(&mut self, page: Page) {
        let Some(slot) = self.slot(page) else { return };
        self.of[page.0 as usize] = 0;
        self.change(slot, false);
    }

    /// Gives pages slots that have none. `contents`: how many pages have contents. Returns the writes that bring the pages there, of `most` pages at most each.
    pub(crate) fn assign(&mut self, runs: &[Run], contents: u32, most: u32) -> Vec<Extent> {
        let clusters = contents.div_ceil(CLUSTER) + 1;
        let mut extents: Vec<Extent> = Vec::new();
        let is_long = |run: &&Run| run.count >= LONG;
        // Those of the log together.
        let (long, short): (Vec<&Run>, Vec<&Run>) = runs.iter().partition(is_long);
        for run in short.into_iter().chain(long) {
            let mut rest = *run;
            while rest.count > 0 {
                let at = if run.count >= LONG { self.continued(rest.first) } else { None };
                let slot = at.unwrap_or_else(|| self.free_slot(run.count < LONG, clusters));
                let count = self.take(slot, rest);
                add(&mut extents, slot, Run { first: rest.first, count }, most);
                rest = Run { first: Page(rest.first.0 + count), count: rest.count - count };
            }
        }
        extents
    }

    /// The slot behind that of the page in front, if it is free and of the same cluster.
    fn continued(&self, page: Page) -> Option<u32> {
        let slot = self.slot(Page(page.0.checked_sub(1)?))? + 1;
        let is_free = !slot.is_multiple_of(CLUSTER)
            && !self.clusters[(slot / CLUSTER) as usize].is_used(slot % CLUSTER);
        is_free.then_some(slot)
    }

    /// The next free slot of the log, or the first one of the cluster with most of them. `clusters`: how many there may be.
    fn free_slot(&mut self, is_log: bool, clusters: u32) -> u32 {
        let free_from = |slots: &Slots, slot: u32| {
            let (cluster, at) = (slot / CLUSTER, slot % CLUSTER);
            let free = slots.clusters[cluster as usize].first_free(at);
            free.map(|free| cluster * CLUSTER + free)
        };
        let in_log = self.log.filter(|_| is_log).and_then(|log| free_from(self, log));
        let slot = in_log.or_else(|| {
            let cluster = self.emptiest(clusters);
            free_from(self, cluster * CLUSTER)
        });
        let slot = slot.expect("an open cluster has a free slot");
        if is_log {
            self.log = Some(slot);
        }
        slot
    }

    fn emptiest(&mut self, clusters: u32) -> u32 {
        let count = self.clusters.len() as u32;
        match self.open.first() {
            Some((used, cluster)) if *used == 0 || count >= clusters => *cluster,
            _ => {
                self.clusters.push(Cluster::default());
                self.open.insert((0, count));
                count
            }
        }
    }

    /// Gives the first pages of a run the free slots from one on, as far as they follow each other in its cluster. Returns how many.
    fn take(&mut self, slot: u32, run: Run) -> u32 {
        let end = (slot / CLUSTER + 1) * CLUSTER;
        let mut taken = 0;
        while taken < run.count && slot + taken < end {
            if self.clusters[(slot / CLUSTER) as usize].is_used((slot + taken) % CLUSTER) {
                break;
            }
            let page = (run.first.0 + taken) as usize;
            debug_assert_eq!(self.of[page], 0, "page {page} has a slot");
            self.of[page] = slot + taken + 1;
            self.change(slot + taken, true);
            taken += 1;
        }
        taken
    }

    fn change(&mut self, slot: u32, is_used: bool) {
        let number = slot / CLUSTER;
        let cluster = &mut self.clusters[number as usize];
        self.open.remove(&(cluster.count, number));
        let bit = 1 << (slot % 64);
        let word = &mut cluster.used[(slot % CLUSTER) as usize / 64];
        debug_assert_eq!(*word & bit == 0, is_used);
        *word ^= bit;
        cluster.count = if is_used { cluster.count + 1 } else { cluster.count - 1 };
        if cluster.count < CLUSTER {
            self.open.insert((cluster.count, number));
        }
    }

    /// Slots that are used, and those that the file has.
    #[cfg(test)]
    pub(crate) fn count(&self) -> (u32, u32) {
        (self.clusters.iter().map(|cluster| cluster.count).sum(), self.clusters.len() as u32 * CLUSTER)
    }
}

/// Appends a run to the last write, if it follows there and is not too much.
fn add(extents: &mut Vec<Extent>, slot: u32, run: Run, most: u32) {
    match extents.last_mut() {
        Some(last) if last.slot + last.pages() == slot && last.pages() + run.count <= most => {
            last.runs.push(run);
        }
        _ => extents.push(Extent { slot, runs: vec![run] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(first: u32, count: u32) -> Run {
        Run { first: Page(first), count }
    }

    /// Runs of single pages, some distance apart.
    fn scattered(first: u32, count: u32) -> Vec<Run> {
        (0..count).map(|at| run(first + 3 * at, 1)).collect()
    }

    #[test]
    fn scattered_pages_are_one_write() {
        let mut slots = Slots::new(10_000);
        let extents = slots.assign(&scattered(7, 200), 200, 256);
        assert_eq!(extents, [Extent { slot: 0, runs: scattered(7, 200) }]);
        // The next ones follow; what the cluster has no space for goes to another one.
        let extents = slots.assign(&scattered(5000, 400), 600, 256);
        let places: Vec<(u32, u32)> = extents.iter().map(|extent| (extent.slot, extent.pages())).collect();
        assert_eq!(places, [(200, 256), (456, 144)]);
    }

    #[test]
    fn the_first_pages_of_a_write_are_taken_off() {
        let mut extent = Extent { slot: 7, runs: vec![run(10, 3), run(20, 5), run(30, 1)] };
        assert_eq!(extent.take(3), Extent { slot: 7, runs: vec![run(10, 3)] });
        assert_eq!(extent.take(2), Extent { slot: 10, runs: vec![run(20, 2)] });
        assert_eq!(extent, Extent { slot: 12, runs: vec![run(22, 3), run(30, 1)] });
        assert_eq!(extent.take(4).runs, [run(22, 3), run(30, 1)]);
        assert!(extent.runs.is_empty());
    }

    #[test]
    fn streams_have_clusters_of_their_own() {
        let mut slots = Slots::new(10_000);
        for batch in 0..4 {
            let pages = [run(128 * batch, 128), run(5000 + 128 * batch, 128)];
            slots.assign(&pages, 256 * (batch + 1), 256);
        }
        for first in [0, 5000] {
            assert_eq!(slots.extent(run(first, 512)).0.count, 512);
        }
    }

    #[test]
    fn a_file_has_a_cluster_more_than_the_data_has() {
        const PAGES: u32 = 4096;
        let mut slots = Slots::new(PAGES);
        let mut state = 1u32;
        slots.assign(&[run(0, PAGES)], PAGES, 256);
        for _ in 0..400 {
            let mut batch: Vec<Page> = (0..64)
                .map(|_| {
                    state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
                    Page((state >> 16) % PAGES)
                })
                .collect();
            batch.sort_unstable();
            batch.dedup();
            batch.iter().for_each(|page| slots.release(*page));
            let runs: Vec<Run> = crate::page::runs(&mut batch, 256).collect();
            let written: u32 = slots.assign(&runs, PAGES, 256).iter().map(Extent::pages).sum();
            assert_eq!(written as usize, batch.len());
        }
        assert_eq!(slots.count(), (PAGES, PAGES + CLUSTER));
        let mut all: Vec<u32> = (0..PAGES).map(|page| slots.slot(Page(page)).expect("written")).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), PAGES as usize, "pages share slots");
        assert!(u64::from(PAGES + CLUSTER) * PAGE_BYTES as u64 <= Slots::file_bytes(PAGES as usize) as u64);
    }

    #[test]
    fn holes_are_filled_where_most_are() {
        let mut slots = Slots::new(4 * CLUSTER);
        slots.assign(&[run(0, 2 * CLUSTER)], 2 * CLUSTER, 256);
        // Every second slot of the second cluster, every eighth of the first one.
        (0..CLUSTER).step_by(8).for_each(|page| slots.release(Page(page)));
        (CLUSTER..2 * CLUSTER).step_by(2).for_each(|page| slots.release(Page(page)));
        // The cluster that the file may still have, first.
        slots.assign(&scattered(2 * CLUSTER, 300), 2 * CLUSTER, 256);
        slots.assign(&scattered(2 * CLUSTER + 1, 212), 2 * CLUSTER, 256);
        let extents = slots.assign(&[run(4 * CLUSTER - 1, 1)], 2 * CLUSTER, 256);
        assert_eq!(extents, [Extent { slot: CLUSTER, runs: vec![run(4 * CLUSTER - 1, 1)] }]);
    }
}
