//! Runs test programs in the full matrix, in parallel, and prints one line a program.

use dsm_tests::options::{Command, Options};
use dsm_tests::{differential, matrix, program, work};
use std::process::ExitCode;

const COMMAND: Command = Command {
    usage: "matrix [OPTION]... [NAME]...

Runs the named test programs, or all, in all configurations and compares them with plain clang or flang.

  --only LAYOUTS  processes x threads, as in 2x1,3x1 (all)
  --repeat N      runs of each configuration (1)
  -j N            programs at a time",
    values: &["--only", "--repeat", "-j"],
    switches: &[],
};

fn main() -> ExitCode {
    COMMAND.main(|options| {
        let failed = run(options)?;
        if failed > 0 {
            println!("{failed} programs failed");
        }
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

fn run(options: &Options) -> Result<usize, String> {
    let all = program::all_names();
    if let Some(unknown) = options.words.iter().find(|w| !all.contains(w)) {
        return Err(format!("no test program has the name {unknown}"));
    }
    let names = if options.words.is_empty() { all } else { options.words.clone() };
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
