//! The runtime library of instrumented programs: coherent memory and OpenMP over several processes.
//!
//! Compiled code enters through the `__dsm_*` functions of [`dsm_abi::entries`] (`check`, `atomics`, `heap`) and the
//! LLVM OpenMP ABI (`omp`); the C `main` starts in `start`.
//!
//! This crate joins the others: configuration, job, geometry and what is observed have crates of their own, under the names below, and are told by `start` what to call here.
#![allow(clippy::missing_safety_doc, reason = "C entry points: the contract is the ABI they implement")]

pub mod arrays;
pub mod atomics;
pub mod check;
pub mod context;
pub mod crash;
pub mod cxx;
pub mod debugger;
pub mod fault;
pub mod fortran;
pub mod guard;
pub mod heap;
mod managed;
pub mod omp;
pub mod operations;
pub mod pages;
pub mod posted;
pub mod process;
pub mod process_state;
pub mod pthread;
pub mod reblock;
pub mod refusal;
pub mod signals;
pub mod sort;
pub mod start;
pub mod stats;
pub mod stdio;
pub mod strings;
pub mod thread_local;
pub mod verify;
pub mod window;

use dsm_config as config;
pub use dsm_consistency as sync;
pub use dsm_control as control;
use dsm_job::{self as job, image};
pub use dsm_memory as memory;
use dsm_observe::{access_counters, checked, profile, progress, race, time, trace};

/// Compares the functions that compiled code calls with the list the pass builds its declarations from.
mod entry_types {
    use crate::access_counters::*;
    use crate::atomics::*;
    use crate::check::*;
    use crate::cxx::*;
    use crate::fortran::access::*;
    use crate::heap::entries::*;
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
