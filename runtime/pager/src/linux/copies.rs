//! Pages that other processes have in memory with the same contents as the disk: *cooperative caching* (M. Dahlin et al., OSDI 1994).
//!
//! Nobody keeps track of who has which contents. What is written to disk has a digest, and what another process has at the same place in its memory file is taken if its digest is the same.
//! So it does not matter what the other process does with the page meanwhile, be it that it stores there, or that it gives the page up.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use twox_hash::XxHash3_128;

use crate::page::{PAGE_BYTES, Page, Run};

/// Digest of a page's contents: XXH3 of 128 bits. Two different pages of a program have the same with a probability of 2^-128.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest([u64; 2]);

impl Digest {
    /// Bytes of a digest.
    pub const BYTES: usize = 16;

    /// Of some contents.
    pub fn of(contents: &[u8]) -> Digest {
        let digest = XxHash3_128::oneshot(contents);
        Digest([digest as u64, (digest >> 64) as u64])
    }

    /// As bytes.
    pub fn to_bytes(self) -> [u8; Digest::BYTES] {
        let mut bytes = [0; Digest::BYTES];
        for (half, value) in bytes.chunks_exact_mut(8).zip(self.0) {
            half.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    /// From bytes.
    pub fn from_bytes(bytes: [u8; Digest::BYTES]) -> Digest {
        let [low, high] = bytes.as_chunks().0 else { unreachable!("two halves") };
        Digest([u64::from_le_bytes(*low), u64::from_le_bytes(*high)])
    }
}

/// Pages in other processes' memory.
pub trait Copies: Send + Sync {
    /// Whether there are other processes on this host.
    fn has_near(&self) -> bool;

    /// Whether another process of this host has a page in memory.
    fn is_near(&self, page: Page) -> bool;

    /// Whether it is worth while to ask processes of other hosts for a page.
    fn may_be_far(&self, page: Page) -> bool;

    /// Copies pages that follow each other, [`COPIED_PAGES`] at most, as far as another process of this host, or, where `far`, one of another host, has these contents in memory; `into` has
    /// the length of them all, or of what the memory file has of them. Processes take turns in being asked first. Returns which were copied, one bit for each page; nothing is known of `into`
    /// elsewhere. It may be called by several threads at a time, and must not touch memory that the pager serves. Without `far` it waits for nobody.
    fn copy(&self, first: Page, contents: &[Digest], far: bool, into: &mut [u8]) -> u64;
}

/// Pages that are copied at once.
pub const COPIED_PAGES: usize = 64;

/// Digests of the pages that the disk has, and where else they may be.
pub(super) struct Cooperation {
    copies: Arc<dyn Copies>,
    /// By page. Zeros take no memory.
    digests: Vec<[u64; 2]>,
    /// Bytes from the beginning of the memory file that other processes may have.
    bytes: usize,
    copied: Arc<AtomicU64>,
}

/// What a transfer needs of it.
pub(super) struct Expected {
    far: bool,
    copies: Arc<dyn Copies>,
    digests: Vec<Digest>,
    bytes: usize,
    copied: Arc<AtomicU64>,
}

impl Cooperation {
    pub(super) fn new(copies: Arc<dyn Copies>, bytes: usize) -> Cooperation {
        let digests = vec![[0; 2]; bytes.div_ceil(PAGE_BYTES)];
        Cooperation { copies, digests, bytes, copied: Arc::default() }
    }

    /// The disk gets these contents.
    pub(super) fn note(&mut self, run: Run, contents: &[u8]) {
        let digests = self.digests.iter_mut().skip(run.first.0 as usize);
        for (digest, contents) in digests.zip(contents.chunks(PAGE_BYTES)) {
            *digest = Digest::of(contents).0;
        }
    }

    /// Whether other processes have a page at this place that may have the same contents.
    pub(super) fn covers(&self, page: Page) -> bool {
        (page.0 as usize) < self.digests.len()
    }

    pub(super) fn has_near(&self) -> bool {
        self.copies.has_near()
    }

    pub(super) fn is_near(&self, page: Page) -> bool {
        self.covers(page) && self.copies.is_near(page)
    }

    pub(super) fn may_be_far(&self, page: Page) -> bool {
        self.covers(page) && self.copies.may_be_far(page)
    }

    /// What the contents of a run should be. `far`: processes of other hosts are asked, too.
    pub(super) fn expected(&self, run: Run, far: bool) -> Expected {
        let digests =
            self.digests[run.first.0 as usize..run.end() as usize].iter().map(|d| Digest(*d)).collect();
        Expected { far, copies: self.copies.clone(), digests, bytes: self.bytes, copied: self.copied.clone() }
    }

    /// Pages that other processes had.
    pub(super) fn copied(&self) -> u64 {
        self.copied.load(Ordering::Relaxed)
    }
}

impl Expected {
    /// Copies what other processes have of a run into `buffer`. Returns the parts that they do not have, in bytes.
    pub(super) fn copy(&self, run: Run, buffer: &mut [u8]) -> Vec<Range<usize>> {
        let mut missing: Vec<Range<usize>> = Vec::new();
        let parts = self.digests.chunks(COPIED_PAGES).zip(buffer.chunks_mut(COPIED_PAGES * PAGE_BYTES));
        for ((digests, contents), start) in parts.zip((0..).step_by(COPIED_PAGES)) {
            let first = Page(run.first.0 + start as u32);
            let there = contents.len().min(self.bytes - first.0 as usize * PAGE_BYTES);
            let contents = &mut contents[..there];
            let copied = self.copies.copy(first, digests, self.far, contents);
            self.copied.fetch_add(u64::from(copied.count_ones()), Ordering::Relaxed);
            for page in (0..digests.len()).filter(|page| copied & 1 << page == 0) {
                let at = (start + page) * PAGE_BYTES;
                match missing.last_mut().filter(|last| last.end == at) {
                    Some(last) => last.end += PAGE_BYTES,
                    None => missing.push(at..at + PAGE_BYTES),
                }
            }
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_survive_messages() {
        let digest = Digest::of(b"contents");
        assert_eq!(Digest::from_bytes(digest.to_bytes()), digest);
        assert_ne!(Digest::of(b"content"), digest);
    }
}
