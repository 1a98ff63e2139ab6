//! The model fabric: every operation is a point where the schedule chooses, and none is stronger than the trait promises.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Mutex;

mod locks;
mod transfer;
mod words;

use dsm_abi::atomic::Update;
use dsm_abi::state as abi;
use dsm_coherence::{
    Block, Chunk, Exchange, Extent, Fabric, Fault, Gate, Header, Link, Look, Notice, Part, Parts, Rank,
    Record, Timestamp, Word, calls,
};

use crate::layout::{Loc, pack};
use crate::program::{Memory, Program};
use crate::world::{Shared, Wait, pause};
pub use locks::Guard;

/// One process's view of the world.
#[derive(Debug)]
pub struct ModelFabric {
    world: Shared,
    process: usize,
    fault: Option<Fault>,
    without: Parts,
    watch: bool,
    prompt: bool,
    by_agents: bool,
    size: u32,
    /// What is to be executed once more, for [`Fault::MergeRepeated`].
    repeated: RefCell<Option<(Rank, Vec<u8>)>>,
}

impl ModelFabric {
    /// The fabric of a process.
    pub fn new(world: &Shared, process: usize, program: &Program) -> Self {
        let w = world.borrow();
        ModelFabric {
            world: world.clone(),
            process,
            fault: program.fault,
            without: program.without,
            watch: program.watch,
            prompt: program.memory == Memory::Prompt,
            by_agents: program.by_agents,
            size: w.processes.len() as u32,
            repeated: RefCell::default(),
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
                w.end_lookup();
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

    /// Whether lease and version beside a link are for this process: the home is there, or was and is being moved here.
    fn is_informative(&self, link: u64, at: Rank, block: Block) -> bool {
        match Link::decode(link, at, || self.default_home(block)) {
            Link::Home => true,
            Link::Link { to, pending } => pending && to == self.rank(),
            Link::Wait | Link::Taking => false,
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
    type Handle = (Rank, Block);

    fn rank(&self) -> Rank {
        Rank(self.process as u32)
    }

    fn handle(&self, at: Rank, block: Block) -> (Rank, Block) {
        (at, block)
    }

    fn target_of(&self, place: (Rank, Block)) -> (Rank, Block) {
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
        words::load(self, at, word).await
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
        words::post_store(self, at, word, value).await
    }

    async fn flush(&self, at: Rank) {
        words::flush(self, at).await
    }

    async fn wait_change(&self, at: Rank, word: Word, seen: u64) -> u64 {
        words::wait_change(self, at, word, seen).await
    }

    async fn lock_word(&self, at: Rank, word: Word) -> u64 {
        words::lock_word(self, at, word).await
    }

    async fn try_lock_word(&self, at: Rank, word: Word) -> Result<u64, u64> {
        words::try_lock_word(self, at, word).await
    }

    fn has_agent(&self, at: Rank) -> bool {
        self.by_agents && at != self.rank()
    }

    async fn call_agent(&self, at: Rank, request: &[u8], reply: &mut [u8]) -> usize {
        let repeated = self.repeated.take();
        if let Some((at, request)) = repeated {
            calls::serve(self, at, &request, reply).await.expect("as it was executed before");
        }
        if self.fault(Fault::MergeRepeated) && calls::subject(request).is_some_and(|s| s.0 == "merge_diff") {
            self.repeated.replace(Some((at, request.to_vec())));
        }
        // The agent has nothing of its own: it acts on the segment as the requester would.
        calls::serve(self, at, request, reply).await.expect("a request of the protocol")
    }

    async fn call_agent_all(&self, exchanges: &mut [Exchange<'_>], mut arrived: impl FnMut(usize, &[u8])) {
        // Calls at several processes are executed in any order. Half of the processes begin with the highest rank.
        let mut exchanges: Vec<_> = exchanges.iter_mut().enumerate().collect();
        match self.process % 2 {
            0 => exchanges.sort_by_key(|(_, exchange)| exchange.at),
            _ => exchanges.sort_by_key(|(_, exchange)| Reverse(exchange.at)),
        }
        for (number, Exchange { at, request, reply, length }) in exchanges {
            *length = self.call_agent(*at, request, reply).await;
            arrived(number, &reply[..*length]);
        }
    }

    fn ring_entries(&self) -> u64 {
        self.world.borrow().layout.ring_entries()
    }

    async fn look(&self, at: Rank, parts: &mut [Look<'_>]) -> bool {
        transfer::look(self, at, parts).await;
        true
    }

    fn request_bytes(&self) -> usize {
        // A block or two, so that some calls are cut.
        let w = self.world.borrow();
        calls::REQUEST_BYTES + calls::most_difference_bytes(w.layout.longest_block())
    }

    fn reply_bytes(&self) -> usize {
        // Two blocks, so that some calls are cut.
        let w = self.world.borrow();
        calls::RESULT_BYTES + 2 * w.layout.longest_block()
    }

    async fn fetch(&self, from: Rank, extent: Extent) {
        transfer::fetch(self, from, extent).await
    }

    async fn load_bytes(&self, at: Rank, block: Block, offset: usize, bytes: usize) -> u64 {
        transfer::load_bytes(self, at, block, offset, bytes).await
    }

    async fn update_bytes(&self, at: Rank, block: Block, offset: usize, bytes: usize, update: Update) -> u64 {
        transfer::update_bytes(self, at, block, (offset, bytes), update).await
    }

    async fn snapshot(&self, from: Rank, extent: Extent, into: &mut [u8]) {
        transfer::snapshot(self, from, extent, into).await
    }

    async fn holes(&self, at: Rank, chunk: Chunk, blocks: u64) -> u64 {
        transfer::holes(self, at, chunk, blocks).await
    }

    async fn post_zero_twin(&self, to: Rank, extent: Extent) {
        let zeros = vec![0; self.extent_addrs(extent).count()];
        self.post_twin(to, extent, &zeros).await;
    }

    async fn post_twin(&self, to: Rank, extent: Extent, contents: &[u8]) {
        transfer::post_twin(self, to, extent, contents).await
    }

    async fn post_diff(&self, to: Rank, extent: Extent) {
        transfer::post_diff(self, to, extent).await
    }

    fn visit_changes(&self, block: Block, with: impl FnMut(usize, &[u8])) {
        self.world.borrow_mut().visit_changes(block, with);
    }

    async fn post_bytes(&self, to: Rank, block: Block, offset: usize, bytes: &[u8]) {
        transfer::post_bytes(self, to, block, offset, bytes).await
    }

    fn patch_twin(&self, block: Block, offset: usize, bytes: &[u8]) {
        self.world.borrow_mut().patch_twin(block, offset, bytes);
    }

    fn snapshot_blocks(&self, _chunk: Chunk) -> u64 {
        2
    }

    async fn read_records(&self, from: Rank, extent: Extent, into: &mut [Record]) {
        transfer::read_records(self, from, extent, into).await
    }

    async fn read_header(&self, from: Rank, chunk: Chunk) -> Header {
        transfer::read_header(self, from, chunk).await
    }

    async fn post_stamps(&self, to: Rank, extent: Extent, stamps: impl Fn(Block) -> [Timestamp; 2]) {
        transfer::post_stamps(self, to, extent, stamps).await
    }

    async fn post_links(&self, to: Rank, extent: Extent, link: u64) {
        transfer::post_links(self, to, extent, link).await
    }

    async fn read_notices(&self, from: Rank, buffer: u8, start: u32, count: u32, out: &mut Vec<Notice>) {
        transfer::read_notices(self, from, buffer, start, count, out).await
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
        if matches!(word, Word::LogState | Word::LogMin) {
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

    fn set_own_stamps(&self, extent: Extent, stamps: impl Fn(Block) -> [Timestamp; 2]) {
        for block in extent.blocks() {
            let [rd_ts, wr_ts] = stamps(block);
            self.set_own(Word::Rd(block), rd_ts);
            self.set_own(Word::Wr(block), wr_ts);
        }
    }

    fn set_own_links(&self, extent: Extent, link: u64) {
        for block in extent.blocks() {
            self.set_own(Word::Link(block), link);
        }
    }

    fn or_own(&self, word: Word, bits: u64) -> u64 {
        words::or_own(self, word, bits)
    }

    fn take_own(&self, word: Word) -> u64 {
        words::take_own(self, word)
    }

    async fn clear_own(&self, word: Word, bits: u64) -> u64 {
        self.atomic(self.rank(), word, "clear", |old| Some(old & !bits)).await & !bits
    }

    fn state(&self, block: Block) -> u8 {
        let mut w = self.world.borrow_mut();
        let division = w.processes[self.process].division;
        if !w.layout.is_current(block, division) && self.fault != Some(Fault::OldNumbers) {
            // Blocks of another size are there now; notices of this one may still come.
            return abi::COLD;
        }
        let block = w.layout.current(block, division);
        let loc = w.layout.state(block);
        w.own_read(loc) as u8
    }

    fn set_state(&self, extent: Extent, state: u8) {
        let mut w = self.world.borrow_mut();
        let division = w.processes[self.process].division;
        let old = extent.blocks().find(|block| !w.layout.is_current(*block, division));
        if let Some(block) = old.filter(|_| self.fault != Some(Fault::OldNumbers)) {
            w.fail(format!("block {} gets a state, although blocks of another size are there", block.0));
        }
        w.set_state(extent, state);
        if w.protects_pages {
            // A change of protection is known to all processors when the system call returns.
            w.drain_process();
        }
    }

    fn state_run(&self, extent: Extent) -> u64 {
        let first = self.state(extent.first);
        extent.blocks().take_while(|b| self.state(*b) == first).count() as u64
    }

    fn make_twin(&self, extent: Extent) {
        self.world.borrow_mut().make_twin(extent);
    }

    fn drop_twin(&self, extent: Extent) {
        self.world.borrow_mut().drop_twin(extent);
    }

    fn free_twins(&self, extent: Extent) {
        self.world.borrow_mut().free_twins(extent);
    }

    fn changed(&self, extent: Extent) -> u64 {
        self.world.borrow_mut().changed(extent)
    }

    fn merge(&self, extent: Extent, incoming: &[u8], from: Rank) {
        self.world.borrow_mut().merge(extent, incoming, from);
    }

    fn clear(&self, extent: Extent) {
        let zeros = vec![0; self.extent_addrs(extent).count()];
        self.overwrite(extent, &zeros);
    }

    fn overwrite(&self, extent: Extent, contents: &[u8]) {
        self.world.borrow_mut().overwrite(extent, contents);
    }

    async fn lock_chunk(&self, chunk: Chunk) -> Guard<'_> {
        let loc = self.world.borrow().layout.chunk(chunk);
        locks::lock(self, loc, false).await
    }

    async fn try_lock_chunk(&self, chunk: Chunk) -> Option<Guard<'_>> {
        let loc = self.world.borrow().layout.chunk(chunk);
        locks::try_lock(self, loc).await
    }

    async fn lock_gate(&self, gate: Gate) -> Guard<'_> {
        let loc = self.world.borrow().layout.gate(gate);
        locks::lock(self, loc, gate == Gate::Publish).await
    }

    fn fence(&self) {
        locks::fence(self);
    }

    fn gate_free(&self, gate: Gate) -> bool {
        locks::gate_free(self, gate)
    }

    fn is_sole_thread(&self) -> bool {
        self.world.borrow().processes[self.process].threads == 1
    }

    fn begin_exclusive(&self, _wait: bool) -> bool {
        locks::begin_exclusive(self)
    }

    fn end_exclusive(&self) {
        locks::end_exclusive(self);
    }

    fn is_only_thread(&self) -> bool {
        let world = self.world.borrow();
        world.threads[..world.running].iter().filter(|thread| thread.process == self.process).count() == 1
    }

    fn fault(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn checkpoint(&self) -> u64 {
        self.world.borrow().checkpoint()
    }

    #[track_caller]
    fn live_since<T: Hash>(&self, checkpoint: u64, live: impl FnOnce() -> T) {
        self.world.borrow_mut().live_since(checkpoint, live());
    }

    fn leaves_out(&self, part: Part) -> bool {
        self.without.has(part)
    }

    fn watches_writes(&self) -> bool {
        self.watch
    }

    fn not_fetched(&self, extent: Extent) {
        self.world.borrow_mut().not_fetched(extent);
    }

    fn published(&self, extent: Extent, wr_ts: u64) {
        let mut w = self.world.borrow_mut();
        w.note(|| format!("published {extent:?} as version {wr_ts}"));
        for block in extent.blocks() {
            let newest = w.newest.entry(block).or_default();
            *newest = wr_ts.max(*newest);
        }
    }
}

/// Whether a block in this state, at a process that is not its home, has a twin.
pub fn needs_twin(state: u8) -> bool {
    matches!(state, abi::WRITABLE | abi::INVALID_DIRTY)
}
