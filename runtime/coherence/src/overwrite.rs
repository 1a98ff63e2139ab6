//! Misses for blocks that are about to be overwritten from their first byte to their last: their homes come here without the contents.
//!
//! The caller promises: the thread stores to every byte of these blocks after the call and before its next release, reads none of them before it has
//! stored to it, and neither do others in between, as the program has no data races.
//!
//! Soundness. Let the thread store to byte `x` of such a block by `W`, and let `A` be any other access of the program to `x`. Between the call
//! and `W` the thread does not synchronise. So either `A` happens before the call, or `W`, and with it the thread's next release, happens before
//! `A`. In between nobody needs to know what is in the block:
//!
//! - *Contents.* What is at the new home until the stores are done is worth nothing. Who reads there meanwhile does so for no access: a range
//!   was fetched that is longer than what is read, or a thread of this process released. Such a copy has a label below the version of the
//!   thread's release, whose notice invalidates it: the home was taken with a dirty mark. The home's version rises when it is taken, so no older
//!   copy is renewed without data, and a process that takes the home away merges what it finds with what is stored here later, as always.
//! - *Old copies* stay what they are, where a notice sent somebody to read them too: what reads them happened before.
//! - *The old home.* Its stores to the block happened before the call, hence before a release of it that was told of or needed no notice. If
//!   it may store without asking, nothing that it has not published is in the block. It therefore gets no twin; a bit in its [`Word::Replaced`],
//!   set before its link, says that there is none, and that nothing of its own is in the block while the state still allows stores. The first
//!   acquire that brings the overwriting process's notice or bound takes the state away, before any thread there can store again. The bit counts
//!   only while the home is elsewhere and no twin was made: it is cleared when a twin is, and when the home returns.
//! - *This process.* Blocks with own bytes that are not published are merged as always. Other threads of this process are processes like any
//!   others in all of the above. A copy that is valid keeps its contents and needs neither twin nor comparison.
//!
//! A block whose home is not free, or stored to there, is fetched as for any store. So is everything where stores are watched for races.

use crate::fabric::{Fabric, Word};
use crate::types::{Chunk, Extent};
use crate::{Coherence, Fault};

/// What makes a miss.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Purpose {
    /// Stores, or else loads.
    pub(crate) write: bool,
    /// Blocks all of whose bytes are stored to.
    whole: Option<Extent>,
}

impl Purpose {
    pub(crate) const LOAD: Purpose = Purpose { write: false, whole: None };
    pub(crate) const STORE: Purpose = Purpose { write: true, whole: None };

    /// Stores, to all bytes of the blocks of an extent.
    pub(crate) fn stores(whole: Option<Extent>) -> Purpose {
        Purpose { write: true, whole }
    }

    /// The blocks of an extent in one chunk all of whose bytes are stored to, as bits of the chunk's mark words.
    pub(crate) fn whole(&self, part: Extent) -> u64 {
        let Some(whole) = self.whole else { return 0 };
        let (first, end) = (whole.first.max(part.first), whole.end().min(part.end()));
        if first < end { Extent::new(first, end.0 - first.0).mask() } else { 0 }
    }
}

impl<F: Fabric> Coherence<F> {
    /// As [`Coherence::write_miss`], when every byte of the blocks of `whole`, which lies in the extent, will be stored to before the thread's next
    /// release, and none read before that: they may hold anything afterwards.
    pub async fn overwrite_miss(&self, extent: Extent, whole: Extent) {
        let whole = if self.fabric.fault(Fault::OverwritePart) { extent } else { whole };
        self.store_miss(extent, Purpose::stores(Some(whole))).await;
    }

    /// Blocks whose homes were taken from here without a twin; means nothing for blocks at home. To be asked after their links.
    pub(crate) fn replaced(&self, chunk: Chunk) -> u64 {
        self.fabric.own(Word::Replaced(chunk))
    }

    /// Blocks get twins here, or their homes have come here and not been unlocked. The chunk is locked, or the blocks are.
    pub(crate) async fn not_replaced(&self, chunk: Chunk, blocks: u64) {
        if self.replaced(chunk) & blocks != 0 && !self.fabric.fault(Fault::ReplacedForGood) {
            self.fabric.clear_own(Word::Replaced(chunk), blocks).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Block;

    #[test]
    fn only_blocks_of_which_all_is_stored_to_count() {
        let purpose = |first, count| Purpose { write: true, whole: Some(Extent::new(Block(first), count)) };
        let part = Extent::new(Block(70), 4);
        for (whole, mask) in [
            (purpose(70, 4), 0b1111 << 6),
            (purpose(71, 2), 0b0110 << 6),
            (purpose(60, 12), 0b0011 << 6),
            (purpose(73, 200), 0b1000 << 6),
            (purpose(60, 200), 0b1111 << 6),
            (purpose(60, 10), 0),
            (purpose(74, 1), 0),
            (Purpose::STORE, 0),
        ] {
            assert_eq!(whole.whole(part), mask, "{whole:?}");
        }
    }
}
