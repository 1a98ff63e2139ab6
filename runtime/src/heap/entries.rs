//! The heap's C entry points; their types are checked against [`dsm_abi::for_each_entry`] in `lib.rs`.

use super::{allocate, free, own_size, owner};
use crate::{check, memory, sync};

const ALIGN: usize = 16;

fn pointer(allocation: Option<(usize, bool)>) -> *mut u8 {
    allocation.map_or(std::ptr::null_mut(), |(address, _)| address as *mut u8)
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_malloc(size: u64) -> *mut u8 {
    pointer(allocate(size as usize, ALIGN))
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_calloc(count: u64, size: u64) -> *mut u8 {
    let Some(bytes) = (count as usize).checked_mul(size as usize) else { return std::ptr::null_mut() };
    let allocation = allocate(bytes, ALIGN);
    if let Some((address, false)) = allocation {
        check::writable(address, bytes);
        // SAFETY: a new object of at least `bytes` bytes, made writable.
        unsafe { (address as *mut u8).write_bytes(0, bytes) };
    }
    pointer(allocation)
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_realloc(old: *mut u8, size: u64) -> *mut u8 {
    let (address, size) = (old as usize, size as usize);
    if address == 0 {
        return __dsm_malloc(size as u64);
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
            None => crate::start::die(&format!("realloc of {address:#x}, where no object begins")),
        }
    } else {
        // Only the owner knows the size. What follows the object is readable memory of the same arena, and its
        // bytes end up where the new object's contents are indeterminate.
        memory::arena(rank).end - address
    };
    let Some((new, _)) = allocate(size, ALIGN) else { return std::ptr::null_mut() };
    let bytes = size.min(old_bytes);
    check::readable(address, bytes);
    check::writable(new, bytes);
    // SAFETY: both ranges are valid for `bytes`, made accessible, and in different objects.
    unsafe { (new as *mut u8).copy_from_nonoverlapping(address as *const u8, bytes) };
    free(address);
    new as *mut u8
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_free(object: *mut u8) {
    if !object.is_null() {
        free(object as usize);
    }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_aligned_alloc(align: u64, size: u64) -> *mut u8 {
    if !align.is_power_of_two() {
        return std::ptr::null_mut();
    }
    pointer(allocate(size as usize, (align as usize).max(ALIGN)))
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_posix_memalign(out: *mut u8, align: u64, size: u64) -> u32 {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>() as u64) {
        return libc::EINVAL as u32;
    }
    let Some((address, _)) = allocate(size as usize, (align as usize).max(ALIGN)) else {
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

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_strdup(s: *mut u8) -> *mut u8 {
    // SAFETY: the program passes a NUL-terminated string.
    unsafe {
        let len = check::readable_string(s as usize);
        copy(s, len)
    }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_strndup(s: *mut u8, n: u64) -> *mut u8 {
    let mut len = 0;
    // SAFETY: the program passes a string of `n` bytes or a NUL; bytes are made readable one by one.
    unsafe {
        while len < n as usize {
            check::readable(s as usize + len, 1);
            if *s.add(len) == 0 {
                break;
            }
            len += 1;
        }
        copy(s, len)
    }
}

/// A terminated copy of the `len` readable bytes at `s`.
unsafe fn copy(s: *mut u8, len: usize) -> *mut u8 {
    let Some((new, _)) = allocate(len + 1, ALIGN) else { return std::ptr::null_mut() };
    check::writable(new, len + 1);
    // SAFETY: a new writable object of len + 1 bytes; the source is readable as the caller says.
    unsafe {
        (new as *mut u8).copy_from_nonoverlapping(s, len);
        (new as *mut u8).add(len).write(0);
    }
    new as *mut u8
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_new(size: u64) -> *mut u8 {
    __dsm_new_aligned(size, ALIGN as u64)
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_new_aligned(size: u64, align: u64) -> *mut u8 {
    match allocate(size as usize, (align as usize).max(ALIGN)) {
        Some((address, _)) => address as *mut u8,
        None => crate::start::die("operator new: out of memory"),
    }
}
