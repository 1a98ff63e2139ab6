//! Memory routines of OpenMP: those with [`allocators`], and LLVM's own on the plain shared heap.

use super::allocators::{self, allocate, reallocate};
use crate::heap::entries::{dsm_rt_aligned_alloc, dsm_rt_calloc, dsm_rt_free, dsm_rt_malloc, dsm_rt_realloc};

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
    omp_alloc(size: u64, a: usize) = allocate(a, 1, size as usize, false);
    omp_calloc(count: u64, size: u64, a: usize) = allocate(a, 1, product(count, size), true);
    omp_aligned_alloc(align: u64, size: u64, a: usize) = allocate(a, align as usize, size as usize, false);
    omp_aligned_calloc(align: u64, count: u64, size: u64, a: usize) = allocate(a, align as usize, product(count, size), true);
    omp_realloc(old: *mut u8, size: u64, a: usize, _b: usize) = reallocate(old, size as usize, a);
    kmp_malloc(size: u64) = dsm_rt_malloc(size, 0);
    kmp_aligned_malloc(size: u64, align: u64) = dsm_rt_aligned_alloc(align, size, 0);
    kmp_calloc(count: u64, size: u64) = dsm_rt_calloc(count, size, 0);
    kmp_realloc(old: *mut u8, size: u64) = dsm_rt_realloc(old, size, 0);
    __kmpc_alloc(_gtid: i32, size: u64, a: usize) = allocate(a, 1, size as usize, false);
    __kmpc_aligned_alloc(_gtid: i32, align: u64, size: u64, a: usize) = allocate(a, align as usize, size as usize, false);
    __kmpc_calloc(_gtid: i32, count: u64, size: u64, a: usize) = allocate(a, 1, product(count, size), true);
    __kmpc_realloc(_gtid: i32, old: *mut u8, size: u64, a: usize, _b: usize) = reallocate(old, size as usize, a);
}

/// Bytes of an array; 0, which no routine allocates, if there are no such numbers.
fn product(count: u64, size: u64) -> usize {
    count.checked_mul(size).filter(|bytes| *bytes <= isize::MAX as u64).unwrap_or(0) as usize
}

/// Frees what the routines with allocators returned.
#[unsafe(no_mangle)]
pub extern "C" fn omp_free(object: *mut u8, _allocator: usize) {
    allocators::free(object);
}

/// Frees what LLVM's own routines returned.
#[unsafe(no_mangle)]
pub extern "C" fn kmp_free(object: *mut u8) {
    dsm_rt_free(object);
}

/// See [`omp_free`].
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_free(_gtid: i32, object: *mut u8, _allocator: usize) {
    allocators::free(object);
}
