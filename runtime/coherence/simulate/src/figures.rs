//! The figures of the book's chapter on scale: which runs they need, and what they show of them.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::costs::Costs;
use crate::net::Phase;
use crate::plot::{Line, chart};
use crate::report::name;
use crate::run::{Outcome, Protocol, Setting, run};
use crate::sync::{Barrier, Lock};
use crate::workload::{Sizes, Workload};

/// A chart: which outcomes are on it and under which name, and what is shown of them.
struct Figure {
    file: &'static str,
    title: &'static str,
    unit: &'static str,
    label: fn(&Outcome) -> Option<String>,
    value: fn(&Outcome) -> f64,
}

/// Notices that a signature holds unless a figure varies them: the default of `DSM_NOTICES`.
const NOTICES: usize = 1024;

fn kind(o: &Outcome) -> String {
    format!("{}, {} B", name(&o.setting.protocol), o.setting.block)
}

fn usual(o: &Outcome, workload: Workload) -> bool {
    o.setting.workload == workload
        && o.setting.notices == NOTICES
        && o.setting.barrier == Barrier::Dissemination
        && o.setting.lock == Lock::Queue
}

const FIGURES: &[Figure] = &[
    Figure {
        file: "stencil",
        title: "Stencil: an iteration",
        unit: "microseconds",
        label: |o| usual(o, Workload::Stencil).then(|| kind(o)),
        value: |o| o.iteration_us,
    },
    Figure {
        file: "stencil-messages",
        title: "Stencil: messages of a process and an iteration",
        unit: "messages",
        label: |o| usual(o, Workload::Stencil).then(|| kind(o)),
        value: Outcome::all_messages,
    },
    Figure {
        file: "barrier",
        title: "Stencil, 64 B: from the last arrival at a barrier to the last departure",
        unit: "microseconds",
        label: |o| {
            let shown = o.setting.workload == Workload::Stencil && o.setting.block == 64;
            let meeting = if o.setting.barrier == Barrier::ForkJoin { ", fork and join" } else { "" };
            let label = match o.setting.protocol {
                Protocol::Dsm => format!("dsm, {} notices{meeting}", o.setting.notices),
                Protocol::Directory => "directory".to_string(),
            };
            shown.then_some(label)
        },
        value: |o| o.barrier_us,
    },
    Figure {
        file: "barrier-bytes",
        title: "Stencil, 64 B: bytes that a process reads in the acquires of a barrier",
        unit: "bytes",
        label: |o| {
            let shown = o.setting.workload == Workload::Stencil
                && o.setting.block == 64
                && o.setting.barrier == Barrier::Dissemination;
            (shown && o.setting.protocol == Protocol::Dsm).then(|| format!("{} notices", o.setting.notices))
        },
        value: |o| o.bytes[Phase::Acquire as usize],
    },
    Figure {
        file: "transpose",
        title: "Transpose: an iteration",
        unit: "microseconds",
        label: |o| usual(o, Workload::Transpose).then(|| kind(o)),
        value: |o| o.iteration_us,
    },
    Figure {
        file: "migratory",
        title: "Migratory record: from one holder of the lock to the next",
        unit: "microseconds",
        label: |o| {
            let lock = name(&o.setting.lock);
            (o.setting.workload == Workload::Migratory && o.setting.notices == NOTICES)
                .then(|| format!("{}, {lock} lock", kind(o)))
        },
        value: |o| o.iteration_us / f64::from(o.setting.processes),
    },
    Figure {
        file: "table",
        title: "Read-mostly table: an iteration",
        unit: "microseconds",
        label: |o| usual(o, Workload::Table).then(|| kind(o)),
        value: |o| o.iteration_us,
    },
];

/// The runs behind the figures, with at most so many processes.
pub fn settings(most: u32, costs: &Costs) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut add = |workload, protocol, blocks: &[u64], limit: u32, change: &dyn Fn(&mut Setting)| {
        for &block in blocks {
            for processes in (1..=12).map(|k| 1 << k).filter(|n| *n <= most.min(limit)) {
                let long = match (workload, processes) {
                    (Workload::Transpose, _) => 1,
                    (_, 1024..) => 2,
                    _ => 4,
                };
                let mut setting = Setting {
                    workload,
                    protocol,
                    processes,
                    block,
                    notices: NOTICES,
                    barrier: Barrier::Dissemination,
                    lock: Lock::Queue,
                    sizes: Sizes { iterations: long, warm_up: long },
                    costs: costs.clone(),
                };
                change(&mut setting);
                settings.push(setting);
            }
        }
    };
    let same = |_: &mut Setting| {};
    for protocol in [Protocol::Dsm, Protocol::Directory] {
        add(Workload::Stencil, protocol, &[64, 256, 4096], 4096, &same);
        add(Workload::Transpose, protocol, &[64, 4096], 256, &same);
        add(Workload::Migratory, protocol, &[256], 2048, &same);
        add(Workload::Table, protocol, &[64, 4096], 4096, &same);
    }
    for notices in [64, 16384] {
        let limit = if notices > NOTICES { 1024 } else { 4096 };
        add(Workload::Stencil, Protocol::Dsm, &[64], limit, &|s| s.notices = notices);
    }
    add(Workload::Stencil, Protocol::Dsm, &[64], 1024, &|s| s.barrier = Barrier::ForkJoin);
    add(Workload::Migratory, Protocol::Dsm, &[256], 1024, &|s| s.lock = Lock::Ticket);
    settings
}

/// Runs the settings on all processors, the largest first; outcomes in the order of the settings.
fn run_all(settings: &[Setting], progress: impl Fn(&Outcome) + Sync) -> Vec<Outcome> {
    let mut order: Vec<usize> = (0..settings.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(settings[*i].processes));
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = run(&settings[index]);
            progress(&outcome);
            done.push((index, outcome));
        }
        done
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut outcomes: Vec<(usize, Outcome)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a run does not panic")).collect()
    });
    outcomes.sort_by_key(|(index, _)| *index);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Runs everything and writes `figures.json`, a chart for each figure, and a table in Markdown for each workload into a directory.
///
/// # Errors
/// What could not be written.
pub fn write(
    directory: &Path,
    most: u32,
    costs: &Costs,
    progress: impl Fn(&Outcome) + Sync,
) -> Result<(), String> {
    let outcomes = run_all(&settings(most, costs), progress);
    let save = |file: String, text: String| {
        let path = directory.join(file);
        std::fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
    };
    std::fs::create_dir_all(directory).map_err(|e| format!("cannot make {}: {e}", directory.display()))?;
    let json = serde_json::to_string_pretty(&outcomes).map_err(|e| e.to_string())?;
    save("figures.json".to_string(), json + "\n")?;
    for figure in FIGURES {
        save(format!("{}.svg", figure.file), chart(figure.title, figure.unit, &lines(figure, &outcomes))?)?;
        save(format!("{}.md", figure.file), rows(&lines(figure, &outcomes)))?;
    }
    Ok(())
}

/// The lines of a figure, in the order in which they first appear.
fn lines(figure: &Figure, outcomes: &[Outcome]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for outcome in outcomes {
        let Some(label) = (figure.label)(outcome) else { continue };
        let point = (f64::from(outcome.setting.processes), (figure.value)(outcome));
        match lines.iter_mut().find(|(name, _)| *name == label) {
            Some((_, points)) => points.push(point),
            None => lines.push((label, vec![point])),
        }
    }
    lines
}

/// The numbers of a figure as a table: a row for each line, a column for each number of processes.
fn rows(lines: &[Line]) -> String {
    let mut counts: Vec<u64> = lines.iter().flat_map(|(_, points)| points).map(|(x, _)| *x as u64).collect();
    counts.sort_unstable();
    counts.dedup();
    let header: Vec<String> = counts.iter().map(u64::to_string).collect();
    let mut text = format!("| processes | {} |\n|---|{}\n", header.join(" | "), "---:|".repeat(counts.len()));
    for (name, points) in lines {
        let cell = |count: &u64| {
            let point = points.iter().find(|(x, _)| *x as u64 == *count);
            point.map_or(
                String::new(),
                |(_, y)| if *y < 100.0 { format!("{y:.1}") } else { format!("{y:.0}") },
            )
        };
        let cells: Vec<String> = counts.iter().map(cell).collect();
        text += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    text
}
