//! Finding homes along probable owners (K. Li, P. Hudak, "Memory Coherence in Shared Virtual Memory Systems", ACM TOCS 1989), with path compression.
//!
//! A process that has not touched a block for long, or never, knows only who took its home from the process where it looks first. Each link leads to a
//! process that became home later, so a lookup ends after at most as many hops as there are other processes, unless the home moves on
//! meanwhile. Long paths are followed once: a lookup makes its process's own link point further at each hop, so that lookups along the same path shorten it
//! for each other, and in the end it redirects the link of the first process on the path to the home.

use std::hash::Hash;

use crate::calls::redirect;
use crate::fabric::{Fabric, Word};
use crate::link::Link;
use crate::records::Blocked;
use crate::segment::Seen;
use crate::types::{Block, Chunk, Extent, Rank};
use crate::{Coherence, Fault};

/// Hops from which on the first process on the path is redirected to the home, which costs as much as a hop.
const MANY_HOPS: u64 = 2;

/// A lookup along links, from this process on.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct HomeLookup {
    /// Where to look next.
    pub(crate) at: Rank,
    /// The first process where the home no longer was, and its link.
    first: Option<(Rank, Seen)>,
    hops: u64,
}

impl From<Rank> for HomeLookup {
    /// A lookup that begins at a process where the own link leads.
    fn from(at: Rank) -> Self {
        HomeLookup { at, first: None, hops: 0 }
    }
}

impl<F: Fabric> Coherence<F> {
    /// A lookup that has not left this process.
    pub(crate) fn begin_lookup(&self) -> HomeLookup {
        HomeLookup { at: self.me(), first: None, hops: 0 }
    }

    /// The part of a lookup that decides how it goes on.
    pub(crate) fn lookup_state(lookup: &HomeLookup) -> impl Hash + use<F> {
        (lookup.at, lookup.first, lookup.hops.min(MANY_HOPS))
    }

    /// Goes on from a process where the home is not, but the link `seen`. `locked`: the chunk is locked.
    pub(crate) fn follow_link(
        &self,
        lookup: &mut HomeLookup,
        block: Block,
        seen: Seen,
        locked: bool,
    ) -> Result<(), Blocked> {
        let at = lookup.at;
        let Link::Link { to, pending } = self.decode(seen.link, at, block) else {
            return Err(Blocked { at, word: Word::Link(block), seen: seen.link });
        };
        if at != self.me() {
            self.stats.link_hops.add(1);
            if locked {
                self.point_to(to, block);
            }
            lookup.hops += 1;
            if lookup.hops == 1 && !pending {
                lookup.first = Some((at, seen));
            }
        }
        lookup.at = to;
        Ok(())
    }

    /// The lookup has found the home.
    pub(crate) async fn end_lookup(&self, lookup: HomeLookup, block: Block) {
        if lookup.hops >= MANY_HOPS
            && let Some((first, seen)) = lookup.first
            && first != lookup.at
        {
            let changed = self.call_redirect(first, &redirect::Request { block, seen, to: lookup.at }).await;
            self.stats.links_shortened.add(u64::from(changed));
        }
    }

    /// Begins to set links together with versions, each of which the process had where the link leads: a release may have to tell of both. Peers redirect links with the records locked, and only as
    /// long as nobody else has locked them since; so what they have seen of these links counts no more. Ways that others redirect have more than two processes. The chunk is locked.
    pub(crate) async fn begin_pairing(&self, chunk: Chunk) -> Option<u64> {
        let is_redirected = self.fabric.size() > 2 && !self.fabric.fault(Fault::LabelUnlocked);
        if is_redirected { Some(self.lock_records(chunk).await) } else { None }
    }

    /// The links and versions are set.
    pub(crate) fn end_pairing(&self, chunk: Chunk, paired: Option<u64>) {
        if let Some(sequence) = paired {
            self.unlock_records(chunk, sequence);
        }
    }

    /// Makes the own link point to a process further along its path. The chunk is locked: nobody changes the link meanwhile but a process that takes the home, whose link is pending,
    /// and lookups that redirect it.
    pub(crate) fn point_to(&self, to: Rank, block: Block) {
        if let (_, Link::Link { to: old, pending: false }) = self.own_link(block)
            && old != to
        {
            self.fabric.set_own_links(Extent::single(block), Link::to(to).encode());
        }
    }
}
