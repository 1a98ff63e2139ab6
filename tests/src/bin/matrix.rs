//! Runs test programs in the full matrix, in parallel, and prints one line a program.
//!
//! `cargo run -p dsm-tests --release --bin matrix -- [NAME ...] [--only LAYOUTS] [--repeat N] [-j N]`
//!
//! LAYOUTS are processes x threads with commas, as in `--only 2x1,3x1`; by default all of the matrix.

use dsm_tests::{differential, matrix, options::Options, program, work};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failed) => {
            println!("{failed} programs failed");
            ExitCode::FAILURE
        }
        Err(message) => {
            eprintln!("matrix: {message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<usize, String> {
    let options = Options::parse(std::env::args().skip(1), &["--only", "--repeat", "-j"], &[])?;
    let names = if options.words.is_empty() { program::all_names() } else { options.words.clone() };
    let repeat = options.number("--repeat", 1)?;
    let width = options.number("-j", work::width() as u64)? as usize;
    let only: Option<Vec<&str>> = options.text("--only").map(|layouts| layouts.split(',').collect());
    let wanted = |config: &matrix::Config| {
        only.as_ref().is_none_or(|o| o.contains(&config.shape.to_string().as_str()))
    };
    let configs: Vec<matrix::Config> = matrix::full().into_iter().filter(wanted).collect();
    if configs.is_empty() {
        return Err("no configuration of the matrix has these layouts".into());
    }
    let failed = work::spread(&names, width, |name| {
        let program = program::Program::load(name);
        let failures: Vec<String> =
            (0..repeat).flat_map(|_| differential::check(&program, &configs)).collect();
        let runs = configs.len() as u64 * repeat;
        println!("{name:24} {} of {runs} runs right", runs - (failures.len() as u64).min(runs));
        for failure in &failures {
            println!("{failure}");
        }
        !failures.is_empty()
    });
    Ok(failed.into_iter().filter(|f| *f).count())
}
