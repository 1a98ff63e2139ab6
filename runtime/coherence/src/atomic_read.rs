//! Reads of variables where their homes are: the atomic loads of the program.
//!
//! A poller leaves the home where it is. A copy that is here gets the value that was found, as an operation at the home may be newer than the last version that the home has published.

use crate::calls::read;
use crate::fabric::{Fabric, MarkKind, Word};
use crate::home_migration::has_twin;
use crate::link::Link;
use crate::migration_on_miss::hint;
use crate::records::Blocked;
use crate::types::{Block, Rank};
use crate::{Coherence, Fault, abi};

/// What a read where the home is does besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Nothing.
    Alone,
    /// An acquire from each process that it asks by messages.
    Acquiring,
}

impl<F: Fabric> Coherence<F> {
    /// Value of an atomic variable of 1, 2, 4 or 8 aligned bytes at `offset` in its block, read where the home is ([`crate::calls::read`]): pollers leave the home where it is, and of copies change the variable only. For
    /// other stores to the block see [`Coherence::has_own_stores`].
    pub async fn read_atomic(&self, block: Block, offset: usize, bytes: usize) -> u64 {
        let mut value = [0; 8];
        let request = read::Request { block, offset, bytes };
        self.read_at_home(&request, Read::Alone, &mut value[..bytes]).await;
        let value = u64::from_le_bytes(value);
        self.bring_up_to_date(&request, value).await;
        value
    }

    /// As [`Coherence::read_atomic`], and an acquire from the process that has the home, if it is reached by messages: that process, whose signature is read behind the variable in the same round trip. From the others, and if it is
    /// `None` from all, the caller has to acquire.
    pub async fn read_atomic_acquiring(
        &self,
        block: Block,
        offset: usize,
        bytes: usize,
    ) -> (u64, Option<Rank>) {
        let mut value = [0; 8];
        let request = read::Request { block, offset, bytes };
        let (_, home) = self.read_at_home(&request, Read::Acquiring, &mut value[..bytes]).await;
        let value = u64::from_le_bytes(value);
        self.bring_up_to_date(&request, value).await;
        (value, Some(home).filter(|home| self.fabric.has_agent(*home)))
    }

    /// The process that has the home of a block now; it may move at any time.
    pub async fn find_home(&self, block: Block) -> Rank {
        let checkpoint = self.fabric.checkpoint();
        loop {
            self.fabric.live_since(checkpoint, || ());
            let request = read::Request { block, offset: 0, bytes: 1 };
            match self.try_read_at_home(&request, Read::Alone, &mut [0]).await {
                Ok((_, home)) => return home,
                Err(Blocked { at, word, seen }) => {
                    self.wait_for(at, word, seen).await;
                }
            }
        }
    }

    /// Reads into the front of a buffer, up to the first block whose home is elsewhere than the first one's. Returns how many bytes that were, and where.
    pub(crate) async fn read_at_home(
        &self,
        request: &read::Request,
        read: Read,
        into: &mut [u8],
    ) -> (usize, Rank) {
        let fabric = &self.fabric;
        let checkpoint = fabric.checkpoint();
        loop {
            fabric.live_since(checkpoint, || ());
            match self.try_read_at_home(request, read, into).await {
                Ok(found) => return found,
                Err(Blocked { at, word, seen }) => {
                    self.wait_for(at, word, seen).await;
                }
            }
        }
    }

    /// Follows the links to the home and reads there; how many bytes, and where. The chunk is not locked: the own link stays as it is, as another thread may be moving the home here.
    async fn try_read_at_home(
        &self,
        request: &read::Request,
        read: Read,
        into: &mut [u8],
    ) -> Result<(usize, Rank), Blocked> {
        let fabric = &self.fabric;
        let block = request.block;
        let mut lookup = self.begin_lookup();
        let checkpoint = fabric.checkpoint();
        loop {
            fabric.live_since(checkpoint, || Self::lookup_state(&lookup));
            let result = match read {
                _ if lookup.at == self.me() => self.segment(lookup.at).read(request, into).await,
                Read::Acquiring if fabric.has_agent(lookup.at) => {
                    self.read_and_acquire(lookup.at, request, into).await
                }
                _ => self.call_read(lookup.at, request, into).await,
            };
            match result {
                Ok(length) => {
                    let home = lookup.at;
                    self.end_lookup(lookup, block).await;
                    return Ok((length, home));
                }
                // It was away meanwhile, or was merged.
                Err(seen) if self.decode(seen.link, lookup.at, block) == Link::Home => {
                    return Err(self.look_again(block));
                }
                Err(seen) => {
                    self.follow_link(&mut lookup, block, seen, fabric.fault(Fault::OwnLinkUnlocked))?
                }
            }
        }
    }

    /// Behind a read of a variable at its home, which found `value`: a copy of the block here that has another value, which this process has not stored, gets the one that the home has now. What the thread loads next from the copy is not
    /// to be older than what it has read.
    async fn bring_up_to_date(&self, request: &read::Request, value: u64) {
        let fabric = &self.fabric;
        let &read::Request { block, offset, bytes } = request;
        let is_ahead =
            || self.has_agents && fabric.own(hint(MarkKind::Ahead, block.chunk())) & block.bit() != 0;
        let is_older = async || {
            let is_kept = match fabric.state(block) {
                abi::COLD => false,
                abi::NOTICED => is_ahead(),
                _ => true,
            };
            is_kept && fabric.load_bytes(self.me(), block, offset, bytes).await != value
        };
        // Another thread may be about to have a copy from before the value.
        if fabric.fault(Fault::ReadBesideCopy) || fabric.is_only_thread() && !is_older().await {
            return;
        }
        let checkpoint = fabric.checkpoint();
        loop {
            fabric.live_since(checkpoint, || ());
            let locked = fabric.lock_chunk(block.chunk()).await;
            if !is_older().await {
                return;
            }
            let (word, link) = self.own_link(block);
            match link {
                Link::Home => return,
                Link::Link { pending: false, .. } => {}
                // It is being taken from here, or comes here.
                _ => {
                    drop(locked);
                    fabric.wait_change(self.me(), Word::Link(block), word).await;
                    continue;
                }
            }
            let has_stores = has_twin(fabric.state(block)) && !self.is_stored_beside(block, (offset, bytes));
            if has_stores {
                return;
            }
            let mut current = [0; 8];
            match self.try_read_at_home(request, Read::Alone, &mut current[..bytes]).await {
                Ok(_) => return self.change_copy(block, offset, bytes, u64::from_le_bytes(current)).await,
                Err(Blocked { at, word, seen }) => {
                    drop(locked);
                    self.wait_for(at, word, seen).await;
                }
            }
        }
    }
}
