//! The own bit sets of marks, and their summaries.

use std::sync::atomic::{AtomicU64, Ordering};

use dsm_coherence::{Chunk, MarkKind};
use dsm_comm::Own;

use crate::geometry::{Geometry, MARK_LEVELS};

/// Summary words of one number, by kind.
type Summaries = [AtomicU64; MarkKind::SUMMARISED];

/// Where the sets are.
pub(super) struct Marks {
    /// The sets, by kind.
    sets: [&'static [AtomicU64]; MarkKind::ALL.len()],
    /// Their summaries by level, those of all kinds side by side.
    summaries: [&'static [Summaries]; MARK_LEVELS],
    /// Levels from 1 on that there are.
    levels: usize,
    /// The summaries of the highest level: the first one, and the others.
    top: (&'static Summaries, &'static [Summaries]),
}

/// What a release looks at of the summaries of one number.
#[inline(always)]
fn released(words: &Summaries) -> u64 {
    let marked = MarkKind::RELEASED.map(|kind| words[kind as usize].load(Ordering::SeqCst));
    marked[0] | marked[1] | marked[2]
}

impl Marks {
    /// Those of the own segment.
    pub(super) fn new(geometry: &Geometry, own: Own) -> Marks {
        let summaries = |level: usize| match level < usize::from(geometry.mark_levels()) && level > 0 {
            true => {
                let words = geometry.mark_words(level) as usize * MarkKind::SUMMARISED;
                own.words(geometry.summaries_offset(level as u8, 0), words).as_chunks().0
            }
            false => &[][..],
        };
        let levels = usize::from(geometry.mark_levels()) - 1;
        let set = |kind| own.words(geometry.mark_offset(kind, 0, 0), geometry.mark_words(0) as usize);
        Marks {
            sets: MarkKind::ALL.map(set),
            summaries: std::array::from_fn(summaries),
            levels,
            top: summaries(levels).split_first().expect("levels have words"),
        }
    }

    /// A word of a set or of its summaries.
    #[inline(always)]
    pub(super) fn word(&self, kind: MarkKind, level: u8, index: u64) -> &'static AtomicU64 {
        match level {
            0 => &self.sets[kind as usize][index as usize],
            _ => &self.summaries[usize::from(level) % MARK_LEVELS][index as usize][kind as usize],
        }
    }

    /// See [`dsm_coherence::Fabric::none_marked`].
    #[inline(always)]
    pub(super) fn none_of(&self, kinds: &[MarkKind]) -> bool {
        let union = |words: &Summaries| {
            kinds.iter().fold(0, |marked, &kind| marked | words[kind as usize].load(Ordering::SeqCst))
        };
        // Mostly there is one: a loop would take longer than all else.
        let (first, others) = self.top;
        union(first) == 0 && (others.is_empty() || others.iter().all(|words| union(words) == 0))
    }

    /// See [`dsm_coherence::Fabric::load_marked`].
    #[inline(always)]
    pub(super) fn released(&self, level: u8, index: u64) -> u64 {
        debug_assert!(level > 0, "only summaries lie side by side");
        released(&self.summaries[usize::from(level) % MARK_LEVELS][index as usize])
    }

    /// See [`dsm_coherence::Fabric::load_marked_apart`].
    #[inline(always)]
    pub(super) fn released_apart(&self, chunk: Chunk) -> u64 {
        let (mut index, mut apart) = (chunk.0 as usize, 0);
        let levels = &self.summaries[1..][..self.levels];
        for words in levels {
            let bit = 1 << (index % 64);
            index /= 64;
            apart |= released(&words[index]) ^ bit;
        }
        let roots = levels[levels.len() - 1].iter().enumerate().filter(|(root, _)| *root != index);
        roots.fold(apart, |apart, (_, words)| apart | released(words))
    }
}
