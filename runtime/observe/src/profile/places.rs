//! Calls on the stack of the calling thread.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::CALLERS;
use crate::image::{self, Place};

/// Frames that are looked at: the runtime's own come first.
const DEPTH: usize = 24;

/// Return addresses, innermost first. The first call loads the unwinder.
pub fn frames() -> impl Iterator<Item = usize> {
    let mut frames = [std::ptr::null_mut(); DEPTH];
    // SAFETY: the array has as many elements.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), DEPTH as i32) };
    frames.into_iter().take(count.max(0) as usize).map(|frame| frame as usize)
}

/// Puts the return addresses in the program's files into words.
pub fn keep(words: &[AtomicU64]) {
    for (word, frame) in words.iter().zip(frames().filter(|frame| image::has_code(*frame))) {
        word.store(frame as u64, Relaxed);
    }
}

/// The calls behind the one that returns to `site`.
pub fn behind(site: usize) -> [usize; CALLERS] {
    let mut calls =
        frames().skip_while(|frame| *frame != site).skip(1).take_while(|frame| image::has_code(*frame));
    std::array::from_fn(|_| calls.next().unwrap_or(0))
}

/// Of kept return addresses, the first that is not in the runtime, which is linked into the program.
pub fn in_program(frames: &[u64]) -> Option<usize> {
    let mut calls = frames.iter().map(|frame| *frame as usize).take_while(|frame| *frame != 0);
    calls.find(|frame| !is_runtime(&image::call_site(*frame)))
}

/// Whether a place is in the runtime.
pub fn is_runtime(place: &Place) -> bool {
    place.function.as_deref().is_none_or(is_runtime_name)
}

/// Whether a symbol is one of the runtime's: Rust's or an entry's.
fn is_runtime_name(name: &str) -> bool {
    const ENTRIES: [&str; 5] = ["__dsm_", "dsm_", "__kmpc_", "omp_", "pthread_"];
    let is_hash = |text: &str| text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let of_rust =
        name.strip_suffix('E').and_then(|n| n.rsplit_once("17h")).is_some_and(|(_, hash)| is_hash(hash));
    of_rust || name.starts_with("_R") || ENTRIES.iter().any(|entry| name.starts_with(entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_is_told_from_the_program_by_its_names() {
        for own in
            ["_ZN6dsm_rt5check6ensure17h0123456789abcdefE", "__dsm_store_range", "_RNvCs1_6dsm_rt5start"]
        {
            assert!(is_runtime_name(own), "{own}");
        }
        for other in ["main", "_ZN4grid5solveEv", "update.omp_outlined"] {
            assert!(!is_runtime_name(other), "{other}");
        }
    }

    #[test]
    fn the_calls_behind_a_place_are_those_that_led_to_it() {
        #[inline(never)]
        fn inner() -> Vec<usize> {
            frames().collect()
        }
        let here = inner();
        assert!(here.len() > 2);
        // No test has code of the pass.
        assert_eq!(behind(here[1]), [0; CALLERS]);
    }
}
