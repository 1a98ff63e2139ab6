//! OpenMP: the LLVM ABI as clang and flang emit it, over the operations of [`crate::sync`].
//!
//! Files by construct; [`frame`] and [`team`] hold the state they share. Nothing in the data path allocates or
//! sleeps except where a construct has to wait.
#![allow(clippy::missing_safety_doc, reason = "C entry points: the contract is the ABI they implement")]
#![allow(clippy::not_unsafe_ptr_arg_deref, reason = "addresses are the program's, which answers for them")]

pub mod affinity;
pub mod affinity_format;
pub mod allocators;
pub mod api;
mod call_site;
pub mod constructs;
pub mod contention;
pub mod copyprivate;
pub mod cxx;
pub mod dispatch;
pub mod doacross;
pub mod event;
pub mod floats;
pub mod fork;
pub mod frame;
pub mod helper;
pub mod icv_words;
pub mod idle;
pub mod league;
mod local_lock;
pub mod locks;
pub mod ompt;
pub mod reduce;
pub mod ring;
pub mod routines;
pub mod schedule;
pub mod shared_stack;
pub mod staging;
pub mod static_loop;
pub mod static_steal;
pub mod task;
pub mod team;
pub mod threadprivate;

use dsm_access::{atomics, check, heap, posted};
use dsm_config as config;
use dsm_consistency as sync;
use dsm_control as control;
use dsm_fortran as fortran;
use dsm_job::{self as job, image};
use dsm_memory as memory;
use dsm_observe::{profile, progress, race, time, trace};
use dsm_operations::{arrays, operations, reblock};
use dsm_posix::{crash, process_state, pthread};

use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::config::DisplayEnv;
use crate::job::Job;
use frame::Frame;

/// `ident_t *`: source positions; the runtime does not look inside.
pub type Loc = *const c_void;

static THREADS_PER_PROCESS: AtomicU32 = AtomicU32::new(1);
/// The processes that may use the same processors as this one.
static FIRST_SHARER: AtomicU32 = AtomicU32::new(0);
static LAST_SHARER: AtomicU32 = AtomicU32::new(0);

/// Settles how many threads a team has by default. Before any thread runs.
pub fn init(job: &Job) {
    let threads = match job.threads {
        0 if job.size == 1 => processors(),
        0 => 1,
        n => n,
    };
    THREADS_PER_PROCESS.store(threads.min(config::MAX_THREADS), Ordering::Relaxed);
    FIRST_SHARER.store(job.sharers.start, Ordering::Relaxed);
    LAST_SHARER.store(job.sharers.end - 1, Ordering::Relaxed);
    if sync::fetches_ahead() {
        call_site::Reader::History.begin();
    }
}

/// Has `OMP_NUM_THREADS` say what the launcher was asked for, if it says nothing: some programs (LAMMPS) take one thread where it is not set. Behind [`init`], which is done with it.
pub fn tell_threads() {
    let value = std::ffi::CString::new(threads_in_job().to_string()).expect("a number has no NUL");
    // SAFETY: no thread of the program runs, and none of the runtime's reads the environment.
    unsafe { libc::setenv(c"OMP_NUM_THREADS".as_ptr(), value.as_ptr(), 0) };
}

/// The threads of a team over so many processes that are in those with the same processors as this one.
pub fn threads_in(team: u32, processes: u32) -> Range<u32> {
    let first = |process: u32| schedule::first_thread(team, process.min(processes), processes);
    first(FIRST_SHARER.load(Ordering::Relaxed))..first(LAST_SHARER.load(Ordering::Relaxed) + 1)
}

/// Processors this process may use.
pub fn processors() -> u32 {
    affinity::processors().len() as u32
}

/// Threads of a default team over all processes.
pub fn threads_in_job() -> u32 {
    match config::get().num_threads.first() {
        Some(&n) => n,
        None => THREADS_PER_PROCESS.load(Ordering::Relaxed) * crate::memory::get().geometry().processes(),
    }
}

/// Size of the next team if no clause names one.
pub fn default_team(frame: &Frame) -> u32 {
    match frame.icv.get().threads {
        0 if frame.active_level == 0 => threads_in_job(),
        0 => THREADS_PER_PROCESS.load(Ordering::Relaxed),
        n => n,
    }
}

/// Stores into memory of the program, which may be shared.
///
/// # Safety
/// `place` is null (then nothing happens) or valid for writing a `T`.
pub unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        check::writable(place as usize, size_of::<T>());
        // SAFETY: valid as the caller says, writable now.
        unsafe { place.write_unaligned(value) };
    }
}

/// Loads from memory of the program, which may be shared.
///
/// # Safety
/// `place` is valid for reading a `T`.
pub unsafe fn get<T: Copy>(place: *const T) -> T {
    check::readable(place as usize, size_of::<T>());
    // SAFETY: valid as the caller says, readable now.
    unsafe { place.read_unaligned() }
}

/// `OMP_DISPLAY_ENV`.
pub fn display_environment_at_start() {
    match config::get().display_env {
        DisplayEnv::No => {}
        DisplayEnv::Yes => display_environment(false),
        DisplayEnv::Verbose => display_environment(true),
    }
}

/// Prints the settings in libomp's form.
pub fn display_environment(verbose: bool) {
    eprint!("{}", config::show::display(config::get(), verbose, |name| std::env::var(name).ok()));
}
