//! Which block sizes the parts of variables have with a block file: the rules are applied as the runtime does (`runtime/geometry/src/blocks.rs`), where a rule
//! takes along the pages that its variable touches, and the whole of larger blocks at its ends.

use std::collections::BTreeMap;
use std::ops::Range;

/// The unit of the runtime's table, unless a line is larger.
const PAGE: u64 = 4096;
/// The largest block: the sizes of what is further apart do not affect each other.
const LARGEST: u64 = 1 << 16;

/// Block sizes by page.
#[derive(Clone, Debug)]
pub struct Pages {
    start: u64,
    page: u64,
    sizes: Vec<u32>,
}

impl Pages {
    /// All the pages of some ranges of addresses, with blocks of `uniform` bytes; lines have `line` bytes.
    pub fn new(ranges: impl Iterator<Item = Range<u64>>, line: u32, uniform: u32) -> Pages {
        let (start, end) = ranges.fold((u64::MAX, 0), |(start, end), r| (start.min(r.start), end.max(r.end)));
        let page = PAGE.max(line.into());
        let start = start.min(end) / LARGEST * LARGEST;
        let count = (end - start).next_multiple_of(LARGEST) / page;
        Pages { start, page, sizes: vec![uniform; count as usize] }
    }

    fn size_at(&self, address: u64) -> u64 {
        self.sizes[((address - self.start) / self.page) as usize].into()
    }

    /// Gives the blocks of a range, which is not empty, this size.
    pub fn set(&mut self, range: &Range<u64>, bytes: u32) {
        let unit = self.page.max(bytes.into());
        let (mut first, mut last) = (range.start, range.end - 1);
        loop {
            let wider = first / unit.max(self.size_at(first)) * unit.max(self.size_at(first));
            let end = last | (unit.max(self.size_at(last)) - 1);
            if (wider, end) == (first, last) {
                break;
            }
            (first, last) = (wider, end);
        }
        let pages = (first - self.start) / self.page..(last - self.start) / self.page + 1;
        self.sizes[pages.start as usize..pages.end as usize].fill(bytes);
    }

    /// Which part of a range has blocks of which size.
    pub fn parts(&self, range: &Range<u64>) -> BTreeMap<u32, f64> {
        let mut bytes: BTreeMap<u32, u64> = BTreeMap::new();
        let mut at = range.start;
        while at < range.end {
            let next = ((at - self.start) / self.page + 1) * self.page + self.start;
            *bytes.entry(self.size_at(at) as u32).or_default() += next.min(range.end) - at;
            at = next;
        }
        let all = (range.end - range.start) as f64;
        bytes.into_iter().map(|(size, part)| (size, part as f64 / all)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_pages_and_large_blocks() {
        const K: u64 = 1024;
        let (small, large) = (1000 * K..1001 * K, 1001 * K..1321 * K);
        let pages = |uniform| Pages::new([small.clone(), large.clone()].into_iter(), 64, uniform);
        // The page of the small one begins with it.
        let mut all = pages(4096);
        all.set(&small, 64);
        assert_eq!(all.parts(&small), [(64, 1.0)].into());
        assert_eq!(all.parts(&large), [(64, 3.0 / 320.0), (4096, 317.0 / 320.0)].into());
        // A block of 65536 ends at 1024 K: 23 K of the large one go along.
        let mut all = pages(65536);
        all.set(&small, 64);
        assert_eq!(all.parts(&large)[&64], 23.0 / 320.0);
        // The larger size takes whole blocks of its size, the small one with them.
        let mut all = pages(4096);
        all.set(&large, 65536);
        assert_eq!((all.parts(&small), all.parts(&large)), ([(65536, 1.0)].into(), [(65536, 1.0)].into()));
        assert!(Pages::new(std::iter::empty(), 64, 64).sizes.is_empty());
    }
}
