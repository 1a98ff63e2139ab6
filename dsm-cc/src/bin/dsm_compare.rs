//! `dsm-compare`: programs built by dsm-cc against the same programs built by the plain compiler.

use std::process::ExitCode;

fn main() -> ExitCode {
    dsm_cc::compare::main()
}
