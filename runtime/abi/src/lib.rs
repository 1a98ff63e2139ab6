//! The contract between compiled code and the runtime.
//!
//! The pass (`llvm-pass`), the driver (`dsm-cc`) and the runtime all build against this crate, so a
//! change of a signature, a state value, an address or the note layout is a change of one file. Any
//! such change raises [`ABI_VERSION`], and the driver then refuses to link objects of the two kinds.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod atomic;
pub mod copyprivate;
pub mod entries;
pub mod fortran;
pub mod job;
pub mod layout;
pub mod note;
pub mod options;
pub mod part;
pub mod progress;
pub mod reduction;
pub mod schedule;
pub mod state;
pub mod trace;

/// Version of everything in this crate; stored in every object's note.
pub const ABI_VERSION: u32 = 6;
