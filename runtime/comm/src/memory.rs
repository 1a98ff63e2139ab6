//! Memory that an adapter reads and writes.

use std::ops::Range;
use std::ptr::{self, NonNull};

/// Memory that messages are sent from and received in.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it stays mapped; who uses which part of it, and when, is the business of whoever takes addresses.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// New pages. Processes that the program forks do not copy them: an adapter goes on to write to those that it has.
    pub(crate) fn map(bytes: usize) -> Result<Memory, String> {
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: maps new pages, wherever there is space.
        let address = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
        match NonNull::new(address.cast()) {
            Some(start) if address != libc::MAP_FAILED => Ok(Memory { start, bytes }),
            _ => Err(std::io::Error::last_os_error().to_string()),
        }
    }

    /// Address of a part.
    pub(crate) fn place(&self, part: &Range<usize>) -> *mut u8 {
        assert!(part.start <= part.end && part.end <= self.bytes, "{part:?} of {} bytes", self.bytes);
        self.start.as_ptr().wrapping_add(part.start)
    }
}
