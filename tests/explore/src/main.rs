//! Command line of the explorer: searches, and replays what a search or a test has found.

use std::process::ExitCode;
use std::rc::Rc;
use std::time::Instant;

use dsm_coherence::{Fault, Part, Parts};
use dsm_explore::arrays::search;
use dsm_explore::fault_search::{PROGRAMS, find_fault};
use dsm_explore::program::{Bounds, Program, generate};
use dsm_explore::search::exhaustive::{self, Limits};
use dsm_explore::search::{orders, random};
use dsm_explore::world::{Memories, Script};

const USAGE: &str = "\
usage: dsm-explore --seed N [SIZE]                      replay a random run and print what happened
       dsm-explore --random FROM COUNT [SIZE]           random schedules of generated programs
       dsm-explore --exhaustive FROM COUNT DELAYS [SIZE] all schedules of generated programs with so many delays ('all': any number, of
                                                        processes of one thread those that differ in more than independent steps;
                                                        given up after 100000 runs)
       dsm-explore --shape HOW BLOCKS BYTES OPS OPS ... all schedules of one program: blocks, bytes of each (4 or 2,4,2; after a slash what 'adopt'
                                                        divides them into, as 2,2/4), operations of each process, as in 'lock0 w0=1 unlock0' 'r2 lock0 r0 unlock0'; the final
                                                        number runs in one order. HOW: 'all', but one of those that differ in
                                                        independent steps only; 'check', the same, with a look whether all that
                                                        is forgotten of a thread makes no difference; 'states', in all orders;
                                                        a number of delays; or 'runs=N', as 'all', giving up after N
       dsm-explore --faults [RUNS [NAME...]]            look for the seeded faults, or those named
       dsm-explore --arrays FROM COUNT [FAULT]          random schedules of programs on relocatable arrays, with a rule broken or none; a single one
                                                        that fails prints what happened
       dsm-explore --sync FROM COUNT [FAULT]            the same of programs on locks, barriers, regions, conditions, tasks and reductions
--without NAME,...    with --seed and --random: leave parts of the protocol out, of no-leases, no-migration, no-exclusive-homes, fixed-homes, single-writer, no-open-records
--one-sided           with --seed and --random: calls are messages, and single blocks are read one-sidedly
sizes: small (the default for --exhaustive), threads, single, runs, large (the default otherwise)";

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if let Err(message) = check_profile(&args) {
        eprintln!("dsm-explore: {message}");
        return ExitCode::from(2);
    }
    let without = match take_without(&mut args) {
        Ok(without) => without,
        Err(message) => {
            eprintln!("dsm-explore: {message}");
            return ExitCode::from(2);
        }
    };
    let one_sided = args.iter().position(|arg| arg == "--one-sided").map(|at| args.remove(at)).is_some();
    let how = move |program: Program| {
        let program = program.without(without);
        if one_sided { program.one_sided() } else { program }
    };
    let number = |i: usize| args.get(i).and_then(|s| s.parse::<u64>().ok());
    let named = PROGRAMS.iter().find(|(name, _)| args.last().is_some_and(|a| a == name));
    let size = named.map_or(PROGRAMS[4].1, |(_, bounds)| *bounds);
    let small = named.map_or(PROGRAMS[0].1, |(_, bounds)| *bounds);
    match (args.first().map(String::as_str), number(1), number(2)) {
        (Some("--help" | "-h"), ..) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        (Some("--seed"), Some(seed), _) => replay(seed, &how(generate(seed, size))),
        (Some("--random"), Some(from), Some(count)) => {
            search_randomly(from, count, |seed| how(generate(seed, size)))
        }
        (Some("--exhaustive"), Some(from), Some(count)) => {
            exhaust(from, count, number(3).and_then(|d| d.try_into().ok()), small)
        }
        (Some("--shape"), _, Some(blocks)) if args.len() > 5 => shape(&args, blocks as usize),
        (Some("--arrays"), Some(from), Some(count)) => arrays(from, count, args.get(3).map(String::as_str)),
        (Some("--sync"), Some(from), Some(count)) => {
            synchronise(from, count, args.get(3).map(String::as_str))
        }
        (Some("--faults"), count, _) => {
            search_faults(count.unwrap_or(60_000), args.get(2..).unwrap_or_default())
        }
        _ => {
            let typed = if args.is_empty() {
                "it does nothing by itself".into()
            } else {
                format!("not understood: {}", args.join(" "))
            };
            eprintln!("dsm-explore: {typed}; `dsm-explore --help` tells what there is");
            ExitCode::from(2)
        }
    }
}

/// Seeded faults are often found by failed assertions.
fn check_profile(args: &[String]) -> Result<(), &'static str> {
    let is_for_faults = args.first().is_some_and(|arg| arg == "--faults");
    match cfg!(panic = "abort") {
        true if is_for_faults => {
            Err("the first failed assertion would end the search for faults; build with --profile explore")
        }
        true => {
            eprintln!(
                "dsm-explore: a failed assertion will end this search; build with --profile explore to have it reported"
            );
            Ok(())
        }
        false => Ok(()),
    }
}

/// The rule of a name, among all.
fn rule<F: Copy + std::fmt::Debug>(name: Option<&str>, all: &[F]) -> Result<Option<F>, ExitCode> {
    let Some(name) = name else { return Ok(None) };
    let found = all.iter().find(|fault| format!("{fault:?}") == name);
    found.copied().map(Some).ok_or_else(|| {
        eprintln!("dsm-explore: there is no rule {name}; the rules are {all:?}");
        ExitCode::from(2)
    })
}

/// Runs the programs of seeds. `run` gives the number of steps, what went wrong and an account of it.
fn run_seeds(from: u64, count: u64, run: impl Fn(u64) -> Option<(usize, String, String)>) -> ExitCode {
    let failures = (from..from + count).filter_map(|seed| {
        let (steps, why, account) = run(seed)?;
        println!("seed {seed} ({steps} steps): {why}");
        (count == 1).then(|| println!("{account}"));
        Some(seed)
    });
    let failures = failures.count();
    println!("{count} seeds, {failures} failures");
    status(failures == 0)
}

/// Random schedules of programs on arrays.
fn arrays(from: u64, count: u64, fault: Option<&str>) -> ExitCode {
    match rule(fault, &dsm_arrays::Fault::ALL) {
        Ok(broken) => run_seeds(from, count, |seed| {
            let failure = search::run(seed, broken).err()?;
            Some((failure.schedule.len(), failure.why.clone(), failure.account()))
        }),
        Err(code) => code,
    }
}

/// Random schedules of programs on locks, barriers, regions, conditions, tasks and reductions.
fn synchronise(from: u64, count: u64, fault: Option<&str>) -> ExitCode {
    match rule(fault, dsm_sync::Fault::ALL) {
        Ok(broken) => run_seeds(from, count, |seed| {
            let failure = dsm_explore::sync::search::run(seed, broken).err()?;
            Some((failure.schedule.len(), failure.why.clone(), failure.account()))
        }),
        Err(code) => code,
    }
}

/// Takes `--without NAME,...` out of the command line.
fn take_without(args: &mut Vec<String>) -> Result<Parts, String> {
    let Some(at) = args.iter().position(|a| a == "--without") else { return Ok(Parts::default()) };
    let names = args.get(at + 1).cloned().unwrap_or_default();
    let Some(parts) = Parts::parse(&names).filter(|_| !names.is_empty()) else {
        let known: Vec<&str> = Part::ALL.iter().map(|part| part.name_without()).collect();
        return Err(format!("--without takes some of {}, with commas between", known.join(", ")));
    };
    args.drain(at..at + 2);
    Ok(parts)
}

/// After how many runs the search of a generated program is given up.
const MOST_RUNS: usize = 100_000;

fn status(ok: bool) -> ExitCode {
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn replay(seed: u64, program: &Program) -> ExitCode {
    match random::run(&Rc::new(program.clone()), seed) {
        Ok(steps) => {
            println!("seed {seed}: {steps} steps, nothing wrong");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("{}", failure.account());
            ExitCode::FAILURE
        }
    }
}

fn search_randomly(from: u64, count: u64, program: impl Fn(u64) -> Program) -> ExitCode {
    let start = Instant::now();
    let (mut steps, mut failures) = (0, 0);
    for seed in from..from + count {
        match random::run(&Rc::new(program(seed)), seed) {
            Ok(n) => steps += n,
            Err(failure) => {
                failures += 1;
                println!("seed {seed} ({} steps): {}", failure.schedule.len(), failure.why);
            }
        }
    }
    println!("{count} seeds, {steps} steps, {failures} failures, {:.1} s", start.elapsed().as_secs_f64());
    status(failures == 0)
}

fn exhaust(from: u64, count: u64, delays: Option<u8>, bounds: Bounds) -> ExitCode {
    let mut failures = 0;
    for seed in from..from + count {
        let start = Instant::now();
        let program = generate(seed, bounds).short();
        let found = match delays {
            None if program.threads == 1 => orders::search(&Rc::new(program.closing_in_order()), MOST_RUNS),
            _ => exhaustive::search(&Rc::new(program), limits(delays, 10_000_000)),
        };
        match found {
            Ok(covered) => println!("seed {seed}: {covered}, {:.1} s", start.elapsed().as_secs_f64()),
            Err(failure) => {
                failures += 1;
                println!("seed {seed}: {}", failure.account());
            }
        }
    }
    status(failures == 0)
}

fn limits(delays: Option<u8>, states: usize) -> Limits {
    delays.map_or(Limits::all(states), |delays| Limits::delays(delays, states))
}

/// Whether blocks can have other sizes from a change on: as many bytes, and each block at a multiple of its size.
fn can_resize(sizes: &[usize], resized: &[usize]) -> bool {
    let aligned = |sizes: &[usize]| {
        let mut at = 0;
        sizes.iter().all(|size| {
            at += size;
            at % size == 0
        })
    };
    let bytes = |sizes: &[usize]| sizes.iter().sum::<usize>();
    resized.is_empty() || bytes(sizes) == bytes(resized) && aligned(sizes) && aligned(resized)
}

fn shape(args: &[String], blocks: usize) -> ExitCode {
    let delays = args[1].parse().ok();
    let list = |text: &str| -> Option<Vec<usize>> {
        text.split(',').map(|size| size.parse().ok().filter(|n| *n > 0)).collect()
    };
    let (before, after) = args[3].split_once('/').unwrap_or((&args[3], ""));
    let resized = if after.is_empty() { Some(Vec::new()) } else { list(after) };
    let sizes = match (list(before), resized) {
        (Some(sizes), Some(resized)) if sizes.len() == 1 => Some((vec![sizes[0]; blocks], resized)),
        (Some(sizes), Some(resized)) if sizes.len() == blocks => Some((sizes, resized)),
        _ => None,
    };
    let Some((sizes, resized)) = sizes.filter(|(sizes, resized)| can_resize(sizes, resized)) else {
        eprintln!(
            "dsm-explore: '{}' is no size of {blocks} blocks, nor a list of theirs, nor one with another of as many bytes",
            args[3]
        );
        return ExitCode::from(2);
    };
    let threads: Vec<&str> = args[4..].iter().map(String::as_str).collect();
    let program = Program::parse_sizes(threads.len(), &sizes, &threads).notices(2).short().closing_in_order();
    let program = program.resized(&resized);
    let program = Rc::new(program);
    let start = Instant::now();
    let most = match args[1].strip_prefix("runs=") {
        Some(number) => number.parse().ok(),
        None => matches!(args[1].as_str(), "all" | "check").then_some(usize::MAX),
    };
    let memories =
        if args[1] == "check" { Memories::Checked(Script::default()) } else { Memories::default() };
    let found = match most {
        Some(most) => orders::search_with(&program, most, &memories),
        None => exhaustive::search(&program, limits(delays, 100_000_000)),
    };
    match found {
        Ok(covered) => println!("{covered}, {:.1} s", start.elapsed().as_secs_f64()),
        Err(failure) => {
            println!("{}", failure.account());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn search_faults(count: u64, names: &[String]) -> ExitCode {
    // What is found is printed with its reason; where an assertion failed says no more.
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = 0;
    for fault in std::iter::once(None).chain(Fault::ALL.iter().copied().map(Some)) {
        let start = Instant::now();
        let name = fault.map_or("no fault".to_string(), |fault| format!("{fault:?}"));
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        match find_fault(fault, count) {
            Some((runs, failure)) => {
                println!("{name}: run {runs}, {:.1} s: {}", start.elapsed().as_secs_f64(), failure.why);
            }
            None => {
                missed += usize::from(fault.is_some());
                println!("{name}: nothing in {count} runs, {:.1} s", start.elapsed().as_secs_f64());
            }
        }
    }
    status(missed == 0)
}
