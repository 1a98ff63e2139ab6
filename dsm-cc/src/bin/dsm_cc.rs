//! `dsm-cc`: stands in for clang.

use std::process::ExitCode;

use dsm_cc::driver;
use dsm_cc::driver::components::Language;

fn main() -> ExitCode {
    driver::main(Language::C)
}
