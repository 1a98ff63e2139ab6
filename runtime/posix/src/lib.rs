//! What POSIX gives a program, where the program is several processes: threads and what they wait at, streams and descriptors, signals, the state that a process has, and what is said of one
//! that crashes.
#![allow(clippy::missing_safety_doc, reason = "C entry points: the contract is the ABI they implement")]
#![allow(clippy::not_unsafe_ptr_arg_deref, reason = "addresses are the program's, which answers for them")]

pub mod crash;
pub mod fault;
pub mod guard;
pub mod pages;
pub mod process_state;
pub mod pthread;
pub mod segv;
pub mod signals;
pub mod stdio;

use dsm_access::{check, heap};
use dsm_config as config;
use dsm_consistency as sync;
use dsm_control as control;
use dsm_job::{self as job, image};
use dsm_memory as memory;
use dsm_observe::{checked, progress};
