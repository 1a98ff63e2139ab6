//! Giving the memory of twins back.

use crate::fabric::Fabric;
use crate::home_migration::has_twin;
use crate::link::Link;
use crate::types::{Block, Extent};
use crate::{Coherence, Fault};

impl<F: Fabric> Coherence<F> {
    /// Gives the memory of twins back, for blocks of one chunk that need none now. Returns whether it did: nothing happens if any of them needs
    /// one. Not where [`Fabric::watches_writes`]: there homes keep twins.
    pub async fn free_twins(&self, extent: Extent) -> bool {
        let fabric = &self.fabric;
        let chunk = extent.first.chunk();
        let locked = fabric.lock_chunk(chunk).await;
        // Who takes a block from here changes its link and leaves a twin under this lock; who is handed one has a pending link before.
        let sequence = self.lock_records(chunk).await;
        let idle = !extent.blocks().any(|block| self.may_need_twin(block));
        if idle {
            fabric.free_twins(extent);
        }
        self.unlock_records(chunk, sequence);
        drop(locked);
        idle
    }

    /// The chunk and its records are locked.
    fn may_need_twin(&self, block: Block) -> bool {
        match self.own_link(block).1 {
            Link::Home => false,
            // It is on its way here.
            Link::Link { pending: true, .. } => !self.fabric.fault(Fault::FreeExpectedTwin),
            // Its home is on its way here, to be merged.
            Link::Wait | Link::Taking => true,
            Link::Link { pending: false, .. } => has_twin(self.fabric.state(block)),
        }
    }
}
