//! What Fortran programs need beside OpenMP: flang's runtime library is not instrumented, so its allocations come from the
//! shared heap, and what it reads and writes through array descriptors is made valid before the call.
#![allow(clippy::missing_safety_doc, reason = "C entry points: the contract is the ABI they implement")]
#![allow(clippy::not_unsafe_ptr_arg_deref, reason = "addresses are the program's, which answers for them")]

pub mod access;
mod derived;
mod descriptor;
mod remote;
pub mod serve;
mod statement;
pub mod units;
mod values;
mod wire;

use dsm_access::{check, heap};
use dsm_consistency as sync;
use dsm_control as control;
use dsm_job as job;
use dsm_memory as memory;
use dsm_posix::stdio;

pub use statement::before_fork;

use std::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    fn dsm_rt_fortran_set_allocator(
        allocate: extern "C" fn(usize, *mut i64) -> *mut c_void,
        deallocate: extern "C" fn(*mut c_void),
    );
    fn dsm_rt_fortran_start(argc: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char);
    fn dsm_rt_fortran_close();
}

/// Puts what flang's library allocates for the program on the shared heap.
pub fn init() {
    // SAFETY: replaces a table entry before the program runs.
    unsafe { dsm_rt_fortran_set_allocator(allocate, deallocate) };
}

/// Gives the library the command line and the environment in a process that does not run the main program.
///
/// # Safety
/// The arguments are those of the C `main`.
pub unsafe fn start_worker(argc: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char) {
    // SAFETY: the caller's promise.
    unsafe { dsm_rt_fortran_start(argc, argv, envp) };
}

/// Writes out and closes the units of a process that does not run the main program.
pub fn end_worker() {
    // SAFETY: no thread of this process is in the program any more.
    unsafe { dsm_rt_fortran_close() };
}

/// The library fills some objects at once, without checks.
extern "C" fn allocate(bytes: usize, _stream: *mut i64) -> *mut c_void {
    let object = heap::entries::dsm_rt_malloc(bytes as u64, 0);
    if !object.is_null() {
        check::writable(object as usize, bytes);
    }
    object.cast()
}

extern "C" fn deallocate(object: *mut c_void) {
    heap::entries::dsm_rt_free(object.cast());
}

/// Frees an object of the shared heap; 0 if it is none.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_free_shared(object: *mut c_void) -> c_int {
    // The C library's own objects are freed before and after the heap's time, too.
    let shared = memory::is_set_up() && heap::owner(object as usize).is_some();
    if shared {
        heap::free(object as usize);
    }
    c_int::from(shared)
}
