//! Where the parts of an array are in the areas, and which pages a range of elements is in.

use crate::memory::Rank;

/// Words of a descriptor that say what an array is.
pub const SHAPE_WORDS: usize = 10;
/// Unit of memory of the system, bytes.
const PAGE: usize = 4096;
/// Most pages that one step is about.
pub const RUN_PAGES: usize = 16;
/// Most bytes that one step is about.
pub const RUN_BYTES: usize = 192 << 10;

/// An array: what it is, and the offsets of its parts, the same in all areas.
///
/// ```text
/// base: entries of pages d, d + processes, …   headers of all pages   cache of all pages   pages
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Number in the table.
    pub index: u32,
    /// State word of its descriptor.
    pub state: u64,
    /// Elements.
    pub count: u64,
    /// Bytes of an element.
    pub element_bytes: u64,
    /// Bytes of a page; elements do not straddle pages.
    pub page_bytes: u64,
    /// Elements of a page.
    pub per_page: u64,
    /// Number of pages.
    pub pages: u64,
    base: usize,
    headers: usize,
    cache: usize,
    data: usize,
    end: usize,
}

/// Why there is no such array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadShape {
    /// No elements, or elements without bytes.
    Empty,
    /// The page does not hold an element, or its size is no power of two from 64 bytes to 1 GiB.
    Page,
    /// It does not fit into the areas.
    TooLarge,
}

/// Elements in one page, or a part of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The page.
    pub page: u64,
    /// First byte in the page.
    pub offset: usize,
    /// Number of bytes.
    pub bytes: usize,
}

/// Consecutive pages at one process, and the versions that they are expected to have.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The process.
    pub at: Rank,
    /// First page.
    pub first: u64,
    versions: [u64; RUN_PAGES],
    count: usize,
}

impl Run {
    /// A run without pages.
    pub fn new(at: Rank, first: u64) -> Run {
        Run { at, first, versions: [0; RUN_PAGES], count: 0 }
    }

    /// Adds a page, if there is space.
    pub fn push(&mut self, version: u64) -> bool {
        let Some(place) = self.versions.get_mut(self.count) else { return false };
        *place = version;
        self.count += 1;
        true
    }

    /// Leaves out all pages but the first ones.
    pub fn truncate(&mut self, count: usize) {
        self.count = self.count.min(count);
    }

    /// Versions of its pages.
    pub fn versions(&self) -> &[u64] {
        &self.versions[..self.count]
    }

    /// Its pages with their versions.
    pub fn pages(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (self.first..).zip(self.versions().iter().copied())
    }
}

impl Array {
    /// The array of a shape, at an offset in the areas.
    ///
    /// # Errors
    /// There is none.
    pub fn new(
        (index, state): (u32, u64),
        count: u64,
        element_bytes: u64,
        page_bytes: u64,
        processes: u32,
        base: usize,
    ) -> Result<Array, BadShape> {
        if count == 0 || element_bytes == 0 {
            return Err(BadShape::Empty);
        }
        if !page_bytes.is_power_of_two()
            || !(64..=1 << 30).contains(&page_bytes)
            || element_bytes > page_bytes
        {
            return Err(BadShape::Page);
        }
        Array::of((index, state), count, element_bytes, page_bytes, processes, base).ok_or(BadShape::TooLarge)
    }

    /// As [`Array::new`], for pages of any size. `None` if it is too large.
    pub fn of(
        (index, state): (u32, u64),
        count: u64,
        element_bytes: u64,
        page_bytes: u64,
        processes: u32,
        base: usize,
    ) -> Option<Array> {
        let per_page = page_bytes / element_bytes;
        let pages = count.div_ceil(per_page);
        let words = |count: u64| usize::try_from(count).ok()?.checked_mul(8);
        let base = base.next_multiple_of(PAGE);
        let headers = base.checked_add(words(pages.div_ceil(processes.into()))?)?;
        let cache = headers.checked_add(words(pages)?)?;
        let data = cache.checked_add(words(pages)?)?.checked_next_multiple_of(PAGE)?;
        let end = data.checked_add(usize::try_from(pages.checked_mul(page_bytes)?).ok()?)?;
        let end = end.checked_next_multiple_of(PAGE)?;
        let [base, headers, cache, data, end] = [base, headers, cache, data, end].map(|offset| offset as u64);
        let shape = [count, element_bytes, page_bytes, per_page, pages, base, headers, cache, data, end];
        Some(Array::from_shape((index, state), shape))
    }

    /// Words of its descriptor behind the state.
    pub fn shape(&self) -> [u64; SHAPE_WORDS] {
        let Array {
            count, element_bytes, page_bytes, per_page, pages, base, headers, cache, data, end, ..
        } = *self;
        let [base, headers, cache, data, end] = [base, headers, cache, data, end].map(|offset| offset as u64);
        [count, element_bytes, page_bytes, per_page, pages, base, headers, cache, data, end]
    }

    /// From the words of its descriptor.
    #[inline]
    pub fn from_shape((index, state): (u32, u64), shape: [u64; SHAPE_WORDS]) -> Array {
        let [count, element_bytes, page_bytes, per_page, pages, base, headers, cache, data, end] = shape;
        let [base, headers, cache, data, end] =
            [base, headers, cache, data, end].map(|offset| offset as usize);
        Array {
            index,
            state,
            count,
            element_bytes,
            page_bytes,
            per_page,
            pages,
            base,
            headers,
            cache,
            data,
            end,
        }
    }

    /// Offsets of all that it has in an area.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.base..self.end
    }

    /// The process with the entry of a page, and its offset there.
    pub fn entry(&self, page: u64, processes: u32) -> (Rank, usize) {
        let processes = u64::from(processes);
        (Rank((page % processes) as u32), self.base + 8 * (page / processes) as usize)
    }

    /// Offset of the header of a page.
    #[inline]
    pub fn header(&self, page: u64) -> usize {
        self.headers + 8 * page as usize
    }

    /// Offset of the cached place of a page.
    #[inline]
    pub fn cached(&self, page: u64) -> usize {
        self.cache + 8 * page as usize
    }

    /// Offset of a page.
    #[inline]
    pub fn page(&self, page: u64) -> usize {
        self.data + page as usize * self.page_bytes as usize
    }

    /// Page of an element.
    #[inline]
    pub fn page_of(&self, element: u64) -> u64 {
        element / self.per_page
    }

    /// Bytes of a page with elements in them.
    #[inline]
    pub fn used_bytes(&self) -> usize {
        (self.per_page * self.element_bytes) as usize
    }

    /// The byte that comes `bytes` after the beginning of an element, without what pages have behind their last element.
    #[inline]
    pub fn position(&self, element: u64, bytes: u64) -> (u64, usize) {
        let byte = (element % self.per_page) * self.element_bytes + bytes;
        let used = self.per_page * self.element_bytes;
        if byte < used {
            return (self.page_of(element), byte as usize);
        }
        (self.page_of(element) + byte / used, (byte % used) as usize)
    }

    /// What a range of bytes from a position on is in, page by page.
    pub fn spans(&self, (page, offset): (u64, usize), bytes: usize) -> impl Iterator<Item = Span> + use<> {
        let used = self.used_bytes();
        let (mut page, mut offset, mut left) = (page, offset, bytes);
        std::iter::from_fn(move || {
            let bytes = left.min(used - offset);
            let span = Span { page, offset, bytes };
            (page, offset, left) = (page + 1, 0, left - bytes);
            (bytes > 0).then_some(span)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_do_not_straddle_pages() {
        let array = Array::new((0, 1), 1000, 24, 64, 2, 0).unwrap();
        assert_eq!((array.per_page, array.pages, array.used_bytes()), (2, 500, 48));
        assert_eq!(array.position(5, 0), (2, 24));
        assert_eq!(array.position(5, 30), (3, 6));
        let spans: Vec<_> = array.spans((2, 24), 100).map(|s| (s.page, s.offset, s.bytes)).collect();
        assert_eq!(spans, [(2, 24, 24), (3, 0, 48), (4, 0, 28)]);
    }

    #[test]
    fn parts_follow_each_other() {
        let array = Array::new((0, 1), 100_000, 8, 4096, 3, 100).unwrap();
        let (directory, entry) = array.entry(array.pages - 1, 3);
        assert!(directory.0 < 3 && entry + 8 <= array.header(0));
        assert_eq!(array.header(array.pages), array.cached(0));
        assert!(array.cached(array.pages) <= array.page(0) && array.page(0).is_multiple_of(4096));
        assert_eq!(array.range(), 4096..array.page(array.pages));
        assert_eq!(Array::from_shape((0, 1), array.shape()), array);
    }

    #[test]
    fn shapes_without_sense_are_refused() {
        let new = |count, element, page| Array::new((0, 1), count, element, page, 2, 0).err();
        assert_eq!(new(0, 8, 4096), Some(BadShape::Empty));
        assert_eq!(new(8, 0, 4096), Some(BadShape::Empty));
        assert_eq!(new(8, 8, 4095), Some(BadShape::Page));
        assert_eq!(new(8, 8, 32), Some(BadShape::Page));
        assert_eq!(new(8, 4097, 4096), Some(BadShape::Page));
        assert_eq!(new(u64::MAX, 8, 4096), Some(BadShape::TooLarge));
    }
}
