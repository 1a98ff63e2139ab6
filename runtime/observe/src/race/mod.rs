//! Write-write races (`DSM_RACE`): bytes of a block that two processes changed to different values before either had heard of the other's change.
//!
//! Merging finds them, since it has all versions at hand: the process's own bytes, its twin, the home's bytes and (in this mode) the home's twin.
//! What differs from its twin was written in the interval that the twin began. A process that merges has not released its writes yet, so nobody's
//! writes come after them; the home's come before them only if this process has acquired the interval they belong to ([`intervals`]). Otherwise the
//! two race. Writes that happened to be ordered in this run go unseen, and so do races of threads of one process.
//!
//! What a report can tell is recorded while the program runs, in each process's segment, where peers can read it: the last write of each block that
//! asked for permission ([`note_write`]), and who allocated what ([`sites`]). To make writes ask, a release in this mode takes back every
//! permission it can.

pub mod clocks;
pub mod intervals;
mod report;
pub mod sites;

pub use report::REPORTS;

use std::ops::Range;
use std::sync::atomic::Ordering;

use dsm_coherence::{Block, Extent};
use dsm_comm::Segments;

use crate::config::{self, RaceMode};
use crate::memory;
use dsm_geometry::Geometry;

/// Bytes of a block's record of its last write: return address of the check, first address written, interval.
pub const WRITE_BYTES: usize = 24;

/// Whether races are looked for. Constant over the run.
#[inline]
pub fn is_on() -> bool {
    config::get().race != RaceMode::Off
}

/// A write that asked for permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Return address of the check, 0 if unknown.
    pub pc: usize,
    /// First address.
    pub address: usize,
}

/// Remembers a write of `[address, address + len)` that asks; `pc` is the return address of its check.
#[cold]
pub fn note_write(address: usize, len: usize, pc: usize) {
    let Some(memory) = memory::get() else { return };
    let geometry = memory.geometry;
    for part in geometry.parts() {
        let (first, last) =
            (address.max(part.start), address.saturating_add(len.max(1) - 1).min(part.end.max(1) - 1));
        if first > last || !part.contains(&first) {
            continue;
        }
        for block in geometry.extents(first, last).flat_map(Extent::blocks) {
            let offset = geometry.write_offset(block);
            memory.segments.word(memory.rank, offset).store(pc as u64, Ordering::Relaxed);
            let start = first.max(geometry.address(block));
            memory.segments.word(memory.rank, offset + 8).store(start as u64, Ordering::Relaxed);
        }
    }
}

/// Makes the first writes to a new object ask.
#[cold]
pub fn watch_allocation(address: usize, bytes: usize) {
    if let Some(memory) = memory::get() {
        (memory.watch)(&mut memory.geometry.extents(address, address + bytes.max(1) - 1));
    }
}

/// Before process 0's initial thread starts a region: makes its writes to local variables that others can reach ask.
pub fn watch_stack() {
    unsafe extern "C" {
        safe fn dsm_rt_shared_sp() -> usize;
    }
    let Some(memory) = memory::get().filter(|_| is_on()) else { return };
    let top = memory.geometry.stack_top(memory.rank, 0).expect("a process has an initial thread");
    let lowest = dsm_rt_shared_sp();
    if (memory.geometry.region().start..top).contains(&lowest) {
        (memory.watch)(&mut memory.geometry.extents(lowest, top - 1));
    }
}

/// The last write of a block by a process that asked.
fn last_write(segments: &Segments, geometry: &Geometry, rank: u32, block: Block) -> Write {
    let offset = geometry.write_offset(block);
    let load = |at| segments.word(rank, at).load(Ordering::Relaxed) as usize;
    Write { pc: load(offset), address: load(offset + 8) }
}

/// Before a merge of `incoming`, read from process `with.1`, into the block at `with.0`, this process: reports the bytes that both changed to
/// different values. Here that is what differs from the twin. There it is what differs from the twin here or, if the interval of the last
/// writes there is not known here, from the twin there.
#[cold]
pub fn check_merge(
    segments: &Segments,
    geometry: &Geometry,
    block: Block,
    incoming: &[u8],
    with: (u32, u32),
) {
    let (me, from) = with;
    let own = bytes_of(segments, me, geometry.data_offset(block), incoming.len());
    let twin = bytes_of(segments, me, geometry.twin_offset(block), incoming.len());
    let theirs = intervals::recall(from, block, clocks::known(me, from)).unwrap_or_else(|| incoming.to_vec());
    let start = geometry.address(block);
    for bytes in conflicts(&own, &twin, incoming, &theirs) {
        let bytes = start + bytes.start..start + bytes.end;
        report::report(&report::Race { segments, geometry, block, bytes, from });
    }
}

/// A private copy of what may be written meanwhile.
fn bytes_of(segments: &Segments, rank: u32, offset: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    // SAFETY: a block's data or twin, mapped for `len` bytes; the copy is private.
    unsafe { segments.bytes(rank, offset).read(bytes.as_mut_ptr(), len) };
    bytes
}

/// Ranges of bytes that `own` has changed since `twin`, and `incoming` since `twin` or `theirs`, to different values. Neighbours up to seven bytes
/// apart, parts of one value mostly, are one range.
fn conflicts(own: &[u8], twin: &[u8], incoming: &[u8], theirs: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for i in 0..own.len() {
        let changed_there = incoming[i] != twin[i] || incoming[i] != theirs[i];
        if own[i] == twin[i] || own[i] == incoming[i] || !changed_there {
            continue;
        }
        match found.last_mut() {
            Some(last) if i < last.end + 8 => last.end = i + 1,
            _ => found.push(i..i + 1),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_that_both_changed_to_different_values_conflict() {
        let base = [0u8; 64];
        let (mut a, mut b) = (base, base);
        a[3] = 1;
        b[4] = 1;
        assert_eq!(conflicts(&a, &base, &b, &b), [], "neighbours");
        b[3] = 1;
        assert_eq!(conflicts(&a, &base, &b, &b), [], "the same value");
        b[3] = 2;
        (a[9], b[9]) = (7, 8);
        (a[40], b[40]) = (7, 8);
        assert_eq!(conflicts(&a, &base, &b, &b), [3..10, 40..41]);
        assert_eq!(conflicts(&a, &b, &b, &b), [], "told of before");
        assert_eq!(conflicts(&a, &b, &b, &base), [3..10, 40..41], "seen, but not told of");
    }
}
