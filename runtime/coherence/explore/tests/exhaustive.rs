//! All schedules of small programs: none may break a property.

use std::rc::Rc;
use std::time::Instant;

use dsm_explore::program::{Bounds, Program, generate};
use dsm_explore::search::exhaustive::{Limits, search};

/// Searches and demands that nothing was left out.
fn all(name: &str, program: Program, delays: Option<u8>, states: usize) {
    let start = Instant::now();
    let program = Rc::new(program);
    let limits = Limits { delays, states };
    match search(&program, limits) {
        Ok(coverage) => {
            println!("{name}: {coverage:?} {:.1} s", start.elapsed().as_secs_f64());
            assert!(coverage.complete, "{name}: {coverage:?} is not all\n{program}");
        }
        Err(failure) => panic!("{name}: {}", failure.account()),
    }
}

/// Name, number of blocks, bytes of each, threads; and whether all schedules are few enough to search them all.
const SHAPES: &[(&str, usize, usize, [&str; 2], bool)] = &[
    ("lock hand-off", 1, 2, ["lock0 w0=1 unlock0", "lock0 r0 w1=2 unlock0"], true),
    ("message passing", 2, 2, ["w0=1 w2=2 barrier", "barrier r2 r0"], false),
    ("store buffering", 2, 2, ["w0=1 barrier r2", "w2=2 barrier r0"], true),
    ("false sharing", 1, 2, ["w0=1 barrier r1", "w1=2 barrier r0"], true),
    ("home taken during a write", 1, 2, ["lock0 w0=1 w0=2 unlock0", "w1=1 lock0 r0 unlock0"], true),
    ("exclusive to shared", 1, 2, ["lock0 w0=1 unlock0 lock0 w0=2 unlock0", "r1 lock0 r0 unlock0"], false),
    ("invalid-dirty", 1, 2, ["lock0 w0=1 unlock0", "w1=2 lock0 r0 unlock0 r1"], false),
    ("overflow", 4, 1, ["w1=1 w3=1 lock0 w0=1 w2=1 unlock0", "lock0 r2 unlock0 lock0 r2 unlock0"], false),
    ("flag with flush", 2, 2, ["w0=1 set2=1", "r1 wait2=1 r0"], false),
    ("atomic additions", 1, 2, ["a0 a0", "a0 w1=1"], false),
    ("polled atomics", 1, 2, ["a0 w1=1 a0", "look0 look0 look0"], false),
    (
        "atomics polled beside merges",
        1,
        3,
        ["a0 lock0 w1=1 unlock0", "look0 w2=2 lock0 r1 unlock0 look0"],
        false,
    ),
    ("atomics and locks", 1, 3, ["a0 lock0 w1=1 unlock0", "lock0 r1 unlock0 a0"], false),
];

#[test]
fn shapes_of_two_processes() {
    for (name, blocks, bytes, threads, few) in SHAPES {
        if *few && !cfg!(debug_assertions) {
            all(name, Program::parse(2, *blocks, *bytes, threads).notices(2).short(), None, 3_000_000);
        }
    }
}

#[test]
fn shapes_with_store_buffers() {
    let delays = if cfg!(debug_assertions) { 1 } else { 3 };
    for (name, blocks, bytes, threads, _) in SHAPES {
        all(name, Program::parse(2, *blocks, *bytes, threads).notices(2), Some(delays), 3_000_000);
        all(
            name,
            Program::parse(2, *blocks, *bytes, threads).notices(2).short(),
            Some(delays + 2),
            3_000_000,
        );
    }
}

#[test]
fn shapes_of_three_processes() {
    let shapes: &[(&str, usize, usize, &[&str])] = &[
        ("lock chain", 1, 2, &["lock0 w0=1 unlock0", "lock0 w1=1 unlock0", "lock0 r0 r1 unlock0"]),
        ("two writers, one reader", 1, 3, &["w0=1 barrier", "w1=2 barrier", "r2 barrier r0 r1"]),
        ("transitivity", 2, 2, &["w0=1 lock0 unlock0", "lock0 unlock0 lock1 unlock1", "r1 lock1 r2 unlock1"]),
        ("three atomics", 1, 1, &["a0", "a0", "a0"]),
    ];
    let delays = if cfg!(debug_assertions) { 1 } else { 2 };
    for (name, blocks, bytes, threads) in shapes {
        let program = Program::parse(3, *blocks, *bytes, threads).notices(2);
        let program = if name.starts_with("two") { program.dissemination() } else { program };
        all(name, program.short(), Some(delays), 3_000_000);
    }
}

#[test]
fn generated_programs() {
    let count = if cfg!(debug_assertions) { 3 } else { 30 };
    let bounds = Bounds { processes: 2, threads: 1, blocks: 2, ops: 5 };
    for seed in 0..count {
        all(&format!("seed {seed}"), generate(seed, bounds).short(), Some(3), 3_000_000);
    }
    let bounds = Bounds { processes: 3, threads: 1, blocks: 2, ops: 4 };
    for seed in 0..count {
        all(&format!("seed {seed}"), generate(seed, bounds).short(), Some(2), 3_000_000);
    }
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
        all(&format!("{threads:?}"), program, Some(delays), 3_000_000);
    }
}
