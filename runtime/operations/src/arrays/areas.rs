//! The areas of relocatable arrays in the segments.

use std::cell::RefCell;
use std::sync::atomic::{Ordering, fence};

use dsm_arrays::{Memory, Rank};
use dsm_comm::copy::copy;
use dsm_comm::{CALL_REPLY_BYTES, Segments, segment};
use dsm_threads::backoff::Backoff;

use crate::memory::geometry::PAGE;

thread_local! {
    /// Where replies to calls go.
    static REPLY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Memory of the program, as long as the operation that it was passed to expects.
#[derive(Debug)]
pub struct ProgramMemory(*mut u8);

impl ProgramMemory {
    /// Memory that starts at an address.
    ///
    /// # Safety
    /// It is there for the operation that it is passed to: readable where that copies from it, writable where it copies to it.
    pub unsafe fn new(start: *mut u8) -> ProgramMemory {
        ProgramMemory(start)
    }
}

/// The areas of all processes, which begin at the same offset of their segments.
#[derive(Clone, Copy, Debug)]
pub struct Areas {
    segments: Segments,
    start: usize,
    bytes: usize,
    rank: u32,
    processes: u32,
    caches: bool,
}

impl Areas {
    /// The areas that begin at an offset.
    pub fn new(
        segments: Segments,
        (start, bytes): (usize, usize),
        (rank, processes): (u32, u32),
        caches: bool,
    ) -> Areas {
        Areas { segments, start, bytes, rank, processes, caches }
    }

    /// Offset in the segment of a range, which has to be in the area.
    #[inline]
    fn offset(&self, offset: usize, bytes: usize) -> usize {
        let is_inside = offset.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        assert!(is_inside, "no {bytes} bytes at {offset:#x} in an area of {}", self.bytes);
        self.start + offset
    }

    /// Address of an own range.
    fn own(&self, offset: usize, bytes: usize) -> *mut u8 {
        self.segments.own().address(self.offset(offset, bytes))
    }
}

impl Memory for Areas {
    type Buffer = ProgramMemory;

    fn rank(&self) -> Rank {
        Rank(self.rank)
    }

    fn processes(&self) -> u32 {
        self.processes
    }

    fn area_bytes(&self) -> usize {
        self.bytes
    }

    #[inline]
    fn asks(&self, at: Rank) -> bool {
        !self.segments.is_mapped(at.0)
    }

    fn caches(&self) -> bool {
        self.caches
    }

    #[inline]
    async fn load(&self, at: Rank, offset: usize) -> u64 {
        self.segments.word(at.0, self.offset(offset, 8)).load(Ordering::SeqCst)
    }

    #[inline]
    async fn load_words(&self, at: Rank, offset: usize, into: &mut [u64]) {
        self.segments.read_words(at.0, self.offset(offset, 8 * into.len()), into);
    }

    #[inline]
    async fn store(&self, at: Rank, offset: usize, value: u64) {
        self.segments.word(at.0, self.offset(offset, 8)).store(value, Ordering::SeqCst);
    }

    async fn store_words(&self, at: Rank, offset: usize, words: &[u64]) {
        self.segments.write_words(at.0, self.offset(offset, 8 * words.len()), words);
        // Mapped words have been stored with releases only.
        fence(Ordering::SeqCst);
    }

    #[inline]
    async fn compare_exchange(&self, at: Rank, offset: usize, expected: u64, new: u64) -> u64 {
        let word = self.segments.word(at.0, self.offset(offset, 8));
        word.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst).unwrap_or_else(|found| found)
    }

    #[inline]
    async fn copy_out(&self, at: Rank, offset: usize, into: &ProgramMemory, to: usize, bytes: usize) {
        let from = self.segments.bytes(at.0, self.offset(offset, bytes));
        // SAFETY: the area has these bytes, and the buffer is as its maker promised.
        unsafe { from.read(into.0.add(to), bytes) };
        // The header is looked at behind this.
        fence(Ordering::Acquire);
    }

    #[inline]
    async fn copy_in(&self, at: Rank, offset: usize, source: &ProgramMemory, from: usize, bytes: usize) {
        let to = self.segments.bytes(at.0, self.offset(offset, bytes));
        // SAFETY: as in `copy_out`.
        unsafe { to.write(source.0.add(from), bytes) };
        // The header is changed behind this.
        fence(Ordering::Release);
    }

    async fn fetch(&self, at: Rank, offset: usize, bytes: usize) {
        let from = self.segments.bytes(at.0, self.offset(offset, bytes));
        // SAFETY: both areas have these bytes.
        unsafe { from.read(self.own(offset, bytes), bytes) };
        fence(Ordering::SeqCst);
    }

    async fn read_own(&self, offset: usize, into: &mut [u8]) {
        // SAFETY: the area has these bytes, and the message is private.
        unsafe { copy(self.own(offset, into.len()), into.as_mut_ptr(), into.len()) };
        fence(Ordering::Acquire);
    }

    async fn write_own(&self, offset: usize, contents: &[u8]) {
        // SAFETY: as in `read_own`.
        unsafe { copy(contents.as_ptr(), self.own(offset, contents.len()), contents.len()) };
        fence(Ordering::Release);
    }

    async fn give_back(&self, at: Rank, offset: usize, bytes: usize) {
        let first = self.offset(offset, bytes).next_multiple_of(PAGE);
        let end = (self.start + offset + bytes) / PAGE * PAGE;
        if first >= end {
            return;
        }
        let bytes = self.segments.bytes(at.0, first);
        // SAFETY: whole pages of the area, whose contents nobody needs.
        let is_given = unsafe {
            match self.processes {
                1 => segment::give_back_reserved(self.segments.own().address(first), end - first),
                _ => bytes.give_back(end - first),
            }
        };
        assert!(is_given, "the system refuses to take memory back: {}", std::io::Error::last_os_error());
    }

    fn take(&self, source: &ProgramMemory, from: usize, into: &mut [u8]) {
        // SAFETY: as in `copy_out`.
        unsafe { copy(source.0.add(from), into.as_mut_ptr(), into.len()) }
    }

    fn give(&self, into: &ProgramMemory, to: usize, contents: &[u8]) {
        // SAFETY: as in `copy_out`.
        unsafe { copy(contents.as_ptr(), into.0.add(to), contents.len()) }
    }

    fn clear(&self, into: &ProgramMemory, to: usize, bytes: usize) {
        // SAFETY: as in `copy_out`.
        unsafe { into.0.add(to).write_bytes(0, bytes) }
    }

    async fn ask(&self, at: Rank, request: &[u8], reply: &mut [u8]) -> usize {
        REPLY.with_borrow_mut(|buffer| {
            buffer.resize(CALL_REPLY_BYTES, 0);
            let length = self.segments.ask(at.0, request, buffer);
            reply[..length].copy_from_slice(&buffer[..length]);
            length
        })
    }

    async fn pause(&self, attempt: u32) {
        Backoff::after(attempt).pause();
    }
}
