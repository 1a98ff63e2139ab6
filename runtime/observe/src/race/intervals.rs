//! Which interval the last writes of a block belong to: the number of the release that ended it. In each process's segment, a word a block.

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use dsm_coherence::{Block, Extent, Rank};
use dsm_comm::{Segments, Word};

use super::{bytes_of, clocks};
use dsm_geometry::Geometry;

/// The twin does not tell the writes of one interval.
const UNKNOWN: u64 = 0;
/// Not ended yet.
const OPEN: u64 = u64::MAX;

/// A peer's block at the time of the last snapshot by this thread, which may have been of several.
struct Seen {
    from: u32,
    block: Block,
    interval: u64,
    twin: Vec<u8>,
}

thread_local! {
    static SEEN: RefCell<Vec<Seen>> = const { RefCell::new(Vec::new()) };
}

fn word(segments: &Segments, geometry: &Geometry, rank: u32, block: Block) -> Word {
    segments.word(rank, geometry.write_offset(block) + 16)
}

/// The twin was made: an interval begins.
pub fn open(segments: &Segments, geometry: &Geometry, rank: u32, block: Block) {
    word(segments, geometry, rank, block).store(OPEN, Ordering::SeqCst);
}

/// The block was published; `ended`: no thread goes on writing to it without asking. A second publication without a new twin in between, which such
/// threads or atomic operations bring about, leaves writes of several intervals.
pub fn close(segments: &Segments, geometry: &Geometry, rank: u32, block: Block, ended: bool) {
    let word = word(segments, geometry, rank, block);
    let one = ended && word.load(Ordering::SeqCst) == OPEN;
    word.store(if one { clocks::known(rank, rank) } else { UNKNOWN }, Ordering::SeqCst);
}

/// Before a snapshot of a peer's blocks.
pub fn remember(segments: &Segments, geometry: &Geometry, from: Rank, extent: Extent) {
    let seen = |block| {
        let load = || word(segments, geometry, from.0, block).load(Ordering::SeqCst);
        let interval = load();
        let twin = bytes_of(segments, from.0, geometry.twin_offset(block), geometry.block_bytes(block));
        let same = load() == interval;
        Seen { from: from.0, block, interval: if same { interval } else { UNKNOWN }, twin }
    };
    let all = extent.blocks().map(seen).collect();
    // Gone in the handlers of exit: then only what this process knows itself counts.
    let _ = SEEN.try_with(|last| last.replace(all));
}

/// The peer's twin as it was before the last snapshot, if that tells the writes of an interval later than release `known`, the last one of the peer
/// that this process has acquired.
pub fn recall(from: u32, block: Block, known: u64) -> Option<Vec<u8>> {
    let take = |all: &mut Vec<Seen>| {
        let place = all.iter().position(|seen| seen.from == from && seen.block == block)?;
        Some(all.swap_remove(place))
    };
    let seen = SEEN.try_with(|last| take(&mut last.borrow_mut())).ok()??;
    (seen.interval > known).then_some(seen.twin)
}
