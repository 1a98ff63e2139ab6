//! `dsm-top`: shows what the processes of a running job do.

use std::process::ExitCode;

fn main() -> ExitCode {
    dsm_cc::top::main()
}
