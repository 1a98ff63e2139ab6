//! Reports for unit tests.

use std::collections::BTreeMap;

use crate::machine::Machine;
use crate::report::{Report, Row};

/// A row whose reference is 1.
pub fn row(name: &str, measured: &[f64]) -> Row {
    Row {
        suite: "suite".to_owned(),
        name: name.to_owned(),
        layout: "2x1".to_owned(),
        unit: "s".to_owned(),
        measured: measured.to_vec(),
        against: "the same".to_owned(),
        reference: vec![1.0; measured.len()],
        counters: BTreeMap::new(),
    }
}

/// A report of this machine.
pub fn report(rows: Vec<Row>) -> Report {
    let machine = Machine::describe("clang-22");
    Report { machine, class: "S".to_owned(), runs: 1, left_out: vec![], rows }
}
