//! The protocol of the runtime as a [`Machine`]: checks, misses, releases and acquires of `dsm-coherence`.

use dsm_abi::atomic::{RmwOp, Update};
use dsm_abi::state as abi;
use dsm_coherence::{Block, Coherence, Extent, Fabric, Order, Rank, ReleaseToken};

use crate::fabric::SimFabric;
use crate::machine::Machine;
use crate::net::Shared;

/// One process.
#[derive(Debug)]
pub struct Dsm {
    world: Shared,
    me: u32,
    /// The protocol.
    pub coherence: Coherence<SimFabric>,
}

impl Dsm {
    /// A process whose signature holds so many notices.
    pub fn new(world: &Shared, me: u32, notices: usize) -> Self {
        Dsm { world: world.clone(), me, coherence: Coherence::new(SimFabric::new(world, me), notices) }
    }

    /// Adds to a word by an atomic operation; returns what it was.
    pub async fn add(&self, addr: u64, value: u64) -> u64 {
        let block = Block(addr / self.world.block_bytes);
        let offset = (addr % self.world.block_bytes) as usize;
        let update = Update::Rmw { op: RmwOp::Add, operand: value.into() };
        self.coherence.update(block, offset, 8, update, Order::Relaxed).await
    }

    /// Reads a word that is changed by atomic operations.
    pub async fn look(&self, addr: u64) -> u64 {
        let block = Block(addr / self.world.block_bytes);
        self.coherence.read_atomic(block, (addr % self.world.block_bytes) as usize, 8).await
    }

    /// Whether a state on the way through an extent is one of those that `asks` names.
    fn any(&self, extent: Extent, asks: impl Fn(u8) -> bool) -> bool {
        let fabric = self.coherence.fabric();
        let mut at = extent.first;
        while at < extent.end() {
            if asks(fabric.state(at)) {
                return true;
            }
            at = Block(at.0 + fabric.state_run(Extent::new(at, extent.end().0 - at.0)));
        }
        false
    }
}

/// The blocks of a range of bytes.
pub fn extent(world: &Shared, addr: u64, bytes: u64) -> Extent {
    let first = addr / world.block_bytes;
    Extent::new(Block(first), (addr + bytes).div_ceil(world.block_bytes) - first)
}

/// Stores to every word of a range in a process's memory.
pub fn store(world: &Shared, me: u32, addr: u64, bytes: u64, value: u64) {
    world.charge_bytes(me, bytes);
    let mut memory = world.process(me).memory.borrow_mut();
    let mut at = addr;
    while at < addr + bytes {
        let block = Block(at / world.block_bytes);
        let end = ((block.0 + 1) * world.block_bytes).min(addr + bytes);
        let skip = (at % world.block_bytes) as usize;
        let data = memory.data_mut(block, world.home(block) == me);
        for word in data[skip..skip + (end - at) as usize].chunks_exact_mut(8) {
            word.copy_from_slice(&value.to_ne_bytes());
        }
        at = end;
    }
}

/// Loads a word from a process's memory.
pub fn load(world: &Shared, me: u32, addr: u64) -> u64 {
    let data = world.process(me).memory.borrow().data(Block(addr / world.block_bytes));
    let at = (addr % world.block_bytes) as usize;
    u64::from_ne_bytes(data[at..at + 8].try_into().expect("a word does not cross blocks"))
}

impl Machine for Dsm {
    fn world(&self) -> &Shared {
        &self.world
    }

    fn rank(&self) -> u32 {
        self.me
    }

    async fn read(&self, addr: u64, bytes: u64) {
        let extent = extent(&self.world, addr, bytes);
        if self.any(extent, |state| state >= abi::READ_LIMIT) {
            self.coherence.read_miss(extent).await;
        }
    }

    async fn write(&self, addr: u64, bytes: u64, value: u64) {
        let extent = extent(&self.world, addr, bytes);
        if self.any(extent, |state| state != abi::WRITABLE) {
            self.coherence.write_miss(extent).await;
        }
        store(&self.world, self.me, addr, bytes, value);
    }

    async fn load(&self, addr: u64) -> u64 {
        self.read(addr, 8).await;
        load(&self.world, self.me, addr)
    }

    async fn release(&self) {
        self.coherence.release().await;
    }

    async fn release_then(&self, then: impl FnOnce(ReleaseToken)) {
        self.coherence.release_then(false, then).await;
    }

    fn published(&self) -> u64 {
        self.coherence.published()
    }

    async fn acquire_from(&self, rank: u32) {
        self.coherence.acquire_from(Rank(rank)).await;
    }

    async fn acquire_with_token(&self, rank: u32, token: ReleaseToken) {
        self.coherence.acquire_with_token(Rank(rank), token).await;
    }

    fn after_barrier(&self) {
        self.coherence.drop_known_notices();
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.coherence.stats().values()
    }
}
