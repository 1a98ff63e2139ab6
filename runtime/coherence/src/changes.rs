//! Memory-based operations of the program: changes and reads that are executed where the data is (after T. Matsumoto's Memory-Based Communication Facilities).
//!
//! They are atomic operations ([`crate::atomic`]) but for a few things. Several changes of a chunk go in one call ([`crate::calls::batch`]), as nobody needs what the bytes were. And homes
//! stay where they are, if they can: of a block that this process has only read it gives up its copy, where an atomic operation would bring the home here. The home comes here, in a
//! critical section, where this process has stored to the block, where the block is write-protected at its home, and where nobody else has come to the chunk between many changes of this process.

use crate::atomic_read::Read;
use crate::calls::actions::{Action, Actions};
use crate::calls::batch::{Batched, Request, Stop};
use crate::calls::read;
use crate::fabric::{Fabric, Gate, MarkKind, Word};
use crate::home_migration::has_twin;
use crate::link::Link;
use crate::migration_on_miss::hint;
use crate::open::Order;
use crate::records::{Blocked, Records};
use crate::scratch::ScratchGuard;
use crate::segment::Seen;
use crate::types::{Block, Extent, Rank};
use crate::{Coherence, Fault, abi};

impl<F: Fabric> Coherence<F> {
    /// Applies changes of one chunk in their order. All are done on return.
    pub async fn change(&self, actions: Actions<'_>) {
        let mut rest = actions;
        let mut is_next = false;
        let checkpoint = self.fabric.checkpoint();
        while let Some(first) = rest.first() {
            self.fabric.live_since(checkpoint, || (rest.count(), is_next));
            let mut done = self.change_leading(rest).await;
            if done == 0 && !self.should_come(rest) {
                done = self.change_remote(rest, is_next).await;
                is_next |= done > 0;
            }
            if done == 0 {
                done = self.change_critical(first.block, rest).await;
            }
            rest.nth(done - 1);
        }
    }

    /// Whether the home of the first block should come here, as far as this process knows. That of an only copy should not: its contents would replace a copy that has additions, which other threads see, before these are executed.
    fn should_come(&self, actions: Actions<'_>) -> bool {
        let Some(first) = actions.first() else { return false };
        if self.fabric.state(first.block) == abi::READABLE && self.has_only_copies(Order::Relaxed) {
            return false;
        }
        let (_, changes) = actions.leading(usize::MAX, |action| action.block == first.block);
        self.updates().should_migrate_batched(first.block, changes)
    }

    /// The first changes, as long as the fast path of atomic operations leads to their blocks. Returns how many these are.
    async fn change_leading(&self, actions: Actions<'_>) -> usize {
        let mut done = 0;
        for action in actions {
            let Action { block, offset, change } = action;
            let change = |_| change.apply(&self.fabric, self.me(), block, offset);
            let here = self.fabric.own_handle(block);
            let old = match F::SYNCHRONOUS {
                true => self.change_local_sync(here, Order::Relaxed, change),
                false => self.change_local(here, Order::Relaxed, change).await,
            };
            if old.is_none() {
                break;
            }
            done += 1;
        }
        done
    }

    /// The first changes, as long as they can be executed at one other process. Returns how many these are. `is_next`: others were, just now.
    async fn change_remote(&self, actions: Actions<'_>, is_next: bool) -> usize {
        let fabric = &self.fabric;
        if fabric.watches_writes() {
            return 0;
        }
        let checkpoint = fabric.checkpoint();
        let done = loop {
            fabric.live_since(checkpoint, || ());
            let locked = fabric.lock_chunk(actions.chunk()).await;
            let outcome = self.try_change_remote(actions, is_next).await;
            drop(locked);
            match outcome {
                Ok(done) => break done,
                Err(Blocked { at, word, seen }) => {
                    self.wait_for(at, word, seen).await;
                }
            }
        };
        fabric.live_since(checkpoint, || done);
        done
    }

    /// The chunk is locked, so that no other thread gets a copy out of which the results are missing.
    async fn try_change_remote(&self, actions: Actions<'_>, is_next: bool) -> Result<usize, Blocked> {
        let (actions, _) = actions.leading(usize::MAX, |action| self.is_elsewhere(action.block));
        let Some(first) = actions.first() else { return Ok(0) };
        let block = first.block;
        let mut lookup = self.begin_lookup();
        let (word, _) = self.own_link(block);
        self.follow_link(&mut lookup, block, Seen { link: word, sequence: 1 }, true)?;
        let only_copies = self.only_copies(actions);
        let request = Request { actions, at_least: self.clock() + 1, only_copies };
        let scratch = &mut *ScratchGuard::new();
        let checkpoint = self.fabric.checkpoint();
        let batched = loop {
            self.fabric.live_since(checkpoint, || Self::lookup_state(&lookup));
            match self.call_batch(lookup.at, &request, &mut scratch.peer).await {
                Ok(Batched { count: 0, stop: Stop::Away(seen), .. }) => {
                    if self.decode(seen.link, lookup.at, block) == Link::Home {
                        // It has come back there meanwhile.
                        return Err(self.look_again(block));
                    }
                    self.follow_link(&mut lookup, block, seen, true)?;
                }
                Ok(batched) => break batched,
                Err(busy) => return Err(Blocked { at: lookup.at, word: busy.word, seen: busy.seen }),
            }
        };
        self.end_lookup(lookup, block).await;
        if batched.count > 0 {
            self.updates().record_batch(actions.chunk(), batched.sequence, batched.count, is_next);
        }
        let count = batched.count as usize;
        self.note_batch(lookup.at, actions, &batched, only_copies, &scratch.peer);
        if only_copies != 0 {
            self.change_only_copies(lookup.at, actions, count, only_copies).await;
        }
        Ok(count)
    }

    /// Whether the home of a block is elsewhere, and nothing is here that would have to be merged.
    fn is_elsewhere(&self, block: Block) -> bool {
        let (_, link) = self.own_link(block);
        matches!(self.fabric.state(block), abi::READABLE | abi::NOTICED | abi::COLD | abi::EXPIRED)
            && !matches!(link, Link::Home | Link::Link { pending: true, .. })
    }

    /// Whether an acquire may bring the home of a block here, as this process has stored to it behind reads ([`Coherence::forget_migratory`]).
    #[inline(always)]
    pub fn is_migratory(&self, block: Block) -> bool {
        self.fabric.own(hint(MarkKind::Migratory, block.chunk())) & block.bit() != 0
    }

    /// From now on, only a miss makes the block accessible here.
    pub async fn forget_migratory(&self, block: Block) {
        let fabric = &self.fabric;
        let _locked = fabric.lock_chunk(block.chunk()).await;
        let migratory = hint(MarkKind::Migratory, block.chunk());
        fabric.set_own(migratory, fabric.own(migratory) & !block.bit());
    }

    /// Changes have been executed at a home: copies of the blocks are not current any more, and the versions that the results are part of are listed.
    fn note_batch(
        &self,
        home: Rank,
        actions: Actions<'_>,
        batched: &Batched,
        only_copies: u64,
        records: &Records,
    ) {
        let chunk = actions.chunk();
        let mut left = batched.count;
        let (done, _) =
            actions.leading(usize::MAX, |_| left.checked_sub(1).inspect(|less| left = *less).is_some());
        for block in chunk.blocks(done.blocks() & !only_copies) {
            if self.fabric.state(block) == abi::READABLE && !self.fabric.fault(Fault::BatchCopyStays) {
                self.fabric.set_state(Extent::single(block), abi::EXPIRED);
            }
            self.changed_elsewhere(block);
            let version = batched.version_of(block, records);
            let is_new = self.updates().is_unlisted(block, version);
            let left_out =
                self.fabric.fault(Fault::BatchNotListed) && block != done.first().expect("one").block;
            if is_new && !left_out {
                self.list_update(block, home, version);
            }
        }
    }

    /// The first changes that are of one block, whose home comes here. Returns how many these are.
    async fn change_critical(&self, block: Block, actions: Actions<'_>) -> usize {
        let (actions, count) = actions.leading(usize::MAX, |action| action.block == block);
        self.critical_section(block, false, async {
            for action in actions {
                action.change.apply(&self.fabric, self.me(), block, action.offset).await;
            }
        })
        .await;
        count
    }

    /// Reads bytes of a block from where its home is, own stores included. Aligned words of up to 8 bytes are read as one.
    pub async fn read_range(&self, block: Block, offset: usize, into: &mut [u8]) {
        let block_bytes = self.fabric.block_bytes(block);
        let all = read::Request { block, offset, bytes: into.len() };
        let mut done = 0;
        let checkpoint = self.fabric.checkpoint();
        while done < all.bytes {
            self.fabric.live_since(checkpoint, || done);
            let rest = all.behind(done, block_bytes);
            done += match self.own_stores_begin(&rest, block_bytes).await {
                0 => {
                    let bytes = rest.bytes.min(block_bytes - rest.offset);
                    self.read_critical(rest.block, rest.offset, &mut into[done..done + bytes]).await;
                    bytes
                }
                bytes => {
                    let request = read::Request { bytes, ..rest };
                    self.read_at_home(&request, Read::Alone, &mut into[done..done + bytes]).await.0
                }
            };
        }
    }

    /// Number of bytes in front of the first block of which this process has stores that its home does not have.
    async fn own_stores_begin(&self, request: &read::Request, block_bytes: usize) -> usize {
        let mut bytes = 0;
        let checkpoint = self.fabric.checkpoint();
        while bytes < request.bytes {
            self.fabric.live_since(checkpoint, || bytes);
            let rest = request.behind(bytes, block_bytes);
            if self.has_unpublished(rest.block).await {
                break;
            }
            bytes += rest.bytes.min(block_bytes - rest.offset);
        }
        bytes
    }

    /// Whether this process has stored to a block what its home does not have. What a release is taking there now, it has on return.
    async fn has_unpublished(&self, block: Block) -> bool {
        let fabric = &self.fabric;
        if !has_twin(fabric.state(block)) && fabric.gate_free(Gate::Publish) {
            return false;
        }
        let gate = fabric.lock_gate(Gate::Publish).await;
        let checkpoint = fabric.checkpoint();
        let differs = loop {
            fabric.live_since(checkpoint, || ());
            match self.differs_from_twin(block).await {
                Ok(differs) => break differs,
                // Who takes the home is leaving the twin, or it comes here.
                Err(word) => fabric.wait_change(self.me(), Word::Link(block), word).await,
            };
        };
        drop(gate);
        differs
    }

    /// Reads bytes of a block whose home comes here.
    async fn read_critical(&self, block: Block, offset: usize, into: &mut [u8]) {
        self.critical(block, async {
            for (place, bytes) in crate::calls::actions::words(offset, into.len()) {
                let value = self.fabric.load_bytes(self.me(), block, place, bytes).await;
                into[place - offset..][..bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
        })
        .await;
    }
}
