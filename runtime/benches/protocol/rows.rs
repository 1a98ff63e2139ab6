//! The rows of the table, each a function in a module by subject.

mod barriers;
mod locks;
mod reads;
mod releases;

use dsm_rt::control::{self, Watched};
use dsm_rt::{memory, sync};

use crate::{barrier, job, median, time};

/// Rounds of what takes less than a microsecond: each is over before the system takes a core away, so that most are undisturbed.
const SHORT_ROUNDS: usize = 101;
const MIB: usize = 1 << 20;
const ROUNDS: usize = 9;

control::declare! {
    /// Process 0's part of a round trip.
    static THERE: Watched;
    /// Process 1's.
    static BACK: Watched;
    /// Figures that process 1 hands to process 0.
    static FIGURES: Watched, 2;
    /// Whose turn it is, or how far one process has come.
    static TURN: Watched;
    /// How far the other has.
    static ANSWER: Watched;
    /// Entries of all processes.
    static ENTRIES: Watched;
    /// What each process of eight has counted.
    static RESULTS: Watched, 16;
}

struct Row {
    name: &'static str,
    processes: u32,
    block: usize,
    body: fn(),
}

const fn row(name: &'static str, processes: u32, block: usize, body: fn()) -> Row {
    Row { name, processes, block, body }
}

const ROWS: &[Row] = &[
    row("private-data", 2, 64, barriers::private_data),
    row("private-sweep", 2, 64, barriers::private_sweep),
    row("read-miss", 2, 4096, reads::read_miss),
    row("bulk-read", 2, 64, reads::bulk_read),
    row("release-elsewhere", 2, 64, releases::elsewhere),
    row("release-twinned", 2, 64, releases::twinned),
    row("release-merged", 2, 64, releases::merged),
    row("release-at-home", 2, 64, releases::at_home),
    row("overwrite-64", 2, 64, releases::overwrite),
    row("overwrite-1024", 2, 1024, releases::overwrite),
    row("bound", 2, 64, barriers::bound),
    row("barrier", 2, 64, barriers::empty),
    row("contended", 2, 64, barriers::contended),
    row("lock-hand-off", 2, 64, locks::hand_off),
    row("busy-home", 2, 4096, reads::busy_home),
    row("lock-2", 2, 64, locks::contended),
    row("lock-8", 8, 64, locks::contended),
    row("false-sharing", 2, 64, locks::false_sharing),
];

/// Measures all rows, or one.
pub fn start_all(only: Option<&str>) {
    println!("{:18} {:>14} {:>14} {:>8}  bar", "row", "ns", "reference ns", "ratio");
    for row in ROWS.iter().filter(|r| only.is_none_or(|name| name == r.name)) {
        job::start(row.name, row.processes, row.block);
    }
}

/// In a process of the job.
pub fn run(name: &str) {
    let row = ROWS.iter().find(|r| r.name == name).expect("a known row");
    (row.body)();
    barrier();
}

fn report(name: &str, ns: f64, reference: f64, bar: &str) {
    if sync::rank() == 0 {
        println!("{name:18} {ns:14.0} {reference:14.0} {:8.2}  {bar}", ns / reference);
    }
}

/// Round trip of a flag between processes 0 and 1, nanoseconds.
fn ping_pong() -> f64 {
    median((0..SHORT_ROUNDS).map(|_| ping_pong_round()).collect())
}

/// One round of [`ping_pong`].
fn ping_pong_round() -> f64 {
    const TRIPS: u64 = 200;
    let (there, back) = (THERE.shared(0), BACK.shared(0));
    barrier();
    let base = there.load();
    barrier();
    let ns = time(|| {
        for i in base + 1..=base + TRIPS {
            if sync::rank() == 0 {
                there.store(i);
                while back.load() != i {
                    std::hint::spin_loop();
                }
            } else if sync::rank() == 1 {
                while there.load() != i {
                    std::hint::spin_loop();
                }
                back.store(i);
            }
        }
    }) / TRIPS as f64;
    barrier();
    ns
}

/// Medians of what alternates with round trips of a flag, and of those, nanoseconds: a virtual machine's cores may move together or apart in between, and
/// both take several times as long when they are apart.
fn with_ping_pong(mut round: impl FnMut(u64) -> f64) -> (f64, f64) {
    let rounds = (0..SHORT_ROUNDS as u64).map(|i| (round(i), ping_pong_round()));
    let (samples, trips) = rounds.unzip();
    (median(samples), median(trips))
}

/// Copying `bytes` from the peer's memory, nanoseconds.
fn peer_copy(address: usize, bytes: usize) -> f64 {
    let shared = memory::shared().expect("several processes");
    let mut to = vec![0u8; bytes];
    let from = shared.segments.bytes(1 - sync::rank().min(1), memory::get().geometry().offset(address));
    median(
        (0..ROUNDS)
            .map(|_| {
                // SAFETY: the peer's segment has these bytes, `to` is as long; nobody writes meanwhile.
                time(|| unsafe { from.read(to.as_mut_ptr(), bytes) })
            })
            .collect(),
    )
}

fn heap(rank: u32) -> usize {
    memory::arena(rank).start
}

/// Process 1 hands its figures to process 0, which prints.
fn publish(ns: f64, reference: f64) {
    FIGURES.shared(0).store(ns.to_bits());
    FIGURES.shared(1).store(reference.to_bits());
}

fn report_published(name: &str, bar: &str) {
    let [ns, reference] = [0, 1].map(|i| f64::from_bits(FIGURES.shared(i).load()));
    report(name, ns, reference, bar);
}
