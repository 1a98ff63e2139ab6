//! Rings of read marks: how a reader marks what it reads where no processor of the home takes part.
//!
//! A read mark is a bit that others set as well and the home clears, so it takes an atomic operation of the home's processors ([`crate::marks`]); an adapter only stores. So the home has a ring of marks for each reader, in which the reader is
//! the only one that stores: it puts the number of the block into the next place, and then a greater number into the ring's tail. The home takes marks out, into its sets, and tells how many it has taken out, which
//! is where the reader finds out that there is space. A reader that finds none makes a call instead.
//!
//! - Only a release takes marks out, and only a release takes marks out of the sets: one thread at a time does either ([`crate::Gate::Publish`]). A mark is set in the sets before it counts as taken out. So a release that has looked at the rings
//!   and then looks at the sets misses only marks that were put into a ring after its look, and these readers read after it.
//! - An atomic operation at the home looks at the marks with the records of the chunk locked, so that no release takes them meanwhile. It looks at the rings, and at the sets behind that: what was taken out in between is there.
//! - A place is stored to again only if what was there has been taken out.
//!
//! Where nothing is read one-sidedly there are no rings, and nobody looks at them.

use rustc_hash::FxHashMap;

use crate::fabric::{Fabric, Look, MarkKind, Word};
use crate::segment::Segment;
use crate::types::{Block, Chunk, Extent, Rank, Timestamp};
use crate::{Coherence, Fault, marks};

/// Stands in a place for a mark of a block that is none any more.
pub const NO_BLOCK: u64 = u64::MAX;
/// Chunks whose records' lock words are remembered.
const MOST_SEEN: usize = 1 << 14;

/// This process's ends of its rings at its peers, and what it knows of records there.
#[derive(Debug, Default)]
pub(crate) struct Rings {
    ends: Vec<RingEnd>,
    /// Lock words of records, even, as they were at some time, and the clock then.
    seen: FxHashMap<(Rank, Chunk), (u64, Timestamp)>,
}

#[derive(Clone, Debug, Default, Hash)]
struct RingEnd {
    /// Marks put into it so far.
    tail: u64,
    /// Marks taken out, as far as this process knows.
    consumed: u64,
    /// A thread is using it.
    in_use: bool,
    /// The clock when the home was last asked how many it has taken out, since there was no space.
    asked: Option<Timestamp>,
}

impl std::hash::Hash for Rings {
    fn hash<H: std::hash::Hasher>(&self, h: &mut H) {
        self.ends.hash(h);
        let mut seen: Vec<_> = self.seen.iter().collect();
        seen.sort_unstable();
        seen.hash(h);
    }
}

impl Rings {
    /// Rings at so many processes.
    pub(crate) fn new(processes: u32) -> Rings {
        Rings { ends: vec![RingEnd::default(); processes as usize], seen: FxHashMap::default() }
    }

    /// Begins to use a ring, and says how many marks are in it and how many there is space for besides. `None`: another thread uses it, or there was no space when this process knew as much as now.
    fn begin(&mut self, home: Rank, entries: u64, clock: Timestamp) -> Option<(u64, u64)> {
        let end = &mut self.ends[home.0 as usize];
        let space = entries - (end.tail - end.consumed);
        if end.in_use || space == 0 && end.asked == Some(clock) {
            return None;
        }
        end.in_use = true;
        if space == 0 {
            end.asked = Some(clock);
        }
        Some((end.tail, space))
    }

    /// What a home says of how many marks it has taken out of a ring that this thread uses; the space there is now.
    fn take_out(&mut self, home: Rank, entries: u64, consumed: u64) -> u64 {
        let end = &mut self.ends[home.0 as usize];
        assert!(consumed <= end.tail, "process {} has taken {consumed} marks out of {}", home.0, end.tail);
        end.consumed = end.consumed.max(consumed);
        entries - (end.tail - end.consumed)
    }

    /// Ends that. `tail`: marks put into it so far. `consumed`: what the home says, if it was looked at.
    fn end(&mut self, home: Rank, tail: u64, consumed: Option<u64>) {
        let end = &mut self.ends[home.0 as usize];
        (end.in_use, end.tail) = (false, tail);
        if let Some(consumed) = consumed {
            self.take_out(home, u64::MAX, consumed);
        }
    }

    /// What the lock word of records was, if nothing was heard of since.
    pub(crate) fn seen(&self, home: Rank, chunk: Chunk, clock: Timestamp) -> Option<u64> {
        let (sequence, at) = self.seen.get(&(home, chunk))?;
        (*at == clock).then_some(*sequence)
    }

    /// Remembers it, if they were not locked.
    pub(crate) fn see(&mut self, home: Rank, chunk: Chunk, sequence: u64, clock: Timestamp) {
        if !sequence.is_multiple_of(2) {
            return;
        }
        if self.seen.len() >= MOST_SEEN {
            self.seen.clear();
        }
        self.seen.insert((home, chunk), (sequence, clock));
    }
}

impl<F: Fabric> Coherence<F> {
    /// Begins to use the own ring at a process; how many marks have been put into it. `None`: there is no space, or another thread uses it.
    pub(crate) async fn begin_ring(&self, home: Rank) -> Option<u64> {
        let begun = self.rings().begin(home, self.fabric.ring_entries(), self.clock());
        let (tail, mut space) = begun?;
        if space == 0 && self.fabric.fault(Fault::RingOverrun) {
            space = 1;
        }
        if space == 0 {
            let mut words = [(Word::RingConsumed(self.me()), 0)];
            let look = Look { writes: &[], words: &mut words, contents: None };
            let reached = self.fabric.look(home, &mut [look]).await;
            if reached {
                space = self.rings().take_out(home, self.fabric.ring_entries(), words[0].1);
            }
            if space == 0 {
                self.end_ring(home, tail, None);
                return None;
            }
        }
        Some(tail)
    }

    /// Ends that, see [`Rings`].
    pub(crate) fn end_ring(&self, home: Rank, tail: u64, consumed: Option<u64>) {
        let consumed = consumed.filter(|_| !self.fabric.fault(Fault::RingOverrun));
        self.rings().end(home, tail, consumed);
    }

    /// Stores that put a mark into the own ring at a process.
    pub(crate) fn ring_mark(&self, block: Block, tail: u64) -> [(Word, u64); 2] {
        let (reader, slot) = (self.me(), tail % self.fabric.ring_entries());
        [(Word::RingEntry { reader, slot }, block.0), (Word::RingTail(reader), tail + 1)]
    }

    fn readers(&self) -> impl Iterator<Item = Rank> + use<F> {
        let me = self.me();
        let count = if self.fabric.ring_entries() == 0 { 0 } else { self.fabric.size() };
        (0..count).map(Rank).filter(move |reader| *reader != me)
    }

    /// Whether no reader has put marks into a ring here that are not taken out.
    #[inline(always)]
    pub(crate) fn rings_are_empty(&self) -> bool {
        self.fabric.ring_entries() == 0 || self.have_readers_marked_nothing()
    }

    fn have_readers_marked_nothing(&self) -> bool {
        let fabric = &self.fabric;
        let is_empty = |reader| fabric.own(Word::RingTail(reader)) == fabric.own(Word::RingConsumed(reader));
        self.readers().all(is_empty) || fabric.fault(Fault::RingsPassedOver)
    }

    /// Takes the marks out of the rings here, into the own sets. The publish gate is locked.
    pub(crate) async fn drain_rings(&self) {
        let fabric = &self.fabric;
        if fabric.fault(Fault::RingsNotDrained) {
            return;
        }
        for reader in self.readers() {
            let tail = fabric.load(self.me(), Word::RingTail(reader)).await;
            let consumed = fabric.own(Word::RingConsumed(reader));
            if tail == consumed {
                continue;
            }
            let entries = fabric.ring_entries();
            assert!(
                tail.wrapping_sub(consumed) <= entries,
                "process {} has put {tail} marks into a ring of {entries}, of which {consumed} are taken out",
                reader.0
            );
            if fabric.fault(Fault::ConsumedEarly) {
                fabric.set_own(Word::RingConsumed(reader), tail);
            }
            let entry = |number: u64| fabric.own(Word::RingEntry { reader, slot: number % entries });
            let mut number = consumed;
            while number < tail {
                let chunk = Block(entry(number)).chunk();
                let mut blocks = 0;
                // Most follow each other.
                while number < tail && Block(entry(number)).chunk() == chunk {
                    blocks |= Block(entry(number)).bit();
                    number += 1;
                }
                if chunk != Block(NO_BLOCK).chunk() && fabric.has_chunk(chunk) {
                    marks::set(fabric, self.me(), MarkKind::Read, chunk, blocks).await;
                }
            }
            fabric.set_own(Word::RingConsumed(reader), tail);
        }
    }

    /// Takes blocks that are none any more out of the rings here. Nobody reads any of these now.
    pub(crate) fn forget_marks(&self, part: Extent) {
        let fabric = &self.fabric;
        for reader in self.readers() {
            let tail = fabric.own(Word::RingTail(reader));
            for number in fabric.own(Word::RingConsumed(reader))..tail {
                let entry = Word::RingEntry { reader, slot: number % fabric.ring_entries() };
                if (part.first.0..part.end().0).contains(&fabric.own(entry)) {
                    fabric.set_own(entry, NO_BLOCK);
                }
            }
        }
    }
}

impl<F: Fabric> Segment<'_, F> {
    /// Blocks of a chunk of which there are marks in rings here.
    pub(crate) async fn marked_in_rings(&self, chunk: Chunk) -> u64 {
        let entries = self.fabric.ring_entries();
        let mut blocks = 0;
        if entries == 0 {
            return blocks;
        }
        for reader in (0..self.fabric.size()).map(Rank).filter(|reader| *reader != self.at) {
            let consumed = self.load(Word::RingConsumed(reader)).await;
            let tail = self.load(Word::RingTail(reader)).await;
            for number in consumed..tail.min(consumed + entries) {
                let slot = number % entries;
                let block = Block(self.load(Word::RingEntry { reader, slot }).await);
                if block.chunk() == chunk {
                    blocks |= block.bit();
                }
            }
        }
        blocks
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::marks::bits::{Bits, Words};
    use crate::maybe_async::expect_ready;

    const HOME: Rank = Rank(1);

    #[test]
    fn a_full_ring_is_asked_for_space_once_whatever_a_process_knows() {
        let mut rings = Rings::new(2);
        for tail in 0..4 {
            assert_eq!(rings.begin(HOME, 4, 7), Some((tail, 4 - tail)));
            assert_eq!(rings.begin(HOME, 4, 7), None, "a thread is using it");
            assert_eq!(rings.begin(Rank(0), 4, 7).map(|begun| begun.1), Some(4), "it is another one");
            rings.end(Rank(0), 0, None);
            rings.end(HOME, tail + 1, Some(0));
        }
        assert_eq!(rings.begin(HOME, 4, 7), Some((4, 0)));
        rings.end(HOME, 4, Some(0));
        assert_eq!(rings.begin(HOME, 4, 7), None);
        assert_eq!(rings.begin(HOME, 4, 8), Some((4, 0)));
        rings.end(HOME, 4, Some(3));
        assert_eq!(rings.begin(HOME, 4, 8), Some((4, 3)));
        assert_eq!(rings.take_out(HOME, 4, 4), 4);
    }

    #[test]
    #[should_panic(expected = "process 1 has taken 9 marks out of 4")]
    fn nobody_takes_out_more_than_there_is() {
        let mut rings = Rings::new(2);
        rings.begin(HOME, 4, 0);
        rings.end(HOME, 4, Some(9));
    }

    /// A home with readers 0 and 2, of which one has put marks of these blocks into its ring.
    struct Home(Coherence<Bits>);

    impl Home {
        fn new() -> Home {
            let words = Words::default();
            Home(Coherence::new(Bits { me: HOME, levels: 3, top_words: 1, words, fault: None }, 4))
        }

        /// A reader's adapter stores.
        fn put(&self, reader: Rank, blocks: &[u64]) {
            let fabric = self.0.fabric();
            for block in blocks {
                let tail = fabric.own(Word::RingTail(reader));
                fabric.set_own(Word::RingEntry { reader, slot: tail % 4 }, *block);
                fabric.set_own(Word::RingTail(reader), tail + 1);
            }
        }

        /// What has been taken out.
        fn read(&self) -> Vec<(u64, u64)> {
            let mut chunks = Vec::new();
            marks::peek(self.0.fabric(), MarkKind::Read, &mut chunks);
            let bits = |chunk| expect_ready(marks::take_chunk(self.0.fabric(), MarkKind::Read, chunk));
            chunks.into_iter().map(|chunk| (chunk.0, bits(chunk))).filter(|(_, bits)| *bits != 0).collect()
        }
    }

    #[test]
    fn a_home_takes_out_all_marks_whatever_the_ring_went_round() {
        let home = Home::new();
        assert!(home.0.rings_are_empty());
        for round in 0..7 {
            home.put(Rank(0), &[64 + round, 65 + round, 7]);
            home.put(Rank(2), &[64 + round]);
            assert!(!home.0.rings_are_empty());
            assert_eq!(expect_ready(home.0.segment(HOME).marked_in_rings(Chunk(1))), 3 << round);
            expect_ready(home.0.drain_rings());
            assert!(home.0.rings_are_empty());
            assert_eq!(expect_ready(home.0.segment(HOME).marked_in_rings(Chunk(1))), 0);
            assert_eq!(home.read(), [(0, 1 << 7), (1, 3 << round)]);
            assert_eq!(home.0.fabric().own(Word::RingConsumed(Rank(0))), 3 * (round + 1));
        }
    }

    #[test]
    #[should_panic(expected = "process 2 has put 5 marks into a ring of 4, of which 0 are taken out")]
    fn more_marks_than_there_is_space_for_are_none() {
        let home = Home::new();
        home.put(Rank(2), &[1, 2, 3, 4, 5]);
        expect_ready(home.0.drain_rings());
    }

    #[test]
    fn marks_of_blocks_that_are_given_up_go() {
        let home = Home::new();
        home.put(Rank(0), &[5, 64, 70, 128]);
        home.0.forget_marks(Extent::new(Block(64), 7));
        expect_ready(home.0.drain_rings());
        assert_eq!(home.read(), [(0, 1 << 5), (2, 1)]);
    }

    #[test]
    fn what_was_seen_of_records_counts_until_something_is_heard_of() {
        let mut rings = Rings::new(2);
        rings.see(HOME, Chunk(3), 6, 10);
        rings.see(HOME, Chunk(4), 7, 10);
        assert_eq!(rings.seen(HOME, Chunk(3), 10), Some(6));
        assert_eq!(rings.seen(HOME, Chunk(3), 11), None);
        assert_eq!(rings.seen(HOME, Chunk(4), 10), None, "they were locked");
        assert_eq!(rings.seen(Rank(0), Chunk(3), 10), None);
    }
}
