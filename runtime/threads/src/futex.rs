//! Waiting for a word to change, across processes (the words live in shared mappings, so the futexes are not private).

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::futex::{self, Flags};

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
    if let Some(mask) = NonZeroU32::new(mask) {
        // Any result is fine: callers look at the word again.
        let _ = futex::wait_bitset(word, Flags::empty(), seen, None, mask);
    }
}

/// Wakes all sleepers whose mask shares a bit with `mask`.
pub fn wake(word: &AtomicU32, mask: u32) {
    if let Some(mask) = NonZeroU32::new(mask) {
        // The kernel uses the address as a key only.
        let _ = futex::wake_bitset(word, Flags::empty(), i32::MAX as u32, mask);
    }
}
