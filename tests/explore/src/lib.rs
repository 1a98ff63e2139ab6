//! Schedule explorer of the coherence protocol: the protocol's own code over a model of memory and network that is no stronger than what
//! the fabric promises, run under all schedules of small programs and random schedules of larger ones, judged by happens-before.
#![forbid(unsafe_code)]

pub mod arrays;
pub mod beginnings;
pub mod check;
pub mod coroutine;
pub mod directed;
pub mod fabric;
pub mod fault_search;
pub mod hash;
pub mod layout;
pub mod model_sync;
pub mod oracle;
pub mod preemption;
pub mod program;
pub mod run;
pub mod search;
pub mod sync;
pub mod threads;
pub mod world;
