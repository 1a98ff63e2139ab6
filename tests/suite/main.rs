//! The end-to-end tests; see README.md.

mod blocks;
mod build_systems;
mod case;
mod commands;
mod compile_costs;
mod differential;
mod driver;
mod examples;
mod fortran;
mod generated;
mod guard;
mod identity;
mod kill;
mod libraries;
mod library_pointers;
mod library_variables;
mod litmus;
mod npb;
mod objects;
mod openmp;
mod pass;
mod process_state;
mod races;
mod statistics;
mod unsupported;
mod waiting;
