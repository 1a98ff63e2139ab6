//! All schedules of small programs: none may break a property.

use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;
use std::time::Instant;

use dsm_coherence::Fault;
use dsm_explore::program::{Bounds, Program, generate};
use dsm_explore::search::exhaustive::{Limits, search, search_with};
use dsm_explore::search::{Coverage, Failure, orders, random};
use dsm_explore::world::{Memories, Script};

/// Demands that a search found no failure and left nothing out.
fn whole(name: &str, program: Program, search: impl Fn(&Rc<Program>) -> Result<Coverage, Failure>) {
    let start = Instant::now();
    let program = Rc::new(program);
    match search(&program) {
        Ok(coverage) => {
            println!("{name}: {coverage} {:.1} s", start.elapsed().as_secs_f64());
            assert!(coverage.complete, "{name}: {coverage} is not all\n{program}");
        }
        Err(failure) => panic!("{name}: {}", failure.account()),
    }
}

const STATES: usize = 3_000_000;
const RUNS: usize = 1_500_000;

fn delayed(name: &str, program: Program, delays: u8) {
    whole(name, program, |program| search(program, Limits::delays(delays, STATES)));
}

/// All schedules of the operations, and one of the barrier at the end.
fn all(name: &str, program: Program) {
    whole(name, program.short().closing_in_order(), |program| orders::search(program, RUNS));
}

/// Name, number of blocks, bytes of each, operations of each process.
type Shape = (&'static str, usize, usize, &'static [&'static str]);

const PAIRS: &[Shape] = &[
    ("lock hand-off", 1, 2, &["lock0 w0=1 unlock0", "lock0 r0 w1=2 unlock0"]),
    ("message passing", 2, 2, &["w0=1 w2=2 barrier", "barrier r2 r0"]),
    ("store buffering", 2, 2, &["w0=1 barrier r2", "w2=2 barrier r0"]),
    ("false sharing", 1, 2, &["w0=1 barrier r1", "w1=2 barrier r0"]),
    ("home taken during a write", 1, 2, &["lock0 w0=1 w0=2 unlock0", "w1=1 lock0 r0 unlock0"]),
    ("invalid-dirty", 1, 2, &["lock0 w0=1 unlock0", "w1=2 lock0 r0 unlock0 r1"]),
    ("overflow", 4, 1, &["w1=1 w3=1 lock0 w0=1 w2=1 unlock0", "lock0 r2 unlock0 lock0 r2 unlock0"]),
    ("atomic additions", 1, 2, &["a0 a0", "a0 w1=1"]),
    ("polled atomics", 1, 2, &["a0 w1=1 a0", "look0 look0 look0"]),
    ("atomics polled beside merges", 1, 3, &["a0 lock0 w1=1 unlock0", "look0 w2=2 lock0 r1 unlock0 look0"]),
    ("atomics and locks", 1, 3, &["a0 lock0 w1=1 unlock0", "lock0 r1 unlock0 a0"]),
    ("overwritten", 1, 2, &["lock0 w0=1 unlock0 lock0 r1 unlock0", "lock0 o0+2=2 unlock0"]),
    ("overwritten in part", 2, 2, &["w1=1 w2=1 barrier lock1 r0 unlock1", "barrier o1+3=0 lock1 unlock1"]),
    ("overwritten copy", 1, 2, &["w0=1 barrier lock1 fetch0 unlock1", "barrier r0 lock0 o0+2=2 unlock0"]),
    (
        "overwritten beside a fetch",
        1,
        2,
        &["lock0 w0=1 unlock0 fetch0 lock0 r0 unlock0", "lock0 o0+2=2 unlock0"],
    ),
    ("overwritten beside a permit", 1, 2, &["lock0 w0=1 unlock0 permit0", "lock0 o0+2=0 unlock0"]),
    ("twins freed while taken", 1, 2, &["w0=1 free w0=2 lock1 unlock1", "w1=3 lock0 unlock0 free"]),
];

const LONG_PAIRS: &[Shape] = &[
    ("exclusive to shared", 1, 2, &["lock0 w0=1 unlock0 lock0 w0=2 unlock0", "r1 lock0 r0 unlock0"]),
    ("flag with flush", 2, 2, &["w0=1 set2=1", "r1 wait2=1 r0"]),
    ("addition that releases", 2, 2, &["w0=1 ordered2", "r1 reach2 r0"]),
    ("addition that releases, beside data", 1, 3, &["w0=1 ordered1", "r2 reach1 r0"]),
    ("additions that release and acquire", 2, 2, &["w0=1 ordered2 reach3 r1", "w1=1 ordered3"]),
    ("flag beside data", 1, 2, &["w0=1 set1=1", "wait1=1 r0"]),
];

const TRIPLES: &[Shape] = &[
    ("lock chain", 1, 2, &["lock0 w0=1 unlock0", "lock0 w1=1 unlock0", "lock0 r0 r1 unlock0"]),
    ("one writer, two readers", 1, 2, &["w0=1 barrier", "barrier r0", "barrier r0"]),
    (
        "changes of hands of two blocks",
        2,
        2,
        &["lock0 w0=1 unlock0", "lock0 r0 unlock0 lock1 w2=1 unlock1", "lock1 r2 unlock1"],
    ),
    (
        "overwritten by turns",
        1,
        2,
        &["lock0 o0+2=1 unlock0", "lock0 o0+2=2 unlock0", "lock0 r1 o0+2=3 unlock0"],
    ),
    ("writer before its lock", 1, 2, &["lock0 w0=1 unlock0", "w1=1 lock0 unlock0", "lock0 r0 unlock0"]),
    (
        "two blocks in turn",
        2,
        1,
        &["lock0 w0=1 w1=1 unlock0", "lock0 r0 w1=2 unlock0", "lock0 w0=3 r1 unlock0"],
    ),
    ("transitivity", 2, 2, &["w0=1 lock0 unlock0", "lock0 unlock0 lock1 unlock1", "r1 lock1 r2 unlock1"]),
    ("three atomics", 1, 1, &["a0", "a0", "a0"]),
    ("two atomics and a look", 1, 1, &["a0", "a0", "look0"]),
    (
        "overwritten while a third fetches",
        1,
        2,
        &["lock0 w0=1 unlock0", "lock0 o0+2=2 unlock0", "fetch0 lock0 unlock0"],
    ),
    ("flag after flag", 3, 1, &["w0=1 set1=1", "wait1=1 set2=1", "wait2=1 r0"]),
];

const ATOMICS_BESIDE_A_STORE: Shape = ("three atomics beside a store", 1, 2, &["a0", "a0 w1=1", "a0"]);

/// Of four to six operations a process.
const LONG_TRIPLES: &[Shape] = &[
    (
        "by turns, twice",
        1,
        3,
        &[
            "lock0 w0=1 unlock0 lock0 r1 unlock0",
            "lock0 w1=2 unlock0 lock0 r2 unlock0",
            "lock0 w2=3 unlock0 lock0 r0 unlock0",
        ],
    ),
    (
        "two blocks under two locks",
        2,
        2,
        &[
            "lock0 w0=1 unlock0 lock1 r2 unlock1",
            "lock1 w2=2 unlock1 lock0 r0 unlock0",
            "lock0 w1=3 unlock0 lock1 w3=1 unlock1",
        ],
    ),
    (
        "lock, then barrier",
        2,
        2,
        &["lock0 w0=1 unlock0 barrier r2", "lock0 w2=2 unlock0 barrier r0", "lock0 r0 unlock0 barrier r2"],
    ),
    (
        "lock, then barrier, in one block",
        1,
        3,
        &["lock0 w0=1 unlock0 barrier r1", "lock0 w1=2 unlock0 barrier r0", "lock0 r0 unlock0 barrier r1"],
    ),
    ("two barriers", 2, 2, &["w0=1 barrier r2 barrier", "w2=2 barrier barrier", "barrier r0 barrier"]),
    ("three writers, one barrier", 3, 1, &["w0=1 barrier r1 r2", "w1=2 barrier r2 r0", "w2=3 barrier r0 r1"]),
    ("overflow", 3, 1, &["lock0 w0=1 w2=1 unlock0", "lock0 w1=2 w0=2 unlock0", "lock0 r0 r1 r2 unlock0"]),
    ("flag, then barrier", 2, 1, &["w0=1 set1=1 barrier", "wait1=1 r0 barrier", "barrier r0"]),
    (
        "flag beside locks",
        2,
        2,
        &["lock0 w0=1 unlock0 set2=1", "wait2=1 lock0 r0 unlock0", "lock0 w1=1 unlock0"],
    ),
];

/// A block is read elsewhere beside stores, releases, and operations at its home.
const ONE_SIDED: &[Shape] = &[
    ("read beside a store", 1, 2, &["lock0 w0=1 unlock0", "r1 lock0 r0 unlock0"]),
    ("read beside an addition", 1, 2, &["a0", "r1"]),
    ("read beside an addition of a third", 1, 2, &["", "r1", "a0"]),
];

/// A one-sided read, and another one behind a notice, beside two writers of the block.
const ONE_SIDED_BESIDE_WRITERS: Shape =
    ("read beside two writers", 1, 3, &["lock0 w0=1 unlock0", "r2 lock0 r0 unlock0", "w1=1"]);

fn program((_, blocks, bytes, threads): &Shape) -> Program {
    Program::parse(threads.len(), *blocks, *bytes, threads).notices(2)
}

#[test]
fn shapes_of_two_processes() {
    for shape in PAIRS.iter().chain(LONG_PAIRS) {
        all(shape.0, program(shape));
    }
}

/// Contents are placed some time after the reply.
#[test]
fn shapes_of_two_processes_by_agents() {
    for shape in PAIRS {
        all(shape.0, program(shape).by_agents());
    }
}

/// Each word and byte of a look is read by itself, in all orders.
#[test]
fn shapes_with_one_sided_reads() {
    // The longest takes two minutes.
    let triples = TRIPLES.iter().filter(|shape| shape.0 != "overwritten while a third fetches");
    for shape in ONE_SIDED.iter().chain(PAIRS).chain(LONG_PAIRS).chain(triples) {
        all(shape.0, program(shape).one_sided());
    }
}

#[test]
#[ignore = "takes a minute"]
fn one_sided_read_beside_two_writers() {
    all(ONE_SIDED_BESIDE_WRITERS.0, program(&ONE_SIDED_BESIDE_WRITERS).one_sided());
}

#[test]
fn shapes_of_three_processes() {
    for shape in TRIPLES {
        all(shape.0, program(shape));
    }
    let shape = &TRIPLES[1];
    all("by dissemination", program(shape).dissemination());
}

#[test]
fn three_atomics_beside_a_store() {
    delayed(ATOMICS_BESIDE_A_STORE.0, program(&ATOMICS_BESIDE_A_STORE).short(), 3);
}

/// As above, all of it.
#[test]
#[ignore = "takes a minute"]
fn three_atomics_beside_a_store_in_all_ways() {
    all(ATOMICS_BESIDE_A_STORE.0, program(&ATOMICS_BESIDE_A_STORE));
}

#[test]
fn long_shapes_of_three_processes() {
    for shape in LONG_TRIPLES {
        all(shape.0, program(shape));
    }
}

#[test]
fn three_atomics_beside_locks() {
    let threads = &["a0 lock0 w1=1 unlock0", "a0 lock0 r1 unlock0", "a0 look0"];
    all("three atomics, locks and a look", program(&("", 1, 2, threads)));
}

const WAITERS: Shape = ("flag with two waiters", 2, 2, &["w0=1 set2=1", "wait2=1 r0", "wait2=1 r0"]);

#[test]
fn two_wait_for_one_flag() {
    delayed(WAITERS.0, program(&WAITERS).short(), if cfg!(debug_assertions) { 1 } else { 2 });
}

/// As above, all of it.
#[test]
#[ignore = "takes minutes and a gigabyte"]
fn two_wait_for_one_flag_in_all_ways() {
    let search = |program: &Rc<Program>| orders::search(program, usize::MAX);
    whole(WAITERS.0, program(&WAITERS).short().closing_in_order(), search);
}

/// Blocks of different sizes between each other: a list that overflows, and accesses that go from one size to the next.
#[test]
fn shapes_of_mixed_sizes() {
    let shapes: &[(&[usize], &[&str])] = &[
        (&[2, 4, 2, 1], &["lock0 w0+8=1 unlock0 lock0 w8=2 unlock0", "lock0 r7 unlock0 lock0 r0+9 unlock0"]),
        (&[2, 3, 2], &["lock0 w0=1 w5=1 unlock0", "lock0 r0 o2+5=2 unlock0", "lock0 r1+5 unlock0"]),
    ];
    for (sizes, threads) in shapes {
        let program = Program::parse_sizes(threads.len(), sizes, threads).notices(2);
        all(&format!("{sizes:?}"), program);
    }
}

/// The same bytes in blocks of other sizes.
#[test]
fn shapes_that_change_their_sizes() {
    let shapes: &[(&[usize], &[usize], &[&str])] = &[
        (&[2, 2], &[4], &["w0=1 adopt w1=2 barrier r2", "w2=3 adopt barrier r0 r1"]),
        (&[2, 2], &[4], &["w0=1 adopt w0=2 adopt r2", "w2=1 adopt adopt r0"]),
        (&[4], &[2, 2], &["w0=1 adopt lock0 w1=2 unlock0", "r2 adopt w3=3 lock0 r1 unlock0"]),
        (&[2, 2], &[4], &["w0=1 adopt r2", "w2=1 adopt r0", "adopt r0 r2"]),
    ];
    for (sizes, resized, threads) in shapes {
        let program = Program::parse_sizes(threads.len(), sizes, threads).notices(2).resized(resized);
        all(&format!("{sizes:?}, then {resized:?}: {threads:?}"), program);
    }
}

/// Orders of independent steps are left out, but nothing that they lead to: memory ends in the same ways, and the same broken rules are found.
#[test]
fn leaving_orders_out_loses_nothing() {
    let (mut found, mut equal) = (HashSet::new(), 0);
    let small = PAIRS.iter().chain(TRIPLES).filter(|shape| SMALL.contains(&shape.0));
    for (number, shape) in small.enumerate() {
        let sound = program(shape).short().closing_in_order();
        // Every second rule is broken in one program, the others in the next.
        let faults = Fault::ALL.iter().copied().skip(number % 2).step_by(2);
        for fault in std::iter::once(None).chain(faults.map(Some)) {
            let program = Rc::new(Program { fault, ..sound.clone() });
            let most = if fault.is_none() { FEW_SOUND } else { FEW };
            let all = search_with(&program, Limits::all(most), &Memories::Whole);
            match (all, orders::search(&program, RUNS)) {
                // A broken rule can make too many schedules of few.
                (Ok(a), _) if !a.complete => assert!(fault.is_some(), "{}: {a}", shape.0),
                (Ok(a), Ok(b)) => {
                    assert!(b.complete, "{} {fault:?}: {b}", shape.0);
                    assert!(a.ends == b.ends, "{} {fault:?}: {a}; {b}", shape.0);
                    equal += 1;
                }
                (Err(_), Err(_)) => _ = found.insert(fault.expect("the protocol has no fault here")),
                (a, b) => {
                    panic!("{} {fault:?}: {:?}; {:?}", shape.0, a.map_err(|f| f.why), b.map_err(|f| f.why))
                }
            }
        }
    }
    println!("{} faults found both ways, {equal} searches equal", found.len());
    assert!(found.len() > 4 && equal > 80);
}

/// States of a search that is done with all orders too.
const FEW: usize = 4_000;
/// The same without a broken rule: all of them have to be seen.
const FEW_SOUND: usize = 100_000;

/// Those whose schedules are few with all orders too.
const SMALL: &[&str] =
    &["lock hand-off", "store buffering", "lock chain", "home taken during a write", "atomic additions"];

/// What a thread has forgotten makes no difference: where it has seen the same but for that, it does the same.
#[test]
fn what_is_forgotten_makes_no_difference() {
    let runs = if cfg!(debug_assertions) { 20 } else { 1000 };
    for shape in PAIRS.iter().chain(LONG_PAIRS).chain(TRIPLES).chain(LONG_TRIPLES) {
        let check = Memories::Checked(Script::default());
        let program = Rc::new(program(shape).short().closing_in_order());
        if let Err(failure) = orders::search_with(&program, runs, &check) {
            panic!("{}: {}", shape.0, failure.account());
        }
    }
    let bounds = Bounds { processes: 3, threads: 1, blocks: 3, ops: 8 };
    for number in 0..20 {
        let check = Memories::Checked(Script::default());
        let program = Rc::new(generate(number, bounds));
        for seed in 0..runs as u64 / 5 {
            if let Err(failure) = random::run_with(&program, seed, &check) {
                panic!("program {number}, seed {seed}: {}\n{program}", failure.why);
            }
        }
    }
}

#[test]
fn shapes_with_store_buffers() {
    let delays = if cfg!(debug_assertions) { 1 } else { 3 };
    for shape in PAIRS.iter().chain(&LONG_PAIRS[..2]) {
        delayed(shape.0, program(shape), delays);
    }
}

#[test]
fn long_shapes() {
    let delays = if cfg!(debug_assertions) { 1 } else { 2 };
    let shapes: &[Shape] =
        &[("two writers, one reader", 1, 3, &["w0=1 barrier", "w1=2 barrier", "r2 barrier r0 r1"])];
    for shape in shapes {
        delayed(shape.0, program(shape).short(), delays);
    }
    delayed("by dissemination", program(&shapes[0]).dissemination().short(), delays);
}

/// Two processes store to one block between barriers, until one merges its changes at the other.
#[test]
fn merges_at_a_home() {
    let threads = ["w0=1 barrier w0=2 barrier w0=3", "r1 w1=1 barrier w1=2 barrier w1=3"];
    let program = Program::parse(2, 1, 2, &threads).short().closing_in_order();
    for program in [program.clone(), program.by_agents()] {
        delayed("merges at a home", program.clone(), 2);
        let broken = Rc::new(program.fault(Fault::MergeVersionStays));
        assert!(search(&broken, Limits::delays(2, STATES)).is_err(), "nothing was merged");
    }
}

/// Generated programs of two processes, and of three.
fn generated(pairs: Range<u64>, triples: Range<u64>) {
    let bounds = Bounds { processes: 2, threads: 1, blocks: 2, ops: 5 };
    for seed in pairs {
        delayed(&format!("seed {seed}"), generate(seed, bounds).short(), 3);
    }
    let bounds = Bounds { processes: 3, threads: 1, blocks: 2, ops: 4 };
    for seed in triples {
        delayed(&format!("seed {seed}"), generate(seed, bounds).short(), 2);
    }
}

#[test]
fn generated_programs() {
    if cfg!(debug_assertions) { generated(0..3, 0..1) } else { generated(0..12, 0..5) }
}

#[test]
#[ignore = "takes a minute"]
fn further_generated_programs() {
    generated(12..25, 5..10);
}

#[test]
fn two_threads_of_a_process() {
    let delays = if cfg!(debug_assertions) { 1 } else { 2 };
    let shapes: &[&[&str]] = &[
        &["lock0 w0=1 unlock0", "w1=1", "r2", "lock0 r0 unlock0"],
        &["w0=1 barrier", "w1=2 barrier r2", "barrier r0", "w2=3 barrier r1"],
        &["lock0 w0=1 unlock0 lock0 w0=2 unlock0", "w1=5", "lock0 r0 unlock0", "w2=1 r2"],
    ];
    for threads in shapes {
        let program = Program::parse(2, 1, 4, threads).notices(2).short();
        delayed(&format!("{threads:?}"), program, delays);
    }
}
