//! One process's arena: small objects in slabs, large ones in page extents. All metadata lies outside.
//!
//! A slab is 64 KiB of one size class, with a bitmap of free objects. Objects never share a page with an object of the other kind. Which objects the program has is known outside of the arena, too
//! ([`Slabs`]): some are neither free here nor the program's (`cache`).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::extents::Extents;
use super::slabs::{SlabObjects, Slabs};
pub use crate::memory::geometry::PAGE;

/// Pages of a slab.
const SLAB_PAGES: usize = 16;
/// Bytes of a slab, which lies at a multiple of that.
pub const SLAB_BYTES: usize = PAGE * SLAB_PAGES;
/// Largest object that lives in a slab.
pub const LARGEST_SMALL: usize = 8192;

/// Object sizes of the classes: 16-byte steps to 128, then four per doubling.
pub fn class_of(size: usize) -> usize {
    if size <= 128 {
        return size.max(1).div_ceil(16) - 1;
    }
    let log = (size - 1).ilog2() as usize;
    (log - 7) * 4 + 8 + (((size - 1) >> (log - 2)) & 3)
}

/// Bytes of an object of the class.
pub fn class_bytes(class: usize) -> usize {
    if class < 8 {
        return (class + 1) * 16;
    }
    let (doubling, quarter) = ((class - 8) / 4, (class - 8) % 4);
    (128 + 32 * (quarter + 1)) << doubling
}

/// Number of size classes.
pub const CLASSES: usize = 32;

/// The class of an object of `size` bytes at a multiple of `align`, a power of two of at least 16; `None` if it is a large one.
#[inline(always)]
pub fn small_class(size: usize, align: usize) -> Option<usize> {
    if align <= 16 {
        return (size <= LARGEST_SMALL).then(|| class_of(size));
    }
    // Sizes that are multiples of a power of two up to a page lie at multiples of it, slabs being aligned.
    let padded = size.max(1).checked_next_multiple_of(align)?;
    let class = (padded <= LARGEST_SMALL && align <= PAGE).then(|| class_of(padded))?;
    class_bytes(class).is_multiple_of(align).then_some(class)
}

struct Slab {
    first_page: usize,
    class: usize,
    free: Vec<u64>,
    /// All words of `free` before this one are zero.
    hint: usize,
    used: usize,
    /// Objects at or above this index have never been handed out.
    untouched: usize,
    fresh: bool,
}

impl Slab {
    fn capacity(&self) -> usize {
        SLAB_BYTES / class_bytes(self.class)
    }
}

/// A large object.
#[derive(Clone, Copy)]
struct Large {
    pages: usize,
    /// Unused pages in front of it.
    pad: usize,
}

/// An allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    /// Offset in the arena.
    pub offset: usize,
    /// Whether the bytes have never been in use, and so read zero.
    pub fresh: bool,
}

/// See the module.
pub struct Arena {
    extents: Extents,
    slabs: Vec<Slab>,
    unused_slabs: Vec<usize>,
    partial: [Vec<usize>; CLASSES],
    places: Arc<Slabs>,
    /// Places of slabs that are no more, by class.
    unused_places: [Vec<&'static SlabObjects>; CLASSES],
    /// By first page.
    large: HashMap<usize, Large>,
}

impl Arena {
    /// An empty arena in these addresses, whole pages.
    pub fn new(addresses: Range<usize>) -> Arena {
        Arena {
            extents: Extents::new(addresses.start / PAGE, addresses.len() / PAGE),
            slabs: Vec::new(),
            unused_slabs: Vec::new(),
            partial: [const { Vec::new() }; CLASSES],
            places: Arc::new(Slabs::new(addresses.len())),
            unused_places: [const { Vec::new() }; CLASSES],
            large: HashMap::new(),
        }
    }

    /// The slabs, for who looks without the lock of the arena.
    pub fn slabs(&self) -> Arc<Slabs> {
        Arc::clone(&self.places)
    }

    /// Allocates `size` bytes at an address that is a multiple of `align`, a power of two of at least 16. In front of a large object so many bytes belong to no other: whole pages.
    pub fn allocate(&mut self, size: usize, align: usize, pad: usize) -> Option<Object> {
        if let Some(class) = small_class(size, align) {
            let object = self.take(class)?;
            self.places.find(object.offset).expect("it lies in a slab").hand_out();
            return Some(object);
        }
        let pages = size.max(1).checked_add(PAGE - 1)? / PAGE;
        let pad = pad / PAGE;
        let taken = self.extents.take(pad, pages, (align / PAGE).max(1))?;
        self.large.insert(taken.start, Large { pages, pad });
        Some(Object { offset: taken.start * PAGE, fresh: taken.fresh })
    }

    /// Takes an object of a class, which the program does not get now.
    pub fn take(&mut self, class: usize) -> Option<Object> {
        let index = match self.partial[class].last() {
            Some(&index) => index,
            None => self.new_slab(class)?,
        };
        let slab = &mut self.slabs[index];
        let ahead = slab.free[slab.hint..].iter().position(|&w| w != 0);
        let word = slab.hint + ahead.expect("a partial slab has a free object");
        slab.hint = word;
        let object = word * 64 + slab.free[word].trailing_zeros() as usize;
        slab.free[word] &= slab.free[word] - 1;
        slab.used += 1;
        let fresh = slab.fresh && object >= slab.untouched;
        slab.untouched = slab.untouched.max(object + 1);
        if slab.used == slab.capacity() {
            self.partial[class].pop();
        }
        Some(Object { offset: slab.first_page * PAGE + object * class_bytes(class), fresh })
    }

    fn new_slab(&mut self, class: usize) -> Option<usize> {
        let taken = self.extents.take(0, SLAB_PAGES, SLAB_PAGES)?;
        let capacity = SLAB_BYTES / class_bytes(class);
        let mut free = vec![u64::MAX; capacity.div_ceil(64)];
        if !capacity.is_multiple_of(64) {
            *free.last_mut().expect("a slab has objects") = (1 << (capacity % 64)) - 1;
        }
        let slab =
            Slab { first_page: taken.start, class, free, hint: 0, used: 0, untouched: 0, fresh: taken.fresh };
        let index = match self.unused_slabs.pop() {
            Some(index) => {
                self.slabs[index] = slab;
                index
            }
            None => {
                self.slabs.push(slab);
                self.slabs.len() - 1
            }
        };
        let place =
            self.unused_places[class].pop().unwrap_or_else(|| Box::leak(Box::new(SlabObjects::new(class))));
        place.set_index(index);
        self.places.set(taken.start * PAGE, Some(place));
        self.partial[class].push(index);
        Some(index)
    }

    /// Usable bytes of the object at `offset`; `None` if none starts there.
    pub fn size(&self, offset: usize) -> Option<usize> {
        if let Some(large) = self.large.get(&(offset / PAGE)).filter(|_| offset.is_multiple_of(PAGE)) {
            return Some(large.pages * PAGE);
        }
        self.places.find(offset).filter(|place| place.is_live()).map(|place| class_bytes(place.class))
    }

    /// Frees the object at `offset`; false if none starts there.
    pub fn free(&mut self, offset: usize) -> bool {
        if self.size(offset).is_none() {
            return false;
        }
        if let Some(Large { pages, pad }) = self.large.remove(&(offset / PAGE)) {
            self.extents.give(offset / PAGE - pad, pad + pages);
            return true;
        }
        self.places.find(offset).expect("it lies in a slab").take_back();
        self.give(offset);
        true
    }

    /// Takes back an object of a slab that the program does not have.
    pub fn give(&mut self, offset: usize) {
        let place = self.places.slab_at(offset).expect("it lies in a slab");
        let index = place.index();
        let slab = &mut self.slabs[index];
        let class = slab.class;
        let object = (offset - slab.first_page * PAGE) / class_bytes(class);
        slab.free[object / 64] |= 1 << (object % 64);
        slab.hint = slab.hint.min(object / 64);
        if slab.used == slab.capacity() {
            self.partial[class].push(index);
        }
        slab.used -= 1;
        if slab.used == 0 && self.partial[class].len() > 1 {
            let first_page = slab.first_page;
            self.partial[class].retain(|&i| i != index);
            self.places.set(offset, None);
            self.unused_places[class].push(place);
            self.unused_slabs.push(index);
            self.extents.give(first_page, SLAB_PAGES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_cover_sizes_tightly() {
        for size in 1..=LARGEST_SMALL {
            let class = class_of(size);
            assert!(class < CLASSES && class_bytes(class) >= size, "{size}");
            assert!(class == 0 || class_bytes(class - 1) < size, "{size} fits a smaller class");
        }
    }

    #[test]
    fn objects_are_disjoint_aligned_and_reusable() {
        let mut arena = Arena::new(0..64 << 20);
        let mut live: Vec<(usize, usize)> = Vec::new();
        for i in 0..4000_usize {
            let (size, align) = (1 + i * 37 % 9000, 16 << (i % 10));
            let object = arena.allocate(size, align, i % 3 * PAGE).unwrap();
            assert_eq!(object.offset % align, 0, "{size} {align}");
            assert!(arena.size(object.offset).unwrap() >= size);
            live.push((object.offset, size));
            if i % 3 == 0 {
                assert!(arena.free(live.swap_remove(i % live.len()).0));
            }
        }
        live.sort();
        assert!(live.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0));
        assert!(live.iter().all(|&(offset, _)| arena.free(offset)));
        assert!(!arena.free(live[0].0), "a second free is noticed");
    }

    /// Arenas need not begin at a multiple of what a program asks for.
    #[test]
    fn alignment_is_that_of_addresses() {
        let base = 12 << 20;
        let mut arena = Arena::new(base..base + (256 << 20));
        for shift in 4..27 {
            for pad in [0, PAGE] {
                let object = arena.allocate(9000, 1 << shift, pad).unwrap();
                assert_eq!((base + object.offset) % (1 << shift), 0, "{shift} {pad}");
            }
        }
    }

    #[test]
    fn freshness_ends_with_the_first_use() {
        let mut arena = Arena::new(0..1 << 20);
        let first = arena.allocate(100, 16, 0).unwrap();
        assert!(first.fresh);
        arena.free(first.offset);
        let again = arena.allocate(100, 16, 0).unwrap();
        assert_eq!((again.offset, again.fresh), (first.offset, false));
        assert!(arena.allocate(100, 16, 0).unwrap().fresh);
        assert!(arena.allocate(2 << 20, 16, 0).is_none());
    }
}
