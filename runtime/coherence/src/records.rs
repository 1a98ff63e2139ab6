//! The records of a chunk's blocks at a process, and the lock that makes runs of them change together.
//!
//! Blocks at home share one lease in each chunk: a new version has to be above all leases given on the old ones, and a chunk at home as a whole
//! gets its new version by two stores, whatever its records say.
//!
//! Which blocks are at home, and which of these ask before a store, is also in two words of the chunk: what happens to many blocks at home looks at
//! these and leaves the links alone.
//!
//! The lock is a word at the process whose records it guards, odd while held. Whoever holds it does a few accesses and waits for nothing.
//! Readers do not take it: what they read counts if the word was even and the same before and after.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

use crate::fabric::{Fabric, Word};
use crate::link::Link;
use crate::types::{Block, CHUNK_BLOCKS, Chunk, Extent, Header, Notice, Rank, Record};
use crate::{Coherence, Fault};

/// Records by their blocks' positions in a chunk.
#[derive(Clone, Debug)]
pub(crate) struct Records([Record; CHUNK_BLOCKS as usize]);

impl Records {
    pub(crate) fn new() -> Self {
        Records([Record::default(); CHUNK_BLOCKS as usize])
    }

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

    #[inline]
    pub(crate) fn run_mut(&mut self, extent: Extent) -> &mut [Record] {
        let first = (extent.first.0 % CHUNK_BLOCKS) as usize;
        &mut self.0[first..first + extent.count as usize]
    }
}

/// Room for what an operation works with: own records, those of a peer, and lists.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) own: Records,
    pub(crate) peer: Records,
    /// What a release looks at.
    pub(crate) chunks: Vec<Chunk>,
    /// What an acquire has read.
    pub(crate) fresh: Vec<Notice>,
    /// Room for snapshots.
    pub(crate) room: Vec<u8>,
}

/// Which blocks of a chunk are at home at a process.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Homes {
    pub(crate) all: u64,
    /// Those whose stores ask.
    pub(crate) asking: u64,
    /// The word, see [`Word::Homes`].
    word: u64,
}

impl Homes {
    fn valid(self) -> Homes {
        Homes { asking: self.asking & self.all, ..self }
    }
}

thread_local! {
    /// Room that no operation of this thread uses at present: clearing it for each of many small operations would cost as much as they do.
    static SPARE: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Room for one operation. What is in the records is what the last user left.
#[derive(Debug)]
pub(crate) struct Lent(Option<Box<Scratch>>);

impl Lent {
    pub(crate) fn new() -> Lent {
        let spare = SPARE.try_with(Cell::take).ok().flatten();
        Lent(Some(spare.unwrap_or_else(|| {
            let (own, peer) = (Records::new(), Records::new());
            Box::new(Scratch { own, peer, chunks: Vec::new(), fresh: Vec::new(), room: Vec::new() })
        })))
    }
}

impl Deref for Lent {
    type Target = Scratch;

    #[inline]
    fn deref(&self) -> &Scratch {
        self.0.as_ref().expect("given back only when dropped")
    }
}

impl DerefMut for Lent {
    #[inline]
    fn deref_mut(&mut self) -> &mut Scratch {
        self.0.as_mut().expect("given back only when dropped")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // An ending thread has none to spare.
        _ = SPARE.try_with(|spare| spare.set(self.0.take()));
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
    /// Locks the records of a chunk at a process. Returns what [`Coherence::unlock_records`] takes.
    #[inline]
    pub(crate) async fn lock_records(&self, at: Rank, chunk: Chunk) -> u64 {
        self.fabric.lock_word(at, Word::Records(chunk)).await
    }

    /// Unlocks the records, once everything that was posted to them is placed.
    #[inline]
    pub(crate) async fn unlock_records(&self, at: Rank, chunk: Chunk, sequence: u64) {
        let word = Word::Records(chunk);
        if at == self.me() {
            self.fabric.set_own(word, sequence + 2);
            return;
        }
        if !self.fabric.fault(Fault::UnlockBeforeFlush) {
            self.fabric.flush(at).await;
        }
        self.fabric.post_store(at, word, sequence + 2).await;
    }

    /// Reads records of a peer that stood together at one time, as [`Coherence::home_records`] gives them. Returns the value of their lock, and which of the chunk's
    /// blocks are at home there.
    ///
    /// # Errors
    /// They are being changed.
    pub(crate) async fn read_records(
        &self,
        at: Rank,
        extent: Extent,
        records: &mut Records,
    ) -> Result<(u64, Homes), Blocked> {
        let word = Word::Records(extent.first.chunk());
        let moment = self.fabric.moment();
        let mut seen = self.fabric.load(at, word).await;
        loop {
            self.fabric.forget(moment, || seen);
            if seen % 2 == 1 && !self.fabric.fault(Fault::TornRecords) {
                return Err(Blocked { at, word, seen });
            }
            let homes = self.home_records(at, extent, records).await;
            let after = self.fabric.load(at, word).await;
            if after == seen || self.fabric.fault(Fault::TornRecords) {
                self.fabric.forget(moment, || (seen, homes, records.run(extent)));
                return Ok((seen, homes));
            }
            seen = after;
        }
    }

    /// Reads records of a peer, with leases and versions as they are for blocks that are at home there. The caller makes sure that they belong
    /// together. Returns which of the chunk's blocks are.
    pub(crate) async fn home_records(&self, at: Rank, extent: Extent, records: &mut Records) -> Homes {
        let fabric = &self.fabric;
        let moment = fabric.moment();
        fabric.read_records(at, extent, records.run_mut(extent)).await;
        let (header, homes) = self.read_homes(at, extent.first.chunk()).await;
        for record in records.run_mut(extent) {
            record.rd_ts = header.lease;
            record.wr_ts = record.wr_ts.max(header.floor);
        }
        fabric.forget(moment, || (records.run(extent), homes));
        homes
    }

    /// Reads what a peer has of a chunk as a whole, and which of its blocks are at home there.
    #[inline]
    pub(crate) async fn read_homes(&self, at: Rank, chunk: Chunk) -> (Header, Homes) {
        let mut header = self.fabric.read_header(at, chunk).await;
        if self.fabric.fault(Fault::IgnoreFloor) {
            header.floor = 0;
        }
        let all = header.homes ^ self.fabric.default_homes(at, chunk);
        (header, Homes { all, asking: header.asking, word: header.homes }.valid())
    }

    /// Which blocks are at home here. Others may take them meanwhile, unless the records are locked.
    pub(crate) fn own_homes(&self, chunk: Chunk) -> Homes {
        let fabric = &self.fabric;
        let word = fabric.own(Word::Homes(chunk));
        let all = word ^ fabric.default_homes(self.me(), chunk);
        Homes { all, asking: fabric.own(Word::Asking(chunk)), word }.valid()
    }

    /// Those of `blocks` that are not at home here, with their links in `own`. The chunk is locked.
    pub(crate) async fn away(&self, chunk: Chunk, blocks: u64, own: &mut Records) -> u64 {
        let moment = self.fabric.moment();
        loop {
            self.fabric.forget(moment, || ());
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
            let sequence = self.lock_records(self.me(), chunk).await;
            self.unlock_records(self.me(), chunk, sequence).await;
        }
    }

    /// Notes that blocks, which were not, are at home here now. The chunk's records are locked.
    pub(crate) fn come_home(&self, chunk: Chunk, blocks: u64, asking: bool) {
        let word = Word::Homes(chunk);
        self.fabric.set_own(word, self.fabric.own(word) ^ blocks);
        self.set_asking(chunk, blocks, asking);
    }

    /// Notes whether stores to blocks that are at home here ask. The chunk's records are locked.
    pub(crate) fn set_asking(&self, chunk: Chunk, blocks: u64, asking: bool) {
        let word = Word::Asking(chunk);
        let old = self.fabric.own(word);
        let new = if asking { old | blocks } else { old & !blocks };
        if new != old {
            self.fabric.set_own(word, new);
        }
    }

    /// Notes that blocks leave their home at a peer, whose records of the chunk are locked.
    pub(crate) async fn leave_home(&self, at: Rank, chunk: Chunk, blocks: u64, homes: Homes) {
        if blocks != 0 && !self.fabric.fault(Fault::HomeStays) {
            let word = homes.word ^ (homes.all & blocks);
            self.fabric.post_store(at, Word::Homes(chunk), word).await;
        }
    }
}
