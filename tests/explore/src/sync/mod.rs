//! Schedule explorer of locks, barriers, regions, conditions, tasks and reductions ([`dsm_sync`]): the runtime's own code over a model of the words in which every operation is a step of its own, and
//! what is posted becomes visible later. The coherent memory is what each process knows of the others' writes.

pub mod model;
mod perform;
pub mod program;
pub mod run;
pub mod search;
pub mod tasks;
pub mod world;
