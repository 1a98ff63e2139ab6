//! `dsm-sweep`: one program with many block sizes.

use std::process::ExitCode;

fn main() -> ExitCode {
    dsm_cc::sweep::main()
}
