//! The protocol's world in production: [`Fabric`] on the segments of the job's processes, by whatever transport. Every operation is done when it is called.

mod block_data;
mod block_handle;
pub mod calls;
mod holes;
mod looks;
mod marks;
mod notices;
mod run;
mod states;
mod words;

use std::fmt::Debug;
use std::future::{Future, ready};
use std::sync::atomic::{Ordering, fence};

use crossbeam_utils::CachePadded;
use dsm_abi::atomic::Update;
use dsm_abi::state;
use dsm_coherence::calls as protocol;
use dsm_coherence::{
    Block, BlockWord, Chunk, Exchange, Extent, Fabric, Gate, GroupChange, Header, Look, MarkKind, Notice,
    Part, Parts, Rank, Record, Timestamp, Word,
};
use dsm_comm::copy::copy;
use dsm_comm::segment::MemoryFile;
use dsm_comm::{Ask, CALL_BYTES, CALL_REPLY_BYTES, Own, Segments};
use dsm_threads::backoff::Backoff;

use crate::biased_lock;
use crate::blocks::MAX_BLOCK_SHIFT;
use crate::config;
use crate::geometry::Geometry;
use crate::race;
use crate::table::StateTable;
use crate::threads;
use crate::time::{self, Activity};
use crate::trace::Event;
use crate::twins::TwinPages;

use marks::Marks;

pub use block_handle::BlockHandle;
pub use run::{run, run_sync};
pub use words::{LAST_WORDS, revocations, ring_entries, rings};

/// Locks that the chunks are spread over.
const STRIPES: usize = 1024;

/// See the module documentation.
pub struct SegmentFabric {
    geometry: &'static Geometry,
    table: StateTable,
    segments: Segments,
    rank: u32,
    /// The own segment.
    own: Own,
    /// The states of the signatures, by rank.
    log_states: Box<[dsm_comm::Word]>,
    marks: Marks,
    twins: TwinPages,
    /// The memory files of the segments that are mapped, by rank.
    files: &'static [Option<MemoryFile>],
    stripes: Box<[CachePadded<biased_lock::Lock>]>,
    gates: [CachePadded<biased_lock::Lock>; 2],
    /// Parts of the protocol that are left out.
    without: Parts,
    /// See [`Fabric::ring_entries`].
    ring_entries: u64,
}

/// Orders everything before an atomic read-modify-write of this thread before everything after it.
#[inline]
fn fence_behind_atomic() {
    // On x86-64 the operation itself does.
    #[cfg(not(target_arch = "x86_64"))]
    fence(Ordering::SeqCst);
    #[cfg(target_arch = "x86_64")]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

impl SegmentFabric {
    /// The world of process `rank`.
    pub fn new(
        geometry: &'static Geometry,
        table: StateTable,
        segments: Segments,
        files: &'static [Option<MemoryFile>],
        rank: u32,
    ) -> Self {
        let own = segments.own();
        SegmentFabric {
            geometry,
            table,
            segments,
            rank,
            own,
            log_states: (0..geometry.processes())
                .map(|rank| {
                    segments.word(rank, geometry.control_offset() + words::place::LOG_STATE.offset(0))
                })
                .collect(),
            marks: Marks::new(geometry, own),
            twins: TwinPages::new(geometry, segments),
            files,
            stripes: (0..STRIPES).map(|_| CachePadded::default()).collect(),
            gates: Default::default(),
            without: config::get().protocol,
            // Where all memory is mapped nothing is read one-sidedly.
            ring_entries: if segments.are_mapped() { 0 } else { ring_entries(geometry) },
        }
    }
}

impl SegmentFabric {
    /// What the threads of the process lock a chunk by.
    #[inline]
    fn stripe(&self, chunk: Chunk) -> &biased_lock::Lock {
        &self.stripes[chunk.0 as usize % STRIPES]
    }

    /// Contents of blocks that come from a peer, as a trace has them.
    fn fetched(&self, from: Rank, extent: Extent) -> Option<Event> {
        (from.0 != self.rank)
            .then(|| Event::fetch(from, self.geometry.address(extent.first), self.bytes(extent)))
    }
}

impl Fabric for SegmentFabric {
    const SYNCHRONOUS: bool = true;
    type Exclusive<T: Send + Debug> = biased_lock::Shared<T>;
    type Guard<'a> = biased_lock::Locked<'a>;
    type Handle = BlockHandle;

    #[inline(always)]
    fn rank(&self) -> Rank {
        Rank(self.rank)
    }

    #[inline]
    fn size(&self) -> u32 {
        self.geometry.processes()
    }

    #[inline(always)]
    fn block_bytes(&self, block: Block) -> usize {
        self.geometry.block_bytes(block)
    }

    #[inline(always)]
    fn default_home(&self, block: Block) -> Rank {
        self.geometry.default_home(block)
    }

    #[inline]
    fn default_homes(&self, at: Rank, chunk: Chunk) -> u64 {
        if self.geometry.default_home(chunk.block(0)) == at { u64::MAX } else { 0 }
    }

    #[inline(always)]
    fn mark_levels(&self) -> u8 {
        self.geometry.mark_levels()
    }

    #[inline]
    fn top_mark_words(&self) -> u64 {
        self.geometry.top_mark_words()
    }

    #[inline(always)]
    fn none_marked(&self, kinds: &[MarkKind]) -> bool {
        self.marks.none_of(kinds)
    }

    #[inline(always)]
    fn load(&self, at: Rank, word: Word) -> impl Future<Output = u64> {
        ready(self.word(at.0, word).load(Ordering::SeqCst))
    }

    #[inline(always)]
    fn load_marked(&self, level: u8, index: u64) -> impl Future<Output = u64> {
        ready(self.marks.released(level, index))
    }

    #[inline(always)]
    fn load_marked_apart(&self, chunk: Chunk) -> impl Future<Output = u64> {
        ready(self.marks.released_apart(chunk))
    }

    #[inline(always)]
    fn cas(&self, at: Rank, word: Word, expected: u64, new: u64) -> impl Future<Output = u64> {
        let _store = match word {
            Word::Link(_) => self.begin_word_store(at.0, || self.offset(word)),
            _ => None,
        };
        let word = self.word(at.0, word);
        ready(match word.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(old) | Err(old) => old,
        })
    }

    #[inline(always)]
    fn fetch_or(&self, at: Rank, word: Word, bits: u64) -> impl Future<Output = u64> {
        let old = self.word(at.0, word).fetch_or(bits, Ordering::SeqCst);
        // A reader reads data after its mark.
        fence_behind_atomic();
        ready(old)
    }

    #[inline(always)]
    fn swap_own(&self, word: Word, new: u64) -> impl Future<Output = u64> {
        ready(self.own_word(word).swap(new, Ordering::SeqCst))
    }

    #[inline(always)]
    fn post_store(&self, at: Rank, word: Word, value: u64) -> impl Future<Output = ()> {
        self.word(at.0, word).store(value, Ordering::Release);
        ready(())
    }

    #[inline(always)]
    fn flush(&self, _at: Rank) -> impl Future<Output = ()> {
        // What was posted are stores. What is posted next, and tells of them, comes behind.
        fence(Ordering::Release);
        ready(())
    }

    async fn wait_change(&self, at: Rank, word: Word, seen: u64) -> u64 {
        let word = self.word(at.0, word);
        let mut backoff = Backoff::default();
        loop {
            let value = word.load(Ordering::SeqCst);
            if value != seen {
                return value;
            }
            backoff.pause();
        }
    }

    #[inline(always)]
    fn has_agent(&self, at: Rank) -> bool {
        // What looks for races remembers what it sees of a peer while it reads there.
        !self.segments.is_mapped(at.0) && !race::is_on()
    }

    async fn notify(&self, at: Rank) {
        revocations(at.0).increment();
    }

    fn call_agent(&self, at: Rank, request: &[u8], reply: &mut [u8]) -> impl Future<Output = usize> {
        let event = || Some(Event::request(at.0, request));
        ready(time::spent(Activity::Fetch, event, || self.segments.ask(at.0, request, reply)))
    }

    fn call_agent_all(
        &self,
        exchanges: &mut [Exchange<'_>],
        mut arrived: impl FnMut(usize, &[u8]),
    ) -> impl Future<Output = ()> {
        // Where contents are placed in memory that the pager has taken away, it may ask the peer for it whose replies are being taken.
        let is_paged = self.geometry.is_paged();
        let event = exchanges.first().map(|first| Event::request(first.at.0, first.request));
        let ask_all = || {
            let mut asks = Vec::with_capacity(exchanges.len());
            for Exchange { at, request, reply, .. } in exchanges.iter_mut() {
                asks.push(Ask { rank: at.0, request, reply, length: 0 });
            }
            match is_paged {
                false => self.segments.ask_all(&mut asks, &mut arrived),
                true => self.segments.ask_all(&mut asks, |_, _| ()),
            }
            asks.into_iter().map(|ask| ask.length).collect::<Vec<_>>()
        };
        let lengths = time::spent(Activity::Fetch, || event, ask_all);
        for (number, (exchange, length)) in exchanges.iter_mut().zip(lengths).enumerate() {
            exchange.length = length;
            if is_paged {
                arrived(number, &exchange.reply[..length]);
            }
        }
        ready(())
    }

    #[inline(always)]
    fn ring_entries(&self) -> u64 {
        self.ring_entries
    }

    fn look(&self, at: Rank, parts: &mut [Look<'_>]) -> impl Future<Output = bool> {
        ready(self.look_at(at, parts))
    }

    #[inline]
    fn request_bytes(&self) -> usize {
        const {
            assert!(
                CALL_BYTES >= protocol::REQUEST_BYTES + protocol::most_difference_bytes(1 << MAX_BLOCK_SHIFT)
            )
        };
        CALL_BYTES
    }

    #[inline]
    fn reply_bytes(&self) -> usize {
        CALL_REPLY_BYTES
    }

    fn existing_run(&self, extent: Extent) -> u64 {
        self.geometry.blocks().current_run(extent)
    }

    #[inline]
    fn has_chunk(&self, chunk: Chunk) -> bool {
        self.geometry.has_chunk(chunk)
    }

    #[inline(always)]
    fn fetch(&self, from: Rank, extent: Extent) -> impl Future<Output = ()> {
        let (there, here) = (self.data(from.0, extent.first), self.own_data(extent.first));
        // SAFETY: both runs of blocks have this length and lie in different segments.
        time::spent(
            Activity::Fetch,
            || self.fetched(from, extent),
            || unsafe { there.read(here, self.bytes(extent)) },
        );
        // Loads that the protocol issues after the copy must not be satisfied before it.
        fence(Ordering::Acquire);
        ready(())
    }

    #[inline]
    async fn load_bytes(&self, at: Rank, block: Block, offset: usize, bytes: usize) -> u64 {
        self.load_part(at, block, offset, bytes)
    }

    #[inline(always)]
    fn update_bytes(
        &self,
        at: Rank,
        block: Block,
        offset: usize,
        bytes: usize,
        update: Update,
    ) -> impl Future<Output = u64> {
        ready(self.update_part(at, block, (offset, bytes), update))
    }

    #[inline(always)]
    fn store_bytes(
        &self,
        at: Rank,
        block: Block,
        offset: usize,
        bytes: usize,
        value: u64,
    ) -> impl Future<Output = ()> {
        self.store_part(at, block, (offset, bytes), value);
        ready(())
    }

    #[inline(always)]
    fn snapshot(&self, from: Rank, extent: Extent, into: &mut [u8]) -> impl Future<Output = ()> {
        assert_eq!(into.len(), self.bytes(extent));
        if race::is_on() {
            race::intervals::remember(&self.segments, self.geometry, from, extent);
        }
        let read = |into: &mut [u8]| match from.0 == self.rank {
            // SAFETY: the blocks are there; `into` has their length by the assertion and is private.
            true => unsafe { copy(self.own_data(extent.first), into.as_mut_ptr(), into.len()) },
            // SAFETY: as above.
            false => unsafe { self.data(from.0, extent.first).read(into.as_mut_ptr(), into.len()) },
        };
        time::spent(Activity::Fetch, || self.fetched(from, extent), || read(into));
        fence(Ordering::Acquire);
        ready(())
    }

    fn holes(&self, at: Rank, chunk: Chunk, blocks: u64) -> impl Future<Output = u64> {
        ready(self.holes_of(at, chunk, blocks))
    }

    fn post_zero_twin(&self, to: Rank, extent: Extent) -> impl Future<Output = ()> {
        self.leave_zero_twin(to, extent);
        ready(())
    }

    fn clear(&self, extent: Extent) {
        self.make_zero(extent);
    }

    #[inline(always)]
    fn post_twin(&self, to: Rank, extent: Extent, contents: &[u8]) -> impl Future<Output = ()> {
        assert_eq!(contents.len(), self.bytes(extent));
        self.leave_twin(to.0, extent, contents);
        ready(())
    }

    #[inline]
    fn prefetch_move(&self, from: Rank, extent: Extent) {
        self.prefetch_run(from, extent)
    }

    #[inline(always)]
    fn handle(&self, at: Rank, block: Block) -> BlockHandle {
        self.handle_of(at, block)
    }

    #[inline(always)]
    fn own_handle(&self, block: Block) -> BlockHandle {
        self.handle_in(self.own.mapped(), Rank(self.rank), block, self.place_of(block))
    }

    #[inline(always)]
    fn handle_elsewhere(&self, handle: BlockHandle, at: Rank) -> BlockHandle {
        self.handle_in(self.mapped(at), at, handle.block, (handle.offset, handle.bytes))
    }

    #[inline(always)]
    fn handle_beside(&self, handle: BlockHandle, other: BlockHandle) -> BlockHandle {
        let place = (other.offset, other.bytes);
        BlockHandle { header: handle.header, ..self.handle_in(handle.segment, handle.at, other.block, place) }
    }

    #[inline(always)]
    fn target_of(&self, handle: BlockHandle) -> (Rank, Block) {
        (handle.at, handle.block)
    }

    #[inline(always)]
    fn load_by_handle(&self, handle: BlockHandle, word: BlockWord) -> impl Future<Output = u64> {
        ready(handle.word(word).load(Ordering::SeqCst))
    }

    #[inline(always)]
    fn load_mark_by_handle(&self, handle: BlockHandle, kind: MarkKind) -> impl Future<Output = u64> {
        ready(self.mark_of(handle, kind).load(Ordering::SeqCst))
    }

    #[inline(always)]
    fn value_by_handle(&self, handle: BlockHandle, offset: usize, bytes: usize) -> impl Future<Output = u64> {
        ready(self.load_there(handle, offset, bytes))
    }

    #[inline(always)]
    fn update_by_handle(
        &self,
        handle: BlockHandle,
        offset: usize,
        bytes: usize,
        update: Update,
    ) -> impl Future<Output = u64> {
        ready(self.update_there(handle, offset, bytes, update))
    }

    #[inline(always)]
    fn store_by_handle(
        &self,
        handle: BlockHandle,
        offset: usize,
        bytes: usize,
        value: u64,
    ) -> impl Future<Output = ()> {
        self.store_there(handle, offset, bytes, value);
        ready(())
    }

    #[inline(always)]
    fn try_lock_by_handle(&self, handle: BlockHandle) -> impl Future<Output = Option<u64>> {
        let word = handle.word(BlockWord::Records);
        let seen = word.load(Ordering::SeqCst);
        let locked = seen.is_multiple_of(2) && word.replace(seen, seen + 1);
        ready(locked.then_some(seen))
    }

    #[inline(always)]
    fn post_by_handle(&self, handle: BlockHandle, word: BlockWord, value: u64) -> impl Future<Output = ()> {
        let _store = self.begin_handle_store(handle, word);
        handle.word(word).store(value, Ordering::Release);
        ready(())
    }

    #[inline(always)]
    fn fetch_by_handle(&self, from: BlockHandle, to: BlockHandle) -> impl Future<Output = ()> {
        assert!(from.block == to.block && from.at != to.at);
        // SAFETY: both are places of one block, of its whole length, in different segments; the second is this process's.
        time::spent(
            Activity::Fetch,
            || self.fetched(from.at, Extent::single(from.block)),
            || unsafe { from.data.read(self.own_data_at(to.offset), from.bytes) },
        );
        fence(Ordering::Acquire);
        ready(())
    }

    #[inline(always)]
    fn own_by_handle(&self, handle: BlockHandle, word: BlockWord) -> u64 {
        handle.word(word).load(Ordering::SeqCst)
    }

    #[inline(always)]
    fn set_own_by_handle(&self, handle: BlockHandle, word: BlockWord, value: u64) {
        handle.word(word).store(value, Ordering::Release);
    }

    #[inline(always)]
    fn is_default_home(&self, handle: BlockHandle) -> bool {
        self.geometry.default_home_at(handle.offset) == handle.at
    }

    #[inline(always)]
    fn state_by_handle(&self, handle: BlockHandle) -> u8 {
        self.state_of(handle)
    }

    #[inline(always)]
    fn set_state_by_handle(&self, handle: BlockHandle, state: u8) {
        self.set_state_of(handle, state)
    }

    #[inline(always)]
    fn prefetch_part(&self, handle: BlockHandle, offset: usize) {
        handle.data.skip(offset).prefetch::<true>();
    }

    #[inline(always)]
    fn prefetch_block(&self, handle: BlockHandle) {
        self.prefetch_lines(handle)
    }

    #[inline(always)]
    fn read_records(&self, from: Rank, extent: Extent, into: &mut [Record]) -> impl Future<Output = ()> {
        self.get_records(from.0, extent, into);
        ready(())
    }

    #[inline(always)]
    fn read_header(&self, from: Rank, chunk: Chunk) -> impl Future<Output = Header> {
        let mut words = [0; 5];
        self.segments.read_words(from.0, self.offset(Word::Lease(chunk)), &mut words);
        let [lease, chunk_version, _replaced, homes, write_protected] = words;
        ready(Header { lease, chunk_version, homes, write_protected })
    }

    #[inline(always)]
    fn post_stamps(
        &self,
        to: Rank,
        extent: Extent,
        stamps: impl Fn(Block) -> [Timestamp; 2],
    ) -> impl Future<Output = ()> {
        self.put_stamps(to.0, extent, stamps);
        ready(())
    }

    #[inline(always)]
    fn post_links(&self, to: Rank, extent: Extent, link: u64) -> impl Future<Output = ()> {
        self.put_links(to.0, extent, link);
        ready(())
    }

    async fn read_notices(&self, from: Rank, buffer: u8, start: u32, count: u32, out: &mut Vec<Notice>) {
        self.get_notices(from, buffer, start, count, out);
    }

    #[inline]
    fn write_notices(&self, buffer: u8, start: u32, notices: &[Notice]) {
        self.put_notices(buffer, start, notices);
    }

    #[inline(always)]
    fn own(&self, word: Word) -> u64 {
        self.own_word(word).load(Ordering::SeqCst)
    }

    #[inline(always)]
    fn set_own(&self, word: Word, value: u64) {
        self.own_word(word).store(value, Ordering::Release);
    }

    #[inline(always)]
    fn own_records(&self, extent: Extent, into: &mut [Record]) {
        self.get_records(self.rank, extent, into);
    }

    #[inline(always)]
    fn own_links(&self, extent: Extent, into: &mut [Record]) {
        self.get_links(self.rank, extent, into);
    }

    #[inline(always)]
    fn set_own_stamps(&self, extent: Extent, stamps: impl Fn(Block) -> [Timestamp; 2]) {
        self.put_stamps(self.rank, extent, stamps);
    }

    #[inline(always)]
    fn set_own_links(&self, extent: Extent, link: u64) {
        self.put_links(self.rank, extent, link);
    }

    #[inline(always)]
    fn or_own(&self, word: Word, bits: u64) -> u64 {
        let word = self.own_word(word);
        let now = word.load(Ordering::Acquire);
        if now & bits == bits {
            return now;
        }
        if !biased_lock::holds_bias() {
            return word.fetch_or(bits, Ordering::SeqCst);
        }
        word.store(now | bits, Ordering::Release);
        now
    }

    #[inline(always)]
    fn take_own(&self, word: Word) -> u64 {
        let word = self.own_word(word);
        if !biased_lock::holds_bias() {
            return word.swap(0, Ordering::SeqCst);
        }
        let old = word.load(Ordering::Acquire);
        word.store(0, Ordering::Release);
        old
    }

    #[inline(always)]
    fn clear_own(&self, word: Word, bits: u64) -> impl Future<Output = u64> {
        ready(self.own_word(word).fetch_and(!bits, Ordering::SeqCst) & !bits)
    }

    #[inline(always)]
    fn state(&self, block: Block) -> u8 {
        // An old notice may name blocks that are not any more: nothing of them is here.
        if !self.geometry.blocks().is_current(block) {
            return state::COLD;
        }
        self.table.get(self.geometry.address(block))
    }

    #[inline]
    fn set_state(&self, extent: Extent, state: u8) {
        self.set_states(extent, state);
    }

    #[inline(always)]
    fn state_run(&self, extent: Extent) -> u64 {
        self.states_alike(extent)
    }

    #[inline]
    fn make_twin(&self, extent: Extent) {
        self.copy_to_twin(extent);
    }

    #[inline]
    fn drop_twin(&self, extent: Extent) {
        self.twins.drop(self.rank, extent);
    }

    fn free_twins(&self, extent: Extent) {
        self.twins.give_back(extent);
    }

    #[inline]
    fn changed(&self, extent: Extent) -> u64 {
        self.different(extent)
    }

    #[inline]
    fn merge(&self, extent: Extent, incoming: &[u8], from: Rank) {
        self.merge_in(extent, incoming, from);
    }

    #[inline(always)]
    fn post_diff(&self, to: Rank, extent: Extent) -> impl Future<Output = ()> {
        self.send_changes(to, extent);
        ready(())
    }

    fn visit_changes(&self, block: Block, with: impl FnMut(usize, &[u8])) {
        self.each_change(block, with);
    }

    #[inline]
    fn post_bytes(&self, to: Rank, block: Block, offset: usize, bytes: &[u8]) -> impl Future<Output = ()> {
        assert_eq!(to.0, self.rank, "differences in messages are for the process that executes them");
        self.put_bytes(block, offset, bytes);
        ready(())
    }

    fn visit_changed_groups(&self, block: Block, with: impl FnMut(&GroupChange<'_>)) {
        self.each_changed_group(block, with);
    }

    fn post_group(&self, to: Rank, block: Block, change: &GroupChange<'_>) -> impl Future<Output = ()> {
        assert_eq!(to.0, self.rank, "differences in messages are for the process that executes them");
        self.put_group(block, false, change);
        ready(())
    }

    fn differs_in(&self, block: Block, offset: usize, bytes: usize) -> bool {
        self.part_differs(block, offset, bytes)
    }

    fn patch_twin(&self, block: Block, offset: usize, bytes: &[u8]) {
        self.put_twin_bytes(block, offset, bytes);
    }

    fn patch_twin_group(&self, block: Block, change: &GroupChange<'_>) {
        self.put_group(block, true, change);
    }

    fn overwrite(&self, extent: Extent, contents: &[u8]) {
        self.replace_by(extent, contents);
    }

    #[inline(always)]
    fn published(&self, extent: Extent, _wr_ts: Timestamp) {
        self.close_intervals(extent);
    }

    #[inline(always)]
    fn lock_chunk(&self, chunk: Chunk) -> impl Future<Output = biased_lock::Locked<'_>> {
        // Its place need not be computed where nothing is locked.
        ready(if biased_lock::holds_bias() { None } else { self.stripe(chunk).lock() })
    }

    fn try_lock_chunk(&self, chunk: Chunk) -> impl Future<Output = Option<biased_lock::Locked<'_>>> {
        ready(self.stripe(chunk).try_lock())
    }

    #[inline(always)]
    fn lock_gate(&self, gate: Gate) -> impl Future<Output = biased_lock::Locked<'_>> {
        ready(match gate {
            Gate::Publish => {
                let guard = self.gates[0].lock_inside();
                // A release looks at the marks after everything the process stored.
                if guard.is_some() {
                    fence_behind_atomic()
                } else {
                    dsm_threads::fence::fence()
                }
                guard
            }
            Gate::Acquire => self.gates[1].lock_inside(),
        })
    }

    #[inline]
    fn fence(&self) {
        dsm_threads::fence::fence();
    }

    #[inline]
    fn gate_free(&self, gate: Gate) -> bool {
        let free = match gate {
            Gate::Publish => self.gates[0].is_free(),
            Gate::Acquire => self.gates[1].is_free(),
        };
        fence(Ordering::Acquire);
        free
    }

    #[inline]
    fn leaves_out(&self, part: Part) -> bool {
        self.without.has(part)
    }

    #[inline]
    fn watches_writes(&self) -> bool {
        race::is_on()
    }

    #[inline(always)]
    fn is_sole_thread(&self) -> bool {
        biased_lock::holds_bias()
    }

    #[inline]
    fn begin_exclusive(&self, wait: bool) -> bool {
        threads::begin_exclusive(wait)
    }

    #[inline]
    fn end_exclusive(&self) {
        threads::end_exclusive();
    }

    #[inline(always)]
    fn is_only_thread(&self) -> bool {
        biased_lock::holds_bias()
    }
}
