//! The segments of all processes of a job.

use std::fmt::{self, Debug, Formatter};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Lost;
use crate::place::{Bytes, Half, MappedBytes, Word};
use crate::segment::{self, MemoryFile, SegmentError};
use crate::transport::{Ask, Look, Section, Transport, install, is_far, remote};

/// Segments are mapped, or would be, at multiples of this distance.
const ALIGNMENT: usize = 1 << 21;
/// Words of a request.
const PIECE: usize = 128;

/// The segments of all processes. `Copy`, because it is only addresses; the mappings last as long as the process.
#[derive(Clone, Copy)]
pub struct Segments {
    base: *mut u8,
    stride: usize,
    bytes: usize,
    count: u32,
    rank: u32,
}

// SAFETY: the addresses are the same for all threads, and the mappings are never removed.
unsafe impl Send for Segments {}
// SAFETY: as above; all access is by atomics or by `unsafe` functions whose callers answer for races.
unsafe impl Sync for Segments {}

/// Without addresses.
impl Debug for Segments {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Segments { count, rank, bytes, .. } = self;
        f.debug_struct("Segments")
            .field("count", count)
            .field("rank", rank)
            .field("bytes", bytes)
            .finish_non_exhaustive()
    }
}

impl Segments {
    /// Maps the segments of `bytes` bytes, rank order, from address `base` on. Those without a file are there after [`Segments::connect`].
    ///
    /// # Safety
    /// The address range belongs to the caller; every file has at least `bytes` bytes and keeps them.
    pub unsafe fn map(
        files: &[Option<MemoryFile>],
        rank: u32,
        base: usize,
        bytes: usize,
    ) -> Result<Segments, SegmentError> {
        let segments = Segments::new(files.len() as u32, rank, base, bytes);
        for (i, file) in files.iter().enumerate() {
            let Some(file) = file else { continue };
            // SAFETY: the caller's promise.
            unsafe { file.map_at(base + i * segments.stride, bytes, 0)? };
        }
        Ok(segments)
    }

    /// Reaches all segments through a transport from now on but those of the ranks `mapped`. `section` runs an operation where no signal handler can interrupt it.
    /// To be called once, by the only thread there is.
    ///
    /// # Safety
    /// These and no others have been mapped; the addresses of the others are used for nothing else.
    pub unsafe fn connect(&self, mapped: Range<u32>, transport: Box<dyn Transport>, section: Section) {
        assert!(mapped.contains(&self.rank) && mapped.end <= self.count, "{mapped:?} of {self:?}");
        install(transport, section, (self.base as usize, self.stride, self.count), mapped);
    }

    /// The segment of a job of one process: memory of `bytes` bytes, zeros, that nobody gives back.
    ///
    /// # Errors
    /// If there is none.
    pub fn single(bytes: usize) -> Result<Segments, SegmentError> {
        Ok(Segments::new(1, 0, segment::reserve(bytes)? as usize, bytes))
    }

    fn new(count: u32, rank: u32, base: usize, bytes: usize) -> Segments {
        assert!(base.is_multiple_of(8) && bytes.is_multiple_of(8), "segments are whole words");
        assert!(rank < count, "no process {rank} of {count}");
        let stride = bytes.next_multiple_of(ALIGNMENT);
        Segments { base: base as *mut u8, stride, bytes, count, rank }
    }

    #[inline(always)]
    fn start(&self, rank: u32) -> *mut u8 {
        assert!(rank < self.count, "no segment {rank}");
        self.base.wrapping_add(rank as usize * self.stride)
    }

    #[inline(always)]
    fn address(&self, rank: u32, offset: usize) -> *mut u8 {
        assert!(offset < self.bytes, "the segment has no such byte");
        self.start(rank).wrapping_add(offset)
    }

    /// Whether all of them are mapped.
    pub fn are_mapped(&self) -> bool {
        (0..self.count).all(|rank| self.is_mapped(rank))
    }

    /// Whether the segment is mapped.
    pub fn is_mapped(&self, rank: u32) -> bool {
        !is_far(self.start(rank) as usize)
    }

    /// Where a part of a segment is mapped, for the system: nobody accesses it by these. `None` if the segment is not.
    pub fn mapped_addresses(&self, rank: u32, part: Range<usize>) -> Option<Range<usize>> {
        assert!(part.start <= part.end && part.end <= self.bytes, "the segment has no such part");
        let start = self.start(rank) as usize;
        (!is_far(start)).then(|| start + part.start..start + part.end)
    }

    /// Has a process whose segment is not mapped execute a call; returns the length of the reply, for which there is space for
    /// [`CALL_REPLY_BYTES`](crate::CALL_REPLY_BYTES).
    pub fn ask(&self, rank: u32, request: &[u8], reply: &mut [u8]) -> usize {
        self.call(rank, |transport| transport.ask(rank, request, reply))
    }

    /// Looks at a segment that is not mapped without the processors of its owner, one part after the other; words and bytes of a part are read in any order. Whether that was possible: otherwise nothing was done.
    ///
    /// # Safety
    /// Where bytes go is writable, and nobody else uses it meanwhile.
    pub unsafe fn look(&self, rank: u32, parts: &mut [Look<'_>]) -> bool {
        // SAFETY: the caller's promise.
        self.call(rank, |transport| unsafe { transport.look(rank, parts) })
    }

    /// Has processes whose segments are not mapped execute calls, each its own in their order, and beside each other; returns when all have been executed. `arrived` gets each reply as soon as it is
    /// here, with the place of the call among these; it may neither have anything executed at another process, nor wait for somebody who does.
    pub fn ask_all(&self, asks: &mut [Ask<'_>], mut arrived: impl FnMut(usize, &[u8])) {
        if let Some(Ask { rank, .. }) = asks.first() {
            self.call(*rank, |transport| transport.ask_all(asks, &mut arrived));
        }
    }

    /// Has a process whose segment is not mapped execute a call of at most [`POST_BYTES`](crate::POST_BYTES) whose reply nobody wants, before what this thread has it do next. It
    /// need not be placed when this returns.
    pub fn post(&self, rank: u32, request: &[u8]) {
        self.call(rank, |transport| transport.post(rank, request));
    }

    /// What a process whose segment is not mapped said of itself when it started; `None` of others.
    pub fn identity(&self, rank: u32) -> Option<u64> {
        let place = remote(self.start(rank) as usize)?;
        Some(place.call(|transport| transport.identity(rank)))
    }

    /// Waits until a process has ended, if its segment is not mapped: until then it may want something of the own one.
    pub fn wait_end(&self, rank: u32) {
        if let Some(place) = remote(self.start(rank) as usize) {
            place.wait(|transport| {
                transport.wait_end(rank);
                Ok(())
            });
        }
    }

    /// The own segment.
    #[inline(always)]
    pub fn own(&self) -> Own {
        Own { base: self.start(self.rank), bytes: self.bytes }
    }

    /// A 64-bit word; `offset` is a multiple of eight.
    #[inline(always)]
    pub fn word(&self, rank: u32, offset: usize) -> Word {
        debug_assert!(offset.is_multiple_of(8));
        // SAFETY: inside the segment, which has a multiple of eight bytes, and aligned.
        unsafe { Word::at(self.address(rank, offset & !7)) }
    }

    /// A 32-bit word; `offset` is a multiple of four.
    #[inline(always)]
    pub fn half(&self, rank: u32, offset: usize) -> Half {
        debug_assert!(offset.is_multiple_of(4));
        // SAFETY: as for `word`.
        unsafe { Half::at(self.address(rank, offset & !3)) }
    }

    /// The bytes from an offset on.
    #[inline(always)]
    pub fn bytes(&self, rank: u32, offset: usize) -> Bytes {
        Bytes::at(self.address(rank, offset))
    }

    /// A segment that is mapped; `None` if it is not.
    #[inline(always)]
    pub fn mapped(&self, rank: u32) -> Option<Mapped> {
        let base = self.start(rank);
        (!is_far(base as usize)).then_some(Mapped { base, bytes: self.bytes })
    }

    #[inline(always)]
    fn mapped_words(&self, rank: u32, offset: usize, count: usize) -> Option<&'static [AtomicU64]> {
        debug_assert!(offset.is_multiple_of(8));
        let start = self.address(rank, offset & !7);
        assert!(count <= 1 || 8 * count <= self.bytes - offset, "the segment has no such words");
        // SAFETY: the mapping begins at a page and is a multiple of eight bytes long, so the words lie inside it, aligned; it lasts as long as the process
        // and is only ever accessed atomically.
        (!is_far(start as usize)).then(|| unsafe { std::slice::from_raw_parts(start.cast(), count) })
    }

    /// Reads `count` groups of `N` words one after the other and hands each on, with its number; nothing behind is read before them.
    #[inline(always)]
    pub fn load_groups<const N: usize>(
        &self,
        rank: u32,
        offset: usize,
        count: usize,
        mut take: impl FnMut(usize, [u64; N]),
    ) {
        let Some(words) = self.mapped_words(rank, offset, N * count) else {
            return self.load_remote(rank, offset, count, take);
        };
        for (i, group) in words.as_chunks::<N>().0.iter().enumerate() {
            take(i, group.each_ref().map(|word| word.load(Ordering::Acquire)));
        }
    }

    #[cold]
    fn load_remote<const N: usize>(
        &self,
        rank: u32,
        offset: usize,
        count: usize,
        mut take: impl FnMut(usize, [u64; N]),
    ) {
        let mut words = [0; PIECE];
        for first in (0..count).step_by(PIECE / N) {
            let words = &mut words[..N * (PIECE / N).min(count - first)];
            self.call(rank, |transport| transport.read_words(rank, offset + 8 * N * first, words));
            words.as_chunks::<N>().0.iter().enumerate().for_each(|(i, group)| take(first + i, *group));
        }
    }

    /// Writes `count` groups of `N` words one after the other, each as `give` makes it from its number; nothing in front is written after them.
    #[inline(always)]
    pub fn store_groups<const N: usize>(
        &self,
        rank: u32,
        offset: usize,
        count: usize,
        mut give: impl FnMut(usize) -> [u64; N],
    ) {
        let Some(words) = self.mapped_words(rank, offset, N * count) else {
            return self.store_remote(rank, offset, count, give);
        };
        for (i, group) in words.as_chunks::<N>().0.iter().enumerate() {
            for (word, value) in group.iter().zip(give(i)) {
                word.store(value, Ordering::Release);
            }
        }
    }

    #[cold]
    fn store_remote<const N: usize>(
        &self,
        rank: u32,
        offset: usize,
        count: usize,
        mut give: impl FnMut(usize) -> [u64; N],
    ) {
        let mut words = [0; PIECE];
        for first in (0..count).step_by(PIECE / N) {
            let words = &mut words[..N * (PIECE / N).min(count - first)];
            let groups = words.as_chunks_mut::<N>().0;
            groups.iter_mut().enumerate().for_each(|(i, group)| *group = give(first + i));
            self.call(rank, |transport| transport.write_words(rank, offset + 8 * N * first, words));
        }
    }

    /// [`Segments::load_groups`] to a slice.
    #[inline(always)]
    pub fn read_words(&self, rank: u32, offset: usize, into: &mut [u64]) {
        self.load_groups(rank, offset, into.len(), |i, [value]| into[i] = value);
    }

    /// [`Segments::store_groups`] of a slice.
    #[inline(always)]
    pub fn write_words(&self, rank: u32, offset: usize, words: &[u64]) {
        self.store_groups(rank, offset, words.len(), |i| [words[i]]);
    }

    #[cold]
    fn call<R>(&self, rank: u32, operation: impl FnOnce(&dyn Transport) -> Result<R, Lost>) -> R {
        remote(self.start(rank) as usize).expect("the segment is not mapped").call(operation)
    }
}

/// The segment of some process, which is mapped. The address stays inside this crate.
#[derive(Clone, Copy)]
pub struct Mapped {
    base: *mut u8,
    bytes: usize,
}

// SAFETY: as for `Segments`.
unsafe impl Send for Mapped {}
// SAFETY: as for `Segments`.
unsafe impl Sync for Mapped {}

impl Debug for Mapped {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapped").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Mapped {
    /// The bytes from an offset on, which the segment has: nothing looks whether it does.
    #[inline(always)]
    pub fn bytes(&self, offset: usize) -> MappedBytes {
        debug_assert!(offset < self.bytes, "the segment has no such byte");
        MappedBytes::at(self.base.wrapping_add(offset))
    }
}

/// The segment of this process: always mapped.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    base: *mut u8,
    bytes: usize,
}

// SAFETY: as for `Segments`.
unsafe impl Send for Own {}
// SAFETY: as for `Segments`.
unsafe impl Sync for Own {}

impl Own {
    /// The whole of it.
    #[inline(always)]
    pub fn mapped(&self) -> Mapped {
        Mapped { base: self.base, bytes: self.bytes }
    }

    /// Address of a byte of the segment.
    #[inline(always)]
    pub fn address(&self, offset: usize) -> *mut u8 {
        assert!(offset < self.bytes, "the segment has no such byte");
        self.base.wrapping_add(offset)
    }

    /// The 64-bit words from an offset, a multiple of eight, on; none is beyond the end.
    #[inline(always)]
    pub fn words(&self, offset: usize, count: usize) -> &'static [AtomicU64] {
        debug_assert!(offset.is_multiple_of(8));
        // Not by an assertion: this is where nearly all time of short operations would go.
        let start = self.address(offset & !7).cast::<AtomicU64>();
        assert!(count <= 1 || 8 * count <= self.bytes - offset, "the segment has no such words");
        // SAFETY: the mapping begins at a page and is a multiple of eight bytes long, so the words lie inside it, aligned; it lasts as long as the process
        // and is only ever accessed atomically.
        unsafe { std::slice::from_raw_parts(start, count) }
    }

    /// The 64-bit word at an offset, a multiple of eight.
    #[inline(always)]
    pub fn word(&self, offset: usize) -> &'static AtomicU64 {
        &self.words(offset, 1)[0]
    }
}
