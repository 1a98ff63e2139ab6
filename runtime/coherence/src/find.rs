//! Finding homes: following links, and shortening the way for those that come after.
//!
//! A process that has not touched a block for long, or never, knows only who took its home from the process where it looks first. Each link leads to a
//! process that became home later, so the way ends after at most as many steps as there are other processes, unless the home goes on
//! meanwhile. It is long only once: whoever goes it makes its own link lead on at each step, so processes that go it together halve what is left of it
//! for each other, and has the first process on it point to the home.

use crate::fabric::{Fabric, Word};
use crate::link::Link;
use crate::records::Blocked;
use crate::types::{Block, Extent, Rank};
use crate::{Coherence, Fault};

/// Processes where the home no longer was, from which on the first of them is told where it is: that costs as much as four steps.
const LONG: u64 = 2;

impl<F: Fabric> Coherence<F> {
    /// Follows the links to the home. The chunk is locked.
    pub(crate) async fn find_home(&self, block: Block) -> Result<Rank, Blocked> {
        self.follow_links(block, true).await
    }

    /// `locked`: the chunk is. Else the own link stays as it is: another thread may be moving the home here.
    pub(crate) async fn follow_links(&self, block: Block, locked: bool) -> Result<Rank, Blocked> {
        let mut at = self.me();
        let mut first = None;
        let mut steps = 0;
        let moment = self.fabric.moment();
        loop {
            self.fabric.forget(moment, || (at, first, steps.min(LONG)));
            let (seen, link) = self.load_link(at, block).await;
            match link {
                Link::Home => {
                    if steps >= LONG
                        && let Some((first, seen)) = first
                        && first != at
                    {
                        self.shorten(first, seen, block, at).await;
                    }
                    return Ok(at);
                }
                Link::Wait => return Err(Blocked { at, word: Word::Link(block), seen }),
                Link::Link { to, pending } => {
                    if at != self.me() {
                        self.stats.link_hops.add(1);
                        if locked || self.fabric.fault(Fault::OwnLinkUnlocked) {
                            self.point_to(to, block);
                        }
                        steps += 1;
                        if steps == 1 && !pending {
                            first = Some((at, seen));
                        }
                    }
                    at = to;
                }
            }
        }
    }

    /// Makes the own link lead to a process that the way along it led to. The chunk is locked: nobody but a taker of the home, whose link is pending,
    /// and those that shorten it change it meanwhile.
    fn point_to(&self, to: Rank, block: Block) {
        if let (_, Link::Link { to: old, pending: false }) = self.own_link(block)
            && old != to
        {
            self.fabric.set_own_links(Extent::single(block), Link::to(to).encode());
        }
    }

    /// Makes the link of `first`, where it was `seen`, lead to where `home` was seen to be. Gives up when anything else goes on there.
    async fn shorten(&self, first: Rank, seen: u64, block: Block, home: Rank) {
        let fabric = &self.fabric;
        let locked = !fabric.fault(Fault::ShortenUnlocked);
        let mut sequence = Some(0);
        if locked {
            sequence = fabric.try_lock_near(fabric.place(first, block)).await;
        }
        let Some(sequence) = sequence else { return };
        // Homes leave a process only with its records locked. So if the home still is where it was, and the first process's link then is as it
        // was, it did not have the home in between, and the new link leads forward in time as well.
        let stays = self.load_link(home, block).await.1 == Link::Home;
        if stays || fabric.fault(Fault::ShortenBlindly) {
            let found = fabric.cas(first, Word::Link(block), seen, Link::to(home).encode()).await;
            self.stats.links_shortened.add(u64::from(found == seen));
        }
        if locked {
            self.unlock_records(first, block.chunk(), sequence).await;
        }
    }
}
