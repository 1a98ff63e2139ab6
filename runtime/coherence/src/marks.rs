//! Bit sets over all blocks, in levels of 64, so that a scan costs what was set and not what exists.
//!
//! Setting goes upwards: bit, then summaries, which are often set already. Scanning goes downwards. It clears the words of bits, but leaves
//! the summaries that lead to them: what was marked in one interval will be in the next, and spares its setter the atomic operations then.
//! A summary bit is cleared only if the word below it is empty, and the scan reads that word once more afterwards: a setter that found the
//! summary bit still set has set its own bit before. A bit set during a scan is therefore seen by this scan or stays, with its summaries, for
//! the next one. Whoever sets a bit may act on it only when the summaries are set too.

use crate::Fault;
use crate::fabric::{Fabric, MarkKind, Word};
use crate::types::{Chunk, Rank, ones};

#[cfg(test)]
pub(crate) mod bits;
#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

/// Greatest number of levels of a bit set.
const MOST_LEVELS: usize = 12;

/// See the module `maybe_async`.
macro_rules! set {
    ($wait:ident ($($asyncness:tt)?) $set:ident) => {
        /// Sets the bits of `mask` in the set of process `at`.
        #[inline]
        pub(crate) $($asyncness)? fn $set<F: Fabric>(fabric: &F, at: Rank, kind: MarkKind, chunk: Chunk, mask: u64) {
            let checkpoint = fabric.checkpoint();
            $wait!(fabric.fetch_or(at, Word::Mark { kind, level: 0, index: chunk.0 }, mask));
            let mut index = chunk.0;
            for level in 1..fabric.mark_levels() {
                // Inside of a macro all of these are at one place in the code.
                fabric.live_since(checkpoint, || (level, false));
                let bit = 1 << (index % 64);
                index /= 64;
                let word = Word::Mark { kind, level, index };
                if $wait!(fabric.load(at, word)) & bit == 0 {
                    fabric.live_since(checkpoint, || (level, true));
                    $wait!(fabric.fetch_or(at, word, bit));
                }
            }
            fabric.live_since(checkpoint, || ());
        }
    };
}

set!(wait (async) set);
set!(poll_once () set_sync);

/// Sets bits in one of the process's own sets that no peer changes.
#[inline(always)]
pub(crate) fn set_own<F: Fabric>(fabric: &F, kind: MarkKind, chunk: Chunk, mask: u64) {
    let old = fabric.or_own(Word::Mark { kind, level: 0, index: chunk.0 }, mask);
    if kind == MarkKind::Cached && old & mask == mask {
        // The chunk is locked, as it was when these were set with their summaries, and as it is when the summaries of an empty word are cleared.
        return;
    }
    // What the loop below mostly comes to.
    let summary = Word::Mark { kind, level: 1, index: chunk.0 / 64 };
    if !fabric.is_sole_thread() || fabric.own(summary) & 1 << (chunk.0 % 64) == 0 {
        set_own_summaries(fabric, kind, chunk);
    }
}

fn set_own_summaries<F: Fabric>(fabric: &F, kind: MarkKind, chunk: Chunk) {
    let mut index = chunk.0;
    for level in 1..fabric.mark_levels() {
        let bit = 1 << (index % 64);
        index /= 64;
        let word = Word::Mark { kind, level, index };
        if fabric.own(word) & bit == 0 {
            fabric.or_own(word, bit);
        } else if fabric.is_sole_thread() {
            // Nobody is between setting or clearing a summary and the one above it.
            return;
        }
    }
}

/// See the module `maybe_async`.
macro_rules! single_chunk {
    ($wait:ident ($($asyncness:tt)?) $single_chunk:ident) => {
        /// The chunk that may have bits in the own sets that a release looks at, if it is the only one. `guess`: which it was last time, where the words that
        /// have to be looked at do not depend on each other.
        #[inline(always)]
        pub(crate) $($asyncness)? fn $single_chunk<F: Fabric>(fabric: &F, guess: Chunk) -> Option<Chunk> {
            if $wait!(fabric.load_marked_apart(guess)) == 0 {
                return Some(guess);
            }
            let mut level = fabric.mark_levels() - 1;
            let (mut index, mut bits) = (0, 0);
            for root in 0..fabric.top_mark_words() {
                let marked = $wait!(fabric.load_marked(level, root));
                if marked != 0 && bits != 0 {
                    return None;
                }
                if marked != 0 {
                    (index, bits) = (root, marked);
                }
            }
            loop {
                if !bits.is_power_of_two() {
                    return None;
                }
                index = index * 64 + u64::from(bits.trailing_zeros());
                level -= 1;
                if level == 0 {
                    return Some(Chunk(index));
                }
                bits = $wait!(fabric.load_marked(level, index));
            }
        }
    };
}

single_chunk!(wait(async) single_chunk);
single_chunk!(poll_once() single_chunk_sync);

/// Appends the chunks that may have bits in any of the own sets that a release looks at to `out`, in order.
pub(crate) async fn scan<F: Fabric>(fabric: &F, out: &mut Vec<Chunk>) {
    let top = fabric.mark_levels() - 1;
    for root in 0..fabric.top_mark_words() {
        let bits = fabric.load_marked(top, root).await;
        if bits == 0 {
            continue;
        }
        // Words to look at, and what is left to look at in them, from the top down.
        let mut path = [(0, 0); MOST_LEVELS];
        let mut level = top;
        path[usize::from(level)] = (root, bits);
        loop {
            let (index, bits) = &mut path[usize::from(level)];
            if *bits == 0 {
                if level == top {
                    break;
                }
                level += 1;
                continue;
            }
            let below = *index * 64 + u64::from(bits.trailing_zeros());
            *bits &= *bits - 1;
            if level == 1 {
                out.push(Chunk(below));
            } else {
                level -= 1;
                path[usize::from(level)] = (below, fabric.load_marked(level, below).await);
            }
        }
    }
}

/// Takes the bits of a chunk from the process's own set. Clears the summaries that lead to the chunk if there are none.
pub(crate) async fn take_chunk<F: Fabric>(fabric: &F, kind: MarkKind, chunk: Chunk) -> u64 {
    let bits = take(fabric, kind, chunk).await;
    let summary = Word::Mark { kind, level: 1, index: chunk.0 / 64 };
    if bits != 0 || fabric.own(summary) & 1 << (chunk.0 % 64) == 0 {
        return bits;
    }
    retire(fabric, kind, chunk).await;
    take(fabric, kind, chunk).await
}

async fn take<F: Fabric>(fabric: &F, kind: MarkKind, chunk: Chunk) -> u64 {
    let word = Word::Mark { kind, level: 0, index: chunk.0 };
    if fabric.own(word) == 0 {
        return 0;
    }
    match kind {
        MarkKind::Read | MarkKind::Taken => fabric.swap_own(word, 0).await,
        _ => fabric.take_own(word),
    }
}

/// Clears the summaries of an empty chunk, as far up as they lead to nothing else; one that turns out to lead to something is set again.
async fn retire<F: Fabric>(fabric: &F, kind: MarkKind, chunk: Chunk) {
    let mut index = chunk.0;
    let mut below = Word::Mark { kind, level: 0, index };
    for level in 1..fabric.mark_levels() {
        let bit = 1 << (index % 64);
        index /= 64;
        let word = Word::Mark { kind, level, index };
        let left = fabric.clear_own(word, bit).await;
        let again = !fabric.fault(Fault::SummaryNotRestored);
        if again && fabric.load(fabric.rank(), below).await != 0 {
            fabric.fetch_or(fabric.rank(), word, bit).await;
            return;
        }
        if left != 0 {
            return;
        }
        below = word;
    }
}

/// Appends the chunks that have bits in the own set `kind` to `out`, in order, without clearing anything.
pub(crate) fn peek<F: Fabric>(fabric: &F, kind: MarkKind, out: &mut Vec<Chunk>) {
    let mut found: Vec<u64> = (0..fabric.top_mark_words()).collect();
    for level in (1..fabric.mark_levels()).rev() {
        let bits = |index| fabric.own(Word::Mark { kind, level, index });
        found =
            found.into_iter().flat_map(|index| ones(bits(index)).map(move |bit| index * 64 + bit)).collect();
    }
    out.extend(found.into_iter().map(Chunk));
}
