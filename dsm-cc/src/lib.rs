//! The compiler driver (`dsm-cc`) and the launcher (`dsm-run`).
//!
//! [`driver`] turns a compiler's argument vector into clang's and becomes clang. [`launch`] starts the processes
//! of a job and ends them together. [`elf`] reads the note that both of them judge objects and programs by.

pub mod driver;
pub mod elf;
pub mod launch;
