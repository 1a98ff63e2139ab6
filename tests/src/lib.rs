//! End-to-end tests of the toolchain: what they share.
//!
//! Everything here drives the installed commands as a user would: C source goes through the compiler
//! driver, the executable through the launcher, and what comes out is compared with the same source
//! under plain clang and its OpenMP library. Nothing here links against the runtime.
//!
//! Invariants: a run that exceeds its time limit is killed with its whole process group; every failure
//! carries the two shell commands that reproduce it and the directory in which the whole of it is kept; a build happens once per (source, flags, toolchain).

pub mod bench;
pub mod compile;
pub mod differential;
pub mod evidence;
pub mod execute;
pub mod generator;
pub mod injection;
pub mod kill;
pub mod litmus;
pub mod matrix;
pub mod options;
pub mod program;
pub mod random;
pub mod toolchain;
pub mod trace;
pub mod work;
