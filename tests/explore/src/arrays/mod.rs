//! Schedule explorer of relocatable global arrays ([`dsm_arrays`]): the protocol's own code over a model of the areas in which every word is a step of its own, judged by what
//! gets may see.

pub mod oracle;
pub mod program;
pub mod run;
pub mod search;
pub mod world;
