//! The figures of the book's chapter on scale: which runs they need, and what they show of them.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use dsm_charts::{Chart, Line, Panel};

use crate::costs::Costs;
use crate::net::{PHASES, Phase};
use crate::report::name;
use crate::run::{Outcome, Protocol, Setting, run};
use crate::sync::{Barrier, Lock};
use crate::workload::{Sizes, Workload};

/// What a panel shows the cost of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Iteration,
    /// One process's publishing of its writes.
    Release,
    /// One process's part in a barrier of all, its release included.
    Barrier,
    /// From one holder of a lock to the next.
    HandOver,
    /// First read of a record by the process it is handed to.
    HandedOn,
    /// First read of it by a process that it was not handed to.
    LookedAt,
}

/// What is counted of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Time,
    Messages,
    Bytes,
}

/// Panels beside each other.
const COLUMNS: usize = 3;

const ALL: &[Quantity] = &[Quantity::Time, Quantity::Messages, Quantity::Bytes];
const TIME: &[Quantity] = &[Quantity::Time];

impl Event {
    fn name(self) -> &'static str {
        match self {
            Event::Iteration => "an iteration",
            Event::Release => "a release",
            Event::Barrier => "a barrier",
            Event::HandOver => "from one holder of the lock to the next",
            Event::HandedOn => "first read by a process that it is handed to",
            Event::LookedAt => "first read by one of the others",
        }
    }

    /// What one event costs one process.
    fn cost(self, o: &Outcome, quantity: Quantity) -> f64 {
        use Phase::{Acquire, Release, Synchronise};
        let (time, phases, events): (f64, &[Phase], f64) = match self {
            Event::Iteration => (o.iteration_us, &PHASE_ALL, 1.0),
            Event::Release => (o.release_us, &[Release], o.releases),
            Event::Barrier => (o.barrier_us, &[Release, Acquire, Synchronise], o.barriers),
            // In an iteration every process has the lock once.
            Event::HandOver => (o.iteration_us / f64::from(o.setting.processes), &PHASE_ALL, 1.0),
            Event::HandedOn => (o.reads_us[0], &[], 1.0),
            Event::LookedAt => (o.reads_us[1], &[], 1.0),
        };
        let sum = |of: &[f64; PHASES]| phases.iter().map(|phase| of[*phase as usize]).sum::<f64>() / events;
        match quantity {
            Quantity::Time => time,
            Quantity::Messages => sum(&o.messages),
            Quantity::Bytes => sum(&o.bytes),
        }
    }
}

const PHASE_ALL: [Phase; PHASES] = [Phase::Access, Phase::Release, Phase::Acquire, Phase::Synchronise];

impl Quantity {
    fn unit(self) -> &'static str {
        match self {
            Quantity::Time => "microseconds",
            Quantity::Messages => "messages of a process",
            Quantity::Bytes => "bytes of a process",
        }
    }
}

/// A chart of panels, and the tables behind it: which outcomes are on it and under which name, and what is shown of them.
struct Figure {
    file: &'static str,
    events: &'static [Event],
    quantities: &'static [Quantity],
    label: fn(&Outcome) -> Option<String>,
}

/// Notices that a signature holds unless a figure varies them: the default of `DSM_NOTICES`.
const NOTICES: usize = 1024;

fn kind(o: &Outcome) -> String {
    format!("{}, {} B", name(&o.setting.protocol), o.setting.block)
}

fn usual(o: &Outcome, workload: Workload) -> Option<String> {
    let usual = o.setting.workload == workload
        && o.setting.notices == NOTICES
        && o.setting.barrier == Barrier::Dissemination
        && o.setting.lock == Lock::Queue;
    usual.then(|| kind(o))
}

/// The stencil of blocks that nobody shares by accident, with lists of several lengths and barriers of both kinds.
fn barrier(o: &Outcome) -> Option<String> {
    let shown = o.setting.workload == Workload::Stencil && o.setting.block == 64;
    let fork_join = if o.setting.barrier == Barrier::ForkJoin { ", fork and join" } else { "" };
    let label = match o.setting.protocol {
        Protocol::Dsm => format!("dsm, {} notices{fork_join}", o.setting.notices),
        Protocol::Directory => "directory".to_string(),
    };
    shown.then_some(label)
}

fn lock(o: &Outcome) -> Option<String> {
    let shown = o.setting.workload == Workload::Migratory && o.setting.block == 256;
    shown.then(|| format!("{}, {} lock", name(&o.setting.protocol), name(&o.setting.lock)))
}

const BARRIERS: &[Event] = &[Event::Iteration, Event::Release, Event::Barrier];

const FIGURES: &[Figure] = &[
    Figure { file: "stencil", events: BARRIERS, quantities: ALL, label: |o| usual(o, Workload::Stencil) },
    Figure { file: "transpose", events: BARRIERS, quantities: ALL, label: |o| usual(o, Workload::Transpose) },
    Figure {
        file: "migratory",
        events: &[Event::HandOver, Event::Release],
        quantities: ALL,
        label: |o| usual(o, Workload::Migratory),
    },
    Figure { file: "table", events: BARRIERS, quantities: ALL, label: |o| usual(o, Workload::Table) },
    Figure { file: "barrier", events: &[Event::Barrier], quantities: ALL, label: barrier },
    Figure { file: "lock", events: &[Event::HandOver], quantities: ALL, label: lock },
    Figure {
        file: "relay",
        events: &[Event::HandedOn, Event::LookedAt],
        quantities: TIME,
        label: |o| usual(o, Workload::Relay),
    },
];

/// Names of the figures' files, without their endings.
pub fn files() -> impl Iterator<Item = &'static str> {
    FIGURES.iter().map(|figure| figure.file)
}

/// The runs behind the figures, with at most so many processes.
pub fn settings(most: u32, costs: &Costs) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut add = |workload, protocol, blocks: &[u64], limit: u32, change: &dyn Fn(&mut Setting)| {
        for &block in blocks {
            for processes in (1..=12).map(|k| 1 << k).filter(|n| *n <= most.min(limit)) {
                let long = match (workload, processes) {
                    (Workload::Transpose, _) => 1,
                    (Workload::Relay, _) => 2,
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
        add(Workload::Transpose, protocol, &[64, 4096], 512, &same);
        add(Workload::Migratory, protocol, &[256, 4096], 4096, &same);
        add(Workload::Relay, protocol, &[256], 4096, &same);
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
        let panels = panels(figure, &outcomes);
        save(format!("{}.md", figure.file), tables(&panels))?;
        let chart = Chart { x_title: "processes".into(), columns: COLUMNS, panels };
        save(format!("{}.svg", figure.file), dsm_charts::draw(&chart)?)?;
    }
    Ok(())
}

fn panels(figure: &Figure, outcomes: &[Outcome]) -> Vec<Panel> {
    let mut panels = Vec::new();
    for &event in figure.events {
        for &quantity in figure.quantities {
            let title = format!("{}: {}", event.name(), quantity.unit());
            panels.push(Panel { title, lines: lines(figure, event, quantity, outcomes) });
        }
    }
    panels
}

/// The lines of a figure, in the order in which they first appear.
fn lines(figure: &Figure, event: Event, quantity: Quantity, outcomes: &[Outcome]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for outcome in outcomes {
        let Some(label) = (figure.label)(outcome) else { continue };
        let point = (f64::from(outcome.setting.processes), event.cost(outcome, quantity));
        match lines.iter_mut().find(|(name, _)| *name == label) {
            Some((_, points)) => points.push(point),
            None => lines.push((label, vec![point])),
        }
    }
    lines
}

/// The numbers of a figure as tables that can be unfolded: one for each panel, with a row for each line and a column for each number of processes.
fn tables(panels: &[Panel]) -> String {
    let mut text = "<details><summary>The numbers</summary>\n".to_string();
    for Panel { title, lines } in panels {
        let mut counts: Vec<u64> =
            lines.iter().flat_map(|(_, points)| points).map(|(x, _)| *x as u64).collect();
        counts.sort_unstable();
        counts.dedup();
        let header: Vec<String> = counts.iter().map(u64::to_string).collect();
        let dashes = "---:|".repeat(counts.len());
        text += &format!("\n| {title} | {} |\n|---|{dashes}\n", header.join(" | "));
        for (name, points) in lines {
            let cell = |count: &u64| {
                let point = points.iter().find(|(x, _)| *x as u64 == *count);
                point.map_or(String::new(), |(_, y)| number(*y))
            };
            let cells: Vec<String> = counts.iter().map(cell).collect();
            text += &format!("| {name} | {} |\n", cells.join(" | "));
        }
    }
    text + "\n</details>\n"
}

/// Three digits, or all before the point.
fn number(y: f64) -> String {
    match y {
        0.0 => "0".to_string(),
        ..10.0 => format!("{y:.2}"),
        10.0..100.0 => format!("{y:.1}"),
        _ => format!("{y:.0}"),
    }
}
