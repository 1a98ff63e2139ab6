//! What the checks cost: kernels compiled by `dsm-cc` against the same sources under plain clang, one process and one thread.
//!
//! `bench [--class C] [--runs N] [--line BYTES,...] [--kernels ep,cg,...] [--npb DIRECTORY,...] [--count-class C] [--json FILE]
//! [--svg FILE] [--table FILE]`. The directories are checkouts of NPB 3.0 in OpenMP C, whose BT, SP and LU are measured too, and of NPB 3.4
//! in OpenMP, whose Fortran programs are (`bt-f`, `ua-f`, ...). Instructions are counted by valgrind where it is installed, executed checks
//! by the programs themselves (`--count-class -` leaves both out).

use dsm_tests::bench::{self, Settings};
use dsm_tests::options::Options;
use std::process::ExitCode;

const VALUES: [&str; 9] =
    ["--class", "--runs", "--line", "--kernels", "--npb", "--count-class", "--json", "--svg", "--table"];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let options = Options::parse(std::env::args().skip(1), &VALUES, &[])?;
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
    if !options.words.is_empty() {
        return Err(format!("unknown argument {}; options are {}", options.words[0], VALUES.join(", ")));
    }
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
