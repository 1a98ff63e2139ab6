//! First in, first out, with a second chance.

use super::Replacement;
use super::segmented::Segmented;
use crate::page::Page;

/// One queue; a page that was touched in its unmapped part comes to the end again (CLOCK in effect).
#[derive(Debug, Default)]
pub struct SecondChance {
    queue: Segmented,
}

impl Replacement for SecondChance {
    fn insert(&mut self, page: Page) {
        self.queue.push(page);
    }

    fn touched(&mut self, page: Page) -> bool {
        self.queue.touch(page).unwrap_or(false)
    }

    fn unmap(&mut self) -> Option<Page> {
        self.queue.unmap()
    }

    fn evict(&mut self) -> Option<Page> {
        for _ in 0..self.queue.len() {
            match self.queue.pop()? {
                (page, true) => self.queue.push(page),
                (page, false) => return Some(page),
            }
        }
        self.queue.pop().map(|(page, _)| page)
    }

    fn keep(&mut self, page: Page) {
        self.queue.push(page);
    }

    fn len(&self) -> usize {
        self.queue.len()
    }
}
