//! `dsm-cc`, `dsm-c++`, `dsm-fc`: one program that stands in for clang, clang++ or flang by the name it is called by.

use std::process::ExitCode;

fn main() -> ExitCode {
    dsm_cc::driver::main()
}
