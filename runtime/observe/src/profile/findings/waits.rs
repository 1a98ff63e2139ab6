//! What threads waited for: barriers, regions, locks.

use std::collections::BTreeMap;

use super::{Cost, Finding, Kind};
use crate::profile::Wait;
use crate::profile::collect::Waited;
use crate::profile::names::{self, Line, Objects};

/// What all processes waited for at one place.
type Group<'a> = Vec<&'a Waited>;

/// Findings about waits.
pub fn findings(waits: &[Waited], processes: u32, objects: &mut Objects) -> Vec<Finding> {
    let mut groups: BTreeMap<(u64, u64), Group> = BTreeMap::new();
    let mut regions: BTreeMap<u64, Group> = BTreeMap::new();
    for w in waits {
        match w.kind {
            Wait::Join | Wait::Idle | Wait::Serial => regions.entry(w.what).or_default().push(w),
            _ => groups.entry((w.kind as u64, w.what)).or_default().push(w),
        }
    }
    let regions = regions.iter().flat_map(|(task, group)| region(*task, group, processes));
    let others = groups.values().map(|group| match group[0].kind {
        Wait::Barrier => barrier(group, processes),
        Wait::Lock => lock(group),
        _ => atomic(group, objects),
    });
    regions.chain(others).filter(|f| f.count > 0).collect()
}

fn seconds<'a>(group: impl IntoIterator<Item = &'a &'a Waited>) -> f64 {
    group.into_iter().map(|w| w.seconds).sum()
}

fn times<'a>(group: impl IntoIterator<Item = &'a &'a Waited>) -> u64 {
    group.into_iter().map(|w| w.times).sum()
}

/// `process 0: 1.200 s, process 1: 0.010 s`
fn by_process(group: &[&Waited], processes: u32) -> (Vec<f64>, String) {
    let of = |rank: u32| seconds(group.iter().filter(|w| w.rank == rank));
    let all: Vec<f64> = (0..processes).map(of).collect();
    let text: Vec<String> =
        all.iter().enumerate().map(|(rank, s)| format!("process {rank} {s:.3} s")).collect();
    (all, text.join(", "))
}

fn finding(kind: Kind, subject: String, seconds: f64, count: u64, line: Line, verb: &'static str) -> Finding {
    let lines = vec![Cost { place: line.place, text: line.text, verb, count, seconds }];
    Finding {
        kind,
        subject,
        seconds,
        count,
        blocks: 0,
        allocated: Vec::new(),
        what: Vec::new(),
        lines,
        remedy: Vec::new(),
    }
}

fn barrier(group: &[&Waited], processes: u32) -> Finding {
    let (all, text) = by_process(group, processes);
    let total: f64 = all.iter().sum();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let imbalance = total - least * f64::from(processes);
    let count = times(group);
    let line = names::construct(group[0].what).unwrap_or_else(|| names::line(group[0].call));
    let kind = if 2.0 * imbalance >= total { Kind::Imbalance } else { Kind::Barrier };
    let mut found = finding(kind, format!("barrier at {}", line.place), total, count, line, "waits");
    found.what.push(format!("waiting: {text}"));
    if kind == Kind::Imbalance {
        let last = all.iter().position(|s| *s == least).unwrap_or(0);
        found.what.push(format!(
            "process {last} comes last: it has {:.3} s more to do than the others on average",
            imbalance / f64::from((processes - 1).max(1))
        ));
        found.remedy.push("divide the work in front of it more evenly: schedule(dynamic, CHUNK), schedule(static, CHUNK), or another share for each thread".into());
    } else {
        found.what.push(format!(
            "{:.1} us each, the same for all: what a barrier with its releases and acquires takes",
            1e6 * total / count.max(1) as f64
        ));
        found.remedy.push("fewer, longer parts between barriers: nowait where the next loop does not depend on this one, one region instead of several".into());
    }
    found
}

/// Two findings: what process 0 runs alone behind the region, for which the others wait, and what remains of the waits at its end.
fn region(task: u64, group: &[&Waited], processes: u32) -> [Finding; 2] {
    let of = |kind: Wait| group.iter().filter(move |w| w.kind == kind).copied().collect::<Vec<_>>();
    let (join, idle, serial) = (of(Wait::Join), of(Wait::Idle), of(Wait::Serial));
    let (end, behind, alone) = (seconds(&join), seconds(&idle), seconds(&serial));
    let (line, place) = match task {
        0 => (Line::default(), "in front of the first parallel region".to_owned()),
        _ => {
            let line = names::function(task as usize);
            let place = format!("parallel region at {}", line.place);
            (line, place)
        }
    };
    let for_serial = behind.min(alone * f64::from(processes - 1));
    let late = behind - for_serial;
    let subject = if task == 0 { place.clone() } else { format!("behind the {place}") };
    let mut code =
        finding(Kind::SerialCode, subject, for_serial, times(&serial), line.clone(), "is followed by it");
    code.what
        .push(format!("process 0 runs {alone:.3} s alone, while the other processes wait {for_serial:.3} s"));
    code.remedy.push("run more of it in parallel, initialisation included".into());
    let mut uneven = finding(Kind::Imbalance, place, end + late, times(&join), line, "ends");
    uneven.what.push(format!(
        "at its end process 0 waits {end:.3} s for the others, and these wait {late:.3} s for process 0"
    ));
    uneven.remedy.push(
        "divide the work more evenly: schedule(dynamic, CHUNK) or schedule(static, CHUNK); who misses more is later, too".into(),
    );
    if task == 0 {
        code.lines.clear();
        // There is no region whose end could be waited for.
        uneven.count = 0;
    }
    [code, uneven]
}

fn lock(group: &[&Waited]) -> Finding {
    let (total, count) = (seconds(group), times(group));
    let subject = names::lock(group[0].what);
    let line = names::line(group.iter().map(|w| w.call).find(|call| *call != 0).unwrap_or(0));
    let mut found = finding(Kind::Lock, subject, total, count, line, "takes");
    let longest = group.iter().map(|w| w.longest).fold(0.0, f64::max);
    found.what.push(format!(
        "taken {count} times by {} processes; {:.1} us on average until a thread has it, {:.0} us at most",
        group.len(),
        1e6 * total / count.max(1) as f64,
        1e6 * longest
    ));
    found.remedy.push("take it less often: collect in private variables (reduction), or do more under it at a time; several locks if it guards several things".into());
    found
}

fn atomic(group: &[&Waited], objects: &mut Objects) -> Finding {
    let (total, count) = (seconds(group), times(group));
    let key = objects.at(group[0].what as usize).key;
    let line = names::line(group.iter().map(|w| w.call).find(|call| *call != 0).unwrap_or(0));
    let mut found = finding(Kind::Atomic, objects.get(key).name.clone(), total, count, line, "changes");
    found
        .what
        .push(format!("about {count} atomic operations of {} processes had to fetch it first", group.len()));
    found.remedy.push(
        "count in private variables and add once: reduction, or one atomic operation for each thread".into(),
    );
    found
}
