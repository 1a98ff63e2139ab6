//! Runs the litmus shapes for many rounds.

use dsm_tests::compile::Target;
use dsm_tests::litmus::shapes::{ORDERS, SHAPES, STRENGTHENED, Shape};
use dsm_tests::litmus::{self, Setting};
use dsm_tests::matrix::{Build, Shape as Layout};
use dsm_tests::options::{Command, Options};
use std::process::ExitCode;
use std::time::Instant;

const COMMAND: Command = Command {
    usage: "litmus [OPTION]... [SHAPE]...

Runs small programs that tell memory models apart for many rounds and checks that only allowed outcomes come up. Prints a line for each
shape when it is done; without names, all shapes are run. 100000 rounds take some minutes.

  --rounds N      rounds of each shape in each memory order and placement (100000)
  -n P, -t T      processes, threads of each (2, 1)
  -O L, --line B  optimisation level and line size (2, 64)
  --block B       block size (4096)
  --native        use plain clang
  --strengthened  relaxed atomics and volatile variables, compiled with -fdsm-weakest-order=acq_rel",
    values: &["--rounds", "-n", "-t", "-O", "--line", "--block"],
    switches: &["--native", "--strengthened"],
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
    let layout = Layout::new(options.number("-n", 2)? as u32, options.number("-t", 1)? as u32);
    let build = Build { level: options.number("-O", 2)? as u8, line: options.number("--line", 64)? as u32 };
    let target = if options.has("--native") { Target::Native } else { Target::Dsm(build) };
    let block = options.text("--block").map(|_| options.number("--block", 0)).transpose()?;
    let strengthened = options.has("--strengthened");
    if strengthened && target == Target::Native {
        return Err(
            "--strengthened: plain clang does not know -fdsm-weakest-order; leave one of the two out".into(),
        );
    }
    let orders: &[_] = if strengthened { &STRENGTHENED } else { &ORDERS };
    let rounds = options.number("--rounds", 100_000)?;
    let setting = Setting { target, layout, block, rounds, orders };
    let mut judged = 0;
    for shape in named(&options.words)? {
        let began = Instant::now();
        let outcomes = litmus::check(shape, setting)?;
        println!("{:<13} {outcomes:>10} outcomes {:>7.1} s", shape.name, began.elapsed().as_secs_f64());
        judged += outcomes;
    }
    Ok(judged)
}

fn named(words: &[String]) -> Result<Vec<&'static Shape>, String> {
    let find = |word: &String| {
        let known = || SHAPES.iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
        SHAPES
            .iter()
            .find(|s| s.name == word)
            .ok_or_else(|| format!("{word}: no such shape; there are {}", known()))
    };
    if words.is_empty() { Ok(SHAPES.iter().collect()) } else { words.iter().map(find).collect() }
}
