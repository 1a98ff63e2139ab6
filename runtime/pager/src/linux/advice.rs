//! Advice on many ranges of the process's own addresses at once, by `process_madvise(2)`: one system call, and the other cores hear of it once. Linux lets a process give itself any advice so since
//! 6.13; what it refuses is given range by range.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Ranges of a call at most (`UIO_MAXIOV`).
const MOST: usize = 1024;

pub(super) struct Advice {
    /// The process, unless the system refuses advice on several ranges.
    process: Option<OwnedFd>,
}

impl Advice {
    pub(super) fn new() -> Advice {
        // SAFETY: plain system call.
        let process = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) };
        // SAFETY: the descriptor is new and ours.
        let process = (process >= 0).then(|| unsafe { OwnedFd::from_raw_fd(process as i32) });
        Advice { process }
    }

    /// Gives advice on all ranges.
    ///
    /// # Safety
    /// It is right for each of them, also if it is given twice.
    pub(super) unsafe fn give(&mut self, ranges: &[Range<usize>], advice: i32) {
        for ranges in ranges.chunks(MOST) {
            // SAFETY: the caller's promise.
            if ranges.len() == 1 || !unsafe { self.give_at_once(ranges, advice) } {
                for range in ranges {
                    // SAFETY: as above.
                    unsafe { libc::madvise(range.start as *mut _, range.len(), advice) };
                }
            }
        }
    }

    /// Returns whether it did, for all of them.
    unsafe fn give_at_once(&mut self, ranges: &[Range<usize>], advice: i32) -> bool {
        let Some(process) = &self.process else { return false };
        let parts =
            |range: &Range<usize>| libc::iovec { iov_base: range.start as *mut _, iov_len: range.len() };
        let parts: Vec<libc::iovec> = ranges.iter().map(parts).collect();
        let (process, call) = (process.as_raw_fd(), libc::SYS_process_madvise);
        // SAFETY: the caller's promise; an array of that length.
        let done = unsafe { libc::syscall(call, process, parts.as_ptr(), parts.len(), advice, 0) };
        if done < 0 && io::Error::last_os_error().raw_os_error() != Some(libc::EAGAIN) {
            self.process = None;
        }
        usize::try_from(done).ok() == Some(ranges.iter().map(|range| range.len()).sum())
    }
}
