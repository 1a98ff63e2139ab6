//! The functions of the runtime that compiled code calls: by names of their own (here), and in the place of functions of the C and C++ libraries
//! ([`replaced`]), of libatomic ([`libatomic`]) and of flang's library ([`fortran`](crate::fortran)).
//!
//! `for_each_entry!(m)` expands `m! { fn name(arg: type, ...) -> type; ... }`. The pass expands it to a table
//! of declarations; the runtime expands it to assertions that its functions have these types. Types:
//! `ptr`, `i8`, `i32`, `i64`, `void` (result only).
//!
//! All entries have the C calling convention, never unwind (but for those of `operator new`), and never capture their pointer arguments,
//! except the heap entries whose results are fresh memory. Miss and range entries do not synchronise: they
//! only make blocks valid, so checks made before such a call still hold after it.

pub mod libatomic;
pub mod replaced;

/// See the module documentation.
#[macro_export]
macro_rules! for_each_entry {
    ($m:ident) => {
        $m! {
            /// The state byte of `[addr, addr + len)` (within one line) refused a load: makes it readable.
            fn __dsm_load_miss(addr: ptr, len: i64) -> void;
            /// As `__dsm_load_miss`, for a store: makes it writable.
            fn __dsm_store_miss(addr: ptr, len: i64) -> void;
            /// As `__dsm_store_miss`, for a store of `value` to all of the bytes, on whose check no other access relies: may store it at the home of the block, and leave
            /// the block invalid. The store here is executed nevertheless.
            fn __dsm_store_value_miss(addr: ptr, len: i64, value: i64) -> void;
            /// As `__dsm_load_miss`, for a load of all of the bytes, on whose check no other access relies: returns the value. May load it at the home of the block, and leave the
            /// block invalid. There is no other load.
            fn __dsm_load_value_miss(addr: ptr, len: i64) -> i64;
            /// Makes `[addr, addr + len)` readable, checking all its lines. A bulk fetch. `len` 0 is allowed.
            fn __dsm_load_range(addr: ptr, len: i64) -> void;
            /// Makes `[addr, addr + len)` writable, checking all its lines. `len` 0 is allowed.
            fn __dsm_store_range(addr: ptr, len: i64) -> void;
            /// As `__dsm_load_range` for `len` bytes at `addr + i * step + j * outer_step`, `i` up to `count`, `j` up to `outer_count`,
            /// both inclusive.
            fn __dsm_load_grid(addr: ptr, len: i64, step: i64, count: i64, outer_step: i64, outer_count: i64) -> void;
            /// As `__dsm_store_range` for the bytes that `__dsm_load_grid` describes.
            fn __dsm_store_grid(addr: ptr, len: i64, step: i64, count: i64, outer_step: i64, outer_count: i64) -> void;
            /// As `__dsm_store_range`, when the thread is going to store to every byte before it synchronises or ends, and reads none before it
            /// has stored to it: memory that is not valid may hold anything afterwards.
            fn __dsm_overwrite_range(addr: ptr, len: i64) -> void;
            /// As `__dsm_overwrite_range` for the bytes that `__dsm_load_grid` describes.
            fn __dsm_overwrite_grid(addr: ptr, len: i64, step: i64, count: i64, outer_step: i64, outer_count: i64) -> void;
            /// 1 if all bytes that `__dsm_load_grid` describes are readable. Makes them so if that pays for `uses` reads. They need not
            /// all be the program's; arguments that describe no user addresses give 0.
            fn __dsm_load_ready(addr: ptr, len: i64, step: i64, count: i64, outer_step: i64, outer_count: i64, uses: i64) -> i32;
            /// 1 if they are writable.
            fn __dsm_store_ready(addr: ptr, len: i64, step: i64, count: i64, outer_step: i64, outer_count: i64, uses: i64) -> i32;
            /// `[addr, addr + len)` is expected to be loaded from before the thread synchronises: may make some or all of it readable. It need not be the program's. No check.
            fn __dsm_load_hint(addr: ptr, len: i64) -> void;
            /// The same for stores: may make it writable.
            fn __dsm_store_hint(addr: ptr, len: i64) -> void;
            /// As `__dsm_load_range`. Then `window`, two addresses in private memory, holds what is known to be readable around the
            /// range: first byte and end. It may hold more than the range, and both are 0 before the first call.
            fn __dsm_load_window(addr: ptr, len: i64, window: ptr) -> void;
            /// As `__dsm_store_range`, with a window of writable memory.
            fn __dsm_store_window(addr: ptr, len: i64, window: ptr) -> void;
            /// As `__dsm_load_window` for `len` bytes at `addr + i * step`, `i` up to `count` inclusive, for a step that may go backwards. The window
            /// may stay as it was. Behind its two addresses are words (`WALK_WINDOW_WORDS` in all) in which the runtime remembers the walk.
            fn __dsm_load_walk(addr: ptr, len: i64, step: i64, count: i64, window: ptr) -> void;
            /// As `__dsm_load_walk`, with a window of writable memory.
            fn __dsm_store_walk(addr: ptr, len: i64, step: i64, count: i64, window: ptr) -> void;
            /// As `__dsm_overwrite_range`, with a window of writable memory.
            fn __dsm_overwrite_window(addr: ptr, len: i64, window: ptr) -> void;
            /// In builds that count (`-fdsm-count`): so many accesses are about to be executed, `shared` of them possibly to shared memory,
            /// and so many checks.
            fn __dsm_count(accesses: i64, shared: i64, checks: i64) -> void;
            /// In builds that verify (`-fdsm-verify`): a function begins that enters its checks and asserts its accesses.
            fn __dsm_verify_begin() -> void;
            /// In builds that verify: an inline check of these bytes follows, of stores if `store` is not 0.
            fn __dsm_verify_checked(addr: ptr, len: i64, store: i32) -> void;
            /// In builds that verify: an access of these bytes follows. `place` is a string: where it is and what it accesses, a new line,
            /// and what it relies on.
            fn __dsm_verify_access(addr: ptr, len: i64, store: i32, place: ptr) -> void;
            /// In builds that verify: the thread's interval between synchronisations, in front of a call that is taken not to synchronise.
            fn __dsm_verify_interval() -> i32;
            /// In builds that verify: that call has returned; `interval` is what the former entry gave. `place` is a string, where it is.
            fn __dsm_verify_same_interval(interval: i32, place: ptr) -> void;
            /// Makes the NUL-terminated string at `addr` readable, terminator included.
            fn __dsm_load_str(addr: ptr) -> void;
            /// Makes the null-terminated wide string at `addr` readable, at most `most` characters of it.
            fn __dsm_load_wide_str(addr: ptr, most: i64) -> void;
            /// Makes `[addr, end)` readable.
            fn __dsm_load_to(addr: ptr, end: ptr) -> void;
            /// Makes `[addr, end)` writable.
            fn __dsm_store_to(addr: ptr, end: ptr) -> void;
            /// Makes an array of addresses up to a null pointer readable, and the strings that they name; null is allowed.
            fn __dsm_load_strings(list: ptr) -> void;
            /// Makes the elements readable that the array descriptor of flang names; null is allowed.
            fn __dsm_fortran_read(descriptor: ptr) -> void;
            /// Makes the elements writable that the array descriptor of flang names; null is allowed.
            fn __dsm_fortran_write(descriptor: ptr) -> void;
            /// 1 if the descriptor of flang is that of an allocatable array with this base address, and all elements are readable. Makes them so if
            /// that pays for `uses` reads.
            fn __dsm_fortran_load_ready(descriptor: ptr, base: ptr, uses: i64) -> i32;
            /// The same for writable, without making them so.
            fn __dsm_fortran_store_ready(descriptor: ptr, base: ptr, uses: i64) -> i32;
            /// 1 if it is known how far the allocation of the heap reaches that the address lies in, and all of it is readable. Makes it so if that pays for `uses` reads.
            fn __dsm_load_allocation_ready(addr: ptr, uses: i64) -> i32;
            /// The same for writable, without making it so.
            fn __dsm_store_allocation_ready(addr: ptr, uses: i64) -> i32;
            /// As `__dsm_fortran_write`, when the call that follows assigns to all of the elements. What it may need of them is fetched as well.
            fn __dsm_fortran_overwrite(descriptor: ptr) -> void;
            /// Makes the elements writable that the array descriptor of flang names, for a call that defines them: what their components hold is not looked at. Null is allowed.
            fn __dsm_fortran_define(descriptor: ptr) -> void;
            /// Makes the objects readable, or writable if `write`, that the namelist of flang lists.
            fn __dsm_fortran_namelist(group: ptr, write: i32) -> void;
            /// Makes space for `elements` more writable in what flang's array constructor at `vector` has allocated.
            fn __dsm_fortran_constructor(vector: ptr, elements: i64) -> void;
            /// A target region begins, in this line of its source.
            fn __dsm_target(line: i32) -> void;
            /// The target region that the thread comes to next names this device.
            fn __dsm_target_device(device: i32) -> void;
            /// Atomic load of `size` bytes (1, 2, 4, 8, 16) into private memory at `out`.
            fn __dsm_atomic_load(addr: ptr, out: ptr, size: i32, order: i32) -> void;
            /// Atomic store of `size` bytes from private memory at `value`.
            fn __dsm_atomic_store(addr: ptr, value: ptr, size: i32, order: i32) -> void;
            /// Atomic read-modify-write with operation `op` (`atomic::RmwOp`); the old value goes to `old`, which is null if nobody wants it.
            fn __dsm_atomic_rmw(addr: ptr, value: ptr, old: ptr, size: i32, op: i32, order: i32) -> void;
            /// As `__dsm_load_str`, of at most `limit` bytes.
            fn __dsm_load_str_within(string: ptr, limit: i64) -> void;
            /// Makes memory readable up to the first byte of a value, of at most `limit` bytes; how many that were, with that byte.
            fn __dsm_load_until(addr: ptr, value: i32, limit: i64) -> i64;
            /// Makes two strings readable as far as their comparison goes: to a NUL, a difference or `limit` bytes. `fold`: letters of either
            /// case are equal.
            fn __dsm_load_compared(string: ptr, other: ptr, limit: i64, fold: i32) -> void;
            /// Atomic compare and swap; the old value goes to `expected` in any case; 1 if it swapped.
            fn __dsm_atomic_cas(addr: ptr, expected: ptr, desired: ptr, size: i32, success: i32, failure: i32) -> i32;
            /// `atomic_thread_fence` in instrumented code.
            fn __dsm_atomic_fence(order: i32) -> void;
            /// In front of a reduction (`__kmpc_reduce` and the like): its `count` private copies have so many `bytes`, hold no pointers, and the function that combines
            /// them looks at nothing else, so that copies of them will do.
            fn __dsm_reduction_copies(bytes: ptr, count: i32) -> void;
            /// In front of `__kmpc_copyprivate`: its `count` variables have so many `bytes`, at most as many as [`dsm_abi::copyprivate::MOST_WORDS`] words, and the function that copies them copies all of them and nothing else, so that
            /// copies of them will do.
            fn __dsm_copyprivate_copies(bytes: ptr, count: i32) -> void;
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
            /// `reallocarray`; takes pointers of both heaps.
            fn __dsm_reallocarray(ptr: ptr, count: i64, size: i64) -> ptr;
            /// `valloc`: memory that begins with a page.
            fn __dsm_valloc(size: i64) -> ptr;
            /// `pvalloc`: whole pages.
            fn __dsm_pvalloc(size: i64) -> ptr;
            /// `malloc_usable_size`; takes pointers of both heaps.
            fn __dsm_malloc_usable_size(ptr: ptr) -> i64;
            /// `strdup` on the shared heap; reads the string through checks.
            fn __dsm_strdup(s: ptr) -> ptr;
            /// `strndup` on the shared heap; reads the string through checks.
            fn __dsm_strndup(s: ptr, n: i64) -> ptr;
            /// `operator new`: as `__dsm_malloc`, but throws `std::bad_alloc` when memory is exhausted.
            fn __dsm_new(size: i64) -> ptr;
            /// `operator new[]`.
            fn __dsm_new_array(size: i64) -> ptr;
            /// `operator new` that gives null when memory is exhausted.
            fn __dsm_new_nothrow(size: i64) -> ptr;
            /// `operator new[]` that gives null when memory is exhausted.
            fn __dsm_new_array_nothrow(size: i64) -> ptr;
            /// `operator delete`; takes pointers of both heaps.
            fn __dsm_delete(ptr: ptr) -> void;
            /// `operator delete[]`.
            fn __dsm_delete_array(ptr: ptr) -> void;
            /// `operator delete` and `operator delete[]` with an alignment.
            fn __dsm_delete_aligned(ptr: ptr, align: i64) -> void;
            /// The same for an object whose size the caller knows.
            fn __dsm_delete_sized_aligned(ptr: ptr, size: i64, align: i64) -> void;
            /// `operator new` with an alignment.
            fn __dsm_new_aligned(size: i64, align: i64) -> ptr;
            /// The stream to use in this process for a `FILE *` that any process may have opened.
            fn __dsm_stream(stream: ptr) -> ptr;
            /// The number to use in this process for a file descriptor that any process may have opened.
            fn __dsm_descriptor(descriptor: i32) -> i32;
            /// `fopen`; the stream can be used in all processes.
            fn __dsm_fopen(path: ptr, mode: ptr) -> ptr;
            /// `fdopen`.
            fn __dsm_fdopen(descriptor: i32, mode: ptr) -> ptr;
            /// `freopen`.
            fn __dsm_freopen(path: ptr, mode: ptr, stream: ptr) -> ptr;
            /// `tmpfile`.
            fn __dsm_tmpfile() -> ptr;
            /// `popen`.
            fn __dsm_popen(command: ptr, mode: ptr) -> ptr;
            /// `pclose`.
            fn __dsm_pclose(stream: ptr) -> i32;
            /// `fclose`, of any process's stream.
            fn __dsm_fclose(stream: ptr) -> i32;
            /// `fileno`, of any process's stream.
            fn __dsm_fileno(stream: ptr) -> i32;
            /// `fflush`, of any process's stream.
            fn __dsm_fflush(stream: ptr) -> i32;
            /// `getline` into memory of the shared heap.
            fn __dsm_getline(line: ptr, bytes: ptr, stream: ptr) -> i64;
            /// `getdelim` into memory of the shared heap.
            fn __dsm_getdelim(line: ptr, bytes: ptr, delimiter: i32, stream: ptr) -> i64;
            /// `strtok`; what it goes on with is made valid.
            fn __dsm_strtok(string: ptr, separators: ptr) -> ptr;
            /// `strtok_r`.
            fn __dsm_strtok_r(string: ptr, separators: ptr, rest: ptr) -> ptr;
            /// `strsep`.
            fn __dsm_strsep(string: ptr, separators: ptr) -> ptr;
            /// `realpath`; what it allocates comes from the shared heap.
            fn __dsm_realpath(path: ptr, resolved: ptr) -> ptr;
            /// `getcwd`; what it allocates comes from the shared heap.
            fn __dsm_getcwd(buffer: ptr, size: i64) -> ptr;
            /// `mmap`: anonymous memory and contents of files in the shared heap.
            fn __dsm_mmap(addr: ptr, len: i64, protection: i32, flags: i32, descriptor: i32, offset: i64) -> ptr;
            /// `fork`; the child is no process of the job.
            fn __dsm_fork() -> i32;
            /// `dlopen`; libraries with code of the pass end the job with a message.
            fn __dsm_dlopen(path: ptr, flags: i32) -> ptr;
            /// `munmap`.
            fn __dsm_munmap(addr: ptr, len: i64) -> i32;
            /// Makes an array of `struct iovec` and the memory it names readable.
            fn __dsm_load_iovec(list: ptr, count: i32) -> void;
            /// Makes an array of `struct iovec` readable and the memory it names writable.
            fn __dsm_store_iovec(list: ptr, count: i32) -> void;
            /// The same, but null when memory is exhausted.
            fn __dsm_new_aligned_nothrow(size: i64, align: i64) -> ptr;
            /// `atexit`: process 0 calls the function at the end, whichever process asked for it.
            fn __dsm_atexit(function: ptr) -> i32;
            /// `__cxa_atexit`, likewise: a destructor, its object, the library it belongs to.
            fn __dsm_cxa_atexit(function: ptr, object: ptr, library: ptr) -> i32;
            /// Where the thread has a thread-local variable that others may reach: `own` is its place in the thread's own block, with the initial
            /// value. `escapes` is null if no module lets the address escape. `bytes` is 0 where the size is at `size`, null if no module
            /// says. The result goes to `slot`, a thread-local word.
            fn __dsm_thread_local(own: ptr, slot: ptr, bytes: i64, align: i64, escapes: ptr, size: ptr) -> ptr;
            /// `pthread_mutex_lock` between threads of all processes.
            fn __dsm_mutex_lock(mutex: ptr) -> i32;
            /// `pthread_mutex_trylock`.
            fn __dsm_mutex_trylock(mutex: ptr) -> i32;
            /// `pthread_mutex_unlock`.
            fn __dsm_mutex_unlock(mutex: ptr) -> i32;
        }
    };
}
