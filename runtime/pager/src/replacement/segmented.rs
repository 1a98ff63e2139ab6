//! A queue in two parts.

use std::collections::VecDeque;

use rustc_hash::FxHashMap as HashMap;

use crate::page::Page;

/// First in, first out, with a mapped and an unmapped part. Entries of pages that have left are skipped later: a page counts only in the part that `places` names.
#[derive(Debug, Default)]
pub(super) struct Segmented {
    mapped: VecDeque<(Page, u32)>,
    unmapped: VecDeque<(Page, u32)>,
    places: HashMap<Page, Place>,
    /// Pages in the unmapped part.
    unmapped_pages: usize,
    /// Number of the last insertion, so that old entries of a page that came again do not count.
    tick: u32,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    tick: u32,
    unmapped: bool,
    touched: bool,
}

impl Segmented {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn push(&mut self, page: Page) {
        self.tick = self.tick.wrapping_add(1);
        self.places.insert(page, Place { tick: self.tick, unmapped: false, touched: false });
        self.mapped.push_back((page, self.tick));
    }

    /// Marks a page of the unmapped part; `None` if it is not in this queue, else whether this is the first time.
    pub(super) fn touch(&mut self, page: Page) -> Option<bool> {
        let place = self.places.get_mut(&page)?;
        Some(place.unmapped && !std::mem::replace(&mut place.touched, true))
    }

    /// Moves the oldest page of the mapped part to the other one if that holds less than half.
    pub(super) fn unmap(&mut self) -> Option<Page> {
        if 2 * self.unmapped_pages >= self.places.len() {
            return None;
        }
        loop {
            let (page, tick) = self.mapped.pop_front()?;
            if let Some(place) = self.places.get_mut(&page).filter(|place| place.tick == tick) {
                place.unmapped = true;
                self.unmapped_pages += 1;
                self.unmapped.push_back((page, tick));
                return Some(page);
            }
        }
    }

    /// The oldest page, of the unmapped part if there is one, and whether it was touched there.
    pub(super) fn pop(&mut self) -> Option<(Page, bool)> {
        for queue in [&mut self.unmapped, &mut self.mapped] {
            while let Some((page, tick)) = queue.pop_front() {
                if self.places.get(&page).is_some_and(|place| place.tick == tick) {
                    let place = self.places.remove(&page).expect("it was just found");
                    self.unmapped_pages -= usize::from(place.unmapped);
                    return Some((page, place.touched));
                }
            }
        }
        None
    }
}
