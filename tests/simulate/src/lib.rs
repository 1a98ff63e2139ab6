//! Scale simulation: the protocol's own code under virtual time, for 2 to 4096 processes.
//!
//! [`engine`] runs one task for each process and advances the clock from event to event; [`net`] says what a message costs; [`fabric`]
//! is the protocol's world on top of them, with memory for what was touched only. [`machine`] is what workloads see; [`dsm`] and
//! [`directory`] provide it. Runs depend on nothing but their options: the same options give the same figures, bit for bit.
#![forbid(unsafe_code)]

pub mod costs;
pub mod directory;
pub mod dsm;
pub mod engine;
pub mod fabric;
pub mod figures;
pub mod machine;
pub mod memory;
pub mod net;
pub mod report;
pub mod run;
pub mod sync;
pub mod words;
pub mod workload;
