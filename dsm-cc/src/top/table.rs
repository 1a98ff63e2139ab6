//! A report as text.

use std::fmt::Write as _;

use super::report::{Process, Report, Thread};
use super::waits::{Member, Wait};

/// Rows of threads that are shown; all of them are in the JSON.
const THREADS: usize = 24;

/// The table, with what is waited for below it.
pub fn text(report: &Report) -> String {
    let mut out = format!(
        "job {} ({}), {:.0} s, {}\n",
        report.job,
        report.program,
        report.seconds,
        count(report.processes.len())
    );
    out += " rank compute  misses coherence barriers regions   locks   other    misses/s     MB/s   host or pid\n";
    for process in &report.processes {
        add_process(&mut out, process);
    }
    match &report.hottest {
        Some(hottest) => {
            let _ = writeln!(
                out,
                "hottest: {}, {:.0} % of the sampled misses",
                hottest.name,
                100.0 * hottest.share
            );
        }
        None => out += "hottest: no misses since the job is looked at\n",
    }
    for wait in &report.waits {
        let _ = writeln!(out, "{}", sentence(wait));
    }
    let threads =
        report.processes.iter().flat_map(|p| p.threads.iter().enumerate().map(move |(i, t)| (p.rank, i, t)));
    for (rank, number, thread) in threads.clone().take(THREADS) {
        add_thread(&mut out, Member { rank, thread: number }, thread);
    }
    let left: u64 = report.processes.iter().map(|process| process.other_threads).sum();
    let hidden = threads.count().saturating_sub(THREADS) as u64 + left;
    if hidden > 0 {
        let _ = writeln!(out, "{hidden} more threads");
    }
    out
}

fn count(processes: usize) -> String {
    if processes == 1 { "1 process".into() } else { format!("{processes} processes") }
}

fn add_process(out: &mut String, process: &Process) {
    let _ = write!(out, "{:5}", process.rank);
    for (share, width) in process.time.all().into_iter().zip([6, 6, 8, 7, 6, 6, 6]) {
        let _ = write!(out, " {:width$.0}%", 100.0 * share);
    }
    let place = if process.host.is_empty() { process.pid.to_string() } else { process.host.clone() };
    let (misses, megabytes) = (process.misses_per_second, process.bytes_per_second / 1e6);
    let _ = writeln!(out, " {misses:11.0} {megabytes:8.1}   {place}");
}

fn add_thread(out: &mut String, member: Member, thread: &Thread) {
    let _ = write!(out, "{} {}", named(member), thread.does);
    if let Some(at) = &thread.at {
        let _ = write!(out, ": {at}");
    }
    if let Some(region) = &thread.region {
        let _ = write!(out, ", in {region}");
    }
    if !thread.holds.is_empty() {
        let _ = write!(out, ", holds {}", thread.holds.join(", "));
    }
    // A thread that runs has done so since it last waited.
    let _ = writeln!(out, ", for {:.1} s", thread.seconds);
}

/// Rank and thread.
fn named(member: Member) -> String {
    format!("{}.{}", member.rank, member.thread)
}

fn sentence(wait: &Wait) -> String {
    let ranks = |ranks: &[u32]| match ranks {
        [] => "nobody any more".to_owned(),
        _ => ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
    };
    match wait {
        Wait::Lock { name, holder, waiting } => {
            let holder = holder.map_or("nobody, or not known".into(), named);
            let waiting = waiting.iter().map(|member| named(*member)).collect::<Vec<_>>().join(", ");
            format!("lock {name}: held by {holder}; wanted by {waiting}")
        }
        Wait::Barrier { waiting, lacks } => {
            format!("barrier: has processes {}; lacks {}", ranks(waiting), ranks(lacks))
        }
        Wait::Join { lacks } => format!("end of a region: process 0 waits for {}", ranks(lacks)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::report::{Hottest, Shares};

    #[test]
    fn a_table_has_a_row_a_process_and_says_who_waits_for_whom() {
        let thread = |does, at: Option<&str>, holds: &[&str]| Thread {
            id: 1,
            does,
            at: at.map(str::to_owned),
            seconds: 2.0,
            region: Some("main.omp_outlined".into()),
            holds: holds.iter().map(ToString::to_string).collect(),
        };
        let process = |rank, host: &str, thread| Process {
            rank,
            host: host.into(),
            pid: 77,
            time: Shares { compute: 0.25, locks: 0.75, ..Shares::default() },
            misses: 10,
            bytes: 20,
            misses_per_second: 1234.0,
            bytes_per_second: 5.5e6,
            threads: vec![thread],
            other_threads: 0,
        };
        let report = Report {
            job: 5,
            program: "./x".into(),
            seconds: 12.3,
            processes: vec![
                process(0, "", thread("waits for a lock", Some("critical(sum)"), &[])),
                process(1, "b", thread("runs", None, &["critical(sum)"])),
            ],
            waits: vec![
                Wait::Lock {
                    name: "critical(sum)".into(),
                    holder: Some(Member { rank: 1, thread: 0 }),
                    waiting: vec![Member { rank: 0, thread: 0 }],
                },
                Wait::Barrier { waiting: vec![0, 2], lacks: vec![1] },
                Wait::Join { lacks: vec![] },
            ],
            hottest: Some(Hottest { name: "variable a".into(), share: 0.5 }),
        };
        let expected = "\
job 5 (./x), 12 s, 2 processes
 rank compute  misses coherence barriers regions   locks   other    misses/s     MB/s   host or pid
    0     25%      0%        0%       0%      0%     75%      0%        1234      5.5   77
    1     25%      0%        0%       0%      0%     75%      0%        1234      5.5   b
hottest: variable a, 50 % of the sampled misses
lock critical(sum): held by 1.0; wanted by 0.0
barrier: has processes 0, 2; lacks 1
end of a region: process 0 waits for nobody any more
0.0 waits for a lock: critical(sum), in main.omp_outlined, for 2.0 s
1.0 runs, in main.omp_outlined, holds critical(sum), for 2.0 s
";
        assert_eq!(text(&report), expected);
    }
}
