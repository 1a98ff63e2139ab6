//! Functions of `dsm.h`: memory-based operations, queues and signals, relocatable arrays, and block sizes of memory in use.
#![allow(clippy::missing_safety_doc, reason = "C entry points: the contract is the ABI they implement")]
#![allow(clippy::not_unsafe_ptr_arg_deref, reason = "addresses are the program's, which answers for them")]

pub mod arrays;
pub mod operations;
pub mod reblock;
pub mod refusal;

use dsm_access::{atomics, check, heap, posted};
use dsm_config as config;
use dsm_consistency as sync;
use dsm_control as control;
use dsm_job as job;
use dsm_memory as memory;
use dsm_posix::pthread;
