//! One writer at a time, as in IVY (Li, Hudak 1989): for experiments that leave [`Part::MultipleWriters`] out.
//!
//! A store needs the block's home, which nobody else may store to. A miss that finds a home whose process may store asks for the permission
//! ([`Word::Revoked`]) and waits; a thread of that process, which runs no user code, takes it back, publishes what was stored, and the miss takes the home. No twin
//! is made and nothing merged.
//!
//! Sound only where a store and the look whether it is allowed are one step, as with page protection: compiled checks let a thread store some time after its check has
//! passed.

use crate::fabric::{Fabric, Gate, MarkKind, Word};
use crate::link::Link;
use crate::overwrite::Purpose;
use crate::records::Blocked;
use crate::release::{Progress, Work};
use crate::types::{Block, Rank};
use crate::{Coherence, Fault, Part, marks};

impl<F: Fabric> Coherence<F> {
    /// Whether blocks have one writer at a time.
    #[inline]
    pub(crate) fn has_one_writer(&self) -> bool {
        self.fabric.leaves_out(Part::MultipleWriters)
    }

    /// Whether a miss has to wait until the homes can be taken.
    #[inline]
    pub(crate) fn insists_on_home(&self, purpose: Purpose) -> bool {
        purpose.write && self.has_one_writer()
    }

    /// Asks a process, which was the home of a block when this one looked, to give up the permission to store to it. What to wait for before the next look.
    pub(crate) async fn ask_to_revoke(&self, at: Rank, block: Block) -> Blocked {
        let fabric = &self.fabric;
        let wanted = block.0 + 1;
        let before = fabric.cas(at, Word::Revoked, 0, wanted).await;
        if before == 0 {
            fabric.notify(at).await;
        }
        // Somebody else's request is served first.
        let seen = if before == 0 { wanted } else { before };
        Blocked { at, word: Word::Revoked, seen }
    }

    /// What another process has asked for, if one has: what the thread for it does when it is notified.
    pub async fn revoke(&self) {
        let fabric = &self.fabric;
        let wanted = fabric.load(self.me(), Word::Revoked).await;
        if wanted != 0 {
            self.revoke_block(Block(wanted - 1)).await;
            fabric.post_store(self.me(), Word::Revoked, 0).await;
            fabric.flush(self.me()).await;
        }
    }

    /// Takes back the permission to store to a block and publishes it, if its home is here and stores need not ask.
    async fn revoke_block(&self, block: Block) {
        let fabric = &self.fabric;
        let (chunk, bit) = (block.chunk(), block.bit());
        let gate = fabric.lock_gate(Gate::Publish).await;
        let mut progress = Progress::new(self.clock() + 1, false);
        let locked = fabric.lock_chunk(chunk).await;
        let (_, link) = self.own_link(block);
        if link == Link::Home && self.own_homes(chunk).write_protected & bit == 0 {
            let sequence = self.lock_records(chunk).await;
            for kind in MarkKind::RELEASED {
                let others = marks::take_chunk(fabric, kind, chunk).await & !bit;
                if others != 0 {
                    marks::set_own(fabric, kind, chunk, others);
                }
            }
            if !fabric.fault(Fault::RevokeUnpublished) {
                let work = Work::of_writer(chunk, bit);
                self.publish_here(work, &mut { bit }, &mut progress);
            }
            // Nobody gets the contents before the records are unlocked: the version covers what was stored until here.
            self.downgrade_homes(chunk, bit);
            self.unlock_records(chunk, sequence);
            self.stats.permissions_revoked.add(1);
        }
        drop(locked);
        self.publish(&mut progress);
        drop(gate);
    }
}
