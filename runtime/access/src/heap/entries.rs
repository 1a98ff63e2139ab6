//! The heap's C entry points. `dsm-runtime` (`runtime/src/lib.rs`, `entry_types`) checks their types against
//! [`dsm_abi::for_each_entry`].

use super::{allocate_at, free, own_size, owner};
use crate::{check, memory, sync};

const ALIGN: usize = 16;

fn pointer(allocation: Option<(usize, bool)>) -> *mut u8 {
    allocation.map_or(std::ptr::null_mut(), |(address, _)| address as *mut u8)
}

#[allow(missing_docs, reason = "see `dsm_abi::entries`")]
unsafe extern "C" {
    // In C, where a function can ask for its return address: each calls the function below of its name.
    fn dsm_rt_allocate(size: u64, site: usize) -> *mut u8;
    pub fn __dsm_malloc(size: u64) -> *mut u8;
    pub fn __dsm_calloc(count: u64, size: u64) -> *mut u8;
    pub fn __dsm_realloc(old: *mut u8, size: u64) -> *mut u8;
    pub fn __dsm_reallocarray(old: *mut u8, count: u64, size: u64) -> *mut u8;
    pub fn __dsm_valloc(size: u64) -> *mut u8;
    pub fn __dsm_pvalloc(size: u64) -> *mut u8;
    pub fn __dsm_aligned_alloc(align: u64, size: u64) -> *mut u8;
    pub fn __dsm_posix_memalign(out: *mut u8, align: u64, size: u64) -> u32;
    pub fn __dsm_strdup(s: *mut u8) -> *mut u8;
    pub fn __dsm_strndup(s: *mut u8, n: u64) -> *mut u8;
    pub fn __dsm_free(object: *mut u8);
    pub fn __dsm_new(size: u64) -> *mut u8;
    pub fn __dsm_new_array(size: u64) -> *mut u8;
    pub fn __dsm_new_nothrow(size: u64) -> *mut u8;
    pub fn __dsm_new_array_nothrow(size: u64) -> *mut u8;
    pub fn __dsm_delete(object: *mut u8);
    pub fn __dsm_delete_array(object: *mut u8);
    pub fn __dsm_delete_aligned(object: *mut u8, align: u64);
    pub fn __dsm_delete_sized_aligned(object: *mut u8, size: u64, align: u64);
    pub fn __dsm_new_aligned_nothrow(size: u64, align: u64) -> *mut u8;
    pub fn __dsm_new_aligned(size: u64, align: u64) -> *mut u8;
}

/// `malloc`; `site` is the caller's address, 0 if unknown, here and below.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_rt_malloc(size: u64, site: usize) -> *mut u8 {
    pointer(allocate_at(size as usize, ALIGN, site))
}

/// `calloc`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_rt_calloc(count: u64, size: u64, site: usize) -> *mut u8 {
    let Some(bytes) = (count as usize).checked_mul(size as usize) else { return std::ptr::null_mut() };
    let allocation = allocate_at(bytes, ALIGN, site);
    if let Some((address, false)) = allocation {
        check::overwritten(address, bytes);
        // SAFETY: a new object of at least `bytes` bytes, made writable.
        unsafe { (address as *mut u8).write_bytes(0, bytes) };
    }
    pointer(allocation)
}

/// `realloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dsm_rt_realloc(old: *mut u8, size: u64, site: usize) -> *mut u8 {
    let (address, size) = (old as usize, size as usize);
    if address == 0 {
        return dsm_rt_malloc(size as u64, site);
    }
    let Some(rank) = owner(address) else {
        // SAFETY: not ours, so the program got it from the C library.
        return unsafe { libc::realloc(old.cast(), size).cast() };
    };
    if size == 0 {
        free(address);
        return std::ptr::null_mut();
    }
    let old_bytes = if rank == sync::rank() {
        match own_size(address) {
            Some(bytes) if size <= bytes && size > bytes / 2 => return old,
            Some(bytes) => bytes,
            None => crate::job::die(&format!("realloc of {address:#x}, where no object begins")),
        }
    } else {
        // Only the owner knows the size. What follows the object is readable memory of the same arena, and its
        // bytes end up where the new object's contents are indeterminate.
        memory::arena(rank).end - address
    };
    let Some((new, _)) = allocate_at(size, ALIGN, site) else { return std::ptr::null_mut() };
    let bytes = size.min(old_bytes);
    check::readable(address, bytes);
    check::overwritten(new, bytes);
    // SAFETY: both ranges are valid for `bytes`, made accessible, and in different objects.
    unsafe { (new as *mut u8).copy_from_nonoverlapping(address as *const u8, bytes) };
    free(address);
    new as *mut u8
}

/// `free` of an object that the program's own allocator has not made; takes pointers of both heaps.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_rt_free(object: *mut u8) {
    if !object.is_null() {
        free(object as usize);
    }
}

/// `aligned_alloc`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_rt_aligned_alloc(align: u64, size: u64, site: usize) -> *mut u8 {
    if !align.is_power_of_two() {
        return std::ptr::null_mut();
    }
    pointer(allocate_at(size as usize, (align as usize).max(ALIGN), site))
}

/// `posix_memalign`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dsm_rt_posix_memalign(out: *mut u8, align: u64, size: u64, site: usize) -> u32 {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>() as u64) {
        return libc::EINVAL as u32;
    }
    let Some((address, _)) = allocate_at(size as usize, (align as usize).max(ALIGN), site) else {
        return libc::ENOMEM as u32;
    };
    check::writable(out as usize, size_of::<usize>());
    // SAFETY: the program passes a valid place for a pointer; it has been made writable.
    unsafe { out.cast::<usize>().write_unaligned(address) };
    0
}

/// See [`dsm_abi::entries`]. Of another process's object only the smallest possible size is known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_malloc_usable_size(object: *mut u8) -> u64 {
    match owner(object as usize) {
        Some(rank) if rank == sync::rank() => own_size(object as usize).unwrap_or(0) as u64,
        Some(_) => ALIGN as u64,
        // SAFETY: null or a pointer of the C library.
        None => unsafe { libc::malloc_usable_size(object.cast()) as u64 },
    }
}

/// `strndup`; `strdup` with the greatest `n`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dsm_rt_strndup(s: *mut u8, n: u64, site: usize) -> *mut u8 {
    let mut len = 0;
    // SAFETY: the program passes a string of `n` bytes or a NUL; bytes are made readable one by one.
    unsafe {
        if n == u64::MAX {
            len = check::readable_string(s as usize);
        } else {
            while len < n as usize {
                check::readable(s as usize + len, 1);
                if *s.add(len) == 0 {
                    break;
                }
                len += 1;
            }
        }
    }
    // SAFETY: allocates.
    let new = unsafe { dsm_rt_allocate(len as u64 + 1, site) };
    if new.is_null() {
        return new;
    }
    check::writable(new as usize, len + 1);
    check::readable(s as usize, len);
    // SAFETY: a new writable object of len + 1 bytes; the `len` bytes of the source were made readable.
    unsafe {
        new.copy_from_nonoverlapping(s, len);
        new.add(len).write(0);
    }
    new
}

/// What `operator new` allocates, or null.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_rt_new(size: u64, align: u64, site: usize) -> *mut u8 {
    pointer(allocate_at(size as usize, (align as usize).max(ALIGN), site))
}
