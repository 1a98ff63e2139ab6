//! Steps of the protocol between two hosts (`programs/hosts.c`), over TCP between two addresses of this machine: against the same bytes through a socket by both processes' own threads, which sleep until something comes, or look all the time.

use dsm_tests::toolchain;

use super::row;
use crate::bench::{Bench, Contender, FLAGS, figure, show};
use crate::report::Row;

pub const NAME: &str = "hosts";
pub const ABOUT: &str = "Steps of the protocol between two processes of different hosts, over TCP between two addresses of this machine: a cold read miss of 4096 bytes, a miss of a block that was read before, 64 MB by one range into memory that was used before and into memory that was not, a barrier without and with 1024 clean copies in each process, and a lock that goes from one to the other; against \
                         an exchange of a request and as many bytes through a socket, both sides asleep or both awake (of the lock: against all of an exchange of 8 bytes).";

const SOURCE: &str = "tests/bench/programs/hosts.c";

/// Steps, and the exchanges that they are compared with.
const STEPS: [(&str, &[&str]); 7] = [
    ("read-miss", &["block", "block-awake"]),
    ("read-again", &["block", "block-awake"]),
    ("bulk", &["large"]),
    ("bulk-first", &["large-first"]),
    ("barrier", &["word", "word-awake"]),
    ("barrier-copies", &["word", "word-awake"]),
    ("lock", &["word", "word-awake"]),
];

pub fn run(bench: &Bench, rows: &mut Vec<Row>) -> Result<(), String> {
    let wanted = bench.wanted(NAME, &STEPS.map(|(step, _)| step))?;
    let program = bench.compile(&toolchain::workspace().join(SOURCE), &bench.compiler(), FLAGS)?;
    for (step, exchanges) in STEPS.iter().filter(|(step, _)| wanted.contains(step)) {
        let contender = |name: &'static str| Contender {
            label: format!("{name} over TCP"),
            run: Box::new({
                let program = &program;
                move || figure(bench.launch_on_two_hosts(program)?.arg(name), name)
            }),
        };
        let contenders: Vec<_> =
            std::iter::once(step).chain(exchanges.iter()).map(|name| contender(name)).collect();
        let samples = bench.alternate(&contenders)?;
        for (exchange, sample) in exchanges.iter().zip(&samples[1..]) {
            let name = format!("{step}/{exchange}");
            let row = row(NAME, &name, "2 hosts", "ns", &samples[0][0], (exchange, &sample[0]));
            show(&row);
            rows.push(row);
        }
    }
    Ok(())
}
