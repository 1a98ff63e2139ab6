//! Who allocated what: the latest allocations of each process, where its peers can read them.
//!
//! A ring of records {address, bytes, return address} in the process's segment, and the number of records ever written in front of it. An
//! object that was allocated too long ago is not found.

use std::sync::atomic::Ordering;

use dsm_comm::Segments;

use crate::memory;
use crate::memory::geometry::Geometry;

/// Records of a process.
const RECORDS: usize = 1 << 16;
const RECORD_BYTES: usize = 32;
const HEADER_BYTES: usize = 64;
/// Bytes of a process's ring.
pub const AREA_BYTES: usize = HEADER_BYTES + RECORDS * RECORD_BYTES;

/// An allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// First address.
    pub address: usize,
    /// Bytes asked for.
    pub bytes: usize,
    /// Return address of the program's call; 0 if the runtime allocated it.
    pub site: usize,
}

/// Remembers an allocation of this process.
#[cold]
pub fn note(allocation: Allocation) {
    let Some(shared) = memory::shared() else { return };
    let memory = memory::get();
    let area = memory.geometry().sites_offset();
    let rank = memory.rank();
    let number = shared.segments.word(rank, area).fetch_add(1, Ordering::SeqCst) as usize;
    let record = area + HEADER_BYTES + number % RECORDS * RECORD_BYTES;
    for (i, value) in [allocation.address, allocation.bytes, allocation.site].into_iter().enumerate() {
        shared.segments.word(rank, record + 8 * i).store(value as u64, Ordering::SeqCst);
    }
}

/// The latest allocation of process `rank` that holds `address`.
pub fn find(segments: &Segments, geometry: &Geometry, rank: u32, address: usize) -> Option<Allocation> {
    let area = geometry.sites_offset();
    let load = |offset| segments.word(rank, offset).load(Ordering::SeqCst) as usize;
    let written = load(area);
    (written.saturating_sub(RECORDS)..written).rev().find_map(|number| {
        let record = area + HEADER_BYTES + number % RECORDS * RECORD_BYTES;
        let found = Allocation { address: load(record), bytes: load(record + 8), site: load(record + 16) };
        (found.address <= address && address < found.address + found.bytes.max(1)).then_some(found)
    })
}
