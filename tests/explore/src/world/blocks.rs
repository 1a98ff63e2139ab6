//! What a process does to its own copies of blocks, their states and their twins.

use dsm_coherence::{Block, Extent, Rank};

use super::World;

impl World {
    fn addrs(&self, block: Block) -> std::ops::Range<usize> {
        let addr = self.layout.addr(block);
        addr..addr + self.layout.block_bytes(block)
    }

    /// See [`dsm_coherence::Fabric::set_state`].
    pub fn set_state(&mut self, extent: Extent, state: u8) {
        for block in extent.blocks() {
            let block = self.layout.current(block, self.processes[self.me()].division);
            let loc = self.layout.state(block);
            let name =
                ["WRITABLE", "READABLE", "COLD", "EXPIRED", "NOTICED", "INVALID_DIRTY"][usize::from(state)];
            self.note(|| format!("state of block {} = {name}", block.0));
            self.own_write(loc, u64::from(state));
        }
    }

    /// See [`dsm_coherence::Fabric::make_twin`].
    pub fn make_twin(&mut self, extent: Extent) {
        let me = self.me();
        for block in extent.blocks() {
            self.note(|| format!("make twin of {}", block.0));
            let index = self.layout.index(block);
            self.set_twin(me, index, true);
            for addr in self.addrs(block) {
                let (data, twin) = (self.layout.data(addr), self.layout.twin(addr));
                let value = self.own_read(data);
                self.own_write(twin, value);
            }
        }
    }

    /// See [`dsm_coherence::Fabric::drop_twin`]. Another block may get its memory at once.
    pub fn drop_twin(&mut self, extent: Extent) {
        let me = self.me();
        for block in extent.blocks() {
            let index = self.layout.index(block);
            let live = self.twin(index);
            for addr in self.addrs(block) {
                let twin = self.layout.twin(addr);
                if self.posts.iter().any(|post| post.to == me && post.loc == twin) {
                    self.fail(format!("the twin of block {} is dropped while a peer writes it", block.0));
                }
                if live {
                    self.write(me, twin, 0xdd);
                }
            }
            self.set_twin(me, index, false);
        }
    }

    /// A block, of which something is done with the twin, has one.
    pub fn expect_twin(&mut self, block: Block, done: &str) {
        let index = self.layout.index(block);
        if !self.twin(index) {
            self.fail(format!("block {} is {done} a twin that does not exist", block.0));
        }
    }

    /// See [`dsm_coherence::Fabric::free_twins`].
    pub fn free_twins(&mut self, extent: Extent) {
        let me = self.me();
        self.note(|| format!("free twins of {extent:?}"));
        for block in extent.blocks() {
            let index = self.layout.index(block);
            self.set_twin(me, index, false);
            for addr in self.addrs(block) {
                let twin = self.layout.twin(addr);
                // At once, as the system does it, for everybody.
                self.write(me, twin, 0xdd);
            }
        }
    }

    /// See [`dsm_coherence::Fabric::changed`].
    pub fn changed(&mut self, extent: Extent) -> u64 {
        let mut mask = 0;
        for block in extent.blocks() {
            self.expect_twin(block, "compared with");
            let differs = self.addrs(block).any(|addr| {
                let (data, twin) = (self.layout.data(addr), self.layout.twin(addr));
                self.own_read(data) != self.own_read(twin)
            });
            mask |= if differs { block.bit() } else { 0 };
        }
        mask
    }

    /// See [`dsm_coherence::Fabric::merge`].
    pub fn merge(&mut self, extent: Extent, incoming: &[u8], from: Rank) {
        self.note(|| format!("merge {extent:?} with {incoming:x?} from p{}", from.0));
        for (block, incoming) in extent.blocks().zip(incoming.chunks(self.layout.block_bytes(extent.first))) {
            self.expect_twin(block, "merged against");
            for (addr, byte) in self.addrs(block).zip(incoming) {
                let (data, twin) = (self.layout.data(addr), self.layout.twin(addr));
                let byte = u64::from(*byte);
                if byte != self.own_read(twin) {
                    self.own_write(data, byte);
                    self.own_write(twin, byte);
                }
            }
        }
    }

    /// See [`dsm_coherence::Fabric::visit_changes`].
    pub fn visit_changes(&mut self, block: Block, mut with: impl FnMut(usize, &[u8])) {
        self.expect_twin(block, "sent as what differs from");
        for (offset, addr) in self.addrs(block).enumerate() {
            let (data, twin) = (self.layout.data(addr), self.layout.twin(addr));
            let value = self.own_read(data);
            if value != self.own_read(twin) {
                with(offset, &[value as u8]);
            }
        }
    }

    /// See [`dsm_coherence::Fabric::patch_twin`].
    pub fn patch_twin(&mut self, block: Block, offset: usize, bytes: &[u8]) {
        self.expect_twin(block, "merged elsewhere with");
        let first = self.layout.addr(block) + offset;
        self.note(|| format!("twin from byte {first} on = {bytes:x?}"));
        for (addr, byte) in (first..).zip(bytes) {
            let twin = self.layout.twin(addr);
            self.own_write(twin, u64::from(*byte));
        }
    }

    /// See [`dsm_coherence::Fabric::overwrite`].
    pub fn overwrite(&mut self, extent: Extent, contents: &[u8]) {
        self.note(|| format!("overwrite {extent:?} with {contents:x?}"));
        let first = self.layout.addr(extent.first);
        for (addr, byte) in (first..).zip(contents) {
            let data = self.layout.data(addr);
            self.own_write(data, u64::from(*byte));
        }
    }

    /// See [`dsm_coherence::Fabric::not_fetched`].
    pub fn not_fetched(&mut self, extent: Extent) {
        self.note(|| format!("{extent:?} not fetched"));
        for block in extent.blocks() {
            for addr in self.addrs(block) {
                let data = self.layout.data(addr);
                self.own_write(data, 0xee);
            }
        }
    }
}
