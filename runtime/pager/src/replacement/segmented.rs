//! A queue in two parts.

use std::collections::VecDeque;

use super::table::Table;
use crate::page::Page;

/// First in, first out, with a mapped and an unmapped part.
#[derive(Debug, Default)]
pub(super) struct Segmented {
    mapped: VecDeque<Page>,
    unmapped: VecDeque<Page>,
    places: Table<Place>,
}

/// Where a page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// In neither part.
    #[default]
    Nowhere,
    Mapped,
    Unmapped,
    /// In the unmapped part, and touched there.
    Touched,
}

impl Segmented {
    pub(super) fn len(&self) -> usize {
        self.mapped.len() + self.unmapped.len()
    }

    pub(super) fn push(&mut self, page: Page) {
        debug_assert_eq!(self.places.get(page), Place::Nowhere, "page {} is in the queue", page.0);
        self.places.set(page, Place::Mapped);
        self.mapped.push_back(page);
    }

    /// Marks a page of the unmapped part; `None` if it is not in this queue, else whether this is the first time.
    pub(super) fn touch(&mut self, page: Page) -> Option<bool> {
        match self.places.get(page) {
            Place::Nowhere => None,
            Place::Mapped | Place::Touched => Some(false),
            Place::Unmapped => {
                self.places.set(page, Place::Touched);
                Some(true)
            }
        }
    }

    /// Moves the oldest page of the mapped part to the other one if that holds less than half.
    pub(super) fn unmap(&mut self) -> Option<Page> {
        if self.unmapped.len() >= self.mapped.len() {
            return None;
        }
        let page = self.mapped.pop_front()?;
        self.places.set(page, Place::Unmapped);
        self.unmapped.push_back(page);
        Some(page)
    }

    /// The oldest page, of the unmapped part if there is one, and whether it was touched there.
    pub(super) fn pop(&mut self) -> Option<(Page, bool)> {
        let page = self.unmapped.pop_front().or_else(|| self.mapped.pop_front())?;
        let touched = self.places.get(page) == Place::Touched;
        self.places.set(page, Place::Nowhere);
        Some((page, touched))
    }
}
