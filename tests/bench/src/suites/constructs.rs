//! Overheads of OpenMP constructs (`programs/constructs.c`), against libomp with as many threads.

use std::path::Path;
use std::process::Command;

use dsm_tests::toolchain;

use super::row;
use crate::bench::{Bench, Contender, FLAGS, PROCESSES, THREADS, output, plain, show};
use crate::report::Row;

pub const NAME: &str = "constructs";
pub const ABOUT: &str = "Overhead of one execution of an OpenMP construct by two threads, measured as the EPCC suite does, against libomp with two threads.";

const SOURCE: &str = "tests/bench/programs/constructs.c";

/// In the order of the program.
const CONSTRUCTS: [&str; 40] = [
    "parallel",
    "parallel-for",
    "parallel-nested",
    "teams",
    "for",
    "sections",
    "single",
    "masked",
    "static",
    "static-1",
    "dynamic-1",
    "dynamic-16",
    "guided-1",
    "guided-16",
    "barrier",
    "critical",
    "lock",
    "nest-lock",
    "ordered",
    "doacross",
    "atomic",
    "atomic-read",
    "compare-swap",
    "flush",
    "reduction",
    "private",
    "firstprivate",
    "copyin",
    "copyprivate",
    "task",
    "task-master",
    "task-if-0",
    "task-nested",
    "task-depend",
    "task-barrier",
    "taskwait",
    "taskgroup",
    "taskloop",
    "malloc",
    "getc",
];

pub fn run(bench: &Bench, rows: &mut Vec<Row>) -> Result<(), String> {
    let names = bench.wanted(NAME, &CONSTRUCTS)?;
    let source = toolchain::workspace().join(SOURCE);
    let ours = bench.compile(&source, &bench.compiler(), FLAGS)?;
    let theirs = bench.compile(&source, &toolchain::clang(), FLAGS)?;
    let contender = |label: &str, mut command: Command| -> Contender {
        command.args(&names);
        let command = std::cell::RefCell::new(command);
        let names = names.clone();
        Contender {
            label: format!("{NAME} {label}"),
            run: Box::new(move || overheads(&mut command.borrow_mut(), &names)),
        }
    };
    let ours = Path::new(&ours);
    let mut layouts: Vec<_> =
        [THREADS, PROCESSES].map(|layout| (layout.name(), bench.launch(ours, layout))).into();
    layouts.push(("2 hosts".to_owned(), bench.launch_on_two_hosts(ours)?));
    let mut contenders = vec![contender("libomp", plain(&theirs, 2))];
    let labels: Vec<_> = layouts.iter().map(|(label, _)| label.clone()).collect();
    contenders.extend(layouts.into_iter().map(|(label, command)| contender(&label, command)));
    let samples = bench.alternate(&contenders)?;
    for (index, name) in names.iter().enumerate() {
        for (label, sample) in labels.iter().zip(&samples[1..]) {
            let reference = ("libomp", &samples[0][index][..]);
            let row = row(NAME, name, label, "ns", &sample[index], reference);
            show(&row);
            rows.push(row);
        }
    }
    Ok(())
}

/// Runs the program, and reads the overhead of each of its constructs.
fn overheads(command: &mut Command, names: &[&str]) -> Result<Vec<f64>, String> {
    let text = output(command)?.0;
    let number = |name: &&str| {
        let line = text.lines().find_map(|line| line.strip_prefix(*name)?.strip_prefix(' '));
        line.and_then(|value| value.parse().ok())
            .ok_or_else(|| format!("{command:?} says nothing of {name}:\n{text}"))
    };
    names.iter().map(number).collect()
}
