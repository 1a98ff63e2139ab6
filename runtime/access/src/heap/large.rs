//! How far the large allocations of each process reach, where other processes can read it.
//!
//! The metadata of an arena are its process's own. A loop that reads `p[index[k]]` wants to know, in any process, what memory `p[...]` can be: all of the allocation that `p` lies in. So each process
//! lists its large allocations in words of its control area, one word for each. The other processes of its host read them.
//!
//! An entry counts for who has an address in the allocation, which therefore exists: it was listed before the address was handed out, and stays listed until the object is freed.
//!
//! The address behind the last byte of an object may be used to get at the object (`end[-k]`), and so may, by programs whose arrays begin at 1, the one in front of the first. So in front of a listed allocation
//! lie bytes of no object ([`pad`]), which are not listed, and the last page of one does not tell which object is meant.

use dsm_coherence::CHUNK_BLOCKS;
use dsm_comm::Word;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::Ordering;

use crate::job::child;
use crate::memory::geometry::PAGE;
use crate::{control, memory, sync};

/// Bytes of an allocation for each byte in front of it that belongs to no object, at least.
const PER_PAD: usize = 16;
/// Allocations of a process that are listed at the same time; the extents of others are not known elsewhere.
const ENTRIES: usize = 512;
/// Bytes at the end of an allocation whose addresses may be meant for the object behind it, which need not be listed.
const DOUBTFUL: usize = PAGE;

control::declare! {
    /// Entries from the first one on that have ever been in use, and how often any has changed.
    static STATE: u64, 2;
    /// First page in the arena and number of pages, the former in the upper half; 0: free.
    static EXTENTS: u64, ENTRIES;
}

/// Entries of this process by address, and those that are free again.
#[derive(Default)]
struct Own {
    entries: HashMap<usize, usize>,
    free: Vec<usize>,
}

static OWN: Mutex<Option<Own>> = Mutex::new(None);

/// Bytes in front of an allocation, in blocks of so many bytes, that belong to no object: whole blocks and pages. 0: it is too small to be listed. Arrays that follow each other are as well aligned
/// as without: the pad is a power of two that divides their size, up to a chunk and a part of the size.
pub fn pad(bytes: usize, block: usize) -> usize {
    if sync::size() == 1 { 0 } else { padded(bytes, block) }
}

fn padded(bytes: usize, block: usize) -> usize {
    let least = block.max(PAGE);
    if bytes < PER_PAD * least {
        return 0;
    }
    let most = (1 << (bytes / PER_PAD).ilog2()).min(CHUNK_BLOCKS as usize * block);
    (1 << bytes.trailing_zeros()).clamp(least, most.max(least))
}

/// Lists an allocation of this process, if there is space. Not yet handed out, and with a [`pad`] in front of it.
pub fn list(address: usize, bytes: usize) {
    // A child of `fork` shares the words with its parent, and has its lock in whatever state that was.
    if child::is_child() {
        return;
    }
    let (rank, mut own) = (sync::rank(), OWN.lock());
    let own = own.get_or_insert_default();
    let used = STATE.of(rank, 0);
    let entry = own.free.pop().or_else(|| {
        let next = used.load(Ordering::Relaxed);
        ((next as usize) < ENTRIES).then(|| {
            used.store(next + 1, Ordering::Release);
            next as usize
        })
    });
    if let Some(entry) = entry {
        own.entries.insert(address, entry);
        let page = (address - memory::arena(rank).start) / PAGE;
        let word = (page as u64) << 32 | bytes.div_ceil(PAGE) as u64;
        EXTENTS.of(rank, entry).store(word, Ordering::Release);
        STATE.of(rank, 1).fetch_add(1, Ordering::Release);
    }
}

/// An allocation of this process is about to be freed.
pub fn forget(address: usize) {
    if !address.is_multiple_of(PAGE) || sync::size() == 1 || child::is_child() {
        return;
    }
    if let Some(own) = OWN.lock().as_mut()
        && let Some(entry) = own.entries.remove(&address)
    {
        EXTENTS.of(sync::rank(), entry).store(0, Ordering::Release);
        STATE.of(sync::rank(), 1).fetch_add(1, Ordering::Release);
        own.free.push(entry);
    }
}

/// The process whose heap holds an address, if its list can be read here.
pub fn lister(address: usize) -> Option<u32> {
    super::owner(address).filter(|rank| control::is_mapped(*rank))
}

/// How often a process's list has changed: what [`around`] finds in it holds as long as this stays the same.
#[inline]
pub fn changes(lister: u32) -> u64 {
    STATE.of(lister, 1).load(Ordering::Acquire)
}

/// The allocation that an address of the program is meant for, in whole pages; `None` if that is not known here: it is small, its process is reached by messages or lists too many
/// others, or the address may be meant for what lies behind.
pub fn around(address: usize) -> Option<Range<usize>> {
    let rank = lister(address)?;
    let start = memory::arena(rank).start;
    let page = ((address - start) / PAGE) as u64;
    let holds = |word: Word| {
        let word = word.load(Ordering::Acquire);
        let (first, count) = (word >> 32, word & u64::from(u32::MAX));
        (first..first + count).contains(&page).then_some((first as usize, count as usize))
    };
    let used = STATE.of(rank, 0).load(Ordering::Acquire) as usize;
    let (first, count) = (0..used).find_map(|entry| holds(EXTENTS.of(rank, entry)))?;
    let extent = start + first * PAGE..start + (first + count) * PAGE;
    (address < extent.end - DOUBTFUL).then_some(extent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pads_are_small_and_keep_alignment() {
        for block in [64, 4096, 65536] {
            for bytes in (60_000..5 << 20).step_by(4321).chain((16..24).map(|shift| 1 << shift)) {
                let pad = padded(bytes, block);
                assert!(pad * PER_PAD <= bytes && pad.is_multiple_of(PAGE) && pad.is_multiple_of(block));
                assert_eq!(pad > 0, bytes >= PER_PAD * block.max(PAGE));
            }
        }
        assert_eq!(padded(64 << 10, 4096), 4096);
        assert_eq!(padded(4 << 20, 4096), 256 << 10);
        assert_eq!(padded(1 << 30, 4096), 256 << 10);
        assert_eq!(padded(3 << 20, 4096), 128 << 10);
        assert_eq!(padded((3 << 20) + 8, 4096), 4096);
    }
}
