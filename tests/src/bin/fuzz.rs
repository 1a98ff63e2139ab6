//! Runs generated programs over ranges of seeds.

use dsm_tests::compile::Target;
use dsm_tests::evidence;
use dsm_tests::generator::{self, Fault};
use dsm_tests::matrix::{BUILDS, Build, SHAPES, Shape};
use dsm_tests::options::{Command, Options};
use dsm_tests::work;
use std::process::ExitCode;

const COMMAND: Command = Command {
    usage: "fuzz [OPTION]...

Compiles generated programs by dsm-cc, runs them on several processes and compares what they compute with what the generator knows.

  --seeds A..B    programs to generate (0..100)
  --batch N       programs in one executable (20)
  -n P, -t T      processes, threads of each; without both, each batch takes the next configuration of the matrix
  -O L, --line B  optimisation level and line size, with -n or -t (2, 64)
  -j N            batches at a time
  --native        use plain clang
  --fault KIND    break the programs: lost-write, missing-barrier or missing-locks
  --print         only show the source",
    values: &["--seeds", "-n", "-t", "-O", "--line", "--batch", "-j", "--fault"],
    switches: &["--native", "--print"],
};

fn main() -> ExitCode {
    COMMAND.main(|options| run(options).map(|ok| if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }))
}

fn run(options: &Options) -> Result<bool, String> {
    options.no_words()?;
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
    let kept = if failed == 0 {
        String::new()
    } else {
        format!("; all about them in {}", evidence::directory().display())
    };
    println!("{} seeds in {} batches, {failed} batches failed{kept}", seeds.end - seeds.start, starts.len());
    Ok(failed == 0)
}
