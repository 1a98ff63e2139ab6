//! Requests executed on the own segment.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use dsm_threads::atomic::{self, Atomic};
use dsm_threads::futex::Futex;
use dsm_threads::wait;

use super::wire::{self, Malformed, Request};
use super::{Calls, Wake, Width};
use crate::copy::copy;
use crate::diff;

/// The own segment.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    start: *mut u8,
    pub(super) bytes: usize,
    identity: u64,
    calls: Calls,
}

// SAFETY: the mapping lasts as long as the process, and all access is by atomics or `copy`.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// # Safety
    /// The bytes are mapped for the life of the process, and accessed by atomics and [`copy`] only.
    pub(super) unsafe fn new(start: *mut u8, bytes: usize, identity: u64, calls: Calls) -> Segment {
        assert!(start.addr().is_multiple_of(8), "a segment begins with a whole word");
        Segment { start, bytes, identity, calls }
    }

    /// Address of `bytes` bytes, which have to be inside.
    fn address(&self, offset: usize, bytes: usize) -> *mut u8 {
        let is_inside = offset.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        assert!(is_inside, "no {bytes} bytes at {offset:#x} in a segment of {}", self.bytes);
        self.start.wrapping_add(offset)
    }

    fn atomic(&self, offset: usize, width: Width) -> &'static dyn Atomic {
        let address = self.address(offset, width.bytes());
        assert!(offset.is_multiple_of(width.bytes()), "{offset:#x} is not aligned");
        // SAFETY: inside the mapping, which lasts as long as the process, and aligned; all access is atomic.
        unsafe { atomic::at(address, width) }
    }

    fn word32(&self, offset: usize) -> &'static AtomicU32 {
        let address = self.address(offset, 4).cast();
        assert!(offset.is_multiple_of(4), "{offset:#x} is not aligned");
        // SAFETY: inside the mapping, which lasts as long as the process, and aligned; all access is atomic.
        unsafe { AtomicU32::from_ptr(address) }
    }

    /// The 64-bit words from an offset on.
    fn words(&self, offset: usize, count: usize) -> &'static [AtomicU64] {
        let address = self.address(offset, 8 * count).cast();
        assert!(offset.is_multiple_of(8), "{offset:#x} is not aligned");
        // SAFETY: as in `word32`.
        unsafe { std::slice::from_raw_parts(address, count) }
    }

    fn wake(&self, offset: usize, wake: Wake) {
        wait::wake(&Futex, self.word32(offset), self.word32(wake.sleepers), wake.mask);
    }

    /// Sleeps until a word differs from `seen`; returns its value.
    pub(super) fn wait_change(&self, offset: usize, seen: u32, wake: Wake) -> u32 {
        let (word, sleepers) = (self.word32(offset), self.word32(wake.sleepers));
        wait::wait(&Futex, word, sleepers, wake.mask, |value| value != seen)
    }

    /// Executes a request that does not wait. Returns the reply's value and the length of its payload, which is in `payload`.
    pub(super) fn execute(&self, request: &Request, payload: &mut [u8]) -> Result<(u64, usize), Malformed> {
        let mut read = 0;
        let value = match *request {
            Request::Load { offset, width } => self.atomic(offset, width).load(),
            Request::Update { offset, width, update, value, wake } => {
                let old = update.apply(self.atomic(offset, width), value);
                if let Some(wake) = wake {
                    self.wake(offset, wake);
                }
                old
            }
            Request::CompareExchange { offset, width, expected, new, wake } => {
                let old = self.atomic(offset, width).compare_exchange(expected, new);
                if let (Ok(_), Some(wake)) = (old, wake) {
                    self.wake(offset, wake);
                }
                old.unwrap_or_else(|old| old)
            }
            Request::ReadWords { offset, bytes } => {
                let words = self.words(offset, bytes / 8);
                for (word, place) in words.iter().zip(payload.as_chunks_mut::<8>().0) {
                    *place = word.load(Ordering::Acquire).to_le_bytes();
                }
                read = bytes;
                0
            }
            Request::WriteWords { offset, words } => {
                let own = self.words(offset, words.len() / 8);
                for (word, value) in own.iter().zip(words.as_chunks::<8>().0) {
                    word.store(u64::from_le_bytes(*value), Ordering::Release);
                }
                0
            }
            Request::Read { offset, bytes } => {
                let place = payload[..bytes].as_mut_ptr();
                // SAFETY: the bytes are in the segment by `address`, and the payload is long enough.
                unsafe { copy(self.address(offset, bytes), place, bytes) };
                read = bytes;
                0
            }
            Request::Write { offset, contents } => {
                let own = self.address(offset, contents.len());
                // SAFETY: the bytes are in the segment by `address`.
                unsafe { copy(contents.as_ptr(), own, contents.len()) };
                0
            }
            Request::Patch { offset, runs } => {
                for run in wire::runs(runs) {
                    let (at, contents) = run?;
                    self.patch(offset + at, contents);
                }
                0
            }
            Request::Wake { offset, wake } => {
                self.wake(offset, wake);
                0
            }
            Request::Identity => self.identity,
            Request::Call { request } | Request::Post { request } => {
                read = (self.calls)(request, payload).ok_or(Malformed::Call)?;
                0
            }
            // These are the agent's business.
            Request::Wait { .. } | Request::Key { .. } => return Err(Malformed::Lane),
        };
        Ok((value, read))
    }

    /// Stores changed bytes.
    fn patch(&self, offset: usize, contents: &[u8]) {
        // SAFETY: inside the segment by `address`.
        unsafe { diff::patch(self.address(offset, contents.len()), contents) }
    }
}
