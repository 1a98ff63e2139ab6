//! Differences of blocks that travel with a request.

use dsm_coherence::{Block, Rank};

use super::SimFabric;
use crate::net::Shared;

impl SimFabric {
    /// See [`dsm_coherence::Fabric::visit_changes`].
    pub(super) fn each_change(&self, block: Block, mut with: impl FnMut(usize, &[u8])) {
        self.world.charge_bytes(self.me, 2 * self.world.block_bytes);
        let memory = self.world.process(self.me).memory.borrow();
        let twin = memory.twin(block).expect("a block with changes has a twin");
        let bytes = memory.data(block);
        for (at, (new, _)) in bytes.iter().zip(twin.iter()).enumerate().filter(|(_, (new, old))| new != old) {
            with(at, &[*new]);
        }
    }

    /// See [`dsm_coherence::Fabric::post_bytes`].
    pub(super) async fn send_bytes(&self, to: Rank, block: Block, offset: usize, bytes: &[u8]) {
        if to.0 == self.me {
            self.world.charge_bytes(self.me, bytes.len() as u64);
        }
        let contents = bytes.to_vec();
        let set = move |world: &Shared| {
            let home = world.at_home(to, block);
            let mut memory = world.process(to.0).memory.borrow_mut();
            memory.data_mut(block, home)[offset..offset + contents.len()].copy_from_slice(&contents);
        };
        self.post(to, bytes.len() as u64, set).await;
    }

    /// See [`dsm_coherence::Fabric::patch_twin`].
    pub(super) fn put_twin_bytes(&self, block: Block, offset: usize, bytes: &[u8]) {
        let mut memory = self.world.process(self.me).memory.borrow_mut();
        let mut twin = memory.twin(block).expect("a block that was merged has a twin").to_vec();
        twin[offset..offset + bytes.len()].copy_from_slice(bytes);
        memory.set_twin(block, Some(twin.into()), self.home(block));
    }
}
