//! How the program reaches shared memory: the slow paths of checks, atomic operations, operations that are posted, strings whose length nobody knows before, and the shared heap.
//!
//! Compiled code enters through the `__dsm_*` functions of [`dsm_abi::entries`].
#![allow(clippy::missing_safety_doc, reason = "C entry points: the contract is the ABI they implement")]
#![allow(clippy::not_unsafe_ptr_arg_deref, reason = "addresses are the program's, which answers for them")]

pub mod allocations;
pub mod atomics;
pub mod check;
pub mod grids;
pub mod heap;
pub mod posted;
pub mod strings;
pub mod verify;
pub mod window;

use dsm_config as config;
use dsm_consistency as sync;
use dsm_control as control;
use dsm_job::{self as job, image};
use dsm_memory as memory;
use dsm_observe::{checked, profile, progress, race, time, trace};
