//! What the protocol is compared with: a directory. Each block has a fixed home with a full bit map of its sharers, and an owner if
//! somebody may write. A miss is a request to the home, which recalls the owner's copy or invalidates all sharers, collects the acknowledgements
//! and answers; it deals with one request for a block at a time. Sequentially consistent, so releases and acquires have nothing to do.
//!
//! As in the protocol, blocks of one range with one home travel together, up to a chunk. The home's processor handles each message.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use dsm_abi::state as abi;
use dsm_coherence::{Block, CHUNK_BLOCKS, Extent, ReleaseToken};

use crate::dsm::{extent, load, store};
use crate::engine::{Key, Map};
use crate::machine::Machine;
use crate::net::Shared;

/// What the home knows of a block.
#[derive(Clone, Debug, Default)]
struct Entry {
    busy: bool,
    /// Who may write. Nobody else has a copy then.
    owner: Option<u32>,
    /// Who may read, in order.
    sharers: Vec<u32>,
}

/// The entries of all homes.
#[derive(Debug, Default)]
pub struct Entries(RefCell<Map<u64, Entry>>);

/// One process.
#[derive(Debug)]
pub struct Directory {
    world: Shared,
    me: u32,
    entries: Rc<Entries>,
    misses: Cell<u64>,
    invalidations: Cell<u64>,
}

impl Directory {
    /// A process; `entries` is the same for all.
    pub fn new(world: &Shared, me: u32, entries: &Rc<Entries>) -> Self {
        let entries = entries.clone();
        Directory { world: world.clone(), me, entries, misses: Cell::new(0), invalidations: Cell::new(0) }
    }

    fn allowed(&self, block: Block, write: bool) -> bool {
        let state = self.state(self.me, block);
        if write { state == abi::WRITABLE } else { state < abi::READ_LIMIT }
    }

    fn state(&self, at: u32, block: Block) -> u8 {
        self.world.process(at).memory.borrow().state(block, self.world.home(block) == at)
    }

    /// The first run of blocks from `at` on that needs a request: of one home, at most a chunk.
    fn next_run(&self, at: Block, end: Block, write: bool) -> Option<Extent> {
        let first = (at.0..end.0).map(Block).find(|b| !self.allowed(*b, write))?;
        let home = self.world.home(first);
        let same = |b: &u64| self.world.home(Block(*b)) == home && !self.allowed(Block(*b), write);
        let count = (first.0..end.0).take_while(same).count() as u64;
        Some(Extent::new(first, count.min(CHUNK_BLOCKS)))
    }

    /// Gets the permission for a run of blocks of one home.
    async fn miss(&self, run: Extent, write: bool) {
        let world = &self.world;
        let home = world.home(run.first);
        self.misses.set(self.misses.get() + 1);
        world.pay(self.me).await;
        if home != self.me {
            world.travel(self.me, self.me, home, 16).await;
        }
        world.handle(home).await;
        for block in run.blocks() {
            world.engine.wait(Key::Entry(block.0), || self.begin(block)).await;
        }
        self.recall(home, run, write).await;
        let missing = self.grant(run, write);
        if home != self.me {
            world.travel(self.me, home, self.me, missing * world.block_bytes).await;
        }
        self.fill(home, run, write);
    }

    /// Makes the entry busy if it is not.
    fn begin(&self, block: Block) -> Option<()> {
        let mut entries = self.entries.0.borrow_mut();
        let start = || Entry { owner: Some(self.world.home(block)), ..Entry::default() };
        let entry = entries.entry(block.0).or_insert_with(start);
        (!std::mem::replace(&mut entry.busy, true)).then_some(())
    }

    /// Who has to give something up, and which blocks.
    fn parties(&self, run: Extent, write: bool) -> Vec<(u32, Vec<Block>)> {
        let entries = self.entries.0.borrow();
        let mut parties: std::collections::BTreeMap<u32, Vec<Block>> = std::collections::BTreeMap::new();
        for block in run.blocks() {
            let entry = &entries[&block.0];
            let sharers = if write { &entry.sharers[..] } else { &[] };
            for party in entry.owner.iter().chain(sharers).filter(|p| **p != self.me) {
                parties.entry(*party).or_default().push(block);
            }
        }
        parties.into_iter().collect()
    }

    /// Recalls owners and invalidates sharers, all at once, and waits for their acknowledgements at the home.
    async fn recall(&self, home: u32, run: Extent, write: bool) {
        let parties = self.parties(run, write);
        let left = Rc::new(Cell::new(parties.len()));
        let number = Key::Number(self.world.engine.number());
        for (party, blocks) in parties {
            self.invalidations.set(self.invalidations.get() + 1);
            let (world, me, left) = (self.world.clone(), self.me, left.clone());
            self.world.engine.spawn(async move {
                if party != home {
                    world.travel(me, home, party, 8 * blocks.len() as u64).await;
                    world.handle(party).await;
                }
                let dirty = give_up(&world, home, party, &blocks, write);
                if party != home {
                    world.travel(me, party, home, dirty * world.block_bytes).await;
                    world.handle(home).await;
                }
                left.set(left.get() - 1);
                if left.get() == 0 {
                    world.engine.notify(number);
                }
            });
        }
        self.world.engine.wait(number, || (left.get() == 0).then_some(())).await;
    }

    /// Enters the requester; returns how many blocks' contents it lacks. The entries are free again: what the home sends later arrives later.
    fn grant(&self, run: Extent, write: bool) -> u64 {
        let mut entries = self.entries.0.borrow_mut();
        let mut missing = 0;
        for block in run.blocks() {
            let entry = entries.get_mut(&block.0).expect("a busy entry");
            let has = entry.sharers.binary_search(&self.me);
            missing += u64::from(has.is_err());
            if write {
                entry.owner = Some(self.me);
                entry.sharers.clear();
            } else {
                let before = entry.owner.take();
                for sharer in before.into_iter().chain([self.me]) {
                    if let Err(at) = entry.sharers.binary_search(&sharer) {
                        entry.sharers.insert(at, sharer);
                    }
                }
            }
            entry.busy = false;
            self.world.engine.notify(Key::Entry(block.0));
        }
        missing
    }

    /// The answer is here.
    fn fill(&self, home: u32, run: Extent, write: bool) {
        for block in run.blocks() {
            let own_home = home == self.me;
            if !own_home && !self.allowed(block, false) {
                let data = self.world.process(home).memory.borrow().data(block);
                self.world.process(self.me).memory.borrow_mut().set_data(block, data, false);
            }
            let state = if write { abi::WRITABLE } else { abi::READABLE };
            self.world.process(self.me).memory.borrow_mut().set_state(block, state, own_home);
        }
        self.world.charge_words(self.me, run.count);
    }
}

/// A party gives up its permissions; an owner's contents go to the home. Returns the number of blocks whose contents travel.
fn give_up(world: &Shared, home: u32, party: u32, blocks: &[Block], write: bool) -> u64 {
    let mut dirty = 0;
    for block in blocks {
        let mut memory = world.process(party).memory.borrow_mut();
        let owned = memory.state(*block, party == home) == abi::WRITABLE;
        memory.set_state(*block, if write { abi::COLD } else { abi::READABLE }, party == home);
        if owned && party != home {
            dirty += 1;
            let data = memory.data(*block);
            drop(memory);
            world.process(home).memory.borrow_mut().set_data(*block, data, true);
        }
    }
    dirty
}

impl Machine for Directory {
    fn world(&self) -> &Shared {
        &self.world
    }

    fn rank(&self) -> u32 {
        self.me
    }

    async fn read(&self, addr: u64, bytes: u64) {
        let all = extent(&self.world, addr, bytes);
        self.world.charge_words(self.me, all.count.div_ceil(8));
        let mut at = all.first;
        while let Some(run) = self.next_run(at, all.end(), false) {
            self.miss(run, false).await;
            at = run.end();
        }
    }

    async fn write(&self, addr: u64, bytes: u64, value: u64) {
        let all = extent(&self.world, addr, bytes);
        let part = |first: Block, end: Block| {
            let from = addr.max(first.0 * self.world.block_bytes);
            let to = (addr + bytes).min(end.0 * self.world.block_bytes);
            (from, to - from)
        };
        self.world.charge_words(self.me, all.count.div_ceil(8));
        let mut at = all.first;
        while let Some(run) = self.next_run(at, all.end(), true) {
            // What is allowed now is stored now: the permission may be gone when the next answer comes.
            if at < run.first {
                let (from, bytes) = part(at, run.first);
                store(&self.world, self.me, from, bytes, value);
            }
            self.miss(run, true).await;
            let (from, bytes) = part(run.first, run.end());
            store(&self.world, self.me, from, bytes, value);
            at = run.end();
        }
        if at < all.end() {
            let (from, bytes) = part(at, all.end());
            store(&self.world, self.me, from, bytes, value);
        }
    }

    async fn load(&self, addr: u64) -> u64 {
        let block = Block(addr / self.world.block_bytes);
        self.world.charge_words(self.me, 1);
        if !self.allowed(block, false) {
            self.miss(Extent::single(block), false).await;
        }
        load(&self.world, self.me, addr)
    }

    async fn release(&self) {}

    async fn release_then(&self, then: impl FnOnce(ReleaseToken)) {
        then(ReleaseToken::default());
    }

    fn published(&self) -> u64 {
        0
    }

    async fn acquire_from(&self, _rank: u32) {}

    async fn acquire_with_token(&self, _rank: u32, _token: ReleaseToken) {}

    fn after_barrier(&self) {}

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("misses", self.misses.get()), ("invalidations", self.invalidations.get())]
    }
}
