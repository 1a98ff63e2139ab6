//! The protocol's world over shared memory: [`Fabric`] on mapped peers. Every operation is done when it is called.

use std::fmt::Debug;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};
use std::task::{Context, Poll, Waker};

use crossbeam_utils::CachePadded;
use dsm_abi::state;
use dsm_coherence::{
    Block, CHUNK_BLOCKS, Chunk, Extent, Fabric, Gate, Header, MarkKind, Near, Notice, Rank, Record,
    Timestamp, Word,
};
use dsm_comm::backoff::Backoff;
use dsm_comm::copy::copy;
use dsm_comm::diff;
use dsm_comm::shm::{View, Views};

use crate::alone;
use crate::guard;
use crate::memory::geometry::{Geometry, MARK_LEVELS, NOTICE_BYTES};
use crate::memory::table::StateTable;
use crate::memory::twins::TwinPages;
use crate::process;
use crate::race;
use crate::sync::{layout, threads};

/// Locks that the chunks are spread over.
const STRIPES: usize = 1024;

/// See the module documentation.
pub struct ShmFabric {
    geometry: &'static Geometry,
    table: StateTable,
    views: Views,
    rank: u32,
    /// The own segment.
    own: View,
    /// Its bit sets, by kind.
    marks: [&'static [AtomicU64]; MarkKind::ALL.len()],
    /// Their summaries by level, those of all kinds side by side.
    summaries: [&'static [[AtomicU64; MarkKind::SUMMARISED]]; MARK_LEVELS],
    twins: TwinPages,
    stripes: Box<[CachePadded<alone::Lock>]>,
    gates: [CachePadded<alone::Lock>; 2],
}

/// A block in a process's segment, with the words of its chunk.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    at: Rank,
    block: Block,
    header: &'static [AtomicU64; HEADER_WORDS],
    link: &'static AtomicU64,
    /// Lease and version.
    stamps: &'static [AtomicU64; 2],
    /// Segment offset of the data.
    offset: usize,
    bytes: usize,
    data: *mut u8,
}

/// Words of a chunk.
const HEADER_WORDS: usize = 6;

impl Place {
    #[inline(always)]
    fn word(self, word: Near) -> &'static AtomicU64 {
        match word {
            Near::Records => &self.header[0],
            Near::Lease => &self.header[1],
            Near::Floor => &self.header[2],
            Near::Replaced => &self.header[3],
            Near::Homes => &self.header[4],
            Near::Asking => &self.header[5],
            Near::Link => self.link,
            Near::Rd => &self.stamps[0],
            Near::Wr => &self.stamps[1],
        }
    }
}

/// Bytes of a block that are brought nearer before it is asked for.
const PREFETCHED: usize = 256;

/// Brings a cache line near, to be stored to if `STORE`.
#[inline]
fn prefetch<const STORE: bool>(address: *const u8) {
    // SAFETY: prefetches access nothing: any address is good.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        if STORE {
            std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
        } else {
            std::arch::asm!("prefetcht0 [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
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

/// Runs a protocol function that is no future.
#[inline(always)]
pub fn run_at_once<R>(function: impl FnOnce() -> R) -> R {
    process::assert_of_job();
    alone::inside(function)
}

/// Runs a protocol function to its end on this thread.
#[inline(always)]
pub fn run<F: Future>(future: Pin<&mut F>) -> F::Output {
    process::assert_of_job();
    let mut context = Context::from_waker(Waker::noop());
    alone::inside(|| match future.poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("operations over shared memory never wait in the executor"),
    })
}

impl ShmFabric {
    /// The world of process `rank`.
    pub fn new(geometry: &'static Geometry, table: StateTable, views: Views, rank: u32) -> Self {
        let own = views.view(rank);
        let summaries = |level: usize| match level < usize::from(geometry.mark_levels()) && level > 0 {
            true => {
                let words = geometry.mark_words(level) as usize * MarkKind::SUMMARISED;
                own.words(geometry.summaries_offset(level as u8, 0), words).as_chunks().0
            }
            false => &[][..],
        };
        ShmFabric {
            geometry,
            table,
            views,
            rank,
            own,
            marks: MarkKind::ALL
                .map(|kind| own.words(geometry.mark_offset(kind, 0, 0), geometry.mark_words(0) as usize)),
            summaries: std::array::from_fn(summaries),
            twins: TwinPages::new(geometry, views),
            stripes: (0..STRIPES).map(|_| CachePadded::default()).collect(),
            gates: Default::default(),
        }
    }

    #[inline(always)]
    fn word(&self, at: u32, word: Word) -> &'static AtomicU64 {
        self.view(at).word(self.offset(word))
    }

    #[inline(always)]
    fn own_word(&self, word: Word) -> &'static AtomicU64 {
        match word {
            Word::Mark { kind, level: 0, index } => &self.marks[kind as usize][index as usize],
            Word::Mark { kind, level, index } => {
                &self.summaries[usize::from(level) % MARK_LEVELS][index as usize][kind as usize]
            }
            _ => self.own.word(self.offset(word)),
        }
    }

    #[inline(always)]
    fn view(&self, at: u32) -> View {
        if at == self.rank { self.own } else { self.views.view(at) }
    }

    // Which word is known where it is called: nothing but an addition is left.
    #[inline(always)]
    fn offset(&self, word: Word) -> usize {
        let g = self.geometry;
        match word {
            Word::Link(block) => g.link_offset(block),
            Word::Rd(block) => g.stamps_offset(block),
            Word::Wr(block) => g.stamps_offset(block) + 8,
            Word::Records(chunk) => g.header_offset(chunk),
            Word::Lease(chunk) => g.header_offset(chunk) + 8,
            Word::Floor(chunk) => g.header_offset(chunk) + 16,
            Word::Replaced(chunk) => g.header_offset(chunk) + 24,
            Word::Homes(chunk) => g.header_offset(chunk) + 32,
            Word::Asking(chunk) => g.header_offset(chunk) + 40,
            Word::Mark { kind, level, index } => g.mark_offset(kind, level, index),
            Word::Grant => g.control_offset() + layout::GRANT,
            Word::LogState => g.control_offset() + layout::LOG_STATE,
            Word::Cursor(peer) => g.control_offset() + layout::CURSORS + 8 * peer.0 as usize,
            Word::LogMin(buffer) => g.control_offset() + layout::LOG_MIN + 8 * buffer as usize,
        }
    }

    #[inline(always)]
    fn data(&self, at: u32, block: Block) -> *mut u8 {
        self.view(at).address(self.geometry.data_offset(block))
    }

    #[inline]
    fn twin(&self, at: u32, block: Block) -> *mut u8 {
        self.views.address(at, self.geometry.twin_offset(block))
    }

    #[inline]
    fn bytes(&self, extent: Extent) -> usize {
        extent.count as usize * self.geometry.block_bytes(extent.first)
    }

    /// The links of an extent in one chunk.
    #[inline(always)]
    fn links(&self, at: u32, extent: Extent) -> &'static [AtomicU64] {
        self.view(at).words(self.geometry.link_offset(extent.first), extent.count as usize)
    }

    /// Leases and versions of an extent in one chunk.
    #[inline(always)]
    fn stamps(&self, at: u32, extent: Extent) -> &'static [AtomicU64] {
        self.view(at).words(self.geometry.stamps_offset(extent.first), 2 * extent.count as usize)
    }

    #[inline(always)]
    fn get_links(&self, at: u32, extent: Extent, into: &mut [Record]) {
        for (record, link) in into.iter_mut().zip(self.links(at, extent)) {
            record.link = link.load(Ordering::Acquire);
        }
    }

    #[inline(always)]
    fn get_records(&self, at: u32, extent: Extent, into: &mut [Record]) {
        self.get_links(at, extent, into);
        for (record, stamps) in into.iter_mut().zip(self.stamps(at, extent).chunks_exact(2)) {
            record.rd_ts = stamps[0].load(Ordering::Acquire);
            record.wr_ts = stamps[1].load(Ordering::Acquire);
        }
    }

    #[inline(always)]
    fn put_stamps(&self, at: u32, extent: Extent, stamps: &[Record]) {
        for (words, record) in self.stamps(at, extent).chunks_exact(2).zip(stamps) {
            words[0].store(record.rd_ts, Ordering::Release);
            words[1].store(record.wr_ts, Ordering::Release);
        }
    }

    #[inline(always)]
    fn put_links(&self, at: u32, extent: Extent, value: u64) {
        for link in self.links(at, extent) {
            link.store(value, Ordering::Release);
        }
    }

    #[inline]
    fn notice_words(&self, at: u32, buffer: u8, index: u32) -> &'static [AtomicU64] {
        let base = self.geometry.buffer_offset(buffer) + index as usize * NOTICE_BYTES;
        self.view(at).words(base, NOTICE_BYTES / 8)
    }
}

impl Fabric for ShmFabric {
    const AT_ONCE: bool = true;
    type Exclusive<T: Send + Debug> = alone::Shared<T>;
    type Guard<'a> = alone::Locked<'a>;
    type Place = Place;

    #[inline(always)]
    fn rank(&self) -> Rank {
        Rank(self.rank)
    }

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

    fn top_mark_words(&self) -> u64 {
        self.geometry.top_mark_words()
    }

    #[inline(always)]
    fn load(&self, at: Rank, word: Word) -> impl Future<Output = u64> {
        ready(self.word(at.0, word).load(Ordering::SeqCst))
    }

    #[inline(always)]
    fn load_marked(&self, level: u8, index: u64) -> impl Future<Output = u64> {
        debug_assert!(level > 0, "only summaries lie side by side");
        let words = &self.summaries[usize::from(level) % MARK_LEVELS][index as usize];
        let marked = MarkKind::RELEASED.map(|kind| words[kind as usize].load(Ordering::SeqCst));
        ready(marked[0] | marked[1] | marked[2])
    }

    #[inline(always)]
    fn cas(&self, at: Rank, word: Word, expected: u64, new: u64) -> impl Future<Output = u64> {
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
    fn fetch(&self, from: Rank, extent: Extent) -> impl Future<Output = ()> {
        // SAFETY: both blocks runs are mapped for their whole length and lie in different segments.
        unsafe {
            copy(self.data(from.0, extent.first), self.data(self.rank, extent.first), self.bytes(extent))
        }
        ready(())
    }

    #[inline]
    async fn load_bytes(&self, at: Rank, block: Block, offset: usize, bytes: usize) -> u64 {
        assert!(offset + bytes <= self.geometry.block_bytes(block) && offset.is_multiple_of(bytes));
        let place = self.data(at.0, block).wrapping_add(offset);
        // SAFETY: inside a mapped block and aligned by the assertion, block starts being aligned; the access is atomic.
        unsafe {
            match bytes {
                1 => AtomicU8::from_ptr(place).load(Ordering::SeqCst).into(),
                2 => AtomicU16::from_ptr(place.cast()).load(Ordering::SeqCst).into(),
                4 => AtomicU32::from_ptr(place.cast()).load(Ordering::SeqCst).into(),
                8 => AtomicU64::from_ptr(place.cast()).load(Ordering::SeqCst),
                _ => unreachable!("atomics of {bytes} bytes are not read at their home"),
            }
        }
    }

    #[inline(always)]
    fn snapshot(&self, from: Rank, extent: Extent, into: &mut [u8]) -> impl Future<Output = ()> {
        assert_eq!(into.len(), self.bytes(extent));
        if race::is_on() {
            race::intervals::remember(&self.views, self.geometry, from, extent);
        }
        // SAFETY: the blocks are mapped; `into` has their length by the assertion and is private.
        unsafe { copy(self.data(from.0, extent.first), into.as_mut_ptr(), into.len()) }
        ready(())
    }

    #[inline(always)]
    fn post_twin(&self, to: Rank, extent: Extent, contents: &[u8]) -> impl Future<Output = ()> {
        assert_eq!(contents.len(), self.bytes(extent));
        self.twins.use_them(to.0, extent);
        // SAFETY: the twins are mapped and have the length of `contents`; their owner does not use them while the links are pending.
        unsafe { copy(contents.as_ptr(), self.twin(to.0, extent.first), contents.len()) }
        ready(())
    }

    #[inline]
    fn expect_move(&self, from: Rank, extent: Extent) {
        let g = self.geometry;
        let (there, here) = (self.data(from.0, extent.first), self.data(self.rank, extent.first));
        for at in (0..self.bytes(extent).min(PREFETCHED)).step_by(64) {
            prefetch::<false>(there.wrapping_add(at));
            prefetch::<true>(here.wrapping_add(at));
        }
        for at in [from.0, self.rank] {
            let records = [
                g.header_offset(extent.first.chunk()),
                g.link_offset(extent.first),
                g.stamps_offset(extent.first),
            ];
            let view = self.view(at);
            records.into_iter().for_each(|offset| prefetch::<true>(view.address(offset)));
        }
    }

    #[inline(always)]
    fn place(&self, at: Rank, block: Block) -> Place {
        let (g, view) = (self.geometry, self.view(at.0));
        let chunk = block.chunk();
        assert!(chunk.0 < g.mark_words(0), "there is no such block");
        let offset = g.data_offset(block);
        let words = |offset: usize| view.start().wrapping_add(offset);
        // SAFETY: every segment has the words of all chunks and of their blocks, aligned; it is mapped for good, and they are only accessed atomically.
        let (header, link, stamps) = unsafe {
            (
                &*words(g.header_offset(chunk)).cast(),
                AtomicU64::from_ptr(words(g.link_offset(block)).cast()),
                &*words(g.stamps_offset(block)).cast(),
            )
        };
        Place { at, block, header, link, stamps, offset, bytes: g.block_bytes(block), data: words(offset) }
    }

    #[inline(always)]
    fn named(&self, place: Place) -> (Rank, Block) {
        (place.at, place.block)
    }

    #[inline(always)]
    fn load_near(&self, place: Place, word: Near) -> impl Future<Output = u64> {
        ready(place.word(word).load(Ordering::SeqCst))
    }

    #[inline(always)]
    fn try_lock_near(&self, place: Place) -> impl Future<Output = Option<u64>> {
        let word = place.word(Near::Records);
        let seen = word.load(Ordering::SeqCst);
        let locked = seen.is_multiple_of(2)
            && word.compare_exchange(seen, seen + 1, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        ready(locked.then_some(seen))
    }

    #[inline(always)]
    fn post_near(&self, place: Place, word: Near, value: u64) -> impl Future<Output = ()> {
        place.word(word).store(value, Ordering::Release);
        ready(())
    }

    #[inline(always)]
    fn fetch_near(&self, from: Place, to: Place) -> impl Future<Output = ()> {
        assert!(from.block == to.block && from.at != to.at);
        // SAFETY: both are places of one block, mapped for its whole length, in different segments.
        unsafe { copy(from.data, to.data, from.bytes) }
        ready(())
    }

    #[inline(always)]
    fn own_near(&self, place: Place, word: Near) -> u64 {
        place.word(word).load(Ordering::SeqCst)
    }

    #[inline(always)]
    fn set_own_near(&self, place: Place, word: Near, value: u64) {
        place.word(word).store(value, Ordering::Release);
    }

    #[inline(always)]
    fn default_near(&self, place: Place) -> bool {
        self.geometry.default_home_at(place.offset) == place.at
    }

    #[inline(always)]
    fn state_near(&self, place: Place) -> u8 {
        if !self.geometry.blocks().is_current(place.block) {
            return state::COLD;
        }
        self.table.get(self.geometry.address_at(place.offset))
    }

    #[inline(always)]
    fn set_state_near(&self, place: Place, state: u8) {
        match guard::enabled() {
            true => self.set_state(Extent::single(place.block), state),
            false => self.table.set(self.geometry.address_at(place.offset), place.bytes, state),
        }
    }

    #[inline(always)]
    fn expect_near(&self, place: Place) {
        prefetch::<true>(place.word(Near::Records).as_ptr().cast());
        prefetch::<true>(place.word(Near::Link).as_ptr().cast());
        match place.at.0 == self.rank {
            true => {
                prefetch::<true>(place.word(Near::Rd).as_ptr().cast());
                prefetch::<true>(place.data);
            }
            // Mostly they are only read.
            false => {
                prefetch::<false>(place.word(Near::Rd).as_ptr().cast());
                prefetch::<false>(place.data);
            }
        }
    }

    #[inline(always)]
    fn read_records(&self, from: Rank, extent: Extent, into: &mut [Record]) -> impl Future<Output = ()> {
        self.get_records(from.0, extent, into);
        ready(())
    }

    #[inline(always)]
    fn read_header(&self, from: Rank, chunk: Chunk) -> impl Future<Output = Header> {
        let word = |word| self.word(from.0, word).load(Ordering::Acquire);
        ready(Header {
            lease: word(Word::Lease(chunk)),
            floor: word(Word::Floor(chunk)),
            homes: word(Word::Homes(chunk)),
            asking: word(Word::Asking(chunk)),
        })
    }

    #[inline(always)]
    fn post_stamps(&self, to: Rank, extent: Extent, stamps: &[Record]) -> impl Future<Output = ()> {
        self.put_stamps(to.0, extent, stamps);
        ready(())
    }

    #[inline(always)]
    fn post_links(&self, to: Rank, extent: Extent, link: u64) -> impl Future<Output = ()> {
        self.put_links(to.0, extent, link);
        ready(())
    }

    async fn read_notices(&self, from: Rank, buffer: u8, start: u32, count: u32, out: &mut Vec<Notice>) {
        for index in start..start + count {
            let words = self.notice_words(from.0, buffer, index);
            let [writer, first, blocks, wr_ts] = std::array::from_fn(|i| words[i].load(Ordering::Relaxed));
            out.push(Notice {
                writer: Rank(writer as u32),
                extent: Extent::new(Block(first), blocks),
                wr_ts,
            });
        }
        // The state word is read again behind these.
        fence(Ordering::Acquire);
    }

    fn write_notices(&self, buffer: u8, start: u32, notices: &[Notice]) {
        // Whoever still reads the buffer's former contents and sees these finds another sequence number afterwards.
        std::sync::atomic::fence(Ordering::Release);
        for (index, n) in (start..).zip(notices) {
            let words = self.notice_words(self.rank, buffer, index);
            let values = [u64::from(n.writer.0), n.extent.first.0, n.extent.count, n.wr_ts];
            for (word, value) in words.iter().zip(values) {
                word.store(value, Ordering::Relaxed);
            }
        }
        fence(Ordering::Release);
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
    fn set_own_stamps(&self, extent: Extent, stamps: &[Record]) {
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
        if !alone::is_alone() {
            return word.fetch_or(bits, Ordering::SeqCst);
        }
        word.store(now | bits, Ordering::Release);
        now
    }

    #[inline(always)]
    fn take_own(&self, word: Word) -> u64 {
        let word = self.own_word(word);
        if !alone::is_alone() {
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
        let (address, bytes) = (self.geometry.address(extent.first), self.bytes(extent));
        if !guard::enabled() {
            self.table.set(address, bytes, state);
            return;
        }
        guard::states_changed(address, bytes, Some(state));
        self.table.set(address, bytes, state);
        guard::states_changed(address, bytes, None);
    }

    #[inline(always)]
    fn state_run(&self, extent: Extent) -> u64 {
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
        // A notice may name blocks of a size that this process is about to be told of; over them lie smaller ones, in different states.
        (lines / block_lines).max(1) as u64
    }

    #[inline]
    fn make_twin(&self, extent: Extent) {
        self.twins.use_them(self.rank, extent);
        // SAFETY: data and twin are different parts of the own segment, mapped for their whole length.
        unsafe {
            copy(self.data(self.rank, extent.first), self.twin(self.rank, extent.first), self.bytes(extent))
        }
        if race::is_on() {
            extent
                .blocks()
                .for_each(|block| race::intervals::open(&self.views, self.geometry, self.rank, block));
        }
    }

    fn drop_twin(&self, _extent: Extent) {}

    fn free_twins(&self, extent: Extent) {
        self.twins.give_back(self.rank, extent);
    }

    fn changed(&self, extent: Extent) -> u64 {
        let bytes = self.geometry.block_bytes(extent.first);
        let (own, twin) = (self.data(self.rank, extent.first), self.twin(self.rank, extent.first));
        (0..extent.count as usize).fold(0, |mask, i| {
            // SAFETY: block number `i` of the extent and its twin are mapped and aligned to their size.
            let same = unsafe { diff::equal(own.add(i * bytes), twin.add(i * bytes), bytes) };
            mask | u64::from(!same) << ((extent.first.0 % CHUNK_BLOCKS) as usize + i)
        })
    }

    fn merge(&self, extent: Extent, incoming: &[u8], from: Rank) {
        assert_eq!(incoming.len(), self.bytes(extent));
        if race::is_on() {
            let bytes = self.geometry.block_bytes(extent.first);
            for (block, part) in extent.blocks().zip(incoming.chunks_exact(bytes)) {
                race::check_merge(&self.views, self.geometry, block, part, (self.rank, from.0));
            }
        }
        let (own, twin) = (self.data(self.rank, extent.first), self.twin(self.rank, extent.first));
        // SAFETY: blocks and twins are mapped, aligned and as long as `incoming`, which is private; the twins are used by who holds the chunk.
        unsafe { diff::merge(own, twin, incoming) }
    }

    fn overwrite(&self, extent: Extent, contents: &[u8]) {
        assert_eq!(contents.len(), self.bytes(extent));
        // SAFETY: the blocks are mapped and have the length of `contents`, which is private.
        unsafe { copy(contents.as_ptr(), self.data(self.rank, extent.first), contents.len()) }
        if race::is_on() {
            // SAFETY: so are their twins.
            unsafe { copy(contents.as_ptr(), self.twin(self.rank, extent.first), contents.len()) }
        }
    }

    #[inline]
    fn published(&self, extent: Extent, _wr_ts: Timestamp) {
        if race::is_on() {
            for block in extent.blocks() {
                let ended = self.state(block) != state::WRITABLE;
                race::intervals::close(&self.views, self.geometry, self.rank, block, ended);
            }
        }
    }

    #[inline(always)]
    fn lock_chunk(&self, chunk: Chunk) -> impl Future<Output = alone::Locked<'_>> {
        ready(self.stripes[chunk.0 as usize % STRIPES].lock())
    }

    #[inline(always)]
    fn lock_gate(&self, gate: Gate) -> impl Future<Output = alone::Locked<'_>> {
        ready(match gate {
            Gate::Publish => {
                let guard = self.gates[0].lock_inside();
                // A release looks at the marks after everything the process stored.
                if guard.is_some() {
                    fence_behind_atomic()
                } else {
                    alone::fence()
                }
                guard
            }
            Gate::Acquire => self.gates[1].lock_inside(),
        })
    }

    #[inline]
    fn fence(&self) {
        std::sync::atomic::fence(Ordering::SeqCst);
    }

    #[inline]
    fn gate_free(&self, gate: Gate) -> bool {
        let free = match gate {
            Gate::Publish => self.gates[0].is_free(),
            Gate::Acquire => self.gates[1].is_free(),
        };
        std::sync::atomic::fence(Ordering::Acquire);
        free
    }

    #[inline]
    fn watches_writes(&self) -> bool {
        race::is_on()
    }

    #[inline(always)]
    fn is_alone(&self) -> bool {
        alone::is_alone()
    }

    fn begin_exclusive(&self, wait: bool) -> bool {
        threads::begin_exclusive(wait)
    }

    fn end_exclusive(&self) {
        threads::end_exclusive();
    }
}
