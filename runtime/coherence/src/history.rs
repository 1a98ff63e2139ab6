//! What a process has missed between synchronisations, and will most likely miss there again.
//!
//! A *site* is a place in the program where its processes synchronise. Behind it an iterative program misses the same blocks each time, by which C. Amza et al. group pages ("Tradeoffs between False Sharing and
//! Aggregation in Software Distributed Shared Memory", PPoPP 1997). For each site this keeps the blocks that were missed behind it, each with a two-bit counter (J. E. Smith, "A Study of Branch
//! Prediction Strategies", ISCA 1981): a block that was missed is strongly expected, one that was fetched and not wanted weakly, and after a second time not at all.
//!
//! The flushes behind a site are sites of their own, identified by their number: hand-overs of a pipeline follow each other in the same order each time. Only those count that bring
//! something new, so a loop that flushes until a flag is set is one. What the process could have fetched at the site belongs to that, and to a flush what it has heard of since.
//!
//! What a function misses may depend on its arguments, as in multigrid methods, whose levels pass the same sites by turns. So a site counts only as long as most of what it would have had fetched last time was wanted.

use std::collections::BTreeMap;

use crate::types::{Block, Chunk, Timestamp};

/// Most sites. A program with more of them begins anew.
const MOST_SITES: usize = 4096;
/// Most flushes behind a site that have a history.
const MOST_FLUSHES: u32 = 1024;
/// Most chunks for each site.
const MOST_CHUNKS: usize = 1 << 16;
/// Most chunks for all sites together: 10 MiB.
const MOST_IN_ALL: usize = 1 << 18;

/// Blocks of a chunk that are expected to be missed behind a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Expected {
    chunk: Chunk,
    blocks: u64,
    /// Of these, the ones that stay expected when a fetch was of no use.
    strong: u64,
    /// Of these, the ones that were stored to the last time that they were missed.
    stored: u64,
    /// Of these, the ones that have been fetched when the site was passed last.
    fetched: u64,
}

/// Blocks of a chunk that are worth fetching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Blocks {
    pub(crate) chunk: Chunk,
    pub(crate) all: u64,
    /// Of these, the ones that are most likely stored to.
    pub(crate) stored: u64,
}

/// What is known of a site.
#[derive(Debug, Hash)]
struct Site {
    /// By chunk.
    expected: Vec<Expected>,
    /// Whether most of what was expected was missed last time.
    is_right: bool,
}

impl Default for Site {
    fn default() -> Site {
        Site { expected: Vec::new(), is_right: true }
    }
}

/// A site, and which flush behind it; 0 is the site itself.
type Key = (u64, u32);

/// Where the process is in its program.
#[derive(Debug, Hash)]
struct Place {
    key: Key,
    /// Greatest version that the process had heard of when it came here.
    clock: Timestamp,
    /// What has been missed since then, though it could have been fetched then.
    missed: Vec<(Chunk, u64)>,
    /// Where stores have been allowed since then.
    stored: Vec<(Chunk, u64)>,
}

impl Place {
    fn new(key: Key, clock: Timestamp) -> Place {
        Place { key, clock, missed: Vec::new(), stored: Vec::new() }
    }
}

/// Blocks by site.
#[derive(Debug, Default, Hash)]
pub(crate) struct History {
    sites: BTreeMap<Key, Site>,
    /// Chunks of all sites together.
    chunks: usize,
    /// The site that has been passed last.
    site: Option<Place>,
    /// The flush behind it that was the last one to bring anything new, if there is a history for it.
    flush: Option<Place>,
    /// How many flushes behind it have brought anything new.
    flushes: u32,
}

impl History {
    /// A miss has fetched blocks of which there was no notice, or wanted ones that have been fetched.
    pub(crate) fn record(&mut self, chunk: Chunk, blocks: u64) {
        let fetched = self.flush.as_ref().map_or(0, |flush| blocks & self.fetched_at(flush.key, chunk));
        for (place, blocks) in [(&mut self.flush, fetched), (&mut self.site, blocks & !fetched)] {
            if let Some(place) = place.as_mut().filter(|_| blocks != 0) {
                append(&mut place.missed, chunk, blocks);
            }
        }
    }

    /// A miss has fetched blocks of which there was a notice, of a version that `version` tells. What the process had not heard of at the last site belongs to the last flush, and what it had not heard
    /// of then to none.
    pub(crate) fn record_noticed(
        &mut self,
        chunk: Chunk,
        mut blocks: u64,
        version: impl Fn(Block) -> Timestamp,
    ) {
        for place in [&mut self.site, &mut self.flush].into_iter().flatten() {
            let was_known = |block: &Block| version(*block) <= place.clock;
            let known = chunk.blocks(blocks).filter(was_known).fold(0, |mask, block| mask | block.bit());
            blocks &= !known;
            if known != 0 {
                append(&mut place.missed, chunk, known);
            }
        }
    }

    /// Stores to blocks elsewhere have been allowed, or to blocks that have been fetched.
    pub(crate) fn record_stores(&mut self, chunk: Chunk, blocks: u64) {
        for place in [&mut self.site, &mut self.flush].into_iter().flatten() {
            append(&mut place.stored, chunk, blocks);
        }
    }

    /// The process passes a site. Whether what is expected there is worth fetching.
    pub(crate) fn pass(&mut self, site: u64, clock: Timestamp) -> bool {
        let left = [self.flush.take(), self.site.take()];
        left.into_iter().flatten().for_each(|place| self.learn(place));
        let key = (site, 0);
        if self.sites.len() == MOST_SITES && !self.sites.contains_key(&key) {
            self.sites.clear();
            self.chunks = 0;
        }
        (self.site, self.flushes) = (Some(Place::new(key, clock)), 0);
        self.come_to(key)
    }

    /// The process flushes. Whether what is expected there is worth fetching; `None`: there is no history for that, or nothing new has been heard of since the last one.
    pub(crate) fn pass_flush(&mut self, clock: Timestamp) -> Option<bool> {
        let Place { key: (site, _), clock: before, .. } = *self.site.as_ref()?;
        if clock == self.flush.as_ref().map_or(before, |flush| flush.clock) {
            return None;
        }
        if let Some(place) = self.flush.take() {
            self.learn(place);
        }
        self.flushes = self.flushes.saturating_add(1);
        let key = (site, self.flushes);
        if self.flushes > MOST_FLUSHES || self.sites.len() == MOST_SITES && !self.sites.contains_key(&key) {
            return None;
        }
        self.flush = Some(Place::new(key, clock));
        Some(self.come_to(key))
    }

    /// Whether what is expected at a site is worth fetching.
    fn come_to(&mut self, key: Key) -> bool {
        if let Some(known) = self.sites.get(&key) {
            return known.is_right;
        }
        self.sites.insert(key, Site::default());
        false
    }

    /// Where the process is: at the last flush behind the last site, if there is a history for it.
    fn here(&self) -> Option<Key> {
        self.flush.as_ref().or(self.site.as_ref()).map(|place| place.key)
    }

    /// What is expected behind the site, or the flush, that has been passed last, by chunk.
    pub(crate) fn expected(&self) -> impl Iterator<Item = Blocks> + '_ {
        let expected = self.here().and_then(|key| self.sites.get(&key)).map(|site| &site.expected);
        let blocks = |&Expected { chunk, blocks, stored, .. }: &_| Blocks { chunk, all: blocks, stored };
        expected.into_iter().flatten().map(blocks)
    }

    /// Of what is expected behind the site, or the flush, that has been passed last, `fetched`, by chunk, has been fetched, or would have been if the site was right.
    pub(crate) fn fetched(&mut self, fetched: &[Blocks]) {
        let Some(site) = self.here().and_then(|key| self.sites.get_mut(&key)) else { return };
        let mut fetched = fetched.iter().copied().peekable();
        for entry in &mut site.expected {
            while fetched.next_if(|blocks| blocks.chunk < entry.chunk).is_some() {}
            let here = fetched.next_if(|blocks| blocks.chunk == entry.chunk);
            entry.fetched = here.map_or(0, |blocks| blocks.all & entry.blocks);
        }
    }

    /// Of a chunk, what was fetched when a site was passed last.
    fn fetched_at(&self, key: Key, chunk: Chunk) -> u64 {
        let expected = self.sites.get(&key).map_or(&[][..], |site| &site.expected);
        expected.binary_search_by_key(&chunk, |entry| entry.chunk).map_or(0, |i| expected[i].fetched)
    }

    /// Blocks of a chunk are none any more.
    pub(crate) fn forget(&mut self, chunk: Chunk, blocks: u64) {
        for Site { expected, .. } in self.sites.values_mut() {
            if let Ok(i) = expected.binary_search_by_key(&chunk, |entry| entry.chunk) {
                expected[i].forget(blocks);
            }
        }
        // Which of these are of the chunk matters little.
        for place in [&mut self.site, &mut self.flush].into_iter().flatten() {
            place.missed.clear();
            place.stored.clear();
        }
    }

    /// What was missed at a place belongs to its site.
    fn learn(&mut self, place: Place) {
        let Place { key, mut missed, mut stored, .. } = place;
        let [missed, stored] = [&mut missed, &mut stored].map(by_chunk);
        let Some(site) = self.sites.get_mut(&key) else { return };
        let mut all = std::mem::take(&mut site.expected);
        let before = all.len();
        let most = MOST_CHUNKS.min(MOST_IN_ALL - (self.chunks - before));
        for (chunk, _) in &missed {
            if all[..before].binary_search_by_key(chunk, |entry| entry.chunk).is_err() {
                all.push(Expected { chunk: *chunk, blocks: 0, strong: 0, stored: 0, fetched: 0 });
            }
        }
        all.sort_unstable_by_key(|entry| entry.chunk);
        let in_chunk = |of: &[(Chunk, u64)], chunk| {
            of.binary_search_by_key(&chunk, |(chunk, _)| *chunk).map_or(0, |i| of[i].1)
        };
        let (mut fetched, mut useless) = (0, 0);
        let learn = |entry: Expected| {
            let missed = in_chunk(&missed, entry.chunk);
            fetched += entry.fetched.count_ones();
            useless += (entry.fetched & !missed).count_ones();
            entry.learn(missed, in_chunk(&stored, entry.chunk))
        };
        site.expected = all.into_iter().filter_map(learn).take(most).collect();
        self.chunks = self.chunks - before + site.expected.len();
        if fetched != 0 {
            site.is_right = 2 * useless <= fetched;
        }
    }
}

impl Expected {
    fn forget(&mut self, blocks: u64) {
        for set in [&mut self.blocks, &mut self.strong, &mut self.stored, &mut self.fetched] {
            *set &= !blocks;
        }
    }

    /// What is expected next time, after some blocks were missed, and stores to some allowed. `None`: nothing.
    fn learn(self, missed: u64, stored: u64) -> Option<Expected> {
        let useless = self.fetched & !missed;
        let blocks = self.blocks & !(useless & !self.strong) | missed;
        let strong = self.strong & !useless | missed;
        let stored = self.stored & !missed | stored & missed;
        (blocks != 0).then_some(Expected { blocks, strong, stored, fetched: 0, ..self })
    }
}

/// Blocks of a chunk, with those that were appended last if they are of the same.
fn append(parts: &mut Vec<(Chunk, u64)>, chunk: Chunk, blocks: u64) {
    let count = parts.len();
    match parts.last_mut() {
        Some((last, all)) if *last == chunk => *all |= blocks,
        _ if count < MOST_CHUNKS => parts.push((chunk, blocks)),
        _ => {}
    }
}

/// Takes these and merges those of one chunk; sorted by chunk.
pub(crate) fn by_chunk(parts: &mut Vec<(Chunk, u64)>) -> Vec<(Chunk, u64)> {
    let mut parts = std::mem::take(parts);
    parts.sort_unstable();
    parts.dedup_by(|(chunk, blocks), (before, all)| {
        let is_same = chunk == before;
        *all |= if is_same { *blocks } else { 0 };
        is_same
    });
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNKS: [Chunk; 3] = [Chunk(1), Chunk(5), Chunk(7)];

    fn expected(history: &History) -> Vec<(Chunk, u64)> {
        history.expected().map(|blocks| (blocks.chunk, blocks.all)).collect()
    }

    fn blocks(chunk: Chunk, all: u64) -> Blocks {
        Blocks { chunk, all, stored: 0 }
    }

    #[test]
    fn what_was_missed_behind_a_site_is_expected_there_again() {
        let mut history = History::default();
        history.record(CHUNKS[1], 0b1);
        assert!(!history.pass(10, 3), "what came before the first site belongs to none");
        for (chunk, blocks) in [(CHUNKS[1], 0b100), (CHUNKS[0], 0b1), (CHUNKS[1], 0b10)] {
            history.record(chunk, blocks);
        }
        assert!(!history.pass(11, 4));
        assert_eq!(expected(&history), []);
        assert!(history.pass(10, 5));
        assert_eq!(expected(&history), [(CHUNKS[0], 0b1), (CHUNKS[1], 0b110)]);
    }

    #[test]
    fn what_was_fetched_for_nothing_twice_in_a_row_is_forgotten() {
        let mut history = History::default();
        history.pass(10, 0);
        history.record(CHUNKS[1], 0b11);
        let mut passes = Vec::new();
        for missed in [0b01, 0b11, 0b01, 0b01, 0b01] {
            assert!(history.pass(10, 0));
            let all = expected(&history);
            history.fetched(&[blocks(CHUNKS[0], 1), blocks(CHUNKS[1], !0), blocks(CHUNKS[2], 1)]);
            history.record(CHUNKS[1], missed);
            passes.push(all);
        }
        let [both, one] = [0b11, 0b01].map(|all| vec![(CHUNKS[1], all)]);
        assert_eq!(passes, [both.clone(), both.clone(), both.clone(), both, one]);
    }

    #[test]
    fn a_site_is_not_right_while_most_of_what_is_expected_there_is_not_missed() {
        let mut history = History::default();
        let mut passes = Vec::new();
        // Two levels by turns, and then one.
        for level in [0, 1, 0, 1, 1, 1, 1] {
            passes.push(history.pass(10, 0));
            let all: Vec<_> = history.expected().collect();
            history.fetched(&all);
            history.record(CHUNKS[level], 0b111);
        }
        assert_eq!(passes, [false, true, false, true, true, true, true]);
    }

    #[test]
    fn what_was_not_fetched_stays_expected() {
        let mut history = History::default();
        history.pass(10, 0);
        history.record(CHUNKS[2], 0b1);
        for _ in 0..4 {
            history.pass(10, 0);
            assert_eq!(expected(&history), [(CHUNKS[2], 0b1)]);
            history.fetched(&[]);
        }
    }

    #[test]
    fn the_last_miss_decides_whether_a_block_is_expected_to_be_stored_to() {
        let mut history = History::default();
        history.pass(10, 0);
        let mut passes = Vec::new();
        for stored in [0b01, 0b10, 0b00] {
            history.record(CHUNKS[1], 0b11);
            history.record_stores(CHUNKS[1], 0b100 | stored);
            history.pass(10, 0);
            passes.extend(history.expected());
        }
        assert_eq!(passes, [0b01, 0b10, 0b00].map(|stored| Blocks { chunk: CHUNKS[1], all: 0b11, stored }));
    }

    #[test]
    fn what_is_no_block_any_more_is_not_expected() {
        let mut history = History::default();
        history.pass(10, 0);
        CHUNKS.into_iter().for_each(|chunk| history.record(chunk, 0b11));
        history.pass(10, 0);
        history.record(CHUNKS[0], 0b100);
        history.forget(CHUNKS[1], 0b10);
        history.pass(10, 0);
        assert_eq!(expected(&history), [(CHUNKS[0], 0b11), (CHUNKS[1], 0b01), (CHUNKS[2], 0b11)]);
    }

    #[test]
    fn sites_share_a_bound() {
        let mut history = History::default();
        for site in 0..6 {
            history.pass(site, 0);
            (0..MOST_CHUNKS as u64 + 1).for_each(|chunk| history.record(Chunk(chunk), 1));
        }
        history.pass(6, 0);
        let counts: Vec<_> = history.sites.values().map(|site| site.expected.len()).collect();
        assert_eq!(counts, [MOST_CHUNKS, MOST_CHUNKS, MOST_CHUNKS, MOST_CHUNKS, 0, 0, 0]);
        assert_eq!(history.chunks, MOST_IN_ALL);
    }

    #[test]
    fn a_program_with_very_many_sites_begins_anew() {
        let mut history = History::default();
        for site in 0..=MOST_SITES as u64 {
            history.pass(site, 0);
            history.record(CHUNKS[0], 1);
        }
        assert!(!history.pass(0, 0));
        assert_eq!(history.sites.len(), 2);
    }

    #[test]
    fn flushes_behind_a_site_are_told_apart_by_their_number() {
        let mut history = History::default();
        assert_eq!(history.pass_flush(1), None, "no site has been passed");
        for time in 0..3u64 {
            let version = |block: Block| {
                100 * time + if block.bit() == 1 && block.chunk() == CHUNKS[0] { 1 } else { 3 }
            };
            history.pass(10, 100 * time + 1);
            assert_eq!(history.pass_flush(100 * time + 1), None, "nothing new");
            let is_known = time != 0;
            for (clock, all) in [(2, vec![]), (3, vec![(CHUNKS[0], 0b10)]), (4, vec![(CHUNKS[1], 0b1)])] {
                assert_eq!(history.pass_flush(100 * time + clock), Some(is_known), "{time} {clock}");
                let expected: Vec<_> = history.expected().collect();
                assert_eq!(
                    expected,
                    all.iter().filter(|_| is_known).map(|&(c, b)| blocks(c, b)).collect::<Vec<_>>()
                );
                history.fetched(&expected);
                match clock {
                    // One of these was known at the site.
                    3 => history.record_noticed(CHUNKS[0], 0b11, version),
                    4 => history.record_noticed(CHUNKS[1], 0b1, version),
                    _ => {}
                }
            }
        }
        history.pass(10, 1000);
        assert_eq!(expected(&history), [(CHUNKS[0], 0b1)]);
    }

    #[test]
    fn what_was_fetched_at_a_flush_and_wanted_stays_expected_there() {
        let mut history = History::default();
        for time in 0..4 {
            history.pass(10, 10 * time);
            history.pass_flush(10 * time + 1);
            history.fetched(&[blocks(CHUNKS[0], 0b1)]);
            match time {
                0 => history.record_noticed(CHUNKS[0], 0b1, |_| 1),
                _ => history.record(CHUNKS[0], 0b11),
            }
        }
        history.pass(10, 100);
        assert_eq!(expected(&history), [(CHUNKS[0], 0b10)]);
        history.pass_flush(101);
        assert_eq!(expected(&history), [(CHUNKS[0], 0b1)]);
    }

    #[test]
    fn flushes_in_great_number_have_no_history() {
        let mut history = History::default();
        history.pass(10, 0);
        let known = (1..=2 * u64::from(MOST_FLUSHES)).filter(|n| history.pass_flush(*n).is_some()).count();
        assert_eq!(known, MOST_FLUSHES as usize);
        assert!(history.pass(10, 10_000));
    }
}
