//! Memory routines of OpenMP: all allocators are the shared heap.

use std::ffi::c_void;

use crate::heap::entries::{__dsm_free, dsm_rt_aligned_alloc, dsm_rt_calloc, dsm_rt_malloc, dsm_rt_realloc};

macro_rules! allocators {
    ($($name:ident($($arg:ident: $t:ty),*) = $body:expr;)*) => {$(
        #[doc = "Memory routine; see the OpenMP specification or omp.h."]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $t),*) -> *mut u8 {
            // SAFETY: pointers are null or come from an allocation routine, as the program promises.
            #[allow(unused_unsafe, reason = "some bodies are safe")]
            unsafe { $body }
        }
    )*};
}

allocators! {
    omp_alloc(size: u64, _a: usize) = dsm_rt_malloc(size, 0);
    omp_calloc(count: u64, size: u64, _a: usize) = dsm_rt_calloc(count, size, 0);
    omp_aligned_alloc(align: u64, size: u64, _a: usize) = dsm_rt_aligned_alloc(align, size, 0);
    omp_aligned_calloc(align: u64, count: u64, size: u64, _a: usize) = aligned_calloc(align, count, size);
    omp_realloc(old: *mut u8, size: u64, _a: usize, _b: usize) = dsm_rt_realloc(old, size, 0);
    kmp_malloc(size: u64) = dsm_rt_malloc(size, 0);
    kmp_aligned_malloc(size: u64, align: u64) = dsm_rt_aligned_alloc(align, size, 0);
    kmp_calloc(count: u64, size: u64) = dsm_rt_calloc(count, size, 0);
    kmp_realloc(old: *mut u8, size: u64) = dsm_rt_realloc(old, size, 0);
    __kmpc_alloc(_gtid: i32, size: u64, _a: usize) = dsm_rt_malloc(size, 0);
    __kmpc_aligned_alloc(_gtid: i32, align: u64, size: u64, _a: usize) = dsm_rt_aligned_alloc(align, size, 0);
    __kmpc_calloc(_gtid: i32, count: u64, size: u64, _a: usize) = dsm_rt_calloc(count, size, 0);
    __kmpc_realloc(_gtid: i32, old: *mut u8, size: u64, _a: usize, _b: usize) = dsm_rt_realloc(old, size, 0);
}

fn aligned_calloc(align: u64, count: u64, size: u64) -> *mut u8 {
    let Some(bytes) = count.checked_mul(size) else { return std::ptr::null_mut() };
    let object = dsm_rt_aligned_alloc(align, bytes, 0);
    if !object.is_null() {
        crate::check::writable(object as usize, bytes as usize);
        // SAFETY: a new writable object of `bytes` bytes.
        unsafe { object.write_bytes(0, bytes as usize) };
    }
    object
}

/// Frees what the routines above returned.
#[unsafe(no_mangle)]
pub extern "C" fn omp_free(object: *mut u8, _allocator: usize) {
    __dsm_free(object);
}

/// See [`omp_free`].
#[unsafe(no_mangle)]
pub extern "C" fn kmp_free(object: *mut u8) {
    __dsm_free(object);
}

/// See [`omp_free`].
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_free(_gtid: i32, object: *mut u8, _allocator: usize) {
    __dsm_free(object);
}

/// All allocators are alike: the default one.
#[unsafe(no_mangle)]
pub extern "C" fn omp_init_allocator(_space: usize, _count: i32, _traits: *const c_void) -> usize {
    1
}

/// See [`omp_init_allocator`].
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_init_allocator(
    _gtid: i32,
    _space: usize,
    _count: i32,
    _traits: *const c_void,
) -> usize {
    1
}

/// See [`omp_init_allocator`].
#[unsafe(no_mangle)]
pub extern "C" fn omp_destroy_allocator(_allocator: usize) {}

/// See [`omp_init_allocator`].
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_destroy_allocator(_gtid: i32, _allocator: usize) {}

/// See [`omp_init_allocator`].
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_default_allocator(_allocator: usize) {}

/// See [`omp_init_allocator`].
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_default_allocator() -> usize {
    1
}
