//! The suites: groups of rows, each with references of its own.

mod arrays;
mod constructs;
mod hosts;
mod kernels;
mod micro;
mod mpi;
mod operations;
mod paging;
mod variants;

use std::collections::BTreeMap;

use crate::bench::Bench;
use crate::report::Row;

/// A group of rows that are measured together.
pub struct Suite {
    /// As options and rows name it.
    pub name: &'static str,
    /// What its rows are, for tables; a sentence.
    pub about: &'static str,
    /// Measures what is wanted of it.
    pub run: fn(&Bench, &mut Vec<Row>) -> Result<(), String>,
    /// Why it cannot be run here.
    pub hindrance: fn() -> Option<String>,
}

fn none() -> Option<String> {
    None
}

/// All of them, in the order of tables.
pub const SUITES: [Suite; 9] = [
    Suite { name: micro::NAME, about: micro::ABOUT, run: micro::run, hindrance: none },
    Suite { name: constructs::NAME, about: constructs::ABOUT, run: constructs::run, hindrance: none },
    Suite { name: kernels::NAME, about: kernels::ABOUT, run: kernels::run, hindrance: none },
    Suite { name: mpi::NAME, about: mpi::ABOUT, run: mpi::run, hindrance: mpi::hindrance },
    Suite { name: operations::NAME, about: operations::ABOUT, run: operations::run, hindrance: none },
    Suite { name: variants::NAME, about: variants::ABOUT, run: variants::run, hindrance: none },
    Suite { name: arrays::NAME, about: arrays::ABOUT, run: arrays::run, hindrance: none },
    Suite { name: hosts::NAME, about: hosts::ABOUT, run: hosts::run, hindrance: none },
    Suite { name: paging::NAME, about: paging::ABOUT, run: paging::run, hindrance: none },
];

/// What rows of a suite are.
pub fn about(suite: &str) -> &'static str {
    SUITES.iter().find(|s| s.name == suite).map_or("", |s| s.about)
}

/// A row without counters.
fn row(suite: &str, name: &str, layout: &str, unit: &str, measured: &[f64], against: (&str, &[f64])) -> Row {
    Row {
        suite: suite.to_owned(),
        name: name.to_owned(),
        layout: layout.to_owned(),
        unit: unit.to_owned(),
        measured: measured.to_vec(),
        against: against.0.to_owned(),
        reference: against.1.to_vec(),
        counters: BTreeMap::new(),
    }
}
