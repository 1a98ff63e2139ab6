//! What a program's thread does: checks and accesses as compiled code has them, and the runtime's synchronisation around the protocol.

mod sync;

use std::fmt::Display;
use std::rc::Rc;

use dsm_abi::atomic::{RmwOp, Update};
use dsm_abi::state as abi;
use dsm_coherence::calls::actions::{Action, ActionList, Change};
use dsm_coherence::{Block, Coherence, Extent, Fabric, Fault, Order, Rank, Wanted, Word};

use crate::fabric::ModelFabric;
use crate::hash::Digest;
use crate::oracle::Oracle;
use crate::program::{Closing, Op, Program};
use crate::world::{Shared, Thing, Wait, World, pause};

/// Adds one to a byte.
const ADD_ONE: Update = Update::Rmw { op: RmwOp::Add, operand: 1 };
/// Compares a byte with what none is: no program adds so often.
const COMPARE: Update = Update::CompareExchange { expected: 0xff, new: 0 };

/// The life of a thread that takes permissions to store back when other processes ask for them.
pub async fn serve(world: Shared, protocol: Rc<Coherence<ModelFabric>>) {
    loop {
        let wait = {
            let w = world.borrow();
            let revoked = w.layout.word(Word::Revoked).expect("every process has the word");
            Wait::Differs(w.me(), revoked, 0)
        };
        pause(&world, wait).await;
        protocol.revoke().await;
    }
}

/// One thread and what it acts on.
pub struct ThreadCode {
    /// The world.
    pub world: Shared,
    /// The protocol in this process.
    pub protocol: Rc<Coherence<ModelFabric>>,
    /// The program.
    pub program: Rc<Program>,
    /// Number of the thread among all.
    pub thread: usize,
}

impl ThreadCode {
    fn process(&self) -> usize {
        self.thread / self.program.threads
    }

    fn several(&self) -> bool {
        self.program.threads > 1 || self.program.protects_pages()
    }

    /// The whole life of the thread: its operations, then barriers that make everything quiet, with a look at every byte.
    pub async fn run(self) {
        let mut barriers = 0;
        for (number, op) in self.program.ops[self.thread].iter().enumerate() {
            self.begin(number, op);
            match *op {
                Op::Read { addr, len } => self.read(addr, len).await,
                Op::Write { addr, len, value } => self.write(addr, len, value, false).await,
                Op::Overwrite { addr, len, value } => self.write(addr, len, value, true).await,
                Op::Get { addr } => self.get(addr).await,
                Op::Put { addr, value } => self.put(addr, value).await,
                Op::Fetch { addr, len } => self.make_readable(addr, len).await,
                Op::Permit { addr, len } => self.make_writable(addr, len, false).await,
                Op::Lock(l) => self.lock(l).await,
                Op::Unlock(l) => self.unlock(l).await,
                Op::Post(signal) => self.post(signal).await,
                Op::Await(signal) => self.lock(signal).await,
                Op::Barrier => {
                    self.barrier(barriers, true).await;
                    barriers += 1;
                }
                Op::Adopt => {
                    self.adopt(barriers).await;
                    barriers += 3;
                }
                Op::Atomic { addr, len } => self.atomic(addr, len).await,
                Op::Keep { addr } => self.keep(addr).await,
                Op::Batch { addr, len } => self.batch(addr, len).await,
                Op::Gather { addr, len } => self.gather(addr, len).await,
                Op::Look { addr, len } => self.look(addr, len).await,
                Op::SetFlag { addr, value } => {
                    self.flush(0).await;
                    self.write(addr, 1, value, false).await;
                    self.flush(1 << 32).await;
                    self.sets_flag();
                }
                Op::Ordered { addr } => self.update_ordered(addr, ADD_ONE).await,
                Op::Compare { addr, ordered: true } => self.update_ordered(addr, COMPARE).await,
                Op::Compare { addr, ordered: false } => self.compare(addr).await,
                Op::Reach { addr } => self.wait_at_home(addr, Oracle::find, 1).await,
                Op::Free => self.free_twins().await,
                Op::WaitFlag { addr, value } => self.wait_flag(addr, value).await,
            }
        }
        let number = self.program.ops[self.thread].len();
        if self.program.closing == Closing::InOrder {
            self.begin(number, &"end of operations");
            {
                let mut w = self.world.borrow_mut();
                w.ended += 1;
                w.visible = true;
            }
            pause(&self.world, Wait::Closing).await;
        }
        let extras = if self.program.quiesce { 3 } else { 1 };
        for extra in 0..extras {
            self.begin(number + 2 * extra, &"final barrier");
            self.barrier(barriers + extra, true).await;
            if extra == 0 {
                self.begin(number + 1, &"final look");
                self.look_at_everything().await;
            }
        }
        self.begin(number + 7, &"end");
    }

    fn begin(&self, number: usize, what: &dyn Display) {
        let mut w = self.world.borrow_mut();
        w.begins(number as u64 + 1, || self.protocol.digest::<Digest>());
        w.note(|| format!("---- {what}"));
    }

    /// The thread is at a place inside its operation where its local state follows from the operation, `place` and memory: what it observed on its
    /// way here does not matter any more.
    fn at_place(&self, place: u64) {
        let mut w = self.world.borrow_mut();
        // Not yet visible stores are memory: part of the state by themselves.
        w.comes_to(place, || self.protocol.digest::<Digest>());
    }

    fn extents(&self, addr: usize, len: usize) -> Vec<Extent> {
        let w = self.world.borrow();
        w.layout.extents(addr, len, w.processes[self.process()].division)
    }

    fn worst_state(&self, extent: Extent) -> u64 {
        let mut w = self.world.borrow_mut();
        extent
            .blocks()
            .map(|b| {
                let loc = w.layout.state(b);
                w.own_read(loc)
            })
            .max()
            .unwrap_or(0)
    }

    /// A miss of the only thread of a process ends with the permission it was for: `most` is the greatest state that gives it.
    fn check_permission(&self, extent: Extent, most: u8) {
        if self.several() {
            return;
        }
        let mut w = self.world.borrow_mut();
        let refused = extent.blocks().find(|block| w.own_value(w.layout.state(*block)) > u64::from(most));
        if let Some(block) = refused {
            w.fail(format!("thread {} has missed on block {} and may not go on", self.thread, block.0));
        }
    }

    /// Between a passed check and the access, other threads of the process may do anything.
    async fn window(&self) {
        if self.several() {
            pause(&self.world, Wait::Ready).await;
        }
    }

    /// What comes between a check of a byte that has passed and its access; with page protection, the accesses that fault until one does not.
    async fn before_access(&self, addr: usize, write: bool) {
        loop {
            self.window().await;
            if !self.program.protects_pages() {
                return;
            }
            let extent = self.extents(addr, 1)[0];
            let state = self.worst_state(extent);
            if state >= u64::from(abi::READ_LIMIT) {
                self.before_miss().await;
            }
            match write {
                true if state != u64::from(abi::WRITABLE) => self.protocol.write_miss(extent).await,
                false if state >= u64::from(abi::READ_LIMIT) => self.protocol.read_miss(extent).await,
                _ => return,
            }
        }
    }

    /// As the runtime does it with the rows of a grid, where calls are messages. `most`: the greatest state that needs no miss.
    async fn miss_together(&self, extents: &[Extent], most: u8, wanted: impl Fn(Extent) -> Wanted) {
        if extents.len() > 1 && self.program.by_agents {
            let is_missed = |extent: &Extent| self.worst_state(*extent) > most.into();
            let missed: Vec<_> = extents.iter().copied().filter(is_missed).map(wanted).collect();
            if !missed.is_empty() {
                self.before_miss().await;
                self.protocol.miss_together(&missed).await;
            }
        }
    }

    async fn make_readable(&self, addr: usize, len: usize) {
        let extents = self.extents(addr, len);
        self.miss_together(&extents, abi::READ_LIMIT - 1, Wanted::read).await;
        for extent in extents {
            self.window().await;
            if self.worst_state(extent) >= u64::from(abi::READ_LIMIT) {
                self.before_miss().await;
                self.protocol.read_miss(extent).await;
                self.check_permission(extent, abi::READ_LIMIT - 1);
            }
        }
    }

    async fn read(&self, addr: usize, len: usize) {
        self.make_readable(addr, len).await;
        self.at_place(1 << 16);
        for a in addr..addr + len {
            self.before_access(a, false).await;
            let mut w = self.world.borrow_mut();
            let value = load(&mut w, a);
            w.note(|| format!("read byte {a}: {value:#04x}"));
            let thread = self.thread;
            w.access(Thing::Byte(a), false, 0);
            let judged = w.oracle.read(thread, a, value);
            fail_if(&mut w, judged);
        }
    }

    /// A load of one byte that nothing else relies on.
    async fn get(&self, addr: usize) {
        let extent = self.extents(addr, 1)[0];
        self.window().await;
        if !self.program.protects_pages() && self.worst_state(extent) >= u64::from(abi::READ_LIMIT) {
            self.before_miss().await;
            let offset = addr - self.world.borrow().layout.addr(extent.first);
            if let Some(value) = self.protocol.load_mapped(extent.first, offset, 1).await {
                let mut w = self.world.borrow_mut();
                w.note(|| format!("load byte {addr} at its home: {value:#04x}"));
                w.access(Thing::Byte(addr), false, 0);
                let judged = w.oracle.read(self.thread, addr, value as u8);
                fail_if(&mut w, judged);
                return;
            }
        }
        self.read(addr, 1).await;
    }

    /// `all`: it is known that every byte will be stored to.
    async fn make_writable(&self, addr: usize, len: usize, all: bool) {
        let extents = self.extents(addr, len);
        let whole = |extent| self.world.borrow().layout.whole(extent, addr, len).filter(|_| all);
        self.miss_together(&extents, abi::WRITABLE, |extent| Wanted::write(extent, whole(extent))).await;
        for extent in extents {
            self.window().await;
            if self.worst_state(extent) != u64::from(abi::WRITABLE) {
                self.before_miss().await;
                match whole(extent) {
                    Some(whole) => self.protocol.overwrite_miss(extent, whole).await,
                    None => self.protocol.write_miss(extent).await,
                }
                self.check_permission(extent, abi::WRITABLE);
            }
        }
    }

    /// A store of one byte that nothing else relies on.
    async fn put(&self, addr: usize, value: u8) {
        let extent = self.extents(addr, 1)[0];
        self.window().await;
        let state = self.worst_state(extent);
        if self.program.protects_pages() {
            self.make_writable(addr, 1, false).await;
        } else if state != u64::from(abi::WRITABLE) {
            self.before_miss().await;
            let offset = addr - self.world.borrow().layout.addr(extent.first);
            self.protocol.store_at_home(extent.first, offset, 1, value.into()).await;
        }
        self.store(addr, 1, value).await;
    }

    async fn write(&self, addr: usize, len: usize, value: u8, all: bool) {
        self.make_writable(addr, len, all).await;
        self.store(addr, len, value).await;
    }

    async fn store(&self, addr: usize, len: usize, value: u8) {
        self.at_place(2 << 16);
        for a in addr..addr + len {
            self.before_access(a, true).await;
            let mut w = self.world.borrow_mut();
            w.note(|| format!("write byte {a}: {value:#04x}"));
            let loc = w.layout.data(a);
            w.own_write(loc, u64::from(value));
            let thread = self.thread;
            w.access(Thing::Byte(a), true, 0);
            let judged = w.oracle.write(thread, a, value);
            fail_if(&mut w, judged);
        }
    }

    async fn atomic(&self, addr: usize, len: usize) {
        self.send_kept().await;
        let block = self.extents(addr, 1)[0].first;
        let offset = addr - self.world.borrow().layout.addr(block);
        let one = u64::from_le_bytes([1; 8]) >> (8 * (8 - len));
        let update = Update::Rmw { op: RmwOp::Add, operand: one.into() };
        self.protocol.update(block, offset, len, update, Order::Relaxed).await;
    }

    async fn compare(&self, addr: usize) {
        self.send_kept().await;
        let block = self.extents(addr, 1)[0].first;
        let offset = addr - self.world.borrow().layout.addr(block);
        self.protocol.update(block, offset, 1, COMPARE, Order::Relaxed).await;
    }

    /// The blocks of some bytes, with the offset and the bytes in each.
    fn pieces(&self, addr: usize, len: usize) -> Vec<(Block, usize, std::ops::Range<usize>)> {
        let extents = self.extents(addr, len);
        let w = self.world.borrow();
        let piece = |block| {
            let first = w.layout.addr(block);
            let range = addr.max(first)..(addr + len).min(first + w.layout.block_bytes(block));
            (block, range.start - first, range)
        };
        extents
            .into_iter()
            .flat_map(Extent::blocks)
            .map(piece)
            .filter(|(.., range)| !range.is_empty())
            .collect()
    }

    /// An addition whose result nobody wants: the process keeps it while no state here allows an access to the block, or if its copy gets it, too.
    async fn keep(&self, addr: usize) {
        assert!(self.program.threads == 1, "the other threads of a process would have to be kept away");
        let extent = self.extents(addr, 1)[0];
        let state = self.worst_state(extent);
        let has_copy = state == u64::from(abi::READABLE);
        if !has_copy && !(u64::from(abi::COLD)..=u64::from(abi::NOTICED)).contains(&state) {
            return self.atomic(addr, 1).await;
        }
        let offset = addr - self.world.borrow().layout.addr(extent.first);
        if has_copy && !self.protocol.change_only_copy(extent.first, offset, 1, ADD_ONE).await {
            return self.atomic(addr, 1).await;
        }
        let mut w = self.world.borrow_mut();
        w.note(|| format!("keeps an addition to byte {addr}"));
        let process = self.process();
        w.processes[process].kept.push(addr);
        w.oracle.keep(self.thread, addr);
    }

    /// Makes the additions that the process keeps.
    async fn send_kept(&self) {
        let process = self.process();
        loop {
            let first = self.world.borrow().processes[process].kept.first().copied();
            let Some(addr) = first else { break };
            self.add_each(addr, 1).await;
            self.world.borrow_mut().processes[process].kept.remove(0);
        }
    }

    async fn before_release(&self) {
        if self.program.fault != Some(Fault::KeptNotSent) {
            self.send_kept().await;
        }
    }

    async fn before_miss(&self) {
        if self.program.fault != Some(Fault::MissBesideKept) {
            self.send_kept().await;
        }
    }

    async fn batch(&self, addr: usize, len: usize) {
        self.send_kept().await;
        self.add_each(addr, len).await;
    }

    async fn add_each(&self, addr: usize, len: usize) {
        let pieces = self.pieces(addr, len);
        let one = Change::Update(1, ADD_ONE);
        for chunk in pieces.chunk_by(|a, b| a.0.chunk() == b.0.chunk()) {
            let mut list = ActionList::default();
            for (block, offset, range) in chunk {
                (0..range.len())
                    .for_each(|i| list.push(&Action { block: *block, offset: offset + i, change: one }));
            }
            self.protocol.change(list.actions(chunk[0].0.chunk())).await;
        }
    }

    async fn gather(&self, addr: usize, len: usize) {
        self.send_kept().await;
        let pieces = self.pieces(addr, len);
        for run in pieces.chunk_by(|a, b| a.0.chunk() == b.0.chunk() && a.0.0 + 1 == b.0.0) {
            let (block, offset, ref first) = run[0];
            let range = first.start..run.last().expect("a piece").2.end;
            let mut values = vec![0; range.len()];
            self.protocol.read_range(block, offset, &mut values).await;
            let mut w = self.world.borrow_mut();
            for (addr, value) in range.zip(values) {
                w.note(|| format!("read of byte {addr} at its home: {value:#04x}"));
                w.access(Thing::Byte(addr), false, 0);
                let judged = w.oracle.look(self.thread, addr, value);
                fail_if(&mut w, judged);
            }
        }
    }

    /// What `dsm_set_block` does: process 0 has everything, tells all others, and becomes the home of the blocks that are there from now on.
    async fn adopt(&self, number: usize) {
        assert!(self.program.threads == 1, "the other threads of a process would have to wait");
        let bytes = self.program.bytes();
        self.barrier(number, false).await;
        if self.process() == 0 {
            self.make_readable(0, bytes).await;
            let version = self.protocol.clock() + 1;
            self.world.borrow_mut().adopted = version;
        }
        for process in 0..self.program.processes {
            self.protocol.fabric().flush(Rank(process as u32)).await;
        }
        self.barrier(number + 1, false).await;
        let version = {
            let mut w = self.world.borrow_mut();
            let version = w.adopted;
            w.observe(version);
            version
        };
        if !self.program.resized.is_empty() {
            self.protocol.discard(self.extents(0, bytes).into_iter());
            let mut w = self.world.borrow_mut();
            let process = self.process();
            w.processes[process].division ^= 1;
        }
        self.protocol.adopt(self.extents(0, bytes).into_iter(), Rank(0), version);
        pause(&self.world, Wait::Ready).await;
        self.barrier(number + 2, true).await;
    }

    async fn free_twins(&self) {
        if self.program.watch {
            return;
        }
        let bytes = self.program.bytes();
        for block in self.extents(0, bytes).into_iter().flat_map(Extent::blocks) {
            self.protocol.free_twins(Extent::single(block)).await;
        }
    }

    async fn look(&self, addr: usize, len: usize) {
        self.send_kept().await;
        let block = self.extents(addr, 1)[0].first;
        let offset = {
            let w = self.world.borrow();
            addr - w.layout.addr(block)
        };
        // As a program's atomic reads, which execute an operation where the block has such stores. The oracle judges what the home has.
        let value = match self.protocol.read_mapped(block, offset, len).await {
            Some(value) => value,
            None => {
                _ = self.protocol.has_own_stores(block).await;
                self.protocol.read_atomic(block, offset, len).await
            }
        };
        let values = value.to_le_bytes();
        let mut w = self.world.borrow_mut();
        for (addr, value) in (addr..addr + len).zip(values) {
            w.note(|| format!("atomic read of byte {addr}: {value:#04x}"));
            w.access(Thing::Byte(addr), false, 0);
            let judged = w.oracle.find(self.thread, addr, value);
            fail_if(&mut w, judged);
        }
        // All bytes have been added to as often.
        if values[..len].iter().any(|value| *value != values[0]) {
            w.fail(format!("atomic read of {len} bytes from {addr} is torn: {:x?}", &values[..len]));
        }
    }

    async fn look_at_everything(&self) {
        let bytes = self.program.bytes();
        self.make_readable(0, bytes).await;
        let mut w = self.world.borrow_mut();
        for a in 0..bytes {
            let value = load(&mut w, a);
            let last = w.oracle.last(a);
            if value != last {
                let thread = self.thread;
                w.fail(format!("lost byte: at the end thread {thread} reads {value:#04x} from byte {a}, last was {last:#04x}"));
            }
        }
    }
}

fn load(w: &mut World, addr: usize) -> u8 {
    let loc = w.layout.data(addr);
    w.own_read(loc) as u8
}

fn fail_if(w: &mut World, judged: Result<(), String>) {
    if let Err(why) = judged {
        w.fail(why);
    }
}
