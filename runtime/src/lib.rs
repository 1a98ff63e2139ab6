//! The runtime library of instrumented programs: coherent memory and OpenMP over several processes.
//!
//! Compiled code enters through the `__dsm_*` functions of [`dsm_abi::entries`] and the LLVM OpenMP ABI; the C `main` starts in `start`.
//!
//! This crate joins the others, which have the names below here, and tells them in `start` what to call of each other. What it has in C (`c/`) belongs to all of them.
#![allow(clippy::missing_safety_doc, reason = "C entry points: the contract is the ABI they implement")]

pub mod context;
pub mod debugger;
mod end;
mod managed;
pub mod process;
pub mod sort;
pub mod start;
pub mod stats;
pub mod thread_local;

pub use dsm_access::{allocations, atomics, check, heap, posted, strings, verify, window};
use dsm_config as config;
pub use dsm_consistency as sync;
pub use dsm_control as control;
pub use dsm_fortran as fortran;
use dsm_job::{self as job, image};
pub use dsm_memory as memory;
use dsm_observe::{access_counters, profile, progress, race, time, trace};
pub use dsm_omp::{self as omp, cxx};
pub use dsm_operations::{arrays, operations, reblock, refusal};
pub use dsm_posix::{crash, fault, guard, pages, process_state, pthread, signals, stdio};

/// Compares the functions that compiled code calls with the list the pass builds its declarations from.
mod entry_types {
    use crate::access_counters::*;
    use crate::allocations::*;
    use crate::atomics::*;
    use crate::check::*;
    use crate::cxx::*;
    use crate::fortran::access::*;
    use crate::heap::entries::*;
    use crate::omp::copyprivate::__dsm_copyprivate_copies;
    use crate::omp::reduce::__dsm_reduction_copies;
    use crate::process::*;
    use crate::pthread::*;
    use crate::stdio::descriptors::__dsm_descriptor;
    use crate::stdio::*;
    use crate::strings::*;
    use crate::thread_local::__dsm_thread_local;
    use crate::verify::*;
    use crate::window::*;

    macro_rules! ty {
        (ptr) => { *mut u8 };
        (i8) => { u8 };
        (i32) => { u32 };
        (i64) => { u64 };
        (void) => { () };
    }
    macro_rules! check {
        ($($(#[$_doc:meta])* fn $name:ident($($_arg:ident: $arg:ident),*) -> $result:ident;)*) => {
            $(const _: unsafe extern "C" fn($(ty!($arg)),*) -> ty!($result) = $name;)*
        };
    }
    dsm_abi::for_each_entry!(check);
}
