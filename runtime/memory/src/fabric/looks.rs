//! Looks at peers' memory without their processors.

use std::sync::atomic::{Ordering, fence};

use dsm_coherence::{Extent, Look, Rank};
use dsm_comm::Look as Part;

use super::SegmentFabric;
use crate::time::{self, Activity};

/// Most parts of a look, and most words of a part.
const MOST_PARTS: usize = 3;
const MOST_WORDS: usize = 8;

impl SegmentFabric {
    /// See [`dsm_coherence::Fabric::look`].
    pub(super) fn look_at(&self, at: Rank, parts: &mut [Look<'_>]) -> bool {
        let mut writes = [[(0, 0); MOST_WORDS]; MOST_PARTS];
        let mut words = [[(0, 0); MOST_WORDS]; MOST_PARTS];
        let mut contents = [None; MOST_PARTS];
        let mut event = None;
        for (i, part) in parts.iter().enumerate() {
            for (place, (word, value)) in writes[i].iter_mut().zip(part.writes) {
                *place = (self.offset(*word), *value);
            }
            for (place, (word, _)) in words[i].iter_mut().zip(&*part.words) {
                *place = (self.offset(*word), 0);
            }
            contents[i] = part.contents.map(|block| {
                event = self.fetched(at, Extent::single(block));
                let bytes = self.geometry.block_bytes(block);
                (self.geometry.data_offset(block), self.own_data(block), bytes)
            });
        }
        let mut there = writes.iter().zip(&mut words).zip(contents);
        let mut looks: [Part<'_>; MOST_PARTS] = std::array::from_fn(|i| {
            let ((writes, words), bytes) = there.next().expect("as many");
            let counts = parts.get(i).map_or((0, 0), |part| (part.writes.len(), part.words.len()));
            Part { writes: &writes[..counts.0], words: &mut words[..counts.1], bytes }
        });
        let looks = &mut looks[..parts.len()];
        // SAFETY: the own block is as long, and the chunk is locked: nobody else uses a block that is not readable.
        let is_reached =
            time::spent(Activity::Fetch, || event, || unsafe { self.segments.look(at.0, looks) });
        // Loads that the protocol issues after the copy must not be satisfied before it.
        fence(Ordering::Acquire);
        for (part, seen) in parts.iter_mut().zip(&words) {
            for ((_, value), (_, seen)) in part.words.iter_mut().zip(seen) {
                *value = *seen;
            }
        }
        is_reached
    }
}
