//! Page extents of an arena: best fit over freed extents, then never-used pages.
//!
//! Knows page numbers only and never touches the memory it manages. Invariants: free extents are disjoint, not
//! adjacent, and lie below `top`; pages at or above `high` have never been handed out.

use std::collections::{BTreeMap, BTreeSet};

/// Result of an allocation.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub struct Pages {
    /// First page, behind the pad.
    pub start: usize,
    /// Whether the pages have never been in use, and so read zero.
    pub fresh: bool,
}

/// See the module.
#[derive(Debug)]
pub struct Extents {
    by_start: BTreeMap<usize, usize>,
    by_size: BTreeSet<(usize, usize)>,
    /// Number of page 0 in the address space, by which pages are aligned.
    first: usize,
    top: usize,
    high: usize,
    end: usize,
}

impl Extents {
    /// Manages pages `0..end`, whose numbers in the address space begin with `first`.
    pub fn new(first: usize, end: usize) -> Extents {
        Extents { by_start: BTreeMap::new(), by_size: BTreeSet::new(), first, top: 0, high: 0, end }
    }

    /// Takes `count` pages whose first number in the address space is a multiple of `align` (a power of two), and `pad` pages in front of them. They are given back together.
    pub fn take(&mut self, pad: usize, count: usize, align: usize) -> Option<Pages> {
        let before = self.first;
        let up = |page: usize| (before + page + pad).next_multiple_of(align) - before;
        let fits = |&&(size, start): &&(usize, usize)| up(start) + count <= start + size;
        // Alignment can make a bounded number of candidates fail; any extent of pad + count + align - 1 pages fits.
        if let Some(&(size, start)) = self.by_size.range((pad.checked_add(count)?, 0)..).find(fits) {
            self.remove(start, size);
            let first = up(start);
            self.insert(start, first - pad - start);
            self.insert(first + count, start + size - first - count);
            return Some(Pages { start: first, fresh: false });
        }
        let first = up(self.top);
        let next = first.checked_add(count).filter(|&next| next <= self.end)?;
        let gap = self.top;
        self.top = next;
        self.insert(gap, first - pad - gap);
        let fresh = first >= self.high;
        self.high = self.high.max(next);
        Some(Pages { start: first, fresh })
    }

    /// Gives pages back.
    pub fn give(&mut self, mut start: usize, mut count: usize) {
        if let Some((&before, &size)) = self.by_start.range(..start).next_back()
            && before + size == start
        {
            self.remove(before, size);
            (start, count) = (before, count + size);
        }
        if let Some(&size) = self.by_start.get(&(start + count)) {
            self.remove(start + count, size);
            count += size;
        }
        if start + count == self.top {
            self.top = start;
        } else {
            self.insert(start, count);
        }
    }

    fn insert(&mut self, start: usize, size: usize) {
        if size > 0 {
            self.by_start.insert(start, size);
            self.by_size.insert((size, start));
        }
    }

    fn remove(&mut self, start: usize, size: usize) {
        self.by_start.remove(&start);
        self.by_size.remove(&(size, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reuse_merges_neighbours_and_is_not_fresh() {
        let mut e = Extents::new(0, 100);
        let a: Vec<_> = (0..4).map(|_| e.take(0, 10, 1).unwrap()).collect();
        assert!(a.iter().all(|p| p.fresh));
        e.give(a[0].start, 10);
        e.give(a[2].start, 10);
        e.give(a[1].start, 10);
        assert_eq!(e.take(0, 30, 1), Some(Pages { start: 0, fresh: false }));
        e.give(a[3].start, 10);
        assert_eq!(e.take(0, 5, 1), Some(Pages { start: 30, fresh: false }));
        assert_eq!(e.take(0, 20, 1), Some(Pages { start: 35, fresh: false }), "reaches into used pages");
        assert_eq!(e.take(0, 46, 1), None);
        assert_eq!(e.take(0, 45, 1), Some(Pages { start: 55, fresh: true }));
    }

    #[test]
    fn alignment_keeps_the_gap_usable() {
        let mut e = Extents::new(0, 64);
        assert_eq!(e.take(0, 1, 1).unwrap().start, 0);
        assert_eq!(e.take(0, 2, 16).unwrap().start, 16);
        assert_eq!(e.take(0, 15, 1).unwrap().start, 1);
        assert_eq!(e.take(0, 1, 1).unwrap().start, 18);
    }

    #[test]
    fn a_pad_lies_in_front_of_the_pages_and_the_gap_stays_usable() {
        let mut e = Extents::new(0, 64);
        assert_eq!(e.take(2, 10, 1).unwrap().start, 2);
        assert_eq!(e.take(2, 4, 16).unwrap().start, 16);
        assert_eq!(e.take(0, 2, 1).unwrap().start, 12, "in front of the pad");
        assert_eq!(e.take(0, 1, 1).unwrap().start, 20);
        e.give(0, 12);
        assert_eq!(e.take(4, 8, 1), Some(Pages { start: 4, fresh: false }));
        assert_eq!(e.take(8, 36, 1), None);
        assert_eq!(e.take(8, 35, 1), Some(Pages { start: 29, fresh: true }));
    }

    #[test]
    fn random_use_never_overlaps() {
        let mut e = Extents::new(0, 1 << 12);
        let mut live: Vec<(usize, usize)> = Vec::new();
        let mut seed = 12345_u64;
        for _ in 0..5000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let r = (seed >> 33) as usize;
            if r.is_multiple_of(3) && !live.is_empty() {
                let (start, count) = live.swap_remove(r / 3 % live.len());
                e.give(start, count);
            } else if let Some(p) = e.take(0, 1 + r % 37, 1 << (r % 4)) {
                let count = 1 + r % 37;
                assert!(p.start % (1 << (r % 4)) == 0 && p.start + count <= 1 << 12);
                assert!(live.iter().all(|&(s, c)| p.start + count <= s || s + c <= p.start));
                live.push((p.start, count));
            }
        }
        live.drain(..).for_each(|(start, count)| e.give(start, count));
        assert_eq!(e.take(0, 1 << 12, 1).unwrap().start, 0, "everything merges again");
    }
}
