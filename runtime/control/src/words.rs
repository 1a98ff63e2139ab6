//! Declarations of control words, and the places that they get.
//!
//! Most are given theirs when the process starts ([`place`]), one behind the other in the order of one table, which is the same in all processes. What lies on the shortest paths of the
//! protocol and of synchronisation has a place when it is compiled ([`Fixed`]): each of these names the one that it is behind. No two declarations share a cache line, nor two lines that
//! processors fetch together.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use dsm_comm::{Bytes, Word};
use parking_lot::Mutex;

use crate::area::{self, Line, area_bytes};
use crate::cell::Cell;
use crate::watched::Watched;

/// Two cache lines.
const SEPARATION: usize = 128;
/// Bytes at the beginning of a control area for [`Fixed`].
const FIXED_BYTES: usize = 224 << 20;

/// What a declaration has some of.
pub trait Kind {
    /// One of them in a process.
    type Handle;
    /// Bytes of one, a divisor of [`SEPARATION`].
    const BYTES: usize;
    /// The one of a process at an offset of the control area.
    fn at(rank: u32, offset: usize) -> Self::Handle;
}

impl Kind for u64 {
    type Handle = Word;
    const BYTES: usize = 8;
    #[inline]
    fn at(rank: u32, offset: usize) -> Word {
        area::word(rank, offset)
    }
}

/// Bytes from one on.
impl Kind for u8 {
    type Handle = Bytes;
    const BYTES: usize = 1;
    #[inline]
    fn at(rank: u32, offset: usize) -> Bytes {
        area::bytes(rank, offset)
    }
}

impl Kind for Line {
    type Handle = Line;
    const BYTES: usize = Line::BYTES;
    #[inline]
    fn at(rank: u32, offset: usize) -> Line {
        area::line(rank, offset)
    }
}

impl Kind for Cell {
    type Handle = Cell;
    const BYTES: usize = 8;
    #[inline]
    fn at(rank: u32, offset: usize) -> Cell {
        Cell::new(area::half(rank, offset), area::half(rank, offset + 4))
    }
}

impl Kind for Watched {
    type Handle = Watched;
    const BYTES: usize = 8;
    #[inline]
    fn at(rank: u32, offset: usize) -> Watched {
        Watched::new(area::word(rank, offset))
    }
}

/// What does not depend on the kind.
#[derive(Debug)]
pub struct Declaration {
    name: &'static str,
    bytes: usize,
    /// 0: has no place yet.
    offset: AtomicU32,
}

impl Declaration {
    #[inline(always)]
    fn offset(&'static self) -> usize {
        match self.offset.load(Ordering::Relaxed) {
            0 => self.place_alone(),
            offset => offset as usize,
        }
    }

    /// Words that are used without a table: in a process that has no peers, they may lie anywhere.
    #[cold]
    fn place_alone(&'static self) -> usize {
        assert!(!area::is_job(), "{} have no place: the table of control words lacks them", self.name);
        place(&[self]);
        self.offset.load(Ordering::Relaxed) as usize
    }
}

/// Control words of one kind in each process, zero at first.
#[derive(Debug)]
pub struct Words<T> {
    declaration: Declaration,
    kind: PhantomData<fn() -> T>,
}

impl<T: Kind> Words<T> {
    /// So many. The name is for messages. See [`declare`](crate::declare).
    pub const fn new(name: &'static str, count: usize) -> Words<T> {
        assert!(count > 0 && SEPARATION.is_multiple_of(T::BYTES));
        let declaration = Declaration { name, bytes: count * T::BYTES, offset: AtomicU32::new(0) };
        Words { declaration, kind: PhantomData }
    }

    /// The declaration, for [`place`].
    pub const fn declaration(&'static self) -> &'static Declaration {
        &self.declaration
    }

    /// Number of them.
    pub const fn count(&self) -> usize {
        self.declaration.bytes / T::BYTES
    }

    /// Number `i` of a process.
    #[inline]
    pub fn of(&'static self, rank: u32, i: usize) -> T::Handle {
        assert!(i < self.count());
        T::at(rank, self.offset() + i * T::BYTES)
    }

    /// Number `i` of process 0: words that the job has once.
    #[inline]
    pub fn shared(&'static self, i: usize) -> T::Handle {
        self.of(0, i)
    }

    /// Where the first one lies in the control area.
    pub fn offset(&'static self) -> usize {
        self.declaration.offset()
    }
}

impl Words<Watched> {
    /// Writes those of process 0 from number `first` on, one after the other. Wakes nobody.
    pub fn store_shared(&'static self, first: usize, values: &[u64]) {
        assert!(first + values.len() <= self.count());
        area::write_words(0, self.offset() + first * Watched::BYTES, values);
    }
}

impl Words<u8> {
    /// Address of the first one of this process.
    pub fn own_address(&'static self) -> *mut u8 {
        area::own_address(self.offset())
    }
}

/// Declares control words, and a table of them, `CONTROL_WORDS`, for [`place`].
///
/// ```ignore
/// control::declare! {
///     /// Number of keys that were made.
///     static MADE: u64;
///     /// Their destructors.
///     static KEYS: u64, 1024;
/// }
/// ```
#[macro_export]
macro_rules! declare {
    ($($(#[$doc:meta])* $visibility:vis static $name:ident: $kind:ty $(, $count:expr)?;)*) => {
        $($(#[$doc])* $visibility static $name: $crate::Words<$kind> =
            $crate::Words::new(concat!(module_path!(), "::", stringify!($name)), $crate::declare!(@count $($count)?));)*
        /// The control words of the module.
        pub static CONTROL_WORDS: &[&$crate::Declaration] = &[$($name.declaration()),*];
    };
    (@count) => { 1 };
    (@count $count:expr) => { $count };
}

/// What has a place, in the order of places, and where the next one is.
struct Places {
    placed: Vec<&'static Declaration>,
    next: usize,
}

impl Places {
    const fn new() -> Places {
        Places { placed: Vec::new(), next: FIXED_BYTES }
    }

    fn give(&mut self, declaration: &'static Declaration) {
        if declaration.offset.load(Ordering::Relaxed) != 0 {
            return;
        }
        let offset = self.next;
        self.next = (offset + declaration.bytes).next_multiple_of(SEPARATION);
        assert!(self.next <= area_bytes(), "a control area has no space for {}", declaration.name);
        self.placed.push(declaration);
        declaration.offset.store(offset as u32, Ordering::Relaxed);
    }

    fn all(&self) -> impl Iterator<Item = (&'static str, Range<usize>)> {
        self.placed.iter().map(|declaration| {
            let offset = declaration.offset.load(Ordering::Relaxed) as usize;
            (declaration.name, offset..offset + declaration.bytes)
        })
    }

    fn digest(&self) -> usize {
        self.all().fold(self.next, |digest, (name, range)| {
            let name = name.bytes().fold(digest, |digest, byte| digest.rotate_left(5) ^ usize::from(byte));
            (name ^ range.start << 32 ^ range.end).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        })
    }
}

static PLACES: Mutex<Places> = Mutex::new(Places::new());

/// Gives places to declarations that have none, one behind the other. All processes of a job call it with the same ones, before any of these is used.
pub fn place(declarations: &[&'static Declaration]) {
    let mut places = PLACES.lock();
    declarations.iter().for_each(|declaration| places.give(declaration));
}

/// Names of all that have a place by now, and where in the control area they lie.
pub fn places() -> Vec<(&'static str, Range<usize>)> {
    PLACES.lock().all().collect()
}

/// A digest of all places, for comparison with other processes.
pub fn digest() -> usize {
    PLACES.lock().digest()
}

/// Control words whose place is known when they are compiled: behind those of the crate or module below.
#[derive(Debug)]
pub struct Fixed<T> {
    offset: usize,
    count: usize,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for Fixed<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Fixed<T> {}

impl<T: Kind> Fixed<T> {
    /// The first ones.
    pub const fn first(count: usize) -> Fixed<T> {
        Fixed::at(0, count)
    }

    /// Those behind some others.
    pub const fn behind<U: Kind>(previous: Fixed<U>, count: usize) -> Fixed<T> {
        Fixed::at(previous.end(), count)
    }

    const fn at(offset: usize, count: usize) -> Fixed<T> {
        let fixed = Fixed { offset, count, kind: PhantomData };
        assert!(count > 0 && SEPARATION.is_multiple_of(T::BYTES) && fixed.end() <= FIXED_BYTES);
        fixed
    }

    /// Behind the last one, with the distance between declarations.
    const fn end(self) -> usize {
        (self.offset + self.count * T::BYTES).next_multiple_of(SEPARATION)
    }

    /// Where number `i` lies in the control area.
    #[inline(always)]
    pub const fn offset(self, i: usize) -> usize {
        debug_assert!(i < self.count);
        self.offset + i * T::BYTES
    }

    /// Number `i` of a process.
    #[inline(always)]
    pub fn of(self, rank: u32, i: usize) -> T::Handle {
        assert!(i < self.count);
        T::at(rank, self.offset(i))
    }
}

const _: () = assert!(FIXED_BYTES < area_bytes() && area_bytes() <= u32::MAX as usize);

#[cfg(test)]
mod tests {
    use super::*;

    mod some {
        crate::declare! {
            pub static LINE: crate::Line;
            pub static CELLS: crate::Cell, 3;
            pub static BYTES: u8, 129;
            pub static FLAGS: crate::Watched, 2;
        }
    }

    #[test]
    fn each_declaration_gets_one_place_apart_from_all_others() {
        let mut places = Places::new();
        let names = ["line", "cells", "bytes", "more"];
        let bytes = [Line::BYTES, 24, 129, 8];
        let declare = |i: usize| -> &'static Declaration {
            let (name, bytes, offset) = (names[i], bytes[i], AtomicU32::new(0));
            Box::leak(Box::new(Declaration { name, bytes, offset }))
        };
        let declarations = [0, 1, 2, 3].map(declare);
        declarations.iter().chain(&declarations[1..]).for_each(|d| places.give(d));
        let (found, ranges): (Vec<_>, Vec<_>) = places.all().unzip();
        assert_eq!(found, names);
        let starts: Vec<_> = ranges.iter().map(|range| range.start - FIXED_BYTES).collect();
        assert_eq!(starts, [0, 128, 256, 512]);
        assert_eq!(ranges.iter().map(Range::len).collect::<Vec<_>>(), bytes);
    }

    #[test]
    fn digests_tell_orders_apart() {
        let digest = |order: [usize; 2]| {
            let mut places = Places::new();
            for name in order.map(|i| ["one", "other"][i]) {
                let offset = AtomicU32::new(0);
                places.give(Box::leak(Box::new(Declaration { name, bytes: 8, offset })));
            }
            places.digest()
        };
        assert_eq!(digest([0, 1]), digest([0, 1]));
        assert_ne!(digest([0, 1]), digest([1, 0]));
    }

    #[test]
    fn words_of_one_declaration_lie_side_by_side() {
        place(some::CONTROL_WORDS);
        for i in 0..3 {
            some::CELLS.of(0, i).increase(1 + i as u32);
        }
        let word = |i: usize| area::word(0, some::CELLS.offset() + 8 * i).load(Ordering::SeqCst) as u32;
        assert_eq!([0, 1, 2, 3].map(word), [1, 2, 3, 0]);
        some::LINE.of(0, 0).half(4).store(7, Ordering::SeqCst);
        assert_eq!(area::word(0, some::LINE.offset()).load(Ordering::SeqCst), 7 << 32);
        assert_eq!(some::FLAGS.count() + some::BYTES.count(), 131);
    }

    #[test]
    #[should_panic(expected = "i < self.count()")]
    fn none_lies_behind_the_last() {
        some::FLAGS.shared(2);
    }

    #[test]
    fn fixed_words_lie_behind_each_other() {
        const ONE: Fixed<u64> = Fixed::first(1);
        const CELLS: Fixed<Cell> = Fixed::behind(ONE, 17);
        const LAST: Fixed<Line> = Fixed::behind(CELLS, 1);
        assert_eq!([ONE.offset(0), CELLS.offset(0), CELLS.offset(16)], [0, 128, 256]);
        assert_eq!(LAST.offset(0), 384);
    }
}
