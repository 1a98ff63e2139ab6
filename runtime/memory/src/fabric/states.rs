//! States of blocks in the table that the program's checks look at.

use dsm_abi::state::WRITABLE;
use dsm_coherence::{Extent, Fabric};

use super::SegmentFabric;
use crate::protection;

impl SegmentFabric {
    /// Sets the state of blocks.
    #[inline]
    pub(super) fn set_states(&self, extent: Extent, state: u8) {
        let (address, bytes) = (self.geometry.address(extent.first), self.bytes(extent));
        // Where sizes change, lines of one block may be in different states.
        let is_alike = extent.count == 1 && !self.geometry.blocks().is_changing();
        let restricts = state != WRITABLE
            && match is_alike {
                true => self.table.get(address) < state,
                false => self.table.any_below(address, bytes, state),
            };
        match protection::enabled() {
            true => protection::set_states(self.table, address, bytes, state),
            false => self.table.set(address, bytes, state),
        }
        if restricts {
            self.table.count_restriction();
        }
    }

    /// How many blocks from the first one have its state; at least one.
    #[inline(always)]
    pub(super) fn states_alike(&self, extent: Extent) -> u64 {
        if extent.count == 1 {
            return 1;
        }
        if self.geometry.blocks().is_changing() {
            // Blocks that are not any more may be among them.
            let state = self.state(extent.first);
            return extent.blocks().take_while(|block| self.state(*block) == state).count() as u64;
        }
        let lines = self.table.run(self.geometry.address(extent.first), self.bytes(extent));
        let block_lines = self.geometry.block_bytes(extent.first) >> self.geometry.line_shift();
        // A notice may name blocks of a size that this process does not know yet; over them lie smaller ones, in different states.
        (lines / block_lines).max(1) as u64
    }
}
