//! Operations on relocatable arrays (`programs/arrays.c`): with remembered places against without, over shared memory and over sockets, and against the same with MPI
//! (`programs/arrays_mpi.c`), where there is MPI.

use std::path::Path;
use std::process::Command;

use dsm_tests::toolchain;

use super::{mpi, row};
use crate::bench::{Bench, Contender, FLAGS, PROCESSES, output, show};
use crate::report::Row;

pub const NAME: &str = "arrays";
pub const ABOUT: &str = "Operations on relocatable arrays from one of two processes: elements and pages at the other one, own elements, and moving 4096 bytes; against \
                         the same without remembered places, and against MPI_Get and MPI_Put with a flush.";

const SOURCE: &str = "tests/bench/programs/arrays.c";
const MPI_SOURCE: &str = "tests/bench/programs/arrays_mpi.c";

/// In the order of the program.
const OPERATIONS: [&str; 8] = ["get", "put", "get-page", "get-own", "put-own", "load", "own-4K", "own-64K"];
/// Those that the program with MPI has.
const MPI_OPERATIONS: usize = 3;

pub fn run(bench: &Bench, rows: &mut Vec<Row>) -> Result<(), String> {
    let names = bench.wanted(NAME, &OPERATIONS)?;
    let program = bench.compile(&toolchain::workspace().join(SOURCE), &bench.compiler(), FLAGS)?;
    let transports = ["shm", "stream"];
    let mut contenders = Vec::new();
    for transport in transports {
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
        for (transport, pair) in transports.iter().zip(samples.chunks(2)) {
            let against = ("no cache", &pair[0][index][..]);
            rows.push(show_row(row(NAME, name, transport, "ns", &pair[1][index], against)));
        }
        if hindrance.is_none() && index < MPI_OPERATIONS {
            let against = ("MPI", &samples[2 * transports.len()][index][..]);
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
    let command = std::cell::RefCell::new(command);
    let run = move || {
        let command = &mut *command.borrow_mut();
        let text = output(command)?.0;
        let number = |name: &&str| {
            let line = text.lines().find_map(|line| line.strip_prefix(*name)?.strip_prefix(' '));
            line.and_then(|value| value.parse().ok())
                .ok_or_else(|| format!("{command:?} says nothing of {name}:\n{text}"))
        };
        names.iter().map(number).collect()
    };
    Contender { label, run: Box::new(run) }
}
