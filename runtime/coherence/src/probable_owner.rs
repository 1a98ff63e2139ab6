//! Finding homes: following links, and shortening the way for those that come after.
//!
//! A process that has not touched a block for long, or never, knows only who took its home from the process where it looks first. Each link leads to a
//! process that became home later, so the way ends after at most as many steps as there are other processes, unless the home goes on
//! meanwhile. It is long only once: whoever goes it makes its own link lead on at each step, so processes that go it together halve what is left of it
//! for each other, and has the first process on it point to the home.

use std::hash::Hash;

use crate::Coherence;
use crate::calls::redirect;
use crate::fabric::{Fabric, Word};
use crate::link::Link;
use crate::records::Blocked;
use crate::segment::Seen;
use crate::types::{Block, Extent, Rank};

/// Processes where the home no longer was, from which on the first of them is told where it is: that costs as much as a step.
const LONG: u64 = 2;

/// A way along links, from this process on.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Walk {
    /// Where to look next.
    pub(crate) at: Rank,
    /// The first process where the home no longer was, and its link.
    first: Option<(Rank, Seen)>,
    steps: u64,
}

impl<F: Fabric> Coherence<F> {
    /// A walk that has not gone beyond this process.
    pub(crate) fn walk(&self) -> Walk {
        Walk { at: self.me(), first: None, steps: 0 }
    }

    /// What decides how a walk goes on.
    pub(crate) fn kept(walk: &Walk) -> impl Hash + use<F> {
        (walk.at, walk.first, walk.steps.min(LONG))
    }

    /// Goes on from a process where the home is not, but this link. `locked`: the chunk is.
    pub(crate) fn step(
        &self,
        walk: &mut Walk,
        block: Block,
        seen: Seen,
        locked: bool,
    ) -> Result<(), Blocked> {
        let at = walk.at;
        let Link::Link { to, pending } = self.decode(seen.link, at, block) else {
            return Err(Blocked { at, word: Word::Link(block), seen: seen.link });
        };
        if at != self.me() {
            self.stats.link_hops.add(1);
            if locked {
                self.point_to(to, block);
            }
            walk.steps += 1;
            if walk.steps == 1 && !pending {
                walk.first = Some((at, seen));
            }
        }
        walk.at = to;
        Ok(())
    }

    /// The home was where the walk has come to.
    pub(crate) async fn end_walk(&self, walk: Walk, block: Block) {
        if walk.steps >= LONG
            && let Some((first, seen)) = walk.first
            && first != walk.at
        {
            let changed = self.call_redirect(first, &redirect::Request { block, seen, to: walk.at }).await;
            self.stats.links_shortened.add(u64::from(changed));
        }
    }

    /// Makes the own link lead to a process that the way along it led to. The chunk is locked: nobody but a taker of the home, whose link is pending,
    /// and those that shorten it change it meanwhile.
    pub(crate) fn point_to(&self, to: Rank, block: Block) {
        if let (_, Link::Link { to: old, pending: false }) = self.own_link(block)
            && old != to
        {
            self.fabric.set_own_links(Extent::single(block), Link::to(to).encode());
        }
    }
}
