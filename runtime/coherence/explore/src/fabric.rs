//! The model fabric: every operation is a point where the schedule chooses, and none is stronger than the trait promises.

use std::fmt::Debug;
use std::sync::Mutex;

use dsm_abi::state as abi;
use dsm_coherence::{Block, Chunk, Extent, Fabric, Fault, Gate, Header, Link, Notice, Rank, Record, Word};

use crate::layout::{Loc, pack, unpack};
use crate::program::{Memory, Program};
use crate::world::{Shared, Wait, pause};

/// A version beyond all that there are.
const MEANINGLESS: u64 = 1 << 27;

/// One process's view of the world.
#[derive(Debug)]
pub struct ModelFabric {
    world: Shared,
    process: usize,
    fault: Option<Fault>,
    watch: bool,
    prompt: bool,
    size: u32,
}

/// Unlocks when dropped, by an ordinary store.
#[derive(Debug)]
pub struct Guard<'a> {
    world: &'a Shared,
    lock: Loc,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.world.borrow_mut().own_write(self.lock, 0);
    }
}

impl ModelFabric {
    /// The fabric of a process.
    pub fn new(world: &Shared, process: usize, program: &Program) -> Self {
        let w = world.borrow();
        ModelFabric {
            world: world.clone(),
            process,
            fault: program.fault,
            watch: program.watch,
            prompt: program.memory == Memory::Prompt,
            size: w.processes.len() as u32,
        }
    }

    fn loc(&self, word: Word) -> Option<Loc> {
        self.world.borrow().layout.word(word)
    }

    /// A schedule point before and after each remote act: what the caller looks at next in its own memory may have changed.
    async fn point(&self) {
        pause(&self.world, Wait::Ready).await;
    }

    async fn atomic(&self, at: Rank, word: Word, what: &str, update: impl FnOnce(u64) -> Option<u64>) -> u64 {
        let Some(loc) = self.loc(word) else { return 0 };
        self.point().await;
        let old = {
            let mut w = self.world.borrow_mut();
            if !matches!(word, Word::Records(_)) {
                w.end_chase();
            }
            let mut new = None;
            let old = w.atomic(at.0 as usize, loc, |old| {
                new = update(old);
                new
            });
            w.note_loc(loc, |name| format!("{what} {name} at p{}: {old:#x} -> {new:x?}", at.0));
            old
        };
        self.point().await;
        old
    }

    async fn read(&self, at: Rank, loc: Loc) -> u64 {
        self.point().await;
        self.world.borrow_mut().remote_read(at.0 as usize, loc)
    }

    /// `fence`: also where there are no other threads, and it need not be an atomic operation.
    async fn lock_cell(&self, loc: Loc, fence: bool) -> Guard<'_> {
        let threads = self.world.borrow().processes[self.process].threads;
        if threads > 1 {
            pause(&self.world, Wait::Equals(self.process, loc, 0)).await;
        }
        let old = if threads == 1 && (!fence || self.fault(Fault::NoReleaseFence)) {
            std::mem::replace(&mut self.world.borrow_mut().processes[self.process].cells[loc as usize], 1)
        } else {
            self.world.borrow_mut().atomic(self.process, loc, |_| Some(1))
        };
        assert_eq!(old, 0, "a thread waits for a lock that it holds");
        if threads > 1 {
            self.point().await;
        }
        Guard { world: &self.world, lock: loc }
    }

    /// Whether lease and version beside a link are for this process: the home is there, or was and is being moved here.
    fn is_informative(&self, link: u64, at: Rank, block: Block) -> bool {
        match Link::decode(link, at, || self.default_home(block)) {
            Link::Home => true,
            Link::Link { to, pending } => pending && to == self.rank(),
            Link::Wait => false,
        }
    }

    fn extent_addrs(&self, extent: Extent) -> impl Iterator<Item = usize> {
        let w = self.world.borrow();
        let first = w.layout.addr(extent.first);
        // Blocks of an extent are neighbours of one size, so are their bytes.
        first..first + extent.count as usize * w.layout.block_bytes(extent.first)
    }
}

impl Fabric for ModelFabric {
    type Exclusive<T: Send + Debug> = Mutex<T>;
    type Guard<'a> = Guard<'a>;
    type Place = (Rank, Block);

    fn rank(&self) -> Rank {
        Rank(self.process as u32)
    }

    fn place(&self, at: Rank, block: Block) -> (Rank, Block) {
        (at, block)
    }

    fn named(&self, place: (Rank, Block)) -> (Rank, Block) {
        place
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn existing(&self, chunk: Chunk) -> u64 {
        self.world.borrow().layout.existing(chunk)
    }

    fn block_bytes(&self, block: Block) -> usize {
        self.world.borrow().layout.block_bytes(block)
    }

    fn default_home(&self, block: Block) -> Rank {
        let w = self.world.borrow();
        Rank(w.default_home(w.layout.index(block)) as u32)
    }

    fn top_mark_words(&self) -> u64 {
        self.world.borrow().layout.top_mark_words()
    }

    async fn load(&self, at: Rank, word: Word) -> u64 {
        let Some(loc) = self.loc(word) else { return 0 };
        self.point().await;
        let value = {
            let mut w = self.world.borrow_mut();
            let value = w.remote_read(at.0 as usize, loc);
            match word {
                Word::Link(_) => w.count_hop(loc),
                Word::Records(_) => {}
                Word::LogState => w.learn(at.0 as usize),
                _ => w.end_chase(),
            }
            w.note_loc(loc, |name| format!("load {name} at p{}: {value:#x}", at.0));
            value
        };
        self.point().await;
        value
    }

    async fn cas(&self, at: Rank, word: Word, expected: u64, new: u64) -> u64 {
        self.atomic(at, word, "cas", |old| (old == expected).then_some(new)).await
    }

    async fn fetch_or(&self, at: Rank, word: Word, bits: u64) -> u64 {
        self.atomic(at, word, "or", |old| Some(old | bits)).await
    }

    async fn swap_own(&self, word: Word, new: u64) -> u64 {
        self.atomic(self.rank(), word, "swap", |_| Some(new)).await
    }

    async fn post_store(&self, at: Rank, word: Word, value: u64) {
        let Some(loc) = self.loc(word) else { return };
        self.point().await;
        let mut w = self.world.borrow_mut();
        w.note_loc(loc, |name| format!("post {name} at p{}: {value:#x}", at.0));
        w.post(at.0 as usize, loc, value);
    }

    async fn flush(&self, at: Rank) {
        pause(&self.world, Wait::Placed(self.process, at.0 as usize)).await;
        let mut w = self.world.borrow_mut();
        w.flushed(at.0 as usize);
        let current = w.current;
        w.drain(current, true);
    }

    async fn wait_change(&self, at: Rank, word: Word, seen: u64) -> u64 {
        let loc = self.loc(word).expect("words of used blocks");
        pause(&self.world, Wait::Differs(at.0 as usize, loc, seen)).await;
        let value = {
            let mut w = self.world.borrow_mut();
            let value = w.remote_read(at.0 as usize, loc);
            w.note_loc(loc, |name| {
                format!("waited for {name} at p{} to differ from {seen:#x}: {value:#x}", at.0)
            });
            value
        };
        self.point().await;
        value
    }

    async fn lock_word(&self, at: Rank, word: Word) -> u64 {
        if !self.prompt {
            return dsm_coherence::fabric::lock_by_cas(self, at, word).await;
        }
        // Attempts that fail change nothing: one step is enough where all schedules are searched.
        let loc = self.loc(word).expect("words of used blocks");
        pause(&self.world, Wait::Even(at.0 as usize, loc)).await;
        let old = {
            let mut w = self.world.borrow_mut();
            let old = w.atomic(at.0 as usize, loc, |old| Some(old + 1));
            w.note_loc(loc, |name| format!("lock {name} at p{}: {old:#x}", at.0));
            old
        };
        self.point().await;
        old
    }

    async fn fetch(&self, from: Rank, extent: Extent) {
        for addr in self.extent_addrs(extent) {
            let loc = self.world.borrow().layout.data(addr);
            let value = self.read(from, loc).await;
            let mut w = self.world.borrow_mut();
            w.note(|| format!("fetch byte {addr} from p{}: {value:#04x}", from.0));
            w.own_write(loc, value);
        }
        self.point().await;
    }

    async fn load_bytes(&self, at: Rank, block: Block, offset: usize, bytes: usize) -> u64 {
        self.point().await;
        let mut value = 0;
        {
            let mut w = self.world.borrow_mut();
            for i in 0..bytes {
                let addr = w.layout.addr(block) + offset + i;
                let loc = w.layout.data(addr);
                value |= w.remote_read(at.0 as usize, loc) << (8 * i);
            }
            w.note(|| format!("read {bytes} bytes at {offset} of {} at p{}: {value:#x}", block.0, at.0));
        }
        self.point().await;
        value
    }

    async fn snapshot(&self, from: Rank, extent: Extent, into: &mut [u8]) {
        for (addr, byte) in self.extent_addrs(extent).zip(into) {
            let loc = self.world.borrow().layout.data(addr);
            *byte = self.read(from, loc).await as u8;
            let value = *byte;
            self.world.borrow_mut().note(|| format!("snapshot byte {addr} from p{}: {value:#04x}", from.0));
        }
        self.point().await;
    }

    async fn post_twin(&self, to: Rank, extent: Extent, contents: &[u8]) {
        self.point().await;
        let mut w = self.world.borrow_mut();
        w.note(|| format!("post twins of {extent:?} to p{}: {contents:x?}", to.0));
        for block in extent.blocks() {
            let index = w.layout.index(block);
            w.set_twin(to.0 as usize, index, true);
        }
        let first = w.layout.addr(extent.first);
        for (addr, byte) in (first..).zip(contents) {
            let loc = w.layout.twin(addr);
            w.post(to.0 as usize, loc, u64::from(*byte));
        }
    }

    fn snapshot_blocks(&self, _chunk: Chunk) -> u64 {
        2
    }

    async fn read_records(&self, from: Rank, extent: Extent, into: &mut [Record]) {
        for (block, record) in extent.blocks().zip(into) {
            let words = [Word::Link(block), Word::Rd(block), Word::Wr(block)];
            let [link, rd_ts, wr_ts] = words.map(|word| self.loc(word));
            // Blocks between those of interest that no program uses.
            let (Some(link), Some(rd_ts), Some(wr_ts)) = (link, rd_ts, wr_ts) else { continue };
            if block == extent.first {
                self.world.borrow_mut().count_hop(link);
            }
            record.link = self.read(from, link).await;
            if self.prompt && !self.is_informative(record.link, from, block) {
                // Whatever is read besides means nothing.
                (record.rd_ts, record.wr_ts) = (MEANINGLESS, MEANINGLESS);
                continue;
            }
            record.rd_ts = self.read(from, rd_ts).await;
            record.wr_ts = self.read(from, wr_ts).await;
            self.world.borrow_mut().note(|| format!("record of {block:?} at p{}: {record:x?}", from.0));
        }
        self.point().await;
    }

    async fn read_header(&self, from: Rank, chunk: Chunk) -> Header {
        let mut words = [0; 4];
        let names = [Word::Lease(chunk), Word::Floor(chunk), Word::Homes(chunk), Word::Asking(chunk)];
        self.world.borrow_mut().end_chase();
        for (word, name) in words.iter_mut().zip(names) {
            let Some(loc) = self.loc(name) else { continue };
            *word = self.read(from, loc).await;
        }
        self.point().await;
        let [lease, floor, homes, asking] = words;
        let header = Header { lease, floor, homes, asking };
        self.world.borrow_mut().note(|| format!("header of {chunk:?} at p{}: {header:x?}", from.0));
        header
    }

    async fn post_stamps(&self, to: Rank, extent: Extent, stamps: &[Record]) {
        self.point().await;
        let mut w = self.world.borrow_mut();
        w.note(|| format!("post stamps of {extent:?} to p{}: {stamps:x?}", to.0));
        for (block, record) in extent.blocks().zip(stamps) {
            for (word, value) in [(Word::Rd(block), record.rd_ts), (Word::Wr(block), record.wr_ts)] {
                let loc = w.layout.word(word).expect("words of used blocks");
                w.post(to.0 as usize, loc, value);
            }
        }
    }

    async fn post_links(&self, to: Rank, extent: Extent, link: u64) {
        self.point().await;
        let mut w = self.world.borrow_mut();
        w.note(|| format!("post links of {extent:?} to p{}: {link:#x}", to.0));
        for block in extent.blocks() {
            let loc = w.layout.word(Word::Link(block)).expect("words of used blocks");
            w.post(to.0 as usize, loc, link);
        }
    }

    async fn read_notices(&self, from: Rank, buffer: u8, start: u32, count: u32, out: &mut Vec<Notice>) {
        for i in start..start + count {
            let loc = self.world.borrow().layout.notice(buffer, i);
            let value = self.read(from, loc).await;
            // A buffer that is being reused may show anything; the reader finds out afterwards.
            let notice = unpack(value);
            self.world.borrow_mut().note(|| format!("read notice {i} of p{}: {notice:?}", from.0));
            out.push(notice);
        }
        self.point().await;
    }

    fn write_notices(&self, buffer: u8, start: u32, notices: &[Notice]) {
        let mut w = self.world.borrow_mut();
        w.take_mutex();
        for (i, notice) in notices.iter().enumerate() {
            let loc = w.layout.notice(buffer, start + i as u32);
            w.note(|| format!("write notice {}.{}: {notice:?}", buffer, start + i as u32));
            w.own_write(loc, pack(*notice));
        }
    }

    fn own(&self, word: Word) -> u64 {
        let mut w = self.world.borrow_mut();
        match w.layout.word(word) {
            Some(loc) => w.own_read(loc),
            None => 0,
        }
    }

    fn set_own(&self, word: Word, value: u64) {
        let mut w = self.world.borrow_mut();
        let loc = w.layout.word(word).expect("words of used blocks");
        w.note_loc(loc, |name| format!("own {name} = {value:#x}"));
        if matches!(word, Word::LogState | Word::LogMin(_)) {
            w.take_mutex();
        }
        w.own_write(loc, value);
    }

    fn own_links(&self, extent: Extent, into: &mut [Record]) {
        for (block, record) in extent.blocks().zip(into) {
            record.link = self.own(Word::Link(block));
        }
    }

    fn own_records(&self, extent: Extent, into: &mut [Record]) {
        for (block, record) in extent.blocks().zip(into) {
            if self.loc(Word::Link(block)).is_some() {
                record.link = self.own(Word::Link(block));
                record.rd_ts = self.own(Word::Rd(block));
                record.wr_ts = self.own(Word::Wr(block));
            }
        }
    }

    fn set_own_stamps(&self, extent: Extent, stamps: &[Record]) {
        for (block, record) in extent.blocks().zip(stamps) {
            self.set_own(Word::Rd(block), record.rd_ts);
            self.set_own(Word::Wr(block), record.wr_ts);
        }
    }

    fn set_own_links(&self, extent: Extent, link: u64) {
        for block in extent.blocks() {
            self.set_own(Word::Link(block), link);
        }
    }

    fn or_own(&self, word: Word, bits: u64) -> u64 {
        let mut w = self.world.borrow_mut();
        let loc = w.layout.word(word).expect("words of used blocks");
        // No stronger than an implementation that spares the atomic operation where the bits are set already.
        let now = w.own_read(loc);
        if now & bits == bits {
            return now;
        }
        if w.processes[self.process].threads > 1 {
            return w.atomic(self.process, loc, |old| Some(old | bits));
        }
        w.own_write(loc, now | bits);
        now
    }

    fn take_own(&self, word: Word) -> u64 {
        let mut w = self.world.borrow_mut();
        let Some(loc) = w.layout.word(word) else { return 0 };
        if w.processes[self.process].threads > 1 {
            return w.atomic(self.process, loc, |_| Some(0));
        }
        let now = w.own_read(loc);
        w.own_write(loc, 0);
        now
    }

    async fn clear_own(&self, word: Word, bits: u64) -> u64 {
        self.atomic(self.rank(), word, "clear", |old| Some(old & !bits)).await & !bits
    }

    fn state(&self, block: Block) -> u8 {
        let mut w = self.world.borrow_mut();
        let loc = w.layout.state(block);
        w.own_read(loc) as u8
    }

    fn set_state(&self, extent: Extent, state: u8) {
        let mut w = self.world.borrow_mut();
        for block in extent.blocks() {
            let loc = w.layout.state(block);
            let name =
                ["WRITABLE", "READABLE", "COLD", "EXPIRED", "NOTICED", "INVALID_DIRTY"][usize::from(state)];
            w.note(|| format!("state of block {} = {name}", block.0));
            w.own_write(loc, u64::from(state));
        }
    }

    fn state_run(&self, extent: Extent) -> u64 {
        let first = self.state(extent.first);
        extent.blocks().take_while(|b| self.state(*b) == first).count() as u64
    }

    fn make_twin(&self, extent: Extent) {
        for block in extent.blocks() {
            let mut w = self.world.borrow_mut();
            w.note(|| format!("make twin of {}", block.0));
            let index = w.layout.index(block);
            w.set_twin(self.process, index, true);
            for addr in self.addrs_in(&w, block) {
                let (data, twin) = (w.layout.data(addr), w.layout.twin(addr));
                let value = w.own_read(data);
                w.own_write(twin, value);
            }
        }
    }

    fn drop_twin(&self, extent: Extent) {
        let mut w = self.world.borrow_mut();
        for block in extent.blocks() {
            let index = w.layout.index(block);
            w.set_twin(self.process, index, false);
        }
    }

    fn free_twins(&self, extent: Extent) {
        let mut w = self.world.borrow_mut();
        w.note(|| format!("free twins of {extent:?}"));
        for block in extent.blocks() {
            let index = w.layout.index(block);
            w.set_twin(self.process, index, false);
            for addr in self.addrs_in(&w, block) {
                let twin = w.layout.twin(addr);
                // At once, as the system does it, for everybody.
                w.write(self.process, twin, 0xdd);
            }
        }
    }

    fn changed(&self, extent: Extent) -> u64 {
        let mut w = self.world.borrow_mut();
        let mut mask = 0;
        for block in extent.blocks() {
            let index = w.layout.index(block);
            if !w.twin(index) {
                w.fail(format!("block {} is compared with a twin that does not exist", block.0));
            }
            let differs = self.addrs_in(&w, block).any(|addr| {
                let (data, twin) = (w.layout.data(addr), w.layout.twin(addr));
                w.own_read(data) != w.own_read(twin)
            });
            mask |= if differs { block.bit() } else { 0 };
        }
        mask
    }

    fn merge(&self, extent: Extent, incoming: &[u8], from: Rank) {
        let mut w = self.world.borrow_mut();
        w.note(|| format!("merge {extent:?} with {incoming:x?} from p{}", from.0));
        for (block, incoming) in extent.blocks().zip(incoming.chunks(w.layout.block_bytes(extent.first))) {
            let index = w.layout.index(block);
            if !w.twin(index) {
                w.fail(format!("block {} is merged against a twin that does not exist", block.0));
            }
            for (addr, byte) in self.addrs_in(&w, block).zip(incoming) {
                let (data, twin) = (w.layout.data(addr), w.layout.twin(addr));
                let byte = u64::from(*byte);
                if byte != w.own_read(twin) {
                    w.own_write(data, byte);
                    w.own_write(twin, byte);
                }
            }
        }
    }

    fn overwrite(&self, extent: Extent, contents: &[u8]) {
        let mut w = self.world.borrow_mut();
        w.note(|| format!("overwrite {extent:?} with {contents:x?}"));
        let first = w.layout.addr(extent.first);
        for (addr, byte) in (first..).zip(contents) {
            let data = w.layout.data(addr);
            w.own_write(data, u64::from(*byte));
        }
    }

    async fn lock_chunk(&self, chunk: Chunk) -> Guard<'_> {
        let loc = self.world.borrow().layout.chunk(chunk);
        self.lock_cell(loc, false).await
    }

    async fn lock_gate(&self, gate: Gate) -> Guard<'_> {
        let loc = self.world.borrow().layout.gate(gate);
        self.lock_cell(loc, gate == Gate::Publish).await
    }

    fn fence(&self) {
        if !self.fault(Fault::NoReleaseFence) {
            let mut w = self.world.borrow_mut();
            let current = w.current;
            w.drain(current, true);
        }
    }

    fn gate_free(&self, gate: Gate) -> bool {
        let mut w = self.world.borrow_mut();
        let loc = w.layout.gate(gate);
        w.own_read(loc) == 0
    }

    fn begin_exclusive(&self) -> bool {
        let mut w = self.world.borrow_mut();
        let process = &w.processes[self.process];
        if process.threads == 1 {
            return true;
        }
        let free = process.in_user == 0;
        w.visible = true;
        let (current, exclusive) = (w.current, w.layout.exclusive());
        w.drain(current, true);
        assert!(w.own_read(exclusive) == 0, "one release at a time");
        if free {
            w.write(self.process, exclusive, 1);
        }
        w.observe(u64::from(free));
        w.note(|| format!("begin exclusive: {free}"));
        free
    }

    fn end_exclusive(&self) {
        let mut w = self.world.borrow_mut();
        if w.processes[self.process].threads > 1 {
            // An ordinary store: who leaves the runtime then sees the states set meanwhile. Until it is visible, others go on with what the release has handed over.
            let exclusive = w.layout.exclusive();
            w.own_write(exclusive, 0);
        }
    }

    fn fault(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn watches_writes(&self) -> bool {
        self.watch
    }

    fn not_fetched(&self, extent: Extent) {
        let mut w = self.world.borrow_mut();
        w.note(|| format!("{extent:?} not fetched"));
        for block in extent.blocks() {
            for addr in self.addrs_in(&w, block) {
                let data = w.layout.data(addr);
                w.own_write(data, 0xee);
            }
        }
    }

    fn published(&self, extent: Extent, wr_ts: u64) {
        self.world.borrow_mut().note(|| format!("published {extent:?} as version {wr_ts}"));
    }
}

impl ModelFabric {
    fn addrs_in(&self, w: &crate::world::World, block: Block) -> std::ops::Range<usize> {
        let addr = w.layout.addr(block);
        addr..addr + w.layout.block_bytes(block)
    }
}

/// Whether a block in this state, at a process that is not its home, has a twin.
pub fn needs_twin(state: u8) -> bool {
    matches!(state, abi::WRITABLE | abi::INVALID_DIRTY)
}
