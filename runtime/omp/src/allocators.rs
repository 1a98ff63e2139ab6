//! Allocators: the predefined ones and those that the program makes, with their traits.
//!
//! All memory is the shared heap; what the traits *alignment*, *pool size* and *fallback* ask for is done, the others have no effect on one
//! kind of memory. An allocator of the program is an object of the shared heap, its handle the address: so it holds in all processes.
//! In front of each object stands a [`Header`], by which any process can free it. OpenMP 5.2, chapter 6; where the specification leaves the
//! result open, libomp's.

use std::sync::OnceLock;

use super::{frame, get, put};
use crate::atomics::{__dsm_atomic_cas, __dsm_atomic_rmw};
use crate::config::{self, allocator::DEFAULT_ALLOCATOR};
use crate::{check, heap};
use dsm_abi::atomic::RmwOp;
use dsm_abi::atomic::order::RELAXED;

/// Handle of no allocator: the default one of the task is meant.
const NULL_ALLOCATOR: usize = 0;
/// Handles up to here are predefined.
const LAST_PREDEFINED: usize = 1024;
/// `omp_high_bw_mem_space`, which no machine here has.
const HIGH_BANDWIDTH_SPACE: usize = 3;

/// Keys of traits, as in `omp.h`.
mod key {
    pub const ALIGNMENT: i32 = 2;
    pub const POOL_SIZE: i32 = 4;
    pub const FALLBACK: i32 = 5;
    pub const FALLBACK_DATA: i32 = 6;
}

/// Values of the fallback trait.
mod fallback {
    pub const DEFAULT_MEMORY: usize = 11;
    pub const NULL: usize = 12;
    pub const ABORT: usize = 13;
    pub const ALLOCATOR: usize = 14;
}

/// The value that stands for a trait's default.
const DEFAULT_VALUE: usize = usize::MAX;

/// `omp_alloctrait_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Trait {
    key: i32,
    value: usize,
}

/// An allocator of the program, in shared memory; only `used` changes.
#[repr(C)]
#[derive(Clone, Copy)]
struct Allocator {
    alignment: usize,
    /// Bytes that it may hand out; `usize::MAX` for any number.
    pool: usize,
    fallback: usize,
    fallback_data: usize,
    /// Bytes that it has handed out, if the pool is limited.
    used: u64,
}

impl Allocator {
    const PREDEFINED: Allocator = Allocator {
        alignment: MIN_ALIGN,
        pool: usize::MAX,
        fallback: fallback::NULL,
        fallback_data: 0,
        used: 0,
    };

    /// From traits; `None` if they make no sense.
    fn from_traits(traits: impl Iterator<Item = (i32, usize)>) -> Option<Allocator> {
        let mut allocator = Allocator { fallback: fallback::DEFAULT_MEMORY, ..Allocator::PREDEFINED };
        for (key, value) in traits.filter(|(_, value)| *value != DEFAULT_VALUE) {
            match key {
                key::ALIGNMENT if value.is_power_of_two() => allocator.alignment = value.max(MIN_ALIGN),
                key::ALIGNMENT => return None,
                key::POOL_SIZE => allocator.pool = value,
                key::FALLBACK => allocator.fallback = value,
                key::FALLBACK_DATA => allocator.fallback_data = value,
                _ => {}
            }
        }
        (allocator.fallback != fallback::ALLOCATOR || allocator.fallback_data != NULL_ALLOCATOR)
            .then_some(allocator)
    }

    fn of(handle: usize) -> Allocator {
        if handle <= LAST_PREDEFINED {
            return Allocator::PREDEFINED;
        }
        // SAFETY: a handle from `make`, as the program promises.
        unsafe { get(handle as *const Allocator) }
    }
}

/// Least alignment.
const MIN_ALIGN: usize = 16;

/// In front of each object.
#[repr(C)]
#[derive(Clone, Copy)]
struct Header {
    /// What the heap gave.
    base: usize,
    /// Bytes that the program asked for.
    bytes: usize,
    /// The allocator that gave them, not one that fell back to it.
    allocator: usize,
}

/// Distance of an object from what the heap gives, for an alignment; the header lies in between.
fn offset(align: usize) -> usize {
    size_of::<Header>().next_multiple_of(align)
}

fn header_of(object: *mut u8) -> *mut Header {
    object.wrapping_sub(size_of::<Header>()).cast()
}

/// Takes bytes from a limited pool; false if there are not as many.
fn take_from_pool(handle: usize, allocator: &Allocator, bytes: usize) -> bool {
    if allocator.pool == usize::MAX {
        return true;
    }
    let mut used = add_to_used(handle, 0);
    loop {
        let mut desired = used.saturating_add(bytes as u64);
        if desired > allocator.pool as u64 {
            return false;
        }
        let (expected, new) = ((&raw mut used).cast(), (&raw mut desired).cast());
        // SAFETY: a live allocator's word, and places of this function; a failure leaves the value found in `used`.
        if unsafe { __dsm_atomic_cas(used_of(handle), expected, new, 8, RELAXED, RELAXED) } != 0 {
            return true;
        }
    }
}

/// Gives bytes back.
fn give_to_pool(handle: usize, bytes: usize) {
    if handle > LAST_PREDEFINED && Allocator::of(handle).pool != usize::MAX {
        add_to_used(handle, (bytes as u64).wrapping_neg());
    }
}

fn used_of(handle: usize) -> *mut u8 {
    (handle + std::mem::offset_of!(Allocator, used)) as *mut u8
}

/// Adds to the bytes that a limited pool has handed out; the number before.
fn add_to_used(handle: usize, mut bytes: u64) -> u64 {
    let mut old = 0_u64;
    let (value, out) = ((&raw mut bytes).cast(), (&raw mut old).cast());
    // SAFETY: a live allocator's word, and places of this function.
    unsafe { __dsm_atomic_rmw(used_of(handle), value, out, 8, RmwOp::Add as u32, RELAXED) };
    old
}

/// The default allocator of the current task.
fn default_allocator() -> usize {
    frame::current().icv.get().allocator
}

/// What `OMP_ALLOCATOR` stands for; the first call in a process makes it.
pub fn initial() -> usize {
    static INITIAL: OnceLock<usize> = OnceLock::new();
    *INITIAL.get_or_init(|| {
        let given = &config::get().allocator;
        match &given.traits {
            None => given.handle,
            Some(traits) => match make(given.handle, traits.iter().copied()) {
                NULL_ALLOCATOR => DEFAULT_ALLOCATOR,
                made => made,
            },
        }
    })
}

fn make(space: usize, traits: impl Iterator<Item = (i32, usize)>) -> usize {
    if space == HIGH_BANDWIDTH_SPACE {
        return NULL_ALLOCATOR;
    }
    let Some(allocator) = Allocator::from_traits(traits) else { return NULL_ALLOCATOR };
    let Some((address, _)) = heap::allocate(size_of::<Allocator>(), align_of::<Allocator>()) else {
        return NULL_ALLOCATOR;
    };
    // SAFETY: a new object of this size.
    unsafe { put(address as *mut Allocator, allocator) };
    address
}

/// Allocates `bytes`, aligned at least to `align`; zeroed if asked for.
pub fn allocate(handle: usize, align: usize, bytes: usize, zeroed: bool) -> *mut u8 {
    if bytes == 0 || !align.is_power_of_two() {
        return std::ptr::null_mut();
    }
    let handle = if handle == NULL_ALLOCATOR { default_allocator() } else { handle };
    let allocator = Allocator::of(handle);
    let align = allocator.alignment.max(align);
    // The header counts, too, as in other runtimes: programs choose their pools with space to spare.
    let taken = bytes.saturating_add(offset(align));
    if take_from_pool(handle, &allocator, taken) {
        if let Some(object) = from_heap(handle, align, bytes, zeroed) {
            return object;
        }
        give_to_pool(handle, taken);
    }
    match allocator.fallback {
        fallback::DEFAULT_MEMORY => {
            from_heap(DEFAULT_ALLOCATOR, align, bytes, zeroed).unwrap_or(std::ptr::null_mut())
        }
        fallback::ABORT => crate::job::die(&format!(
            "an allocator with the trait abort_fb has no {bytes} bytes left of a pool of {}",
            allocator.pool
        )),
        fallback::ALLOCATOR => allocate(allocator.fallback_data, align, bytes, zeroed),
        _ => std::ptr::null_mut(),
    }
}

fn from_heap(handle: usize, align: usize, bytes: usize, zeroed: bool) -> Option<*mut u8> {
    let before = offset(align);
    let (base, fresh) = heap::allocate(before.checked_add(bytes)?, align)?;
    let object = (base + before) as *mut u8;
    // SAFETY: the header lies in the new object, in front of what the program gets.
    unsafe {
        put(header_of(object), Header { base, bytes, allocator: handle });
        if zeroed && !fresh {
            check::overwritten(object as usize, bytes);
            object.write_bytes(0, bytes);
        }
    }
    Some(object)
}

/// Frees what [`allocate`] returned.
pub fn free(object: *mut u8) {
    if object.is_null() {
        return;
    }
    // SAFETY: the header that `from_heap` wrote.
    let header = unsafe { get(header_of(object)) };
    give_to_pool(header.allocator, header.bytes + (object as usize - header.base));
    heap::free(header.base);
}

/// Moves an object into one of `bytes` bytes; a null allocator stands for the one the object came from.
///
/// # Safety
/// `object` is null or comes from [`allocate`] and is not freed.
pub unsafe fn reallocate(object: *mut u8, bytes: usize, handle: usize) -> *mut u8 {
    if object.is_null() {
        return allocate(handle, 1, bytes, false);
    }
    if bytes == 0 {
        free(object);
        return std::ptr::null_mut();
    }
    // SAFETY: the header that `from_heap` wrote.
    let header = unsafe { get(header_of(object)) };
    let new = allocate(if handle == NULL_ALLOCATOR { header.allocator } else { handle }, 1, bytes, false);
    if !new.is_null() {
        let bytes = bytes.min(header.bytes);
        check::readable(object as usize, bytes);
        check::overwritten(new as usize, bytes);
        // SAFETY: different objects of at least this many bytes, made accessible.
        unsafe { new.copy_from_nonoverlapping(object, bytes) };
        free(object);
    }
    new
}

/// Makes an allocator; null if the traits make no sense or there is no such memory.
///
/// # Safety
/// `traits` has `count` elements.
unsafe fn init(space: usize, count: i32, traits: *const Trait) -> usize {
    // SAFETY: the caller's promise.
    let traits = (0..count.max(0) as usize).map(|i| unsafe { get(traits.add(i)) });
    make(space, traits.map(|t| (t.key, t.value)))
}

/// Makes an allocator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_allocator(space: usize, count: i32, traits: *const Trait) -> usize {
    // SAFETY: the program's array.
    unsafe { init(space, count, traits) }
}

/// The same for Fortran; its other routines for allocators have the names and arguments of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_allocator_(
    space: *const usize,
    count: *const i32,
    traits: *const Trait,
) -> usize {
    // SAFETY: Fortran arguments are addresses.
    unsafe { init(get(space), get(count), traits) }
}

/// See [`omp_init_allocator`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_init_allocator(
    _gtid: i32,
    space: usize,
    count: i32,
    traits: *const Trait,
) -> usize {
    // SAFETY: the compiler's array.
    unsafe { init(space, count, traits) }
}

/// Ends an allocator; its objects may still be freed only if its pool is not limited, as nobody may use it any more.
#[unsafe(no_mangle)]
pub extern "C" fn omp_destroy_allocator(allocator: usize) {
    if allocator > LAST_PREDEFINED {
        heap::free(allocator);
    }
}

/// See [`omp_destroy_allocator`].
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_destroy_allocator(_gtid: i32, allocator: usize) {
    omp_destroy_allocator(allocator);
}

/// Sets the allocator that a null one stands for.
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_default_allocator(allocator: usize) {
    let frame = frame::current();
    let mut icv = frame.icv.get();
    icv.allocator = if allocator == NULL_ALLOCATOR { DEFAULT_ALLOCATOR } else { allocator };
    frame.icv.set(icv);
}

/// See [`omp_set_default_allocator`].
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_set_default_allocator(_gtid: i32, allocator: usize) {
    omp_set_default_allocator(allocator);
}

/// The allocator that a null one stands for.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_default_allocator() -> usize {
    default_allocator()
}

/// See [`omp_get_default_allocator`].
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_get_default_allocator(_gtid: i32) -> usize {
    default_allocator()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traits_that_make_no_sense_are_refused() {
        let from = |traits: &[(i32, usize)]| Allocator::from_traits(traits.iter().copied());
        assert_eq!(from(&[(key::ALIGNMENT, 4096)]).unwrap().alignment, 4096);
        assert_eq!(from(&[(key::ALIGNMENT, 1), (key::POOL_SIZE, 5)]).unwrap().alignment, MIN_ALIGN);
        assert_eq!(from(&[(key::ALIGNMENT, DEFAULT_VALUE)]).unwrap().pool, usize::MAX);
        assert!(from(&[(key::ALIGNMENT, 24)]).is_none());
        assert!(from(&[(key::FALLBACK, fallback::ALLOCATOR)]).is_none());
        assert!(from(&[(key::FALLBACK, fallback::ALLOCATOR), (key::FALLBACK_DATA, 1)]).is_some());
    }

    #[test]
    fn objects_behind_headers_are_aligned() {
        for align in [16, 32, 64, 4096] {
            assert!(offset(align).is_multiple_of(align) && offset(align) >= size_of::<Header>());
        }
    }
}
