//! Small objects that a thread has freed, and will allocate again without the lock of the arena: the magazines of J. Bonwick and J. Adams ("Magazines and Vmem: Extending the Slab Allocator to
//! Many CPUs and Arbitrary Resources", USENIX ATC 2001), one for each thread and size class. To the arena, objects in a magazine are in use.

use std::cell::RefCell;

use super::arena::{Arena, CLASSES, Object, class_bytes};
use super::slabs::Place;
use super::{Part, parts};
use dsm_threads::handler::Deferred;

/// Most objects of a magazine.
const MOST: usize = 64;
/// Most bytes of the objects of a magazine with more than two.
const MOST_BYTES: usize = 16 << 10;

/// Objects that a magazine of a class has space for.
fn space(class: usize) -> usize {
    (MOST_BYTES / class_bytes(class)).clamp(2, MOST)
}

/// An object in a magazine.
#[derive(Clone, Copy)]
pub(super) struct CachedObject {
    pub(super) offset: usize,
    /// Never in use before: all zero.
    pub(super) fresh: bool,
    /// Where it is noted that the program has it.
    pub(super) place: Place<'static>,
}

/// A thread's magazines of the general part.
struct Magazines([Vec<CachedObject>; CLASSES]);

impl Magazines {
    /// Takes an object of a class.
    #[inline(always)]
    fn allocate(&mut self, part: &Part, class: usize) -> Option<CachedObject> {
        let magazine = &mut self.0[class];
        if magazine.is_empty() {
            fill(magazine, part, class);
        }
        magazine.pop()
    }

    /// Keeps an object of a class.
    #[inline(always)]
    fn free(&mut self, part: &Part, place: Place<'static>, offset: usize) {
        let magazine = &mut self.0[place.class];
        // What has been reserved is what the magazine has space for, at least.
        if magazine.len() == magazine.capacity() {
            make_space(magazine, part, place.class);
        }
        magazine.push(CachedObject { offset, fresh: false, place });
    }
}

/// Takes one object of a class from the arena, which is locked.
fn take(arena: &mut Arena, part: &Part, class: usize) -> Option<CachedObject> {
    let Object { offset, fresh } = arena.take(class)?;
    let place = part.slabs.find(offset).expect("it lies in a slab");
    Some(CachedObject { offset, fresh, place })
}

/// Reserves space for all objects that a magazine may have, or gives half of them back.
#[cold]
fn make_space(magazine: &mut Vec<CachedObject>, part: &Part, class: usize) {
    if magazine.len() < space(class) {
        magazine.reserve_exact(space(class) - magazine.len());
    } else {
        drain(magazine, part, space(class) / 2);
    }
}

/// Half of a magazine full of objects that the arena has not handed out, so that they are allocated in the order in which they lie.
#[cold]
fn fill(magazine: &mut Vec<CachedObject>, part: &Part, class: usize) {
    let count = space(class) / 2;
    magazine.reserve_exact(space(class));
    let mut arena = part.arena.lock();
    magazine.extend((0..count).map_while(|_| take(&mut arena, part, class)));
    magazine.reverse();
}

/// Gives all objects of a magazine back to the arena but the last ones.
#[cold]
fn drain(magazine: &mut Vec<CachedObject>, part: &Part, left: usize) {
    let mut arena = part.arena.lock();
    let given = magazine.len() - left;
    magazine.drain(..given).for_each(|object| arena.give(object.offset));
}

impl Drop for Magazines {
    fn drop(&mut self) {
        // The thread ends, where a handler of the program may interrupt it.
        let _deferred = Deferred::begin();
        self.0.iter_mut().for_each(|magazine| drain(magazine, &parts()[0], 0));
    }
}

thread_local! {
    static MAGAZINES: RefCell<Magazines> = const { RefCell::new(Magazines([const { Vec::new() }; CLASSES])) };
}

/// Allocates an object of a class from the general part, which this is.
#[inline(always)]
pub(super) fn allocate(part: &Part, class: usize) -> Option<CachedObject> {
    let own = MAGAZINES.try_with(|magazines| magazines.borrow_mut().allocate(part, class));
    // A thread that is ending has no magazines any more.
    own.unwrap_or_else(|_| take(&mut part.arena.lock(), part, class))
}

/// Frees an object of the general part, which this is.
#[inline(always)]
pub(super) fn free(part: &Part, place: Place<'static>, offset: usize) {
    if MAGAZINES.try_with(|magazines| magazines.borrow_mut().free(part, place, offset)).is_err() {
        part.arena.lock().give(offset);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU32, Ordering};

    use parking_lot::Mutex;

    use super::*;
    use crate::heap::arena::small_class;

    const BYTES: usize = 8 << 20;

    fn part() -> Part {
        let arena = Arena::new(0..BYTES);
        Part { base: 0, bytes: BYTES, block: 64, slabs: arena.slabs(), arena: Mutex::new(arena) }
    }

    fn no_magazines() -> Magazines {
        Magazines([const { Vec::new() }; CLASSES])
    }

    /// Gives all objects back, and forgets the magazines, which are of another part than those of the process.
    fn end(mut magazines: Magazines, part: &Part) {
        magazines.0.iter_mut().for_each(|magazine| drain(magazine, part, 0));
        std::mem::forget(magazines);
    }

    /// Threads allocate, and free what others have allocated.
    #[test]
    fn no_two_threads_have_an_object() {
        const THREADS: usize = 4;
        let part = part();
        // By 16 bytes: the thread that has them.
        let owners: Vec<_> = (0..BYTES / 16).map(|_| AtomicU32::new(0)).collect();
        let rings: Vec<_> = (0..THREADS).map(|_| Mutex::new(Vec::new())).collect();
        let barrier = Barrier::new(THREADS);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (part, owners, rings, barrier) = (&part, &owners, &rings, &barrier);
                scope.spawn(move || {
                    let mut magazines = no_magazines();
                    let mut seed = thread as u64 + 1;
                    for _ in 0..40 {
                        for _ in 0..300 {
                            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                            let class = small_class(1 + (seed >> 40) as usize % 1000, 16).unwrap();
                            let object = magazines.allocate(part, class).unwrap();
                            part.slabs.find(object.offset).unwrap().hand_out();
                            let units =
                                &owners[object.offset / 16..(object.offset + class_bytes(class)) / 16];
                            for unit in units {
                                assert_eq!(unit.swap(thread as u32 + 1, Ordering::Relaxed), 0);
                            }
                            rings[(seed >> 33) as usize % THREADS].lock().push(object.offset);
                        }
                        barrier.wait();
                        for offset in std::mem::take(&mut *rings[thread].lock()) {
                            let place = part.slabs.find(offset).unwrap();
                            let units = &owners[offset / 16..(offset + class_bytes(place.class)) / 16];
                            units.iter().for_each(|unit| unit.store(0, Ordering::Relaxed));
                            assert!(place.take_back() && !place.is_live());
                            magazines.free(part, place, offset);
                        }
                        barrier.wait();
                    }
                    end(magazines, part);
                });
            }
        });
        // All of it is back: the slabs have become extents again, but one of each class.
        let mut arena = part.arena.lock();
        assert!(arena.allocate(BYTES - CLASSES * (64 << 10), 16, 0).is_some());
    }

    #[test]
    fn a_second_free_is_noticed() {
        let part = part();
        let mut magazines = no_magazines();
        let class = small_class(100, 16).unwrap();
        let object = magazines.allocate(&part, class).unwrap();
        let place = part.slabs.find(object.offset).unwrap();
        place.hand_out();
        assert!(part.slabs.find(object.offset + 16).is_none(), "no object begins inside another");
        assert!(place.take_back());
        magazines.free(&part, place, object.offset);
        assert!(!place.take_back());
        assert_eq!(
            magazines.allocate(&part, class).unwrap().offset,
            object.offset,
            "the last one freed is the next"
        );
        end(magazines, &part);
    }

    #[test]
    fn what_was_never_in_use_is_known_to_be_zero() {
        let part = part();
        let mut magazines = no_magazines();
        let first = magazines.allocate(&part, 3).unwrap();
        assert!(first.fresh);
        magazines.free(&part, first.place, first.offset);
        assert!(!magazines.allocate(&part, 3).unwrap().fresh);
        let second = magazines.allocate(&part, 3).unwrap();
        assert_eq!((second.offset, second.fresh), (first.offset + class_bytes(3), true));
        end(magazines, &part);
    }
}
