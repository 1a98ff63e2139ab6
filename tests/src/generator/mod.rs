//! Random programs without data races.
//!
//! Two kinds. Programs of *phases* have results that are known here: [`model`] defines what a program is and runs it sequentially;
//! [`make`] draws one from a seed; [`emit`] writes it as C with the expected contents of every array embedded at each check. The C
//! program needs no reference: it says `ok`, or the first wrong element with its array and phase. They are about synchronisation:
//! between two barriers, an element is either written by one iteration of one loop (and read by nobody else), or changed only under one
//! lock or only by atomic operations of one commutative kind, or only read.
//!
//! Programs of [`kernels`] are about what compilers make of loops and calls, in C, C++ and Fortran; what they print is compared with what the
//! plain compiler's executable prints. [`batch`] builds and judges both.

pub mod batch;
pub mod emit;
pub mod kernels;
pub mod make;
pub mod model;

use std::fmt::Write as _;
use std::ops::Range;

/// A deliberate fault, to show that the tests can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The program as drawn.
    None,
    /// One element of one loop is not written; of kernels, the last store.
    LostWrite,
    /// One barrier is missing: a data race. Programs of phases only.
    MissingBarrier,
    /// Locks do nothing: a data race. Programs of phases only.
    MissingLocks,
}

/// The programs of phases of `seeds` as one C program: each seed a function, all run in turn.
pub fn emit_phases(seeds: Range<u64>, fault: Fault) -> String {
    let mut text = String::from(emit::PROLOGUE);
    let mut calls = String::new();
    for seed in seeds {
        let program = make::program(seed);
        text.push_str(&emit::function(&program, fault));
        let _ =
            writeln!(calls, "    if (only < 0 || only == {seed}) failed += report({seed}, seed_{seed}());");
    }
    let _ = write!(
        text,
        "int main(int argc, char **argv) {{\n    long only = argc > 1 ? atol(argv[1]) : -1;\n    int failed = 0;\n\
         {calls}    return failed != 0;\n}}\n"
    );
    text
}
