//! Who allocated what: the latest allocations of each process, where its peers can read them.
//!
//! Two rings of records {address, bytes, return address, calls behind it} in the process's segment, the number of records ever written in front of each: one
//! for large objects, so that many small ones do not displace them. An object that was allocated too long ago is not found.

use std::sync::atomic::Ordering;

use dsm_comm::Segments;

use crate::memory;
use crate::profile::{self, CALLERS};
use dsm_geometry::Geometry;

/// Records of a ring.
const RECORDS: usize = 1 << 16;
const RECORD_WORDS: usize = 3 + CALLERS;
const HEADER_BYTES: usize = 64;
const RING_BYTES: usize = HEADER_BYTES + RECORDS * RECORD_WORDS * 8;
/// Bytes from which on an object is in the second ring, and profiles tell the calls that led to it.
const LARGE: usize = 4096;
/// Bytes of a process's rings.
pub const AREA_BYTES: usize = 2 * RING_BYTES;

/// An allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// First address.
    pub address: usize,
    /// Bytes asked for.
    pub bytes: usize,
    /// Return address of the program's call; 0 if the runtime allocated it.
    pub site: usize,
    /// Return addresses of the calls that led there, innermost first; 0 where there is none, or it is not known.
    pub callers: [usize; CALLERS],
}

impl Allocation {
    fn holds(&self, address: usize) -> bool {
        self.address <= address && address < self.address + self.bytes.max(1)
    }

    fn words(&self) -> [u64; RECORD_WORDS] {
        let mut words = [0; RECORD_WORDS];
        let values = [self.address, self.bytes, self.site].into_iter().chain(self.callers);
        words.iter_mut().zip(values).for_each(|(word, value)| *word = value as u64);
        words
    }

    fn from_words(words: &[u64]) -> Allocation {
        let callers = std::array::from_fn(|i| words[3 + i] as usize);
        Allocation { address: words[0] as usize, bytes: words[1] as usize, site: words[2] as usize, callers }
    }
}

fn ring(geometry: &Geometry, bytes: usize) -> usize {
    geometry.sites_offset() + if bytes < LARGE { 0 } else { RING_BYTES }
}

/// Remembers an allocation of this process.
#[cold]
pub fn note(address: usize, bytes: usize, site: usize) {
    let Some(memory) = memory::get() else { return };
    let with_callers = bytes >= LARGE && site != 0 && profile::is_on();
    let callers = if with_callers { profile::callers(site) } else { [0; CALLERS] };
    let ring = ring(memory.geometry, bytes);
    let own = memory.segments.own();
    let number = own.word(ring).fetch_add(1, Ordering::SeqCst) as usize;
    let record = ring + HEADER_BYTES + number % RECORDS * RECORD_WORDS * 8;
    let words = Allocation { address, bytes, site, callers }.words();
    for (word, value) in own.words(record, RECORD_WORDS).iter().zip(words) {
        word.store(value, Ordering::Release);
    }
}

/// The latest allocation of process `rank` that holds `address`. The smallest ones come first.
pub fn find(segments: &Segments, geometry: &Geometry, rank: u32, address: usize) -> Option<Allocation> {
    [0, LARGE].into_iter().find_map(|bytes| {
        let ring = ring(geometry, bytes);
        let written = segments.word(rank, ring).load(Ordering::SeqCst) as usize;
        (written.saturating_sub(RECORDS)..written).rev().find_map(|number| {
            let mut words = [0; RECORD_WORDS];
            let record = ring + HEADER_BYTES + number % RECORDS * RECORD_WORDS * 8;
            segments.read_words(rank, record, &mut words);
            Some(Allocation::from_words(&words)).filter(|found| found.holds(address))
        })
    })
}

/// All that is remembered of a process, oldest first, small objects in front of large ones.
pub fn all(segments: &Segments, geometry: &Geometry, rank: u32) -> Vec<Allocation> {
    let mut found = Vec::new();
    for bytes in [0, LARGE] {
        let ring = ring(geometry, bytes);
        let written = segments.word(rank, ring).load(Ordering::SeqCst) as usize;
        let mut words = vec![0; written.min(RECORDS) * RECORD_WORDS];
        segments.read_words(rank, ring + HEADER_BYTES, &mut words);
        // Where the ring has come round, the oldest record is the one that is written next.
        words.rotate_left(if written > RECORDS { written % RECORDS * RECORD_WORDS } else { 0 });
        found.extend(words.chunks_exact(RECORD_WORDS).map(Allocation::from_words));
    }
    found
}
