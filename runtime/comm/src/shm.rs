//! The shared-memory transport: every process's segment is mapped here, side by side.

use std::sync::atomic::AtomicU64;

use crate::segment::{MemoryFile, SegmentError};

/// The segments of all processes. `Copy`, because it is only addresses; the mappings last as long as the process.
#[derive(Clone, Copy, Debug)]
pub struct Views {
    base: *mut u8,
    stride: usize,
    bytes: usize,
    count: u32,
}

// SAFETY: the addresses are the same for all threads, and the mappings are never removed.
unsafe impl Send for Views {}
// SAFETY: as above; all access is by atomics or by `unsafe` functions whose callers answer for races.
unsafe impl Sync for Views {}

/// One segment: the base address is not to be computed again for each access.
#[derive(Clone, Copy, Debug)]
pub struct View {
    base: *mut u8,
    bytes: usize,
}

// SAFETY: as for `Views`.
unsafe impl Send for View {}
// SAFETY: as for `Views`.
unsafe impl Sync for View {}

impl View {
    /// Address of the first byte.
    #[inline(always)]
    pub fn start(&self) -> *mut u8 {
        self.base
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

impl Views {
    /// Maps the segments of `bytes` bytes, rank order, from address `base` on.
    ///
    /// # Safety
    /// The address range belongs to the caller; every file has at least `bytes` bytes and keeps them.
    pub unsafe fn map(files: &[MemoryFile], base: usize, bytes: usize) -> Result<Views, SegmentError> {
        assert!(base.is_multiple_of(8) && bytes.is_multiple_of(8), "segments are whole words");
        let stride = bytes.next_multiple_of(1 << 21);
        for (rank, file) in files.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { file.map_at(base + rank * stride, bytes, 0)? };
        }
        Ok(Views { base: base as *mut u8, stride, bytes, count: files.len() as u32 })
    }

    /// Address of a byte of a process's segment.
    #[inline]
    pub fn address(&self, rank: u32, offset: usize) -> *mut u8 {
        assert!(rank < self.count && offset < self.bytes, "no byte {offset:#x} in segment {rank}");
        // SAFETY: inside the mapping by the assertion.
        unsafe { self.base.add(rank as usize * self.stride + offset) }
    }

    /// The segment of one process.
    #[inline(always)]
    pub fn view(&self, rank: u32) -> View {
        assert!(rank < self.count, "no segment {rank}");
        // SAFETY: the segment is mapped there.
        View { base: unsafe { self.base.add(rank as usize * self.stride) }, bytes: self.bytes }
    }

    /// A 64-bit word of a process's segment.
    #[inline]
    pub fn word(&self, rank: u32, offset: usize) -> &'static AtomicU64 {
        assert!(offset.is_multiple_of(8));
        // SAFETY: mapped for the life of the process, aligned, and only ever accessed atomically.
        unsafe { AtomicU64::from_ptr(self.address(rank, offset).cast()) }
    }
}
