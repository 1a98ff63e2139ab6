//! What the checks cost: kernels compiled by `dsm-cc` against the same sources under plain clang, one process and one thread.

use dsm_tests::bench::{self, Settings};
use dsm_tests::options::{Command, Options};
use std::process::ExitCode;

const COMMAND: Command = Command {
    usage: "bench [OPTION VALUE]...

Compares kernels compiled by dsm-cc with the same sources under plain clang, in one process of one thread.
Instructions are counted by valgrind where it is installed, executed checks by the programs themselves.

  --class C          problem size of the timed runs: S, W, A, B or C (W)
  --runs N           timed runs of each program, of which the fastest counts (3)
  --line BYTES,...   line sizes to compile for (1024,64)
  --kernels NAME,... kernels to measure: ep, cg, is, mg, ft, ua, and what --npb adds (all)
  --npb DIR,...      checkouts of NPB 3.0 in OpenMP C (adds bt, sp, lu) and of NPB 3.4 in OpenMP (adds bt-f, ua-f, ...)
  --count-class C    problem size of the runs that count; - leaves them out (S)
  --json FILE        write the rows as JSON
  --table FILE       write them as a table for the book
  --svg FILE         write a plot",
    values: &["--class", "--runs", "--line", "--kernels", "--npb", "--count-class", "--json", "--svg", "--table"],
    switches: &[],
};

fn main() -> ExitCode {
    COMMAND.main(|options| run(options).map(|()| ExitCode::SUCCESS))
}

fn run(options: &Options) -> Result<(), String> {
    options.no_words()?;
    let lines: Result<Vec<u32>, _> =
        options.text("--line").unwrap_or("1024,64").split(',').map(str::parse).collect();
    let settings = Settings {
        class: options.text("--class").unwrap_or("W").to_owned(),
        count_class: options.text("--count-class").unwrap_or("S").to_owned(),
        runs: options.number("--runs", 3)?.max(1),
        lines: lines.map_err(|e| format!("--line takes sizes in bytes: {e}"))?,
        kernels: options.text("--kernels").map(|k| k.split(',').map(str::to_owned).collect()),
        npb: options.text("--npb").map_or(vec![], |d| d.split(',').map(Into::into).collect()),
    };
    let rows = bench::measure(&settings, |row| println!("{row}"))?;
    println!("{}", bench::means(&rows));
    let write = |option: &str, text: String| match options.text(option) {
        Some(path) => std::fs::write(path, text).map_err(|e| format!("cannot write {path}: {e}")),
        None => Ok(()),
    };
    write("--json", bench::json(&rows))?;
    write("--table", bench::table(&rows))?;
    write("--svg", bench::svg(&rows))
}
