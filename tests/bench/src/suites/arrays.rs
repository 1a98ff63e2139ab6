//! Operations on relocatable arrays (`programs/arrays.c`): with remembered places against without, over shared memory and over sockets, and against the same with MPI
//! (`programs/arrays_mpi.c`), where there is MPI; and a program that has use of them.

use std::cell::RefCell;
use std::path::Path;
use std::process::Command;

use dsm_tests::toolchain;

use super::{mpi, row};
use crate::bench::{Bench, Contender, FLAGS, Layout, PROCESSES, output, show};
use crate::report::Row;

pub const NAME: &str = "arrays";
pub const ABOUT: &str = "Operations on relocatable arrays from one of two processes: elements and pages at the other one, own elements, and moving 4096 bytes; against \
                         the same without remembered places, and against MPI_Get and MPI_Put with a flush. `moving-bodies`: an example whose pages follow the work, \
                         against the same with pages that stay.";

const SOURCE: &str = "tests/bench/programs/arrays.c";
const MPI_SOURCE: &str = "tests/bench/programs/arrays_mpi.c";

/// In the order of the program.
const OPERATIONS: [&str; 8] = ["get", "put", "get-page", "get-own", "put-own", "load", "own-4K", "own-64K"];
/// The program whose pages follow the work, and its row.
const RELOCATION_SOURCE: &str = "examples/moving_bodies.c";
const RELOCATION: &str = "moving-bodies";
/// Processes that it runs on.
const RELOCATION_PROCESSES: [u32; 2] = [2, 4];
/// Those that the program with MPI has.
const MPI_OPERATIONS: usize = 3;

const TRANSPORTS: [&str; 2] = ["shm", "stream"];

pub fn run(bench: &Bench, rows: &mut Vec<Row>) -> Result<(), String> {
    let all: Vec<&str> = OPERATIONS.into_iter().chain([RELOCATION]).collect();
    let names = bench.wanted(NAME, &all)?;
    if names.contains(&RELOCATION) {
        relocation(bench, rows)?;
    }
    if names.iter().any(|name| *name != RELOCATION) {
        operations(bench, &names, rows)?;
    }
    Ok(())
}

/// Seconds of [`RELOCATION_SOURCE`] with pages that follow the bodies, against pages that stay.
fn relocation(bench: &Bench, rows: &mut Vec<Row>) -> Result<(), String> {
    let program = bench.compile(&toolchain::workspace().join(RELOCATION_SOURCE), &bench.compiler(), FLAGS)?;
    for processes in RELOCATION_PROCESSES {
        for transport in TRANSPORTS {
            let contenders = ["stay", "follow"].map(|mode| {
                let mut command = bench.launch(&program, Layout { processes, threads: 1 });
                command.arg(mode).env("DSM_TRANSPORT", transport);
                let label = format!("{RELOCATION} {processes}x1 {transport} pages {mode}");
                measured(label, command, |text| {
                    Some(vec![text.trim().strip_suffix(" s")?.rsplit(' ').next()?.parse().ok()?])
                })
            });
            let samples = bench.alternate(&contenders)?;
            let layout = format!("{processes}x1 {transport}");
            let against = ("pages stay", &samples[0][0][..]);
            rows.push(show_row(row(NAME, RELOCATION, &layout, "s", &samples[1][0], against)));
        }
    }
    Ok(())
}

fn operations(bench: &Bench, names: &[&str], rows: &mut Vec<Row>) -> Result<(), String> {
    let program = bench.compile(&toolchain::workspace().join(SOURCE), &bench.compiler(), FLAGS)?;
    let mut contenders = Vec::new();
    for transport in TRANSPORTS {
        for cache in ["0", "1"] {
            let mut command = bench.launch(Path::new(&program), PROCESSES);
            command.env("DSM_TRANSPORT", transport).env("DSM_ARRAY_CACHE", cache);
            contenders.push(contender(format!("{NAME} {transport} cache {cache}"), command, &OPERATIONS));
        }
    }
    let hindrance = mpi::hindrance();
    match &hindrance {
        Some(why) => println!("{NAME}: not compared with MPI: {why}"),
        None => {
            let source = toolchain::workspace().join(MPI_SOURCE);
            let program = bench.compile(&source, &mpi::compiler(), "-O3")?;
            let words = mpi::launcher();
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).args(["-n", "2"]).arg(program);
            contenders.push(contender(format!("{NAME} MPI"), command, &OPERATIONS[..MPI_OPERATIONS]));
        }
    }
    let samples = bench.alternate(&contenders)?;
    for (index, name) in OPERATIONS.iter().enumerate().filter(|(_, name)| names.contains(name)) {
        for (transport, pair) in TRANSPORTS.iter().zip(samples.chunks(2)) {
            let against = ("no cache", &pair[0][index][..]);
            rows.push(show_row(row(NAME, name, transport, "ns", &pair[1][index], against)));
        }
        if hindrance.is_none() && index < MPI_OPERATIONS {
            let against = ("MPI", &samples[2 * TRANSPORTS.len()][index][..]);
            rows.push(show_row(row(NAME, &format!("{name}-mpi"), "shm", "ns", &samples[1][index], against)));
        }
    }
    Ok(())
}

fn show_row(row: Row) -> Row {
    show(&row);
    row
}

/// Runs a program, which prints a line for each operation.
fn contender(label: String, command: Command, names: &'static [&'static str]) -> Contender<'static> {
    measured(label, command, move |text| {
        let number = |name: &&str| {
            text.lines().find_map(|line| line.strip_prefix(*name)?.strip_prefix(' '))?.parse().ok()
        };
        names.iter().map(number).collect()
    })
}

/// Runs a program; `figures` takes them from what it prints.
fn measured(
    label: String,
    command: Command,
    figures: impl Fn(&str) -> Option<Vec<f64>> + 'static,
) -> Contender<'static> {
    let command = RefCell::new(command);
    let run = move || {
        let command = &mut *command.borrow_mut();
        let text = output(command)?.0;
        figures(&text).ok_or_else(|| format!("{command:?} does not print its figures:\n{text}"))
    };
    Contender { label, run: Box::new(run) }
}
