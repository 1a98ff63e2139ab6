//! Pages and runs of them.

/// Bytes of a page of the pager: a multiple of the system's, and the less the less accesses at random bring that nobody wants.
pub const PAGE_BYTES: usize = 4 << 10;

/// Number of a page in the memory file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Page(pub u32);

impl Page {
    /// Most pages of a memory file: numbers of pages in windows behind it do not overflow.
    pub const MOST: usize = u32::MAX as usize - (1 << 16);
}

/// Pages that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// The first one.
    pub first: Page,
    /// How many; not 0.
    pub count: u32,
}

impl Run {
    /// One page.
    pub fn single(page: Page) -> Run {
        Run { first: page, count: 1 }
    }

    /// From one page to in front of another.
    pub fn between(first: u32, end: u32) -> Run {
        Run { first: Page(first), count: end - first }
    }

    /// The pages.
    pub fn pages(self) -> impl Iterator<Item = Page> {
        (self.first.0..self.end()).map(Page)
    }

    /// Number of the page behind.
    pub fn end(self) -> u32 {
        self.first.0 + self.count
    }

    /// Offset in the memory file.
    pub fn offset(self) -> usize {
        self.first.0 as usize * PAGE_BYTES
    }

    /// Length.
    pub fn bytes(self) -> usize {
        self.count as usize * PAGE_BYTES
    }
}

/// Sorts pages and makes runs of at most `most` of them.
pub fn runs(pages: &mut [Page], most: u32) -> impl Iterator<Item = Run> {
    pages.sort_unstable();
    pages
        .chunk_by(|a, b| a.0 + 1 == b.0)
        .flat_map(move |alike| alike.chunks(most as usize))
        .map(|alike| Run { first: alike[0], count: alike.len() as u32 })
}
