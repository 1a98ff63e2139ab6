//! The protocol's world under virtual time.
//!
//! What a process does in its own memory is charged to its processor and paid before its next message; it takes effect at once. Data
//! transfers take effect at one moment (that they may tear is the explorer's business).

mod differences;
mod locks;
mod messages;

pub use locks::Guard;

use std::fmt::Debug;
use std::sync::Mutex;

use dsm_abi::atomic::Update;
use dsm_coherence::{
    Block, CHUNK_BLOCKS, Chunk, Exchange, Extent, Fabric, Gate, Header, Notice, Rank, Record, Timestamp,
    Word, calls,
};

use crate::costs::ns;
use crate::engine::{Key, join_all};
use crate::memory::Bytes;
use crate::net::Shared;

/// Bytes of a published notice.
pub const NOTICE_BYTES: u64 = 32;
/// Bytes of a record, of its lease and version, and of its link.
const RECORD_BYTES: u64 = 24;
const STAMP_BYTES: u64 = 16;
/// Bytes of what is read of a chunk as a whole.
const HEADER_BYTES: u64 = 32;
const LINK_BYTES: u64 = 8;
/// Most bytes of the reply to a call, as in the runtime.
const REPLY_BYTES: usize = 260 << 10;
/// Levels of the bit sets, as in the runtime.
const MARK_LEVELS: u8 = 4;

/// One process's view of the world.
#[derive(Clone, Debug)]
pub struct SimFabric {
    world: Shared,
    me: u32,
}

impl SimFabric {
    /// The fabric of a process.
    pub fn new(world: &Shared, me: u32) -> Self {
        SimFabric { world: world.clone(), me }
    }

    fn bytes(&self, extent: Extent) -> u64 {
        extent.count * self.world.block_bytes
    }

    /// Records of a process as they are now.
    fn get_records(&self, at: u32, extent: Extent, into: &mut [Record]) {
        for (block, record) in extent.blocks().zip(into) {
            record.link = self.world.word(at, Word::Link(block));
            record.rd_ts = self.world.word(at, Word::Rd(block));
            record.wr_ts = self.world.word(at, Word::Wr(block));
        }
    }

    fn home(&self, block: Block) -> bool {
        self.world.home(block) == self.me
    }
}

impl Fabric for SimFabric {
    type Exclusive<T: Send + Debug> = Mutex<T>;
    type Guard<'a> = Guard<'a>;
    type Handle = (Rank, Block);

    fn rank(&self) -> Rank {
        Rank(self.me)
    }

    fn handle(&self, at: Rank, block: Block) -> (Rank, Block) {
        (at, block)
    }

    fn target_of(&self, place: (Rank, Block)) -> (Rank, Block) {
        place
    }

    fn size(&self) -> u32 {
        self.world.size()
    }

    fn existing(&self, chunk: Chunk) -> u64 {
        let first = chunk.block(0).0;
        match self.world.blocks().saturating_sub(first).min(CHUNK_BLOCKS) {
            0 => 0,
            count => Extent::new(Block(first), count).mask(),
        }
    }

    fn block_bytes(&self, _block: Block) -> usize {
        self.world.block_bytes as usize
    }

    fn default_home(&self, block: Block) -> Rank {
        Rank(self.world.home(block))
    }

    fn mark_levels(&self) -> u8 {
        MARK_LEVELS
    }

    fn top_mark_words(&self) -> u64 {
        self.world.blocks().div_ceil(1 << (6 * u32::from(MARK_LEVELS))).max(1)
    }

    async fn load(&self, at: Rank, word: Word) -> u64 {
        if at.0 == self.me {
            return self.own(word);
        }
        self.request(at, 0).await;
        let value = self.world.word(at.0, word);
        self.answer(at, 8).await;
        value
    }

    async fn cas(&self, at: Rank, word: Word, expected: u64, new: u64) -> u64 {
        self.atomic(at, word, |old| (old == expected).then_some(new)).await
    }

    async fn fetch_or(&self, at: Rank, word: Word, bits: u64) -> u64 {
        self.atomic(at, word, |old| Some(old | bits)).await
    }

    async fn swap_own(&self, word: Word, new: u64) -> u64 {
        self.atomic(self.rank(), word, |_| Some(new)).await
    }

    async fn post_store(&self, at: Rank, word: Word, value: u64) {
        self.post(at, 8, move |world| world.set_word(at.0, word, value)).await;
    }

    async fn flush(&self, at: Rank) {
        self.world.flush(self.me, at.0).await;
    }

    async fn wait_change(&self, at: Rank, word: Word, seen: u64) -> u64 {
        let differs = |value| (value != seen).then_some(value);
        if at.0 == self.me {
            return self
                .world
                .engine
                .wait(Key::Word(at.0, word), || differs(self.world.word(at.0, word)))
                .await;
        }
        let mut pause = self.world.costs.poll_ns;
        loop {
            if let Some(value) = differs(self.load(at, word).await) {
                return value;
            }
            self.world.compute(self.me, ns(pause)).await;
            pause = (2 * pause).min(self.world.costs.poll_most_ns);
        }
    }

    fn has_agent(&self, at: Rank) -> bool {
        at.0 != self.me
    }

    async fn call_agent(&self, at: Rank, request: &[u8], reply: &mut [u8]) -> usize {
        self.request(at, request.len() as u64).await;
        self.world.handle(at.0).await;
        let agent = SimFabric::new(&self.world, at.0);
        let length = calls::serve(&agent, at, request, reply).await.expect("a request of the protocol");
        self.answer(at, length as u64).await;
        length
    }

    async fn call_agent_all(&self, exchanges: &mut [Exchange<'_>], mut arrived: impl FnMut(usize, &[u8])) {
        let mut by_process: Vec<_> = exchanges.iter_mut().collect();
        by_process.sort_by_key(|exchange| exchange.at);
        let groups = by_process.chunk_by_mut(|a, b| a.at == b.at);
        join_all(groups.map(|exchanges| self.call_together(exchanges))).await;
        for (number, exchange) in exchanges.iter().enumerate() {
            arrived(number, &exchange.reply[..exchange.length]);
        }
    }

    fn has_chunk(&self, chunk: Chunk) -> bool {
        chunk.0 < self.world.blocks().div_ceil(CHUNK_BLOCKS)
    }

    fn request_bytes(&self) -> usize {
        calls::REQUEST_BYTES + calls::most_difference_bytes(self.world.block_bytes as usize).max(REPLY_BYTES)
    }

    fn reply_bytes(&self) -> usize {
        REPLY_BYTES.max(calls::RESULT_BYTES + self.world.block_bytes as usize)
    }

    async fn fetch(&self, from: Rank, extent: Extent) {
        self.request(from, 0).await;
        for block in extent.blocks() {
            let data = self.world.process(from.0).memory.borrow().data(block);
            self.world.process(self.me).memory.borrow_mut().set_data(block, data, self.home(block));
        }
        self.answer(from, extent.count * self.world.block_bytes).await;
    }

    async fn load_bytes(&self, at: Rank, block: Block, offset: usize, bytes: usize) -> u64 {
        if at.0 != self.me {
            self.request(at, 0).await;
        }
        let mut value = [0; 8];
        value[..bytes]
            .copy_from_slice(&self.world.process(at.0).memory.borrow().data(block)[offset..offset + bytes]);
        if at.0 != self.me {
            self.answer(at, bytes as u64).await;
        }
        u64::from_le_bytes(value)
    }

    async fn update_bytes(&self, at: Rank, block: Block, offset: usize, bytes: usize, update: Update) -> u64 {
        if at.0 != self.me {
            self.request(at, 0).await;
        }
        let home = self.world.at_home(at, block);
        let mut old = [0; 8];
        {
            let mut memory = self.world.process(at.0).memory.borrow_mut();
            let part = &mut memory.data_mut(block, home)[offset..offset + bytes];
            old[..bytes].copy_from_slice(part);
            let new = update.apply(bytes as u32, u64::from_le_bytes(old).into());
            if let Some(new) = new {
                part.copy_from_slice(&new.to_le_bytes()[..bytes]);
            }
        }
        if at.0 != self.me {
            self.answer(at, bytes as u64).await;
        }
        u64::from_le_bytes(old)
    }

    async fn snapshot(&self, from: Rank, extent: Extent, into: &mut [u8]) {
        let away = from.0 != self.me;
        if away {
            self.request(from, 0).await;
        } else {
            self.world.charge_bytes(self.me, self.bytes(extent));
        }
        for (block, part) in extent.blocks().zip(into.chunks_exact_mut(self.world.block_bytes as usize)) {
            part.copy_from_slice(&self.world.process(from.0).memory.borrow().data(block));
        }
        if away {
            self.answer(from, self.bytes(extent)).await;
        }
    }

    async fn post_twin(&self, to: Rank, extent: Extent, contents: &[u8]) {
        let parts: Vec<Bytes> =
            contents.chunks_exact(self.world.block_bytes as usize).map(Into::into).collect();
        let set = move |world: &Shared| {
            for (block, part) in extent.blocks().zip(parts) {
                let home = world.at_home(to, block);
                world.process(to.0).memory.borrow_mut().set_twin(block, Some(part), home);
            }
        };
        self.post(to, self.bytes(extent), set).await;
    }

    async fn post_diff(&self, to: Rank, extent: Extent) {
        self.world.charge_bytes(self.me, 2 * self.bytes(extent));
        let mut changes = Vec::new();
        for block in extent.blocks() {
            let mut memory = self.world.process(self.me).memory.borrow_mut();
            let data = memory.data(block);
            let twin = memory.twin(block).expect("a block with changes has a twin");
            let bytes = data.iter().zip(twin.iter()).enumerate();
            changes
                .extend(bytes.filter(|(_, (new, old))| new != old).map(|(at, (new, _))| (block, at, *new)));
            memory.set_twin(block, Some(data), self.home(block));
        }
        let count = changes.len() as u64;
        let set = move |world: &Shared| {
            for (block, at, byte) in changes {
                let home = world.at_home(to, block);
                world.process(to.0).memory.borrow_mut().data_mut(block, home)[at] = byte;
            }
        };
        self.post(to, count, set).await;
    }

    fn visit_changes(&self, block: Block, with: impl FnMut(usize, &[u8])) {
        self.each_change(block, with);
    }

    async fn post_bytes(&self, to: Rank, block: Block, offset: usize, bytes: &[u8]) {
        self.send_bytes(to, block, offset, bytes).await;
    }

    fn patch_twin(&self, block: Block, offset: usize, bytes: &[u8]) {
        self.put_twin_bytes(block, offset, bytes);
    }

    async fn read_records(&self, from: Rank, extent: Extent, into: &mut [Record]) {
        if from.0 == self.me {
            return self.own_records(extent, into);
        }
        self.request(from, 0).await;
        self.get_records(from.0, extent, into);
        self.answer(from, extent.count * RECORD_BYTES).await;
    }

    async fn read_header(&self, from: Rank, chunk: Chunk) -> Header {
        let away = from.0 != self.me;
        if away {
            self.request(from, 0).await;
        } else {
            self.world.charge_words(self.me, 1);
        }
        let word = |word| self.world.word(from.0, word);
        let header = Header {
            lease: word(Word::Lease(chunk)),
            chunk_version: word(Word::ChunkVersion(chunk)),
            homes: word(Word::Homes(chunk)),
            write_protected: word(Word::WriteProtected(chunk)),
        };
        if away {
            self.answer(from, HEADER_BYTES).await;
        }
        header
    }

    async fn post_stamps(&self, to: Rank, extent: Extent, stamps: impl Fn(Block) -> [Timestamp; 2]) {
        let stamps: Vec<_> = extent.blocks().map(stamps).collect();
        let set = move |world: &Shared| {
            for (block, [rd_ts, wr_ts]) in extent.blocks().zip(stamps) {
                world.set_word(to.0, Word::Rd(block), rd_ts);
                world.set_word(to.0, Word::Wr(block), wr_ts);
            }
        };
        self.post(to, extent.count * STAMP_BYTES, set).await;
    }

    async fn post_links(&self, to: Rank, extent: Extent, link: u64) {
        let set = move |world: &Shared| {
            for block in extent.blocks() {
                world.set_word(to.0, Word::Link(block), link);
            }
        };
        self.post(to, extent.count * LINK_BYTES, set).await;
    }

    async fn read_notices(&self, from: Rank, buffer: u8, start: u32, count: u32, out: &mut Vec<Notice>) {
        self.request(from, 0).await;
        {
            let memory = self.world.process(from.0).memory.borrow();
            let list = &memory.notices[usize::from(buffer)];
            // A buffer that is being reused may show anything; the reader finds out afterwards.
            out.extend(list.iter().skip(start as usize).take(count as usize));
        }
        self.answer(from, u64::from(count) * NOTICE_BYTES).await;
        self.world.charge(self.me, ns(self.world.costs.notice_ns * u64::from(count)));
    }

    fn write_notices(&self, buffer: u8, start: u32, notices: &[Notice]) {
        self.world.charge_bytes(self.me, notices.len() as u64 * NOTICE_BYTES);
        let mut memory = self.world.process(self.me).memory.borrow_mut();
        let list = &mut memory.notices[usize::from(buffer)];
        list.truncate(start as usize);
        list.extend_from_slice(notices);
    }

    fn own(&self, word: Word) -> u64 {
        self.world.charge_words(self.me, 1);
        self.world.word(self.me, word)
    }

    fn set_own(&self, word: Word, value: u64) {
        self.world.charge_words(self.me, 1);
        self.world.set_word(self.me, word, value);
    }

    fn own_links(&self, extent: Extent, into: &mut [Record]) {
        self.world.charge_words(self.me, extent.count.div_ceil(8));
        for (block, record) in extent.blocks().zip(into) {
            record.link = self.world.word(self.me, Word::Link(block));
        }
    }

    fn own_records(&self, extent: Extent, into: &mut [Record]) {
        self.world.charge_words(self.me, (3 * extent.count).div_ceil(8));
        self.get_records(self.me, extent, into);
    }

    fn set_own_stamps(&self, extent: Extent, stamps: impl Fn(Block) -> [Timestamp; 2]) {
        self.world.charge_words(self.me, (2 * extent.count).div_ceil(8));
        for block in extent.blocks() {
            let [rd_ts, wr_ts] = stamps(block);
            self.world.set_word(self.me, Word::Rd(block), rd_ts);
            self.world.set_word(self.me, Word::Wr(block), wr_ts);
        }
    }

    fn set_own_links(&self, extent: Extent, link: u64) {
        self.world.charge_words(self.me, extent.count.div_ceil(8));
        for block in extent.blocks() {
            self.world.set_word(self.me, Word::Link(block), link);
        }
    }

    fn or_own(&self, word: Word, bits: u64) -> u64 {
        let old = self.own(word);
        self.world.set_word(self.me, word, old | bits);
        old
    }

    fn take_own(&self, word: Word) -> u64 {
        let old = self.own(word);
        self.world.set_word(self.me, word, 0);
        old
    }

    async fn clear_own(&self, word: Word, bits: u64) -> u64 {
        self.atomic(self.rank(), word, |old| Some(old & !bits)).await & !bits
    }

    fn state(&self, block: Block) -> u8 {
        self.world.charge_words(self.me, 1);
        self.world.process(self.me).memory.borrow().state(block, self.home(block))
    }

    fn set_state(&self, extent: Extent, state: u8) {
        self.world.charge_words(self.me, extent.count.div_ceil(8));
        let mut memory = self.world.process(self.me).memory.borrow_mut();
        for block in extent.blocks() {
            memory.set_state(block, state, self.home(block));
        }
    }

    fn state_run(&self, extent: Extent) -> u64 {
        let memory = self.world.process(self.me).memory.borrow();
        let state = |block| memory.state(block, self.home(block));
        let first = state(extent.first);
        let count = extent.blocks().take_while(|b| state(*b) == first).count() as u64;
        self.world.charge_words(self.me, count.div_ceil(8));
        count
    }

    fn make_twin(&self, extent: Extent) {
        self.world.charge_bytes(self.me, extent.count * self.world.block_bytes);
        let mut memory = self.world.process(self.me).memory.borrow_mut();
        for block in extent.blocks() {
            let data = memory.data(block);
            memory.set_twin(block, Some(data), self.home(block));
        }
    }

    fn drop_twin(&self, extent: Extent) {
        let mut memory = self.world.process(self.me).memory.borrow_mut();
        for block in extent.blocks() {
            memory.set_twin(block, None, self.home(block));
        }
    }

    fn changed(&self, extent: Extent) -> u64 {
        self.world.charge_bytes(self.me, self.bytes(extent));
        let memory = self.world.process(self.me).memory.borrow();
        let twin = |block| memory.twin(block).expect("a block that is compared has a twin");
        extent
            .blocks()
            .filter(|block| twin(*block)[..] != memory.data(*block)[..])
            .fold(0, |mask, block| mask | block.bit())
    }

    fn merge(&self, extent: Extent, incoming: &[u8], _from: Rank) {
        self.world.charge_bytes(self.me, 2 * self.bytes(extent));
        let mut memory = self.world.process(self.me).memory.borrow_mut();
        for (block, part) in extent.blocks().zip(incoming.chunks_exact(self.world.block_bytes as usize)) {
            memory.merge(block, part, self.home(block));
        }
    }

    fn overwrite(&self, extent: Extent, contents: &[u8]) {
        self.world.charge_bytes(self.me, self.bytes(extent));
        let mut memory = self.world.process(self.me).memory.borrow_mut();
        for (block, part) in extent.blocks().zip(contents.chunks_exact(self.world.block_bytes as usize)) {
            memory.set_data(block, part.into(), self.home(block));
        }
    }

    async fn lock_chunk(&self, chunk: Chunk) -> Guard<'_> {
        self.lock(Key::Chunk(self.me, chunk)).await
    }

    async fn try_lock_chunk(&self, chunk: Chunk) -> Option<Guard<'_>> {
        self.try_lock(Key::Chunk(self.me, chunk))
    }

    async fn lock_gate(&self, gate: Gate) -> Guard<'_> {
        self.lock(Key::Gate(self.me, gate)).await
    }

    fn fence(&self) {
        self.world.charge_words(self.me, 5);
    }

    fn gate_free(&self, gate: Gate) -> bool {
        self.is_free(gate)
    }

    fn begin_exclusive(&self, _wait: bool) -> bool {
        true
    }

    fn end_exclusive(&self) {}

    fn is_only_thread(&self) -> bool {
        true
    }
}
