//! The records of a chunk's blocks at a process, and the lock that makes runs of them change together.
//!
//! Blocks at home share one lease in each chunk: a new version has to be above all leases given on the old ones, and a chunk at home as a whole
//! gets its new version by two stores, whatever its records say.
//!
//! Which blocks are at home, and which of these are write-protected, is also in two words of the chunk: operations on many blocks at home read
//! these instead of the links.
//!
//! The lock is a word at the process whose records it guards, odd while held. Whoever holds it, the process itself or a call ([`crate::calls`]), does a few accesses and copies
//! contents, and waits for nothing.
//! Readers do not take it: what they read counts if the word was even and the same before and after.

use crate::Coherence;
use crate::block_word::BlockWord;
use crate::fabric::{Fabric, Word};
use crate::link::Link;
use crate::types::{Block, CHUNK_BLOCKS, Chunk, Extent, Rank, Record};

/// Records by their blocks' positions in a chunk.
#[derive(Clone, Debug)]
pub(crate) struct Records([Record; CHUNK_BLOCKS as usize]);

impl Default for Records {
    fn default() -> Self {
        Records([Record::default(); CHUNK_BLOCKS as usize])
    }
}

impl Records {
    #[inline]
    pub(crate) fn of(&self, block: Block) -> &Record {
        &self.0[(block.0 % CHUNK_BLOCKS) as usize]
    }

    #[inline]
    pub(crate) fn of_mut(&mut self, block: Block) -> &mut Record {
        &mut self.0[(block.0 % CHUNK_BLOCKS) as usize]
    }

    #[inline]
    pub(crate) fn run(&self, extent: Extent) -> &[Record] {
        let first = (extent.first.0 % CHUNK_BLOCKS) as usize;
        &self.0[first..first + extent.count as usize]
    }

    /// Those of the blocks, which are of one chunk, whose records are so.
    #[inline(always)]
    pub(crate) fn of_which(&self, chunk: Chunk, blocks: u64, is_so: impl Fn(&Record) -> bool) -> u64 {
        let span = chunk.span(blocks);
        let first = span.first.0 % CHUNK_BLOCKS;
        let bits = self.run(span).iter().zip(first..).map(|(record, bit)| u64::from(is_so(record)) << bit);
        blocks & bits.fold(0, |all, bit| all | bit)
    }

    /// How many blocks from the first one of an extent on have links of this word.
    #[inline(always)]
    pub(crate) fn alike(&self, extent: Extent, link: u64) -> u64 {
        let run = self.run(extent);
        run.iter().position(|record| record.link != link).unwrap_or(run.len()) as u64
    }

    #[inline]
    pub(crate) fn run_mut(&mut self, extent: Extent) -> &mut [Record] {
        let first = (extent.first.0 % CHUNK_BLOCKS) as usize;
        &mut self.0[first..first + extent.count as usize]
    }
}

/// Which blocks of a chunk are at home at a process.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Homes {
    pub(crate) all: u64,
    /// Those that are write-protected.
    pub(crate) write_protected: u64,
    /// The word, see [`Word::Homes`].
    word: u64,
}

impl Homes {
    /// What the words of a chunk say at a process that is the default home of the blocks of `default_homes`.
    pub(crate) fn new(word: u64, write_protected: u64, default_homes: u64) -> Homes {
        let all = word ^ default_homes;
        Homes { all, write_protected: write_protected & all, word }
    }

    /// The word when blocks have left.
    pub(crate) fn without(self, blocks: u64) -> u64 {
        self.word ^ (self.all & blocks)
    }
}

/// The operation needs another process (or thread) to go on first: the word of `at` has to differ from `seen`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocked {
    pub(crate) at: Rank,
    pub(crate) word: Word,
    pub(crate) seen: u64,
}

impl<F: Fabric> Coherence<F> {
    /// Locks the own records of a chunk. Returns what [`Coherence::unlock_records`] takes.
    #[inline]
    pub(crate) async fn lock_records(&self, chunk: Chunk) -> u64 {
        self.fabric.lock_word(self.me(), Word::Records(chunk)).await
    }

    /// Unlocks the own records.
    #[inline]
    pub(crate) fn unlock_records(&self, chunk: Chunk, sequence: u64) {
        self.fabric.set_own(Word::Records(chunk), sequence + 2);
    }

    /// Which blocks are at home here. Others may take them meanwhile, unless the records are locked.
    pub(crate) fn own_homes(&self, chunk: Chunk) -> Homes {
        let fabric = &self.fabric;
        let default_homes = fabric.default_homes(self.me(), chunk);
        Homes::new(fabric.own(Word::Homes(chunk)), fabric.own(Word::WriteProtected(chunk)), default_homes)
    }

    /// Whether a block, the bit of its chunk's words, is at home here. Others may take it meanwhile, unless the records are locked.
    #[inline(always)]
    pub(crate) fn is_own_home(&self, local: F::Handle, bit: u64) -> bool {
        self.is_home(local, bit, self.fabric.own_by_handle(local, BlockWord::Homes))
    }

    /// Whether a block is at home at a place, the word of whose chunk's homes is `homes`.
    #[inline(always)]
    pub(crate) fn is_home(&self, place: F::Handle, bit: u64, homes: u64) -> bool {
        (homes & bit != 0) != self.fabric.is_default_home(place)
    }

    /// Those of `blocks` that are not at home here, with their links in `own`. The chunk is locked.
    pub(crate) async fn away(&self, chunk: Chunk, blocks: u64, own: &mut Records) -> u64 {
        let checkpoint = self.fabric.checkpoint();
        loop {
            self.fabric.live_since(checkpoint, || ());
            let away = blocks & !self.own_homes(chunk).all;
            if away == 0 {
                return 0;
            }
            let span = chunk.span(away);
            self.fabric.own_links(span, own.run_mut(span));
            let home = |block| self.decode(own.of(block).link, self.me(), block) == Link::Home;
            if !chunk.blocks(away).any(home) {
                return away;
            }
            // Somebody is taking it: the link is on its way.
            let sequence = self.lock_records(chunk).await;
            self.unlock_records(chunk, sequence);
        }
    }

    /// Notes that blocks, which were not, are at home here now. The chunk's records are locked.
    pub(crate) fn come_home(&self, chunk: Chunk, blocks: u64, write_protected: bool) {
        let word = Word::Homes(chunk);
        self.fabric.set_own(word, self.fabric.own(word) ^ blocks);
        self.set_write_protected(chunk, blocks, write_protected);
    }

    /// Notes whether blocks that are at home here are write-protected. The chunk's records are locked.
    pub(crate) fn set_write_protected(&self, chunk: Chunk, blocks: u64, write_protected: bool) {
        let word = Word::WriteProtected(chunk);
        let old = self.fabric.own(word);
        let new = if write_protected { old | blocks } else { old & !blocks };
        if new != old {
            self.fabric.set_own(word, new);
        }
    }
}
