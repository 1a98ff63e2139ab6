//! Runs generated programs over ranges of seeds.
//!
//! `fuzz --seeds A..B [-n P] [-t T] [-O L] [--line BYTES] [--batch N] [-j N]`: one configuration;
//! without `-n`, each batch takes the next configuration of the matrix. `--native` uses plain clang,
//! `--fault lost-write|missing-barrier|missing-locks` breaks the programs, `--print` shows the source.

use dsm_tests::compile::Target;
use dsm_tests::generator::{self, Fault};
use dsm_tests::matrix::{BUILDS, Build, SHAPES, Shape};
use dsm_tests::options::Options;
use dsm_tests::work;
use std::process::ExitCode;

const VALUES: [&str; 8] = ["--seeds", "-n", "-t", "-O", "--line", "--batch", "-j", "--fault"];
const SWITCHES: [&str; 2] = ["--native", "--print"];

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("fuzz: {message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool, String> {
    let options = Options::parse(std::env::args().skip(1), &VALUES, &SWITCHES)?;
    let seeds = options.range("--seeds", 0..100)?;
    let fault = match options.text("--fault") {
        None => Fault::None,
        Some("lost-write") => Fault::LostWrite,
        Some("missing-barrier") => Fault::MissingBarrier,
        Some("missing-locks") => Fault::MissingLocks,
        Some(other) => return Err(format!("unknown fault {other}")),
    };
    if options.has("--print") {
        print!("{}", generator::source(seeds, fault));
        return Ok(true);
    }
    let batch = options.number("--batch", 20)?.max(1);
    let width = options.number("-j", work::width() as u64)? as usize;
    let starts: Vec<u64> = seeds.clone().step_by(batch as usize).collect();
    let fixed = options.text("-n").is_some() || options.text("-t").is_some();
    let shape = Shape::new(options.number("-n", 1)? as u32, options.number("-t", 1)? as u32);
    let build = Build { level: options.number("-O", 2)? as u8, line: options.number("--line", 64)? as u32 };
    let native = options.has("--native");
    let failures = work::spread(&starts, width, |start| {
        let number = (start / batch) as usize;
        let (build, shape) =
            if fixed { (build, shape) } else { (BUILDS[number / 6 % 6], SHAPES[number % 6]) };
        let target = if native { Target::Native } else { Target::Dsm(build) };
        let part = *start..(start + batch).min(seeds.end);
        let result = generator::check(part, fault, target, shape);
        if let Err(message) = &result {
            println!("[{build}] {message}");
        }
        result.is_err()
    });
    let failed = failures.iter().filter(|f| **f).count();
    println!("{} seeds in {} batches, {failed} batches failed", seeds.end - seeds.start, starts.len());
    Ok(failed == 0)
}
