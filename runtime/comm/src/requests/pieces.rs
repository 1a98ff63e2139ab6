//! The pieces of the own segment that peers' adapters may read.
//!
//! A piece is registered when a peer first asks for its key, and stays registered as long as the process lives: a key that a peer has kept must never become another one's, and a READ by
//! a key that is none ends the connection of all threads. Registering takes hold of all pages of the piece, and so makes those that were holes: pages of zeros.

use std::collections::BTreeMap;
use std::ops::Range;

use super::carrier::{Registrar, RemoteKey};
use super::wire::PIECE;

pub(super) struct Pieces {
    /// Where the segment begins.
    start: *mut u8,
    /// Offsets that may be read and written, and some that may be read.
    writable: Range<usize>,
    readable: [Range<usize>; 2],
    registrar: Option<Box<dyn Registrar>>,
    /// By the offset of each piece that has been asked for. `None`: nobody reads it, now and later.
    keys: BTreeMap<usize, Option<RemoteKey>>,
}

// SAFETY: the mapping lasts as long as the process; the address is given to the registrar only.
unsafe impl Send for Pieces {}

impl Pieces {
    /// # Safety
    /// The bytes at the offsets `readable` and `writable` of the segment are mapped for the life of the process, and never replaced by other pages; those that are writable are accessed by atomics.
    pub(super) unsafe fn new(
        start: *mut u8,
        (readable, writable): ([Range<usize>; 2], Range<usize>),
        registrar: Option<Box<dyn Registrar>>,
    ) -> Pieces {
        Pieces { start, writable, readable, registrar, keys: BTreeMap::new() }
    }

    /// The key of the piece that begins at an offset, which is registered if it is not: as far as it is writable, or else as far as one of the parts that may be read reaches.
    pub(super) fn key(&mut self, offset: usize) -> Option<&RemoteKey> {
        let Pieces { start, writable, readable, registrar, keys } = self;
        let register = || {
            let inside = |part: &Range<usize>| {
                let offsets = offset.max(part.start)..offset.saturating_add(PIECE).min(part.end);
                (!offsets.is_empty()).then_some(offsets)
            };
            let written = inside(writable);
            let offsets = written.clone().or_else(|| readable.iter().find_map(inside))?;
            let registrar = registrar.as_mut()?;
            let (first, bytes) = (start.wrapping_add(offsets.start), offsets.len());
            // SAFETY: inside the segment, which is mapped for good.
            let (key, address) = unsafe {
                match written {
                    Some(_) => registrar.register_writable(first, bytes)?,
                    None => registrar.register(first, bytes)?,
                }
            };
            Some(RemoteKey { key, address, offsets })
        };
        keys.entry(offset).or_insert_with(register).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts what it registers; takes a few.
    struct Few(Arc<AtomicUsize>, usize);

    impl Registrar for Few {
        unsafe fn register(&mut self, start: *mut u8, _: usize) -> Option<(u64, u64)> {
            let key = self.0.fetch_add(1, Ordering::Relaxed);
            (key < self.1).then_some((key as u64, start.addr() as u64))
        }
    }

    #[test]
    fn a_piece_is_registered_once_and_as_far_as_it_may_be_read() {
        let count = Arc::new(AtomicUsize::new(0));
        let readable = [PIECE / 2..2 * PIECE + 4096, 5 * PIECE..6 * PIECE];
        let registrar: Box<dyn Registrar> = Box::new(Few(count.clone(), 4));
        // SAFETY: nothing is accessed.
        let mut pieces = unsafe {
            Pieces::new(std::ptr::null_mut(), (readable, 4 * PIECE..4 * PIECE + 8), Some(registrar))
        };
        for _ in 0..3 {
            for (piece, offsets) in
                [(0, PIECE / 2..PIECE), (PIECE, PIECE..2 * PIECE), (2 * PIECE, 2 * PIECE..2 * PIECE + 4096)]
            {
                let key = pieces.key(piece).expect("it is registered");
                assert_eq!((&key.offsets, key.address), (&offsets, offsets.start as u64));
            }
            assert_eq!(pieces.key(3 * PIECE), None, "nobody may read it");
            assert_eq!(pieces.key(4 * PIECE), None, "this registrar lets nobody write");
            assert_eq!(pieces.key(5 * PIECE).map(|key| key.offsets.clone()), Some(5 * PIECE..6 * PIECE));
        }
        assert_eq!(count.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn what_is_refused_has_no_key_and_is_not_tried_again() {
        let count = Arc::new(AtomicUsize::new(0));
        let registrar: Box<dyn Registrar> = Box::new(Few(count.clone(), 1));
        // SAFETY: nothing is accessed.
        let mut pieces =
            unsafe { Pieces::new(std::ptr::null_mut(), ([0..4 * PIECE, 0..0], 0..0), Some(registrar)) };
        for _ in 0..2 {
            assert!(pieces.key(PIECE).is_some());
            assert_eq!(pieces.key(2 * PIECE), None);
        }
        assert_eq!(count.load(Ordering::Relaxed), 2);
        // SAFETY: nothing is accessed.
        let mut none = unsafe { Pieces::new(std::ptr::null_mut(), ([0..4 * PIECE, 0..0], 0..0), None) };
        assert_eq!(none.key(0), None);
    }
}
