//! Bit sets over all blocks, in levels of 64, so that a scan costs what was set and not what exists.
//!
//! Setting goes upwards (bit, then summaries); scanning goes downwards and clears a word before it looks below. A bit set during a
//! scan is therefore seen by this scan or stays, with its summaries, for the next one. Whoever sets a bit may act on it
//! only when the summaries are set too: the scanner may have passed in between.

use crate::fabric::{Fabric, MarkKind, Word};
use crate::types::{Chunk, Rank};

/// Sets the bits of `mask` in the set of process `at`.
pub(crate) async fn set<F: Fabric>(fabric: &F, at: Rank, kind: MarkKind, chunk: Chunk, mask: u64) {
    fabric.fetch_or(at, Word::Mark { kind, level: 0, index: chunk.0 }, mask).await;
    let mut index = chunk.0;
    for level in 1..fabric.mark_levels() {
        let bit = 1 << (index % 64);
        index /= 64;
        let word = Word::Mark { kind, level, index };
        if fabric.load(at, word).await & bit == 0 {
            fabric.fetch_or(at, word, bit).await;
        }
    }
}

/// Sets bits in one of the process's own sets that no peer changes.
pub(crate) fn set_own<F: Fabric>(fabric: &F, kind: MarkKind, chunk: Chunk, mask: u64) {
    fabric.or_own(Word::Mark { kind, level: 0, index: chunk.0 }, mask);
    let mut index = chunk.0;
    for level in 1..fabric.mark_levels() {
        let bit = 1 << (index % 64);
        index /= 64;
        let word = Word::Mark { kind, level, index };
        if fabric.own(word) & bit == 0 {
            fabric.or_own(word, bit);
        }
    }
}

/// Takes a word of the process's own set: returns and clears it.
pub(crate) async fn take<F: Fabric>(fabric: &F, kind: MarkKind, level: u8, index: u64) -> u64 {
    let word = Word::Mark { kind, level, index };
    if fabric.own(word) == 0 {
        return 0;
    }
    match kind {
        MarkKind::Read | MarkKind::Taken => fabric.swap_own(word, 0).await,
        MarkKind::Dirty | MarkKind::Cached => fabric.take_own(word),
    }
}

/// The chunks that have bits in any of the own sets `kinds`, in order. Clears the summaries that led there.
pub(crate) async fn scan<F: Fabric>(fabric: &F, kinds: &[MarkKind]) -> Vec<Chunk> {
    let mut found: Vec<u64> = (0..fabric.top_mark_words()).collect();
    for level in (1..fabric.mark_levels()).rev() {
        let mut below = Vec::new();
        for index in found {
            let mut bits = 0;
            for &kind in kinds {
                bits |= take(fabric, kind, level, index).await;
            }
            below.extend(ones(bits).map(|bit| index * 64 + bit));
        }
        found = below;
    }
    found.into_iter().map(Chunk).collect()
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

/// Numbers of the bits that are set.
pub(crate) fn ones(mut word: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros();
            word &= word - 1;
            u64::from(bit)
        })
    })
}
