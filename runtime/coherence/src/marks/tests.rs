//! Bit sets against a plain set of blocks, and the rules of their levels.

use std::collections::BTreeSet;

use super::bits::{Bits, Words};
use super::*;
use crate::maybe_async::expect_ready;
use crate::types::{Block, CHUNK_BLOCKS, Extent};

const ME: Rank = Rank(1);
const KIND: MarkKind = MarkKind::Read;

fn bits(levels: u8, top_words: u64) -> Bits {
    Bits { me: ME, levels, top_words, words: Words::default(), fault: None }
}

/// Sets the blocks of an extent, at the process itself or as a peer would.
fn set_extent(fabric: &Bits, kind: MarkKind, extent: Extent) {
    for part in extent.chunks() {
        match kind {
            MarkKind::Read | MarkKind::Taken => {
                expect_ready(set(fabric, ME, kind, part.first.chunk(), part.mask()))
            }
            _ => set_own(fabric, kind, part.first.chunk(), part.mask()),
        }
    }
}

/// What a release looks at.
fn scanned(fabric: &Bits) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    expect_ready(scan(fabric, &mut chunks));
    let single = if let [chunk] = chunks[..] { Some(chunk) } else { None };
    // Right guesses and wrong ones.
    for guess in chunks.iter().copied().take(2).chain([Chunk(0)]) {
        assert_eq!(expect_ready(single_chunk(fabric, guess)), single);
    }
    chunks
}

/// What a release does with one set.
fn take_all(fabric: &Bits, kind: MarkKind) -> Vec<Block> {
    let take = |chunk: Chunk| chunk.blocks(expect_ready(take_chunk(fabric, kind, chunk))).collect::<Vec<_>>();
    scanned(fabric).into_iter().flat_map(take).collect()
}

/// Chunks at the edges of words of every level, below the end of sets of so many levels and highest words.
fn edges(levels: u8, top_words: u64) -> BTreeSet<Chunk> {
    let end = top_words * 64u64.pow(u32::from(levels) - 1);
    let powers = (0..u32::from(levels)).map(|level| 64u64.pow(level));
    let near = powers.flat_map(|p| [p - 1, p, p + 1, 63 * p, 64 * p - 1, 64 * p, end - p]);
    near.filter(|chunk| *chunk < end).map(Chunk).collect()
}

#[test]
fn every_level_leads_to_a_bit_and_is_left_empty() {
    for levels in 2..=5 {
        for top_words in [1, 3] {
            for chunk in edges(levels, top_words) {
                let fabric = bits(levels, top_words);
                assert!(fabric.none_marked(&[KIND]));
                expect_ready(set(&fabric, ME, KIND, chunk, 1 << 63));
                assert!(!fabric.none_marked(&[KIND]));
                for level in 0..levels {
                    let index = chunk.0 / 64u64.pow(u32::from(level));
                    let below = if level == 0 { 63 } else { chunk.0 / 64u64.pow(u32::from(level) - 1) % 64 };
                    assert_eq!(
                        fabric.own(Word::Mark { kind: KIND, level, index }),
                        1 << below,
                        "{chunk:?}, level {level} of {levels}"
                    );
                }
                assert_eq!(fabric.words.left().len(), usize::from(levels));
                assert_eq!(take_all(&fabric, KIND), [chunk.block(63)]);
                // The summaries stay for the next interval, and go when that brings nothing.
                assert_eq!(fabric.words.left().len(), usize::from(levels) - 1);
                assert_eq!(scanned(&fabric), [chunk]);
                assert_eq!(take_all(&fabric, KIND), []);
                assert_eq!(fabric.words.left(), []);
                assert!(fabric.none_marked(&[KIND]));
            }
        }
    }
}

#[test]
fn a_summary_stays_as_long_as_it_leads_to_something() {
    let all: Vec<Chunk> = edges(4, 2).into_iter().collect();
    for gone in &all {
        let fabric = bits(4, 2);
        all.iter().for_each(|chunk| expect_ready(set(&fabric, ME, KIND, *chunk, 1)));
        assert_eq!(expect_ready(take_chunk(&fabric, KIND, *gone)), 1);
        assert_eq!(expect_ready(take_chunk(&fabric, KIND, *gone)), 0);
        let left: Vec<Chunk> = all.iter().copied().filter(|chunk| chunk != gone).collect();
        assert_eq!(scanned(&fabric), left, "without {gone:?}");
    }
}

#[test]
fn extents_across_words_are_set_bit_by_bit() {
    let levels = 3;
    for word in [64, 64 * 64] {
        for (before, count) in [(1, 2), (0, 1), (63, 64), (64, 65), (5, 64 * 64 + 7), (64 * 60, 64 * 141)] {
            for kind in [MarkKind::Read, MarkKind::Dirty] {
                let fabric = bits(levels, 2);
                let extent = Extent::new(Block(word * CHUNK_BLOCKS - before), count);
                set_extent(&fabric, kind, extent);
                assert_eq!(take_all(&fabric, kind), extent.blocks().collect::<Vec<_>>(), "{extent:?}");
            }
        }
    }
}

#[test]
fn kinds_are_scanned_together_and_in_order() {
    let fabric = bits(4, 1);
    let (dirty, read) = ([Chunk(7), Chunk(64), Chunk(70_000)], [Chunk(0), Chunk(64), Chunk(4096)]);
    dirty.iter().rev().for_each(|chunk| set_own(&fabric, MarkKind::Dirty, *chunk, 2));
    read.iter().rev().for_each(|chunk| expect_ready(set(&fabric, ME, MarkKind::Read, *chunk, 4)));
    assert_eq!(scanned(&fabric), [0, 7, 64, 4096, 70_000].map(Chunk));
    let mut peeked = vec![Chunk(1)];
    peek(&fabric, MarkKind::Dirty, &mut peeked);
    assert_eq!(peeked, [1, 7, 64, 70_000].map(Chunk), "appended");
    assert_eq!(expect_ready(take_chunk(&fabric, MarkKind::Read, Chunk(64))), 4);
    assert_eq!(expect_ready(take_chunk(&fabric, MarkKind::Dirty, Chunk(64))), 2, "of one kind at a time");
}

#[test]
fn marks_are_where_they_were_set() {
    let fabric = bits(3, 1);
    expect_ready(set(&fabric, Rank(2), KIND, Chunk(5), 1));
    assert!(fabric.none_marked(&[KIND]) && scanned(&fabric).is_empty());
    assert!(fabric.words.left().iter().all(|(at, _)| *at == Rank(2)));
}

/// Random settings of runs and takings, against a plain set.
#[test]
fn behaves_like_a_set() {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    for kind in MarkKind::RELEASED {
        let fabric = bits(3, 2);
        let places: Vec<u64> = edges(3, 2).into_iter().map(|chunk| chunk.0 * CHUNK_BLOCKS).collect();
        let end = 2 * 64 * 64 * CHUNK_BLOCKS;
        let mut model = BTreeSet::new();
        for _ in 0..400 {
            let first = places[next(places.len() as u64) as usize] + next(64);
            let extent = Extent::new(Block(first), (1 + next(100)).min(end - first));
            set_extent(&fabric, kind, extent);
            model.extend(extent.blocks());
            if next(4) == 0 {
                assert_eq!(
                    take_all(&fabric, kind),
                    std::mem::take(&mut model).into_iter().collect::<Vec<_>>()
                );
            }
        }
    }
}
