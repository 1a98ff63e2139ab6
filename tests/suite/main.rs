//! The end-to-end tests; see README.md.

mod differential;
mod driver;
mod examples;
mod generated;
mod kill;
mod litmus;
mod npb;
