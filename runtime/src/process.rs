//! What the program does to its process as a whole: `fork`, and `dlopen` of code of the pass.
//!
//! A child that `fork` makes has a copy of what its parent had, as ever: its shared memory becomes a private copy of the parent's
//! (as far as the parent does not change it later). It is no process of the job, so where it needs another process's memory or
//! synchronisation it ends with a message. The usual `exec` does not.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};

use crate::job::child;
use crate::job::library::set_errno;
use crate::posted::{deferred, pending};
use crate::{check, config, heap, image, job, memory, omp, process_state, progress, trace};
use dsm_threads::handler::Deferred;

unsafe extern "C" {
    // In C, where a function can ask for its return address: each calls the function below of its name.
    pub(crate) fn __dsm_fork() -> u32;
    pub(crate) fn __dsm_dlopen(path: *mut u8, flags: u32) -> *mut u8;
}

/// Prepares for children; once, when memory is set up.
pub fn init() {
    // SAFETY: the handlers are plain functions that stay loaded.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
}

extern "C" fn before_fork() {
    pending::before_release();
    omp::helper::before_fork();
    heap::before_fork();
}

extern "C" fn in_parent() {
    heap::after_fork(false);
    omp::helper::after_fork(false);
}

extern "C" fn in_child() {
    heap::after_fork(true);
    process_state::detach();
    child::begin();
    deferred::end_in_child();
    progress::detach();
    trace::end_in_child();
    omp::helper::after_fork(true);
    if let Err(error) = memory::detach() {
        job::die(&format!("fork: {error}"));
    }
}

/// `fork`; `site` is the caller's address.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_fork_process(site: usize) -> c_int {
    child::set_site(site);
    if memory::paging::is_on() {
        eprintln!(
            "dsm: error: fork at {} fails: memory is limited (--memory, DSM_MEMORY), and a child would not have what is on disk; posix_spawn, system and popen work",
            image::call_site(site)
        );
        set_errno(libc::ENOTSUP);
        return -1;
    }
    // A handler of the program may need what is locked meanwhile.
    let _deferred = Deferred::begin();
    // SAFETY: as the program's own call.
    unsafe { libc::fork() }
}

thread_local! {
    /// The device that the next target region of the thread names, if it does.
    static TARGET_DEVICE: Cell<Option<i32>> = const { Cell::new(None) };
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_target_device(device: u32) {
    TARGET_DEVICE.set(Some(device.cast_signed()));
}

/// See [`dsm_abi::entries`]. All target regions run on the host, which `OMP_TARGET_OFFLOAD=mandatory` forbids unless the region names the host,
/// or names no device and the program has made the host its default device.
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_target(line: u32) {
    let named = TARGET_DEVICE.take();
    let host_wanted = || omp::api::is_host(named.unwrap_or_else(|| omp::frame::current().icv.get().device));
    if config::get().is_offload_mandatory() && !host_wanted() {
        job::die(&format!(
            "OMP_TARGET_OFFLOAD is mandatory, and there is no device for the target region in line {line}; leave the variable out to have \
             such regions run on the host"
        ));
    }
}

/// `dlopen`; `site` is the caller's address.
#[unsafe(no_mangle)]
unsafe extern "C" fn dsm_rt_dlopen(path: *const c_char, flags: c_int, site: usize) -> *mut c_void {
    if !path.is_null() {
        // SAFETY: the program passes a string.
        unsafe { check::readable_string(path as usize) };
    }
    child::set_site(site);
    // SAFETY: the program's arguments, made readable.
    let handle = unsafe { libc::dlopen(path, flags) };
    if !handle.is_null() {
        return handle;
    }
    // SAFETY: the error is a string of this thread until the next call, or null.
    let error = unsafe { libc::dlerror().as_ref().map(|e| CStr::from_ptr(e).to_string_lossy().into_owned()) };
    let error = error.unwrap_or_default();
    if error.contains("undefined symbol: __dsm_") || error.contains("undefined symbol: __kmpc_") {
        refuse_library(error.split(':').next().unwrap_or("the library"));
    }
    // The program may ask for the error as well.
    // SAFETY: as above.
    unsafe { libc::dlopen(path, flags) }
}

/// Ends the job because a library with code of the pass is being loaded while it runs.
pub fn refuse_library(name: &str) -> ! {
    job::die(&format!(
        "dlopen at {}: {name} has code that dsm-cc compiled; its variables and functions would exist in one process only: link the \
         program with it, or compile it with another compiler",
        image::call_site(child::site())
    ))
}
