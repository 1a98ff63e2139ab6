//! Runs the litmus shapes for many rounds.

use dsm_tests::compile::Target;
use dsm_tests::litmus;
use dsm_tests::matrix::{Build, Shape};
use dsm_tests::options::{Command, Options};
use std::process::ExitCode;

const COMMAND: Command = Command {
    usage: "litmus [OPTION]...

Runs small programs that tell memory models apart for many rounds and checks that only allowed outcomes come up.

  --rounds N      rounds of each shape (100000)
  -n P, -t T      processes, threads of each (2, 1)
  -O L, --line B  optimisation level and line size (2, 64)
  --native        use plain clang",
    values: &["--rounds", "-n", "-t", "-O", "--line"],
    switches: &["--native"],
};

fn main() -> ExitCode {
    COMMAND.main(|options| {
        run(options).map(|judged| {
            println!("{judged} outcomes, all allowed");
            ExitCode::SUCCESS
        })
    })
}

fn run(options: &Options) -> Result<u64, String> {
    options.no_words()?;
    let layout = Shape::new(options.number("-n", 2)? as u32, options.number("-t", 1)? as u32);
    let build = Build { level: options.number("-O", 2)? as u8, line: options.number("--line", 64)? as u32 };
    let target = if options.has("--native") { Target::Native } else { Target::Dsm(build) };
    litmus::check(target, layout, options.number("--rounds", 100_000)?)
}
