//! OpenMP: the LLVM ABI as clang and flang emit it, over the operations of [`crate::sync`].
//!
//! Files by construct; [`frame`] and [`team`] hold the state they share. Nothing in the data path allocates or
//! sleeps except where a construct has to wait.

pub mod api;
pub mod constructs;
pub mod dispatch;
pub mod doacross;
pub mod event;
pub mod fork;
pub mod frame;
pub mod icv_words;
pub mod locks;
pub mod memory;
pub mod reduce;
pub mod ring;
pub mod schedule;
pub mod staging;
pub mod static_loop;
pub mod task;
pub mod team;
pub mod threadprivate;

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::config::{self, DisplayEnv};
use crate::job::Job;
use crate::{check, sync};
use frame::Frame;

/// `ident_t *`: source positions; the runtime does not look inside.
pub type Loc = *const c_void;

static THREADS_PER_PROCESS: AtomicU32 = AtomicU32::new(1);

/// Settles how many threads a team has by default. Before any thread runs.
pub fn init(job: &Job) {
    let threads = match job.threads {
        0 if job.size == 1 => processors(),
        0 => 1,
        n => n,
    };
    THREADS_PER_PROCESS.store(threads.min(config::MAX_THREADS), Ordering::Relaxed);
}

/// Processors this process may use.
pub fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
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

/// Prints the settings in the form the specification gives.
pub fn display_environment(verbose: bool) {
    let c = config::get();
    let chunk = if c.schedule.chunk > 0 { format!(",{}", c.schedule.chunk) } else { String::new() };
    eprintln!("\nOPENMP DISPLAY ENVIRONMENT BEGIN\n   _OPENMP='202011'");
    let settings = [
        ("OMP_NUM_THREADS", threads_in_job().to_string()),
        ("OMP_SCHEDULE", format!("{:?}{chunk}", c.schedule.kind).to_uppercase()),
        ("OMP_DYNAMIC", c.dynamic.to_string().to_uppercase()),
        ("OMP_STACKSIZE", format!("{}B", c.native_stack_bytes)),
        ("OMP_WAIT_POLICY", format!("{:?}", c.wait_policy).to_uppercase()),
        ("OMP_THREAD_LIMIT", c.thread_limit.to_string()),
        ("OMP_MAX_ACTIVE_LEVELS", c.max_active_levels.to_string()),
        ("OMP_PROC_BIND", c.proc_bind.clone()),
        ("OMP_PLACES", c.places.clone()),
        ("OMP_CANCELLATION", c.cancellation.to_string().to_uppercase()),
    ];
    for (name, value) in settings {
        eprintln!("  [host] {name}='{value}'");
    }
    if verbose {
        eprintln!(
            "  [host] DSM processes='{}' DSM_BLOCK='{}' DSM_HEAP='{}'",
            sync::size(),
            c.block_bytes,
            c.heap_bytes
        );
        eprintln!(
            "  [host] DSM_STACK='{}' DSM_NOTICES='{}' DSM_SPIN='{}'",
            c.stack_bytes,
            c.notices,
            c.spin_us()
        );
    }
    eprintln!("OPENMP DISPLAY ENVIRONMENT END\n");
}
