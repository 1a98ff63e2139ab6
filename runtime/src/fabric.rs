//! The protocol's world over shared memory: [`Fabric`] on mapped peers. Every operation is done when its future is first polled.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use crossbeam_utils::CachePadded;
use dsm_coherence::{Block, Chunk, Extent, Fabric, Gate, Notice, Rank, Word};
use dsm_comm::backoff::Backoff;
use dsm_comm::copy::copy;
use dsm_comm::shm::Views;
use parking_lot::{Mutex, MutexGuard};

use crate::memory::geometry::{Geometry, MARK_LEVELS, NOTICE_BYTES};
use crate::memory::table::StateTable;
use crate::sync::{layout, threads};

/// Locks that the chunks are spread over.
const STRIPES: usize = 1024;

/// See the module documentation.
pub struct ShmFabric {
    geometry: &'static Geometry,
    table: StateTable,
    views: Views,
    rank: u32,
    stripes: Box<[CachePadded<Mutex<()>>]>,
    gates: [CachePadded<Mutex<()>>; 2],
}

/// Runs a protocol function to its end on this thread.
pub fn run<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    match future.as_mut().poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("operations over shared memory never wait in the executor"),
    }
}

impl ShmFabric {
    /// The world of process `rank`.
    pub fn new(geometry: &'static Geometry, table: StateTable, views: Views, rank: u32) -> Self {
        ShmFabric {
            geometry,
            table,
            views,
            rank,
            stripes: (0..STRIPES).map(|_| CachePadded::default()).collect(),
            gates: Default::default(),
        }
    }

    #[inline]
    fn word(&self, at: u32, word: Word) -> &'static AtomicU64 {
        let g = self.geometry;
        let offset = match word {
            Word::Link(block) => g.record_offset(block),
            Word::Rd(block) => g.record_offset(block) + 8,
            Word::Wr(block) => g.record_offset(block) + 16,
            Word::Mark { kind, level, index } => g.mark_offset(kind, level, index),
            Word::Grant => g.control_offset() + layout::GRANT,
            Word::LogState => g.control_offset() + layout::LOG_STATE,
            Word::LogMin(buffer) => g.control_offset() + layout::LOG_MIN + 8 * buffer as usize,
        };
        self.views.word(at, offset)
    }

    #[inline]
    fn data(&self, at: u32, block: Block) -> *mut u8 {
        self.views.address(at, self.geometry.data_offset(block))
    }

    #[inline]
    fn twin(&self, at: u32, block: Block) -> *mut u8 {
        self.views.address(at, self.geometry.twin_offset(block))
    }

    #[inline]
    fn bytes(&self, extent: Extent) -> usize {
        extent.count as usize * self.geometry.block_bytes()
    }

    /// Word `i` of a block's bytes.
    #[inline]
    fn eight(base: *mut u8, i: usize) -> &'static AtomicU64 {
        // SAFETY: callers pass the start of a mapped, 8-byte aligned block (or twin) and stay inside it; the mapping is permanent and
        // racing accesses of the program are to be tolerated, which an atomic access does.
        unsafe { AtomicU64::from_ptr(base.cast::<u64>().add(i)) }
    }

    fn notice_words(&self, at: u32, buffer: u8, index: u32) -> [&'static AtomicU64; 4] {
        let base = self.geometry.buffer_offset(buffer) + index as usize * NOTICE_BYTES;
        std::array::from_fn(|i| self.views.word(at, base + 8 * i))
    }
}

impl Fabric for ShmFabric {
    type Guard<'a> = MutexGuard<'a, ()>;

    #[inline]
    fn rank(&self) -> Rank {
        Rank(self.rank)
    }

    fn size(&self) -> u32 {
        self.geometry.processes()
    }

    #[inline]
    fn block_bytes(&self) -> usize {
        self.geometry.block_bytes()
    }

    #[inline]
    fn default_home(&self, block: Block) -> Rank {
        self.geometry.default_home(block)
    }

    #[inline]
    fn mark_levels(&self) -> u8 {
        MARK_LEVELS as u8
    }

    fn top_mark_words(&self) -> u64 {
        self.geometry.top_mark_words()
    }

    #[inline]
    async fn load(&self, at: Rank, word: Word) -> u64 {
        self.word(at.0, word).load(Ordering::SeqCst)
    }

    #[inline]
    async fn cas(&self, at: Rank, word: Word, expected: u64, new: u64) -> u64 {
        match self.word(at.0, word).compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(old) | Err(old) => old,
        }
    }

    #[inline]
    async fn fetch_or(&self, at: Rank, word: Word, bits: u64) -> u64 {
        let old = self.word(at.0, word).fetch_or(bits, Ordering::SeqCst);
        // A reader reads data after its mark.
        std::sync::atomic::fence(Ordering::SeqCst);
        old
    }

    #[inline]
    async fn swap_own(&self, word: Word, new: u64) -> u64 {
        self.word(self.rank, word).swap(new, Ordering::SeqCst)
    }

    #[inline]
    async fn post_store(&self, at: Rank, word: Word, value: u64) {
        self.word(at.0, word).store(value, Ordering::SeqCst);
    }

    #[inline]
    async fn flush(&self, _at: Rank) {
        std::sync::atomic::fence(Ordering::SeqCst);
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

    #[inline]
    async fn fetch(&self, from: Rank, extent: Extent) {
        // SAFETY: both blocks runs are mapped for their whole length and lie in different segments.
        unsafe {
            copy(self.data(from.0, extent.first), self.data(self.rank, extent.first), self.bytes(extent))
        }
    }

    #[inline]
    async fn snapshot(&self, from: Rank, block: Block, into: &mut [u8]) {
        assert_eq!(into.len(), self.geometry.block_bytes());
        // SAFETY: the block is mapped; `into` has its length by the assertion and is private.
        unsafe { copy(self.data(from.0, block), into.as_mut_ptr(), into.len()) }
    }

    #[inline]
    async fn post_twin(&self, to: Rank, block: Block, contents: &[u8]) {
        assert_eq!(contents.len(), self.geometry.block_bytes());
        // SAFETY: the twin is mapped and has the length of `contents`; its owner does not use it while the link is pending.
        unsafe { copy(contents.as_ptr(), self.twin(to.0, block), contents.len()) }
    }

    async fn read_notices(&self, from: Rank, buffer: u8, start: u32, count: u32, out: &mut Vec<Notice>) {
        for index in start..start + count {
            let [writer, first, blocks, wr_ts] =
                self.notice_words(from.0, buffer, index).map(|w| w.load(Ordering::Relaxed));
            out.push(Notice {
                writer: Rank(writer as u32),
                extent: Extent::new(Block(first), blocks),
                wr_ts,
            });
        }
        // The state word is read again behind these.
        std::sync::atomic::fence(Ordering::SeqCst);
    }

    fn write_notices(&self, buffer: u8, start: u32, notices: &[Notice]) {
        for (index, n) in (start..).zip(notices) {
            let words = self.notice_words(self.rank, buffer, index);
            let values = [u64::from(n.writer.0), n.extent.first.0, n.extent.count, n.wr_ts];
            for (word, value) in words.into_iter().zip(values) {
                word.store(value, Ordering::Relaxed);
            }
        }
        std::sync::atomic::fence(Ordering::SeqCst);
    }

    #[inline]
    fn own(&self, word: Word) -> u64 {
        self.word(self.rank, word).load(Ordering::Acquire)
    }

    #[inline]
    fn set_own(&self, word: Word, value: u64) {
        self.word(self.rank, word).store(value, Ordering::Release);
    }

    #[inline]
    fn or_own(&self, word: Word, bits: u64) -> u64 {
        let word = self.word(self.rank, word);
        let now = word.load(Ordering::Acquire);
        if now & bits == bits { now } else { word.fetch_or(bits, Ordering::SeqCst) }
    }

    #[inline]
    fn take_own(&self, word: Word) -> u64 {
        self.word(self.rank, word).swap(0, Ordering::SeqCst)
    }

    #[inline]
    fn state(&self, block: Block) -> u8 {
        self.table.get(self.geometry.address(block))
    }

    #[inline]
    fn set_state(&self, extent: Extent, state: u8) {
        self.table.set(self.geometry.address(extent.first), self.bytes(extent), state);
    }

    #[inline]
    fn state_run(&self, extent: Extent) -> u64 {
        let state = self.state(extent.first);
        extent.blocks().take_while(|b| self.state(*b) == state).count() as u64
    }

    #[inline]
    fn make_twin(&self, extent: Extent) {
        // SAFETY: data and twin are different parts of the own segment, mapped for their whole length.
        unsafe {
            copy(self.data(self.rank, extent.first), self.twin(self.rank, extent.first), self.bytes(extent))
        }
    }

    fn drop_twin(&self, _extent: Extent) {}

    fn differs_from_twin(&self, block: Block) -> bool {
        let (own, twin) = (self.data(self.rank, block), self.twin(self.rank, block));
        (0..self.geometry.block_bytes() / 8).any(|i| {
            Self::eight(own, i).load(Ordering::Relaxed) != Self::eight(twin, i).load(Ordering::Relaxed)
        })
    }

    fn merge(&self, block: Block, incoming: &[u8], _from: Rank) {
        let (own, twin) = (self.data(self.rank, block), self.twin(self.rank, block));
        for (i, bytes) in incoming.chunks_exact(8).enumerate() {
            let new = u64::from_ne_bytes(bytes.try_into().expect("chunks of eight"));
            let twin_word = Self::eight(twin, i);
            let old = twin_word.load(Ordering::Relaxed);
            if new == old {
                continue;
            }
            for (j, (n, o)) in new.to_ne_bytes().into_iter().zip(old.to_ne_bytes()).enumerate() {
                if n != o {
                    // SAFETY: byte `8 i + j` of a mapped block. A byte wide: its neighbours may be being stored to right now.
                    unsafe { AtomicU8::from_ptr(own.add(8 * i + j)) }.store(n, Ordering::Relaxed);
                }
            }
            twin_word.store(new, Ordering::Relaxed);
        }
    }

    fn overwrite(&self, block: Block, contents: &[u8]) {
        assert_eq!(contents.len(), self.geometry.block_bytes());
        // SAFETY: the block is mapped and has the length of `contents`, which is private.
        unsafe { copy(contents.as_ptr(), self.data(self.rank, block), contents.len()) }
    }

    #[inline]
    async fn lock_chunk(&self, chunk: Chunk) -> MutexGuard<'_, ()> {
        self.stripes[chunk.0 as usize % STRIPES].lock()
    }

    async fn lock_gate(&self, gate: Gate) -> MutexGuard<'_, ()> {
        let guard = match gate {
            Gate::Publish => self.gates[0].lock(),
            Gate::Acquire => self.gates[1].lock(),
        };
        // A release looks at the marks after everything the process stored.
        std::sync::atomic::fence(Ordering::SeqCst);
        guard
    }

    fn begin_exclusive(&self) -> bool {
        threads::begin_exclusive()
    }

    fn end_exclusive(&self) {
        threads::end_exclusive();
    }
}
