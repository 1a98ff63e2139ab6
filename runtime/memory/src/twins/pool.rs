//! Pages of a segment that twins take when they are made, and give back when they are not needed any more.
//!
//! What was given back last is taken next: its page is there, in the page tables and most likely in the processor's caches. The free pages are a list, Treiber's stack
//! (*Systems Programming: Coping with Parallelism*, IBM 1986), of which the first one's number has a count beside it, so that who compares it notices that it has been away. It lies in the segment, as peers that take a home leave a twin behind.

use std::sync::atomic::Ordering;

use dsm_comm::{Half, Segments, Word};

use crate::geometry::Geometry;

/// The pool of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pool {
    geometry: &'static Geometry,
    segments: Segments,
    at: u32,
}

impl Pool {
    pub(super) fn new(geometry: &'static Geometry, segments: Segments, at: u32) -> Pool {
        Pool { geometry, segments, at }
    }

    /// The first free page's number and one, 0 if there is none, in the low half; how often it has changed in the high one.
    fn first(self) -> Word {
        self.segments.word(self.at, self.geometry.twin_pool_heads_offset())
    }

    /// Number of pages that have been in use: those from there on are fresh.
    fn used(self) -> Word {
        self.segments.word(self.at, self.geometry.twin_pool_heads_offset() + 8)
    }

    /// The next free page's number and one behind a free page, 0 at the end.
    fn link(self, page: u32) -> Half {
        self.segments.half(self.at, self.geometry.twin_pool_link_offset(page))
    }

    /// Number of pages that take memory.
    pub(super) fn pages(self) -> u64 {
        self.used().load(Ordering::Relaxed)
    }

    /// A page, whatever is in it; `None` if all are in use. Says, too, whether it is fresh.
    pub(super) fn take(self) -> Option<(u32, bool)> {
        let mut first = self.first().load(Ordering::Acquire);
        while let Some(page) = (first as u32).checked_sub(1) {
            // Nobody changes the link of a page that is still free when the count is compared.
            let next = self.link(page).load(Ordering::Relaxed);
            match self.first().compare_exchange(
                first,
                counted(first, next),
                Ordering::Acquire,
                Ordering::Acquire,
            ) {
                Ok(_) => return Some((page, false)),
                Err(found) => first = found,
            }
        }
        let pages = self.geometry.twin_pool_pages() as u64;
        let fresh = self
            .used()
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| (used < pages).then_some(used + 1));
        fresh.ok().map(|page| (page as u32, true))
    }

    /// A page that was taken, and that nobody uses any more, is free.
    pub(super) fn give_back(self, page: u32) {
        let mut first = self.first().load(Ordering::Relaxed);
        loop {
            self.link(page).store(first as u32, Ordering::Relaxed);
            match self.first().compare_exchange(
                first,
                counted(first, page + 1),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(found) => first = found,
            }
        }
    }
}

/// The word for another first page.
fn counted(before: u64, page: u32) -> u64 {
    (before & !u64::from(u32::MAX)).wrapping_add(1 << 32) | u64::from(page)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use dsm_abi::layout::{SHARED_BASE, SHARED_END};
    use dsm_geometry::{Observed, Shape};

    use super::*;

    const PAGES: u32 = 32;

    fn pool() -> Pool {
        let geometry = Geometry::new(Shape {
            processes: 1,
            line_shift: 10,
            block_bytes: 4096,
            globals: Vec::new(),
            region: SHARED_BASE as usize..SHARED_END as usize,
            arena_bytes: 1 << 24,
            heap_blocks: Vec::new(),
            stack_bytes: 1 << 20,
            stacks: 1,
            notices: 64,
            twin_pool_pages: PAGES as usize,
            observed: Observed::default(),
            paged: false,
        })
        .expect("it fits");
        let geometry: &'static Geometry = Box::leak(Box::new(geometry));
        Pool::new(geometry, Segments::single(geometry.segment_bytes()).expect("memory"), 0)
    }

    #[test]
    fn what_was_given_back_last_is_taken_next() {
        let pool = pool();
        let taken: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!(taken, (0..PAGES).map(|page| (page, true)).collect::<Vec<_>>());
        [3, 9, 1].into_iter().for_each(|page| pool.give_back(page));
        assert_eq!([pool.take(), pool.take(), pool.take()], [1, 9, 3].map(|page| Some((page, false))));
        assert_eq!((pool.take(), pool.pages()), (None, PAGES.into()));
    }

    #[test]
    fn no_page_is_taken_twice() {
        let pool = pool();
        let owners: Vec<AtomicU32> = (0..PAGES).map(|_| AtomicU32::new(0)).collect();
        std::thread::scope(|scope| {
            for me in 1..=4 {
                let owners = &owners;
                scope.spawn(move || {
                    let mut mine = Vec::new();
                    for round in 0..50_000u32 {
                        if let Some((page, _)) = pool.take() {
                            assert_eq!(owners[page as usize].swap(me, Ordering::Relaxed), 0, "page {page}");
                            mine.push(page);
                        }
                        if mine.len() > (round.wrapping_mul(me) % 11) as usize {
                            let page = mine.swap_remove(round as usize % mine.len());
                            assert_eq!(owners[page as usize].swap(0, Ordering::Relaxed), me, "page {page}");
                            pool.give_back(page);
                        }
                    }
                    for page in mine {
                        owners[page as usize].store(0, Ordering::Relaxed);
                        pool.give_back(page);
                    }
                });
            }
        });
        assert_eq!(std::iter::from_fn(|| pool.take()).count(), PAGES as usize, "none is lost");
    }
}
