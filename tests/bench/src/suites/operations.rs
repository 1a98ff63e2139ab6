//! Memory-based operations (`programs/operations.c`) by two processes, over shared memory and over sockets, against what programs do without them, and against MPI's one-sided
//! operations (`programs/operations_mpi.c`) over the same transport, where there is an MPI library. Messages of 1440 bytes between two hosts, which are two addresses of this
//! machine, against a TCP socket.

use dsm_tests::toolchain;

use super::{mpi, row};
use crate::bench::{Bench, Contender, FLAGS, PROCESSES, figure, show};
use crate::report::Row;

pub const NAME: &str = "operations";
pub const ABOUT: &str = "An operation of each of two processes on a counter, a histogram of 65536 bins or a queue of one of them, or a message of 1440 bytes to the other, one way, against other ways to the same.";

const DIRECTORY: &str = "tests/bench/programs";

/// A row: what is measured, what it is compared with in the same program, and whether the program with MPI has it.
struct Operation {
    name: &'static str,
    references: &'static [(&'static str, &'static str)],
    mpi: Option<&'static str>,
    transports: &'static [Transport],
}

/// How the processes reach each other.
struct Transport {
    name: &'static str,
    /// Options of Open MPI that choose the same.
    mpi: &'static [&'static str],
}

const SHM: Transport = Transport { name: "shm", mpi: &[] };
const STREAM: Transport =
    Transport { name: "stream", mpi: &["--mca", "btl", "self,tcp", "--mca", "osc", "^sm"] };
/// Between two hosts.
const TCP: Transport = Transport { name: "tcp", mpi: STREAM.mpi };

const OPERATIONS: [Operation; 5] = [
    Operation {
        name: "counter-add",
        references: &[("counter-atomic", "omp atomic"), ("counter-lock", "lock")],
        mpi: Some("MPI_Accumulate"),
        transports: &[SHM, STREAM],
    },
    Operation {
        name: "counter-fetch",
        references: &[("counter-atomic", "omp atomic"), ("counter-lock", "lock")],
        mpi: Some("MPI_Fetch_and_op"),
        transports: &[SHM, STREAM],
    },
    Operation {
        name: "histogram-add",
        references: &[("histogram-atomic", "omp atomic"), ("histogram-lock", "lock")],
        mpi: Some("MPI_Accumulate"),
        transports: &[SHM, STREAM],
    },
    Operation {
        name: "queue-push",
        references: &[("queue-lock", "lock")],
        mpi: None,
        transports: &[SHM, STREAM],
    },
    Operation { name: "mail-write", references: &[("mail-socket", "socket")], mpi: None, transports: &[TCP] },
];

pub fn run(bench: &Bench, rows: &mut Vec<Row>) -> Result<(), String> {
    let names = OPERATIONS.map(|operation| operation.name);
    let wanted = bench.wanted(NAME, &names)?;
    let source = |name: &str| toolchain::workspace().join(DIRECTORY).join(name);
    let ours = bench.compile(&source("operations.c"), &bench.compiler(), FLAGS)?;
    let theirs = match mpi::hindrance() {
        None => Some(bench.compile(&source("operations_mpi.c"), &mpi::compiler(), "-O3")?),
        Some(reason) => {
            eprintln!("dsm-bench: {NAME} are not compared with MPI: {reason}");
            None
        }
    };
    for operation in OPERATIONS.iter().filter(|operation| wanted.contains(&operation.name)) {
        for &Transport { name: transport, mpi: options } in operation.transports {
            let own = |name: &'static str| Contender {
                label: format!("{name} {transport}"),
                run: Box::new({
                    let ours = &ours;
                    move || {
                        let mut command = match transport {
                            "tcp" => bench.launch_on_two_hosts(ours)?,
                            _ => bench.launch(ours, PROCESSES),
                        };
                        if transport != "tcp" {
                            command.env("DSM_TRANSPORT", transport);
                        }
                        command.arg(name);
                        figure(&mut command, name)
                    }
                }),
            };
            let mut contenders = vec![own(operation.name)];
            let mut against: Vec<&str> =
                operation.references.iter().map(|(_, reference)| *reference).collect();
            contenders.extend(operation.references.iter().map(|(name, _)| own(name)));
            if let (Some(program), Some(function)) = (&theirs, operation.mpi) {
                against.push(function);
                contenders.push(Contender {
                    label: format!("{function} {transport}"),
                    run: Box::new(move || {
                        let mut command = mpi::command(2, options);
                        figure(command.arg(program).arg(operation.name), operation.name)
                    }),
                });
            }
            let samples = bench.alternate(&contenders)?;
            for (reference, sample) in against.iter().zip(&samples[1..]) {
                let name = format!("{}/{transport}/{}", operation.name, reference.replace(' ', "-"));
                let row = row(NAME, &name, "2x1", "ns", &samples[0][0], (reference, &sample[0]));
                show(&row);
                rows.push(row);
            }
        }
    }
    Ok(())
}
