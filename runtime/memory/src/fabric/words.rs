//! Where the words and blocks of the processes lie, and records by extent.

use std::ops::Range;
use std::sync::atomic::AtomicU64;

use dsm_abi::job::MAX_PROCESSES;
use dsm_coherence::{Block, CARRIED_WORDS, Extent, Record, Timestamp, Word};
use dsm_comm::Bytes;

use super::SegmentFabric;
use crate::config;
use crate::geometry::Geometry;
use crate::paging::Store;
use crate::protection;
use dsm_control::{Cell, Fixed};

/// The protocol's words in each control area.
pub(super) mod place {
    use super::{CARRIED_WORDS, Cell, Fixed, MAX_PROCESSES};

    /// Hand-off of a block's lock.
    pub const GRANT: Fixed<u64> = Fixed::first(1);
    /// State of the signature.
    pub const LOG_STATE: Fixed<u64> = Fixed::behind(GRANT, 1);
    /// `min_wr_ts` of the signature. Not in the line of the state word, which changes with every release: takers of homes read it.
    pub const LOG_MIN: Fixed<u64> = Fixed::behind(LOG_STATE, 1);
    /// Where readers of the list before go on in the published one, see [`dsm_coherence::Word::LogCarried`].
    pub const LOG_CARRIED: Fixed<u64> = Fixed::behind(LOG_MIN, 2 * CARRIED_WORDS);
    /// The block that another process wants to store to, see [`dsm_coherence::Word::Revoked`].
    pub const REVOKED: Fixed<u64> = Fixed::behind(LOG_CARRIED, 1);
    /// Requests of this kind.
    pub const REVOCATIONS: Fixed<Cell> = Fixed::behind(REVOKED, 1);
    /// State words of the peers' signatures, up to which they have been applied.
    pub const CURSORS: Fixed<u64> = Fixed::behind(REVOCATIONS, MAX_PROCESSES as usize);
    /// What the process has taken out of its readers' rings, see [`dsm_coherence::rings`].
    pub const RINGS_CONSUMED: Fixed<u64> = Fixed::behind(CURSORS, MAX_PROCESSES as usize);
    /// The rings' tails, and behind them their places: all that readers store to.
    pub const RING_TAILS: Fixed<u64> = Fixed::behind(RINGS_CONSUMED, MAX_PROCESSES as usize);
    /// See [`RING_TAILS`].
    pub const RINGS: Fixed<u64> = Fixed::behind(RING_TAILS, MAX_PROCESSES as usize * RING_ENTRIES);
    /// Read marks in a ring: a reader that reads more blocks between two releases of the home reads the others by calls.
    pub const RING_ENTRIES: usize = 1024;
}

/// What the thread of a process that takes permissions to store back sleeps at: requests for that.
pub fn revocations(rank: u32) -> Cell {
    place::REVOCATIONS.of(rank, 0)
}

/// The last control words of the protocol.
pub const LAST_WORDS: Fixed<u64> = place::RINGS;

/// How many read marks each reader has space for in its ring at a process: as configured, and none where memory is limited.
pub fn ring_entries(geometry: &Geometry) -> u64 {
    let is_on = config::get().one_sided_read && geometry.processes() > 1 && !geometry.is_paged();
    if is_on { place::RING_ENTRIES as u64 } else { 0 }
}

/// What readers store to in a segment, and what it says of that.
pub fn rings(geometry: &Geometry) -> Range<usize> {
    let end = place::RINGS.offset((geometry.processes() as usize * place::RING_ENTRIES) - 1) + 8;
    geometry.control_offset() + place::RINGS_CONSUMED.offset(0)..geometry.control_offset() + end
}

impl SegmentFabric {
    #[inline(always)]
    pub(super) fn word(&self, at: u32, word: Word) -> dsm_comm::Word {
        match word {
            Word::LogState => self.log_states[at as usize],
            _ => self.segments.word(at, self.offset(word)),
        }
    }

    #[inline(always)]
    pub(super) fn own_word(&self, word: Word) -> &'static AtomicU64 {
        match word {
            Word::Mark { kind, level, index } => self.marks.word(kind, level, index),
            _ => self.own.word(self.offset(word)),
        }
    }

    // Which word is known where it is called: nothing but an addition is left.
    #[inline(always)]
    pub(super) fn offset(&self, word: Word) -> usize {
        let g = self.geometry;
        match word {
            Word::Link(block) => g.link_offset(block),
            Word::Rd(block) => g.stamps_offset(block),
            Word::Wr(block) => g.stamps_offset(block) + 8,
            Word::Records(chunk) => g.header_offset(chunk),
            Word::Lease(chunk) => g.header_offset(chunk) + 8,
            Word::ChunkVersion(chunk) => g.header_offset(chunk) + 16,
            Word::Replaced(chunk) => g.header_offset(chunk) + 24,
            Word::Homes(chunk) => g.header_offset(chunk) + 32,
            Word::WriteProtected(chunk) => g.header_offset(chunk) + 40,
            Word::Mark { kind, level, index } => g.mark_offset(kind, level, index),
            Word::Grant => g.control_offset() + place::GRANT.offset(0),
            Word::LogState => g.control_offset() + place::LOG_STATE.offset(0),
            Word::Cursor(peer) => g.control_offset() + place::CURSORS.offset(peer.0 as usize),
            Word::Revoked => g.control_offset() + place::REVOKED.offset(0),
            Word::LogMin => g.control_offset() + place::LOG_MIN.offset(0),
            Word::LogCarried { buffer, word } => {
                let word = usize::from(buffer % 2) * CARRIED_WORDS + usize::from(word) % CARRIED_WORDS;
                g.control_offset() + place::LOG_CARRIED.offset(word)
            }
            Word::RingTail(peer) => g.control_offset() + place::RING_TAILS.offset(peer.0 as usize),
            Word::RingConsumed(peer) => g.control_offset() + place::RINGS_CONSUMED.offset(peer.0 as usize),
            Word::RingEntry { reader, slot } => {
                let ring = reader.0 as usize * place::RING_ENTRIES;
                g.control_offset() + place::RINGS.offset(ring + slot as usize % place::RING_ENTRIES)
            }
        }
    }

    #[inline(always)]
    pub(super) fn data(&self, at: u32, block: Block) -> Bytes {
        self.segments.bytes(at, self.geometry.data_offset(block))
    }

    #[inline(always)]
    pub(super) fn own_data(&self, block: Block) -> *mut u8 {
        self.own_data_at(self.geometry.data_offset(block))
    }

    /// Own data at an offset in the segment: where the program has them, if that may always be accessed. Accesses by the mapping of the segment would cost page faults and page tables of their own.
    #[inline(always)]
    pub(super) fn own_data_at(&self, offset: usize) -> *mut u8 {
        match self.geometry.is_paged() || protection::is_restricted() {
            true => self.own.address(offset),
            false => self.geometry.address_at(offset) as *mut u8,
        }
    }

    /// The own place of a twin, where there is no pool.
    #[inline]
    pub(super) fn own_twin(&self, block: Block) -> *mut u8 {
        self.own.address(self.geometry.twin_offset(block))
    }

    #[inline]
    pub(super) fn bytes(&self, extent: Extent) -> usize {
        extent.count as usize * self.geometry.block_bytes(extent.first)
    }

    /// The process is about to store to a record's word, as [`SegmentFabric::begin_store`].
    #[inline(always)]
    pub(super) fn begin_word_store(&self, at: u32, offset: impl FnOnce() -> usize) -> Option<Store<'_>> {
        self.begin_store(at, || {
            let offset = offset();
            offset..offset + 8
        })
    }

    /// Reads links of an extent in one chunk.
    #[inline(always)]
    pub(super) fn get_links(&self, at: u32, extent: Extent, into: &mut [Record]) {
        let into = &mut into[..extent.count as usize];
        let offset = self.geometry.link_offset(extent.first);
        self.segments.load_groups(at, offset, into.len(), |i, [link]| into[i].link = link);
    }

    /// Reads records of an extent in one chunk.
    #[inline(always)]
    pub(super) fn get_records(&self, at: u32, extent: Extent, into: &mut [Record]) {
        self.get_links(at, extent, into);
        let into = &mut into[..extent.count as usize];
        let offset = self.geometry.stamps_offset(extent.first);
        self.segments.load_groups(at, offset, into.len(), |i, stamps| {
            [into[i].rd_ts, into[i].wr_ts] = stamps;
        });
    }

    /// Writes leases and versions of an extent in one chunk.
    #[inline(always)]
    pub(super) fn put_stamps(&self, at: u32, extent: Extent, stamps: impl Fn(Block) -> [Timestamp; 2]) {
        let (offset, count) = (self.geometry.stamps_offset(extent.first), extent.count as usize);
        let _store = self.begin_store(at, || offset..offset + 16 * count);
        self.segments.store_groups(at, offset, count, |i| stamps(Block(extent.first.0 + i as u64)));
    }

    /// Writes one link for all blocks of an extent in one chunk.
    #[inline(always)]
    pub(super) fn put_links(&self, at: u32, extent: Extent, value: u64) {
        let offset = self.geometry.link_offset(extent.first);
        let _store = self.begin_store(at, || offset..offset + 8 * extent.count as usize);
        self.segments.store_groups(at, offset, extent.count as usize, |_| [value]);
    }
}
