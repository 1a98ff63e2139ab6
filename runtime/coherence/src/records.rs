//! The records of a chunk's blocks at a process, and the lock that makes runs of them change together.
//!
//! Blocks at home share one lease in each chunk: a new version has to be above all leases given on the old ones, and a chunk at home as a whole gets its
//! new version by two stores, whatever its records say.
//!
//! The lock is a word at the process whose records it guards, odd while held. Whoever holds it does a few accesses and waits for nothing. Readers do not
//! take it: what they read counts if the word was even and the same before and after.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

use crate::fabric::{Fabric, Word};
use crate::types::{Block, CHUNK_BLOCKS, Chunk, Extent, Notice, Rank, Record};
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
}

/// Scratch records that go back to the pool. What is in them is what the last user left.
#[derive(Debug)]
pub(crate) struct Lent<'a> {
    #[expect(clippy::vec_box, reason = "goes in and out without being copied")]
    pool: &'a Mutex<Vec<Box<Scratch>>>,
    scratch: Option<Box<Scratch>>,
}

impl Deref for Lent<'_> {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        self.scratch.as_ref().expect("given back only when dropped")
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut Scratch {
        self.scratch.as_mut().expect("given back only when dropped")
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut pool = self.pool.lock().expect("no thread panics while it holds the pool");
        pool.extend(self.scratch.take());
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
    /// Room for records: clearing it for each of many small operations would cost as much as they do.
    pub(crate) fn scratch(&self) -> Lent<'_> {
        let scratch = self.pool.lock().expect("no thread panics while it holds the pool").pop();
        let new = || {
            let (own, peer) = (Records::new(), Records::new());
            Box::new(Scratch { own, peer, chunks: Vec::new(), fresh: Vec::new() })
        };
        Lent { pool: &self.pool, scratch: Some(scratch.unwrap_or_else(new)) }
    }

    /// Locks the records of a chunk at a process. Returns what [`Coherence::unlock_records`] takes.
    pub(crate) async fn lock_records(&self, at: Rank, chunk: Chunk) -> u64 {
        let word = Word::Records(chunk);
        let mut seen = self.fabric.load(at, word).await;
        loop {
            if seen % 2 == 1 {
                seen = self.fabric.wait_change(at, word, seen).await;
                continue;
            }
            let found = self.fabric.cas(at, word, seen, seen + 1).await;
            if found == seen {
                return seen;
            }
            seen = found;
        }
    }

    /// Unlocks the records, once everything that was posted to them is placed.
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

    /// Reads records of a peer that stood together at one time, as [`Coherence::home_records`] gives them.
    ///
    /// # Errors
    /// They are being changed.
    pub(crate) async fn read_records(
        &self,
        at: Rank,
        extent: Extent,
        records: &mut Records,
    ) -> Result<(), Blocked> {
        let word = Word::Records(extent.first.chunk());
        let mut seen = self.fabric.load(at, word).await;
        loop {
            if seen % 2 == 1 && !self.fabric.fault(Fault::TornRecords) {
                return Err(Blocked { at, word, seen });
            }
            self.home_records(at, extent, records).await;
            let after = self.fabric.load(at, word).await;
            if after == seen || self.fabric.fault(Fault::TornRecords) {
                return Ok(());
            }
            seen = after;
        }
    }

    /// Reads records of a peer, with leases and versions as they are for blocks that are at home there. The caller makes sure that they belong
    /// together.
    pub(crate) async fn home_records(&self, at: Rank, extent: Extent, records: &mut Records) {
        let fabric = &self.fabric;
        let chunk = extent.first.chunk();
        fabric.read_records(at, extent, records.run_mut(extent)).await;
        let lease = fabric.load(at, Word::Lease(chunk)).await;
        let floor = match fabric.fault(Fault::IgnoreFloor) {
            true => 0,
            false => fabric.load(at, Word::Floor(chunk)).await,
        };
        for record in records.run_mut(extent) {
            record.rd_ts = lease;
            record.wr_ts = record.wr_ts.max(floor);
        }
    }
}
