//! Operations on memory whose homes are elsewhere that are kept until they are worth a call: those that the program posts ([`pending`]), and its atomic additions without a result
//! ([`deferred`]).

pub mod deferred;
mod list;
pub mod pending;
