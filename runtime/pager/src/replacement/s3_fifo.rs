//! S3-FIFO.

use std::collections::VecDeque;

use super::Replacement;
use super::segmented::Segmented;
use super::table::Table;
use crate::page::Page;

/// Part of the memory for pages that were not in use yet: one of so many.
const SMALL_PART: usize = 10;

/// S3-FIFO (J. Yang et al., SOSP 2023): what comes in goes through a *small* queue, which a scan cannot get out of; what is touched there, or comes back soon after it left (*ghost*), gets
/// into the *main* queue, where it has a second chance.
#[derive(Debug, Default)]
pub struct S3Fifo {
    small: Segmented,
    main: Segmented,
    /// Pages that left the small queue, oldest first: each once, as what is listed comes back to the main queue.
    ghosts: VecDeque<Page>,
    is_ghost: Table<bool>,
}

impl S3Fifo {
    fn remember(&mut self, page: Page) {
        self.ghosts.push_back(page);
        self.is_ghost.set(page, true);
        while self.ghosts.len() > self.main.len() + self.small.len() {
            let Some(oldest) = self.ghosts.pop_front() else { return };
            self.is_ghost.set(oldest, false);
        }
    }

    fn evict_small(&mut self) -> Option<Page> {
        while let Some((page, touched)) = self.small.pop() {
            if !touched {
                self.remember(page);
                return Some(page);
            }
            self.main.push(page);
        }
        None
    }

    fn evict_main(&mut self) -> Option<Page> {
        for _ in 0..self.main.len() {
            match self.main.pop()? {
                (page, true) => self.main.push(page),
                (page, false) => return Some(page),
            }
        }
        self.main.pop().map(|(page, _)| page)
    }

    fn small_is_large(&self) -> bool {
        SMALL_PART * self.small.len() >= self.small.len() + self.main.len()
    }
}

impl Replacement for S3Fifo {
    fn insert(&mut self, page: Page) {
        if self.is_ghost.get(page) { self.main.push(page) } else { self.small.push(page) }
    }

    fn touched(&mut self, page: Page) -> bool {
        match self.small.touch(page) {
            Some(first) => first,
            None => self.main.touch(page).unwrap_or(false),
        }
    }

    fn unmap(&mut self) -> Option<Page> {
        self.small.unmap().or_else(|| self.main.unmap())
    }

    fn evict(&mut self) -> Option<Page> {
        if self.small_is_large() {
            self.evict_small().or_else(|| self.evict_main())
        } else {
            self.evict_main().or_else(|| self.evict_small())
        }
    }

    /// In the small queue, pages that stay would drive out those that were just read ahead.
    fn keep(&mut self, page: Page) {
        self.main.push(page);
    }

    fn len(&self) -> usize {
        self.small.len() + self.main.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_does_not_drive_out_what_is_in_use() {
        let mut policy = S3Fifo::default();
        (0..100).for_each(|i| policy.insert(Page(i)));
        // Pages 0 to 19 are touched whenever they are unmapped.
        let touch_all = |policy: &mut S3Fifo| {
            while policy.unmap().is_some() {}
            (0..20).for_each(|i| _ = policy.touched(Page(i)));
        };
        touch_all(&mut policy);
        for i in 100..2000 {
            let gone = policy.evict().expect("there are pages");
            assert!(gone.0 >= 20, "page {} was in use", gone.0);
            policy.insert(Page(i));
            touch_all(&mut policy);
        }
        assert_eq!(policy.len(), 100);
    }

    #[test]
    fn a_page_that_comes_back_soon_stays() {
        let mut policy = S3Fifo::default();
        (0..10).for_each(|i| policy.insert(Page(i)));
        let gone = policy.evict().unwrap();
        policy.insert(gone);
        (0..9).for_each(|_| assert_ne!(policy.evict(), Some(gone)));
        assert_eq!(policy.evict(), Some(gone));
        assert_eq!(policy.evict(), None);
    }

    #[test]
    fn each_page_is_evicted_once() {
        let mut policy = S3Fifo::default();
        for i in 0..50 {
            policy.insert(Page(i));
            policy.unmap();
            policy.touched(Page(i / 2));
        }
        let mut all: Vec<u32> = std::iter::from_fn(|| policy.evict()).map(|page| page.0).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..50));
    }
}
