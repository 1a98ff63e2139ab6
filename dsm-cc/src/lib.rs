//! The compiler driver (`dsm-cc`), the launcher (`dsm-run`), the comparison with the plain compiler (`dsm-compare`) and the view of running jobs (`dsm-top`).
//!
//! [`driver`] turns a compiler's argument vector into clang's and becomes clang. [`compare`] builds and runs programs both ways. [`launch`] starts the processes
//! of a job and ends them together; [`top`] shows what they do. [`elf`] reads the note that both of them judge objects and programs by.

pub mod compare;
pub mod driver;
pub mod elf;
pub mod launch;
pub mod top;
