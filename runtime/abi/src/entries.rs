//! The list of runtime entry points that compiled code calls.
//!
//! `for_each_entry!(m)` expands `m! { fn name(arg: type, ...) -> type; ... }`. The pass expands it to a table
//! of declarations; the runtime expands it to assertions that its functions have these types. Types:
//! `ptr`, `i8`, `i32`, `i64`, `void` (result only).
//!
//! All entries have the C calling convention, never unwind, and never capture their pointer arguments,
//! except the heap entries whose results are fresh memory. Miss and range entries do not synchronise: they
//! only make blocks valid, so checks made before such a call still hold after it.

/// See the module documentation.
#[macro_export]
macro_rules! for_each_entry {
    ($m:ident) => {
        $m! {
            /// The state byte of `[addr, addr + len)` (within one line) refused a load: makes it readable.
            fn __dsm_load_miss(addr: ptr, len: i64) -> void;
            /// As `__dsm_load_miss`, for a store: makes it writable.
            fn __dsm_store_miss(addr: ptr, len: i64) -> void;
            /// Makes `[addr, addr + len)` readable, checking all its lines. A bulk fetch. `len` 0 is allowed.
            fn __dsm_load_range(addr: ptr, len: i64) -> void;
            /// Makes `[addr, addr + len)` writable, checking all its lines. `len` 0 is allowed.
            fn __dsm_store_range(addr: ptr, len: i64) -> void;
            /// Makes the NUL-terminated string at `addr` readable, terminator included.
            fn __dsm_load_str(addr: ptr) -> void;
            /// Atomic load of `size` bytes (1, 2, 4, 8, 16) into private memory at `out`.
            fn __dsm_atomic_load(addr: ptr, out: ptr, size: i32, order: i32) -> void;
            /// Atomic store of `size` bytes from private memory at `value`.
            fn __dsm_atomic_store(addr: ptr, value: ptr, size: i32, order: i32) -> void;
            /// Atomic read-modify-write with operation `op` (`atomic::RmwOp`); the old value goes to `old`.
            fn __dsm_atomic_rmw(addr: ptr, value: ptr, old: ptr, size: i32, op: i32, order: i32) -> void;
            /// Atomic compare and swap; the old value goes to `expected` in any case; 1 if it swapped.
            fn __dsm_atomic_cas(addr: ptr, expected: ptr, desired: ptr, size: i32, success: i32, failure: i32) -> i32;
            /// `atomic_thread_fence` in instrumented code.
            fn __dsm_atomic_fence(order: i32) -> void;
            /// `malloc` on the shared heap.
            fn __dsm_malloc(size: i64) -> ptr;
            /// `calloc` on the shared heap.
            fn __dsm_calloc(count: i64, size: i64) -> ptr;
            /// `realloc`; takes pointers of both heaps.
            fn __dsm_realloc(ptr: ptr, size: i64) -> ptr;
            /// `free`; takes pointers of both heaps.
            fn __dsm_free(ptr: ptr) -> void;
            /// `aligned_alloc` and `memalign` on the shared heap.
            fn __dsm_aligned_alloc(align: i64, size: i64) -> ptr;
            /// `posix_memalign` on the shared heap.
            fn __dsm_posix_memalign(out: ptr, align: i64, size: i64) -> i32;
            /// `malloc_usable_size`; takes pointers of both heaps.
            fn __dsm_malloc_usable_size(ptr: ptr) -> i64;
            /// `strdup` on the shared heap; reads the string through checks.
            fn __dsm_strdup(s: ptr) -> ptr;
            /// `strndup` on the shared heap; reads the string through checks.
            fn __dsm_strndup(s: ptr, n: i64) -> ptr;
            /// `operator new`: as `__dsm_malloc`, but ends the job with a message when memory is exhausted.
            fn __dsm_new(size: i64) -> ptr;
            /// `operator new` with an alignment.
            fn __dsm_new_aligned(size: i64, align: i64) -> ptr;
        }
    };
}
