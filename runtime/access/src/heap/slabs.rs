//! Which slab an address lies in, and which of its objects the program has: looked up without the lock of the arena.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use super::arena::{SLAB_BYTES, class_bytes};

/// Units of [`SLAB_BYTES`] that one table has entries for.
const TABLE: usize = 1 << 14;

/// The objects of a slab, which are of one class. It stays where it is while the process lives, as others may be looking at it when all its objects are free.
#[derive(Debug)]
pub struct SlabObjects {
    class: usize,
    /// Bytes of an object, and 2^32 divided by that, rounded up: a product takes a fifth of the time of a division.
    bytes: u32,
    inverse: u32,
    /// What the arena knows it by.
    index: AtomicUsize,
    /// By the objects' numbers: those that the program has.
    live: Box<[AtomicBool]>,
}

impl SlabObjects {
    /// Those of a slab of which the program has nothing.
    pub fn new(class: usize) -> SlabObjects {
        let bytes = class_bytes(class) as u32;
        let count = SLAB_BYTES / bytes as usize;
        SlabObjects {
            class,
            bytes,
            inverse: (1_u64 << 32).div_ceil(bytes.into()) as u32,
            index: AtomicUsize::new(0),
            live: (0..count).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// What the arena knows it by. The arena is locked.
    pub fn index(&self) -> usize {
        self.index.load(Ordering::Relaxed)
    }

    /// Changes what the arena, which is locked, knows it by.
    pub fn set_index(&self, index: usize) {
        self.index.store(index, Ordering::Relaxed);
    }
}

/// A place for an object of a slab.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Size class of the object.
    pub class: usize,
    live: &'a AtomicBool,
}

impl Place<'_> {
    /// The program gets the object.
    #[inline(always)]
    pub fn hand_out(&self) {
        self.live.store(true, Ordering::Relaxed);
    }

    /// The program gives the object back; false if it does not have it.
    #[inline(always)]
    pub fn take_back(&self) -> bool {
        // Who frees an object twice at the same time has a race anyhow.
        let is_live = self.is_live();
        self.live.store(false, Ordering::Relaxed);
        is_live
    }

    /// Whether the program has the object.
    #[inline(always)]
    pub fn is_live(&self) -> bool {
        self.live.load(Ordering::Relaxed)
    }
}

type Table = Box<[AtomicPtr<SlabObjects>; TABLE]>;

/// The slabs of an arena, by where they lie.
#[derive(Debug)]
pub struct Slabs(Box<[OnceLock<Table>]>);

impl Slabs {
    /// For an arena of so many bytes, without slabs.
    pub fn new(bytes: usize) -> Slabs {
        Slabs((0..bytes.div_ceil(SLAB_BYTES * TABLE)).map(|_| OnceLock::new()).collect())
    }

    /// The slab in which an offset of the arena lies.
    #[inline(always)]
    pub fn slab_at(&self, offset: usize) -> Option<&'static SlabObjects> {
        let unit = offset / SLAB_BYTES;
        let slab = self.0.get(unit / TABLE)?.get()?[unit % TABLE].load(Ordering::Acquire);
        // SAFETY: a slab once set lives for ever.
        unsafe { slab.as_ref() }
    }

    /// The place of a slab's object that begins at an offset of the arena.
    #[inline(always)]
    pub fn find(&self, offset: usize) -> Option<Place<'static>> {
        let SlabObjects { class, bytes, inverse, live, .. } = self.slab_at(offset)?;
        let inside = (offset % SLAB_BYTES) as u32;
        // Exact as long as the slab has at most 2^16 bytes.
        let number = ((u64::from(inside) * u64::from(*inverse)) >> 32) as u32;
        let live = live.get(number as usize).filter(|_| number * bytes == inside)?;
        Some(Place { class: *class, live })
    }

    /// Says which slab is at an offset of the arena from now on.
    pub fn set(&self, offset: usize, slab: Option<&'static SlabObjects>) {
        let unit = offset / SLAB_BYTES;
        let table = self.0[unit / TABLE]
            .get_or_init(|| Box::new([const { AtomicPtr::new(std::ptr::null_mut()) }; TABLE]));
        let slab = slab.map_or(std::ptr::null_mut(), |slab| std::ptr::from_ref(slab).cast_mut());
        table[unit % TABLE].store(slab, Ordering::Release);
    }
}
