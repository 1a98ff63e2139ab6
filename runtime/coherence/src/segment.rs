//! The segment of one process, as the procedures on it see it ([`crate::calls`]): its own, or that of a peer whose memory is at hand.
//!
//! Nothing here waits for another process: the lock of records is tried, and who finds it taken is told so.

use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::fabric::{Fabric, MarkKind, Word};
use crate::link::Link;
use crate::marks;
use crate::open;
use crate::records::{Homes, Records};
use crate::types::{Block, Chunk, Extent, Header, Rank};

/// The records of a chunk are being changed: the word of their lock has to differ from `seen`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    pub(crate) word: Word,
    pub(crate) seen: u64,
}

/// A link word, and the sequence number of the records from when it was there: as long as that is the same, no home of the chunk has come or gone. Odd where
/// nothing was found out about that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Seen {
    pub(crate) link: u64,
    pub(crate) sequence: u64,
}

/// See the module documentation.
pub(crate) struct Segment<'a, F: ?Sized> {
    pub(crate) fabric: &'a F,
    /// Whose it is.
    pub(crate) at: Rank,
}

impl<F: Fabric> Segment<'_, F> {
    pub(crate) fn decode(&self, word: u64, block: Block) -> Link {
        Link::decode(word, self.at, || self.fabric.default_home(block))
    }

    pub(crate) fn fault(&self, fault: Fault) -> bool {
        self.fabric.fault(fault)
    }

    #[inline(always)]
    pub(crate) fn load(&self, word: Word) -> impl Future<Output = u64> {
        self.fabric.load(self.at, word)
    }

    /// The link word of a block, and a sequence number if the home is not here.
    pub(crate) async fn look(&self, block: Block) -> Seen {
        let mut link = self.load(Word::Link(block)).await;
        let checkpoint = self.fabric.checkpoint();
        loop {
            self.fabric.live_since(checkpoint, || link);
            if self.decode(link, block) == Link::Home {
                return Seen { link, sequence: 1 };
            }
            let sequence = self.load(Word::Records(block.chunk())).await;
            let again = self.load(Word::Link(block)).await;
            if again == link {
                self.fabric.live_since(checkpoint, || (link, sequence));
                return Seen { link, sequence };
            }
            link = again;
        }
    }

    /// Bits of a chunk in a set.
    pub(crate) async fn marked(&self, kind: MarkKind, chunk: Chunk) -> u64 {
        self.load(Word::Mark { kind, level: 0, index: chunk.0 }).await
    }

    /// Sets bits of a chunk in a set.
    pub(crate) async fn mark(&self, kind: MarkKind, chunk: Chunk, mask: u64) {
        marks::set(self.fabric, self.at, kind, chunk, mask).await;
    }

    /// Locks the records of a chunk. Returns what [`Segment::unlock_records`] takes.
    ///
    /// # Errors
    /// Somebody else has locked them.
    #[inline]
    pub(crate) async fn try_lock_records(&self, chunk: Chunk) -> Result<u64, Busy> {
        let word = Word::Records(chunk);
        self.fabric.try_lock_word(self.at, word).await.map_err(|seen| Busy { word, seen })
    }

    /// Unlocks the records, once everything that was posted to them is placed.
    #[inline]
    pub(crate) async fn unlock_records(&self, chunk: Chunk, sequence: u64) {
        if !self.fault(Fault::UnlockBeforeFlush) {
            self.fabric.flush(self.at).await;
        }
        self.fabric.post_store(self.at, Word::Records(chunk), sequence + 2).await;
    }

    /// As [`Segment::unlock_records`], but leaves the records open.
    pub(crate) async fn open_records(&self, chunk: Chunk, sequence: u64) {
        self.fabric.flush(self.at).await;
        self.fabric.post_store(self.at, Word::Records(chunk), open::opened(sequence)).await;
    }

    /// Reads records that stood together at one time, as [`Segment::home_records`] gives them. Returns the value of their lock, and which of the chunk's
    /// blocks are at home there.
    ///
    /// # Errors
    /// They are being changed.
    pub(crate) async fn read_records(
        &self,
        extent: Extent,
        records: &mut Records,
    ) -> Result<(u64, Homes), Busy> {
        let word = Word::Records(extent.first.chunk());
        let checkpoint = self.fabric.checkpoint();
        let mut seen = self.load(word).await;
        loop {
            self.fabric.live_since(checkpoint, || seen);
            if seen % 2 == 1 && !self.fault(Fault::TornRecords) {
                return Err(Busy { word, seen });
            }
            let homes = self.home_records(extent, records).await;
            let after = self.load(word).await;
            if after == seen || self.fault(Fault::TornRecords) {
                self.fabric.live_since(checkpoint, || (seen, homes, records.run(extent)));
                return Ok((seen, homes));
            }
            seen = after;
        }
    }

    /// Reads records, with leases and versions as they are for blocks that are at home there. The caller makes sure that they belong
    /// together. Returns which of the chunk's blocks are.
    pub(crate) async fn home_records(&self, extent: Extent, records: &mut Records) -> Homes {
        let checkpoint = self.fabric.checkpoint();
        self.fabric.read_records(self.at, extent, records.run_mut(extent)).await;
        let (header, homes) = self.read_homes(extent.first.chunk()).await;
        for record in records.run_mut(extent) {
            record.rd_ts = header.lease;
            record.wr_ts = record.wr_ts.max(header.chunk_version);
        }
        self.fabric.live_since(checkpoint, || (records.run(extent), homes));
        homes
    }

    /// Reads what there is of a chunk as a whole, and which of its blocks are at home.
    #[inline]
    pub(crate) async fn read_homes(&self, chunk: Chunk) -> (Header, Homes) {
        let mut header = self.fabric.read_header(self.at, chunk).await;
        if self.fault(Fault::IgnoreChunkVersion) {
            header.chunk_version = 0;
        }
        (header, Homes::new(header.homes, header.write_protected, self.fabric.default_homes(self.at, chunk)))
    }

    /// Notes that blocks leave their home here. The records of the chunk are locked.
    pub(crate) async fn leave_home(&self, chunk: Chunk, blocks: u64, homes: Homes) {
        if blocks != 0 && !self.fault(Fault::HomeStays) {
            self.fabric.post_store(self.at, Word::Homes(chunk), homes.without(blocks)).await;
        }
    }
}
