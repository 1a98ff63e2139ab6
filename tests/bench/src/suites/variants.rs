//! Kernels on two processes under variants of the protocol (`DSM_PROTOCOL`), and by page protection, against the protocol as it is.
//!
//! `mprotect` is the same runtime with pages in the place of checked lines, blocks of a page, and a fault for each miss: what the page-based systems do. Times of page
//! protection and of checks are from programs that differ in nothing else.

use std::collections::BTreeMap;
use std::process::Command;

use super::kernels::{self, Kernel};
use super::row;
use crate::bench::{Bench, Contender, FLAGS, PROCESSES, show};
use crate::report::Row;

pub const NAME: &str = "variants";
pub const ABOUT: &str = "Kernels on two processes under variants of the protocol, against the protocol as it is. Calls and MB are sums over the processes.";

/// What a variant is made with.
struct Variant {
    name: &'static str,
    flags: &'static str,
    environment: Option<(&'static str, &'static str)>,
}

const fn without(names: &'static str) -> Variant {
    Variant { name: names, flags: FLAGS, environment: Some(("DSM_PROTOCOL", names)) }
}

const BY_PAGES: &str = "-O3 -march=native -fopenmp -fdsm-check=mprotect";

/// The first is the reference.
const VARIANTS: [Variant; 8] = [
    Variant { name: "default", flags: FLAGS, environment: None },
    without("no-leases"),
    without("no-migration"),
    without("no-exclusive-homes"),
    without("fixed-homes"),
    Variant { name: "inline-1024", flags: "-O3 -march=native -fopenmp -fdsm-line=1024", environment: None },
    Variant { name: "mprotect", flags: BY_PAGES, environment: None },
    Variant {
        name: "mprotect, single-writer",
        flags: BY_PAGES,
        environment: Some(("DSM_PROTOCOL", "single-writer")),
    },
];

/// Counters of `DSM_STATS` that are kept, what they are called in tables, and how many of them make one there.
const COUNTERS: [(&str, &str, f64); 3] =
    [("calls", "calls", 1.0), ("bytes_moved", "MB", 1e6), ("twins_made", "twins", 1.0)];

pub fn run(bench: &Bench, rows: &mut Vec<Row>) -> Result<(), String> {
    for name in bench.wanted(NAME, &kernels::ALL)? {
        let mut built: BTreeMap<&str, Kernel> = BTreeMap::new();
        for variant in &VARIANTS {
            if !built.contains_key(variant.flags) {
                built.insert(variant.flags, Kernel::build(bench, name, &bench.compiler(), variant.flags)?);
            }
        }
        let title = built[FLAGS].title(&bench.class);
        let contender = |variant: &Variant| {
            let (kernel, environment) = (&built[variant.flags], variant.environment);
            Contender {
                label: format!("{title} {}", variant.name),
                run: Box::new(move || measure(kernel, kernel.launch(bench, PROCESSES).envs(environment))),
            }
        };
        let contenders: Vec<Contender> = VARIANTS.iter().map(contender).collect();
        let samples = bench.alternate(&contenders)?;
        for (variant, sample) in VARIANTS.iter().zip(&samples) {
            let mut row = row(NAME, &title, variant.name, "s", &sample[0], ("default", &samples[0][0]));
            let counts = COUNTERS.iter().zip(&sample[1..]);
            row.counters =
                counts.map(|((_, name, _), s)| ((*name).to_owned(), crate::bench::median(s))).collect();
            show(&row);
            rows.push(row);
        }
    }
    Ok(())
}

/// Runs a kernel: seconds, and the sums of the counters over its processes.
fn measure(kernel: &Kernel, command: &mut Command) -> Result<Vec<f64>, String> {
    let (seconds, errors) = kernel.time(command.env("DSM_STATS", "1"))?;
    let sum = |(name, _, unit): &(&str, &str, f64)| -> Result<f64, String> {
        let line = errors.lines().find(|line| line.split_whitespace().next() == Some(name));
        let line = line.ok_or_else(|| format!("{command:?} counts no {name}:\n{errors}"))?;
        let values =
            line.split_whitespace().skip(1).map(|value| value.parse::<f64>().map_err(|e| e.to_string()));
        Ok(values.sum::<Result<f64, String>>()? / unit)
    };
    let counters = COUNTERS.iter().map(sum).collect::<Result<Vec<f64>, String>>()?;
    Ok([vec![seconds], counters].concat())
}
