//! The compiler driver (`dsm-cc`), the launcher (`dsm-run`), the comparison with the plain compiler (`dsm-compare`), experiments with block sizes (`dsm-sweep`) and the view
//! of running jobs (`dsm-top`).
//!
//! [`driver`] turns a compiler's argument vector into clang's and becomes clang. [`compare`] builds and runs programs both ways. [`launch`] starts the processes
//! of a job and ends them together; [`top`] shows what they do. [`sweep`] runs a program with many block sizes. [`execute`] runs commands for the comparison and the sweep. [`elf`]
//! reads the note that objects and programs are judged by.

pub mod compare;
pub mod driver;
pub mod elf;
pub mod execute;
pub mod launch;
pub mod sweep;
pub mod top;
