//! Runs generated programs over ranges of seeds.

use dsm_tests::compile::Target;
use dsm_tests::evidence;
use dsm_tests::generator::Fault;
use dsm_tests::generator::batch::{Batch, Kind};
use dsm_tests::matrix::{BUILDS, Build, KERNEL_BUILDS, SHAPES, Shape};
use dsm_tests::options::{Command, Options};
use dsm_tests::program::Language;
use dsm_tests::work;
use std::process::ExitCode;

const COMMAND: Command = Command {
    usage: "fuzz [OPTION]...

Compiles generated programs by dsm-cc, runs them on several processes and compares what they compute with what the generator knows, or with what they compute when compiled by the plain compiler.

  --seeds A..B    programs to generate (0..100)
  --kind KIND     phases: arrays between barriers, locks and atomics, in C (default)
                  loops: nests of all shapes, helpers, records; tasks: the same in tasks and nested regions
  --language L    c, cxx or fortran (c)
  --batch N       programs in one executable (20)
  -n P, -t T      processes, threads of each; without both, each batch takes the next configuration of the matrix
  -O L, --line B  optimisation level and line size, with -n or -t (2, 64)
  -j N            batches at a time
  --native        use plain clang
  --fault KIND    break the programs: lost-write; phases: missing-barrier or missing-locks
  --print         only show the source",
    values: &["--seeds", "-n", "-t", "-O", "--line", "--batch", "-j", "--fault", "--kind", "--language"],
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
    let kind = options.text("--kind").unwrap_or("phases");
    let kind = Kind::named(kind).ok_or(format!("unknown kind {kind}"))?;
    let language = match options.text("--language") {
        None | Some("c") => Language::C,
        Some("cxx") => Language::Cxx,
        Some("fortran") => Language::Fortran,
        Some(other) => return Err(format!("unknown language {other}")),
    };
    if kind == Kind::Phases && language != Language::C {
        return Err("programs of phases are in C".into());
    }
    let batch_of = |seeds| Batch { kind, language, seeds, fault };
    if options.has("--print") {
        for (name, text) in batch_of(seeds).files() {
            print!("{} {name}\n{text}", if language == Language::Fortran { "!" } else { "//" });
        }
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
        let builds: &[Build] = if kind == Kind::Phases { &BUILDS } else { &KERNEL_BUILDS };
        let (build, shape) = if fixed {
            (build, shape)
        } else {
            (builds[number / SHAPES.len() % builds.len()], SHAPES[number % SHAPES.len()])
        };
        let target = if native { Target::Native } else { Target::Dsm(build) };
        let part = *start..(start + batch).min(seeds.end);
        let failures = batch_of(part).check(target, &[shape]);
        failures.iter().for_each(|message| println!("[{build}] {message}"));
        !failures.is_empty()
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
