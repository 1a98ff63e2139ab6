//! `dsm-run`: starts a program that dsm-cc compiled as a job of several processes.

use std::process::ExitCode;

fn main() -> ExitCode {
    dsm_cc::launch::main()
}
