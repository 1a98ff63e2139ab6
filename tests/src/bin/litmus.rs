//! Runs the litmus shapes for many rounds.
//!
//! `litmus [--rounds N] [-n P] [-t T] [-O L] [--line BYTES]`; `--native` uses plain clang.

use dsm_tests::compile::Target;
use dsm_tests::litmus;
use dsm_tests::matrix::{Build, Shape};
use dsm_tests::options::Options;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(judged) => {
            println!("{judged} outcomes, all allowed");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<u64, String> {
    let values = ["--rounds", "-n", "-t", "-O", "--line"];
    let options = Options::parse(std::env::args().skip(1), &values, &["--native"])?;
    let layout = Shape::new(options.number("-n", 2)? as u32, options.number("-t", 1)? as u32);
    let build = Build { level: options.number("-O", 2)? as u8, line: options.number("--line", 64)? as u32 };
    let target = if options.has("--native") { Target::Native } else { Target::Dsm(build) };
    litmus::check(target, layout, options.number("--rounds", 100_000)?)
}
