//! Waiting for a word to change, across processes (the words live in shared mappings, so the futexes are not private).

use std::sync::atomic::{AtomicU32, Ordering};

pub use crate::wait::ALL;
use crate::wait::{self, Sleep, Waitable};

/// The kernel's futexes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Futex;

impl Sleep for Futex {
    fn wait(&self, word: &AtomicU32, seen: u32, mask: u32) {
        wait(word, seen, mask);
    }

    fn wake(&self, word: &AtomicU32, mask: u32) {
        wake(word, mask);
    }
}

impl Waitable for &AtomicU32 {
    #[inline(always)]
    fn load(self) -> u32 {
        AtomicU32::load(self, Ordering::SeqCst)
    }

    fn is_mapped(self) -> bool {
        true
    }

    fn sleep(self, sleepers: Self, mask: u32, until: impl Fn(u32) -> bool) -> u32 {
        wait::wait(&Futex, self, sleepers, mask, until)
    }

    #[inline]
    fn wake(self, sleepers: Self, mask: u32) {
        wait::wake(&Futex, self, sleepers, mask);
    }
}

/// Sleeps while `*word == seen`, until woken with a `mask` that shares a bit, or for no reason at all.
pub fn wait(word: &AtomicU32, seen: u32, mask: u32) {
    // SAFETY: the word lives for the call; a null timeout and second address are allowed. The kernel only reads the word. Any result is
    // fine: callers look at the word again.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT_BITSET,
            seen,
            std::ptr::null::<libc::timespec>(),
            std::ptr::null::<u32>(),
            mask,
        );
    }
}

/// Wakes all sleepers whose mask shares a bit with `mask`.
pub fn wake(word: &AtomicU32, mask: u32) {
    // SAFETY: as in `wait`; the kernel uses the address as a key only.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE_BITSET,
            i32::MAX,
            std::ptr::null::<libc::timespec>(),
            std::ptr::null::<u32>(),
            mask,
        );
    }
}
