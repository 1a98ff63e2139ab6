//! The report: text for people, or the same as JSON.

use std::fmt::Write as _;

use serde::Serialize;

use super::collect::{self, Collected};
use super::findings::{self, Finding};
use super::is_wanted;
use super::names::Objects;
use super::usage::{self, Usage};
use crate::job::Job;
use crate::job::destination::{self, Destination};
use crate::{config, image, memory};

/// Findings that are told.
const WORST: usize = 10;

static REPORT: Destination = Destination::new("DSM_PROFILE", "profile");

/// All that is told.
#[derive(Debug, Serialize)]
struct Report {
    program: String,
    processes: u32,
    threads: u32,
    /// From start to end.
    seconds: f64,
    misses: u64,
    /// Over all processes.
    miss_seconds: f64,
    /// Over all processes.
    wait_seconds: f64,
    /// Misses that there was no space to remember.
    lost: u64,
    findings: Vec<Finding>,
    /// Of each object, not only of the worst.
    objects: Vec<Usage>,
}

/// Process 0, at the start.
pub fn prepare(job: &Job) {
    REPORT.prepare(job, &config::get().profile);
}

/// Process 0, at the end: writes the report, for a job of so many threads.
pub fn write(threads: u32) {
    if !is_wanted() {
        return;
    }
    let Some(memory) = memory::get() else {
        return put(
            "dsm: profile: a program of one process neither misses nor waits for others; run it with -n 2 or more\n",
        );
    };
    let geometry = memory.geometry;
    let collected = collect::collect(&memory.segments, geometry);
    let mut objects = Objects::new(&memory.segments, geometry);
    let mut findings = findings::all(&collected, geometry, &mut objects);
    findings.truncate(WORST);
    let usages = usage::all(&collected, geometry, &mut objects);
    let report = Report::new(&collected, (geometry.processes(), threads), findings, usages);
    put(&match destination::is_json(&config::get().profile) {
        true => serde_json::to_string_pretty(&report).expect("numbers and strings") + "\n",
        false => report.text(),
    });
}

fn put(text: &str) {
    REPORT.put(&config::get().profile, text);
}

impl Report {
    fn new(
        collected: &Collected,
        (processes, threads): (u32, u32),
        findings: Vec<Finding>,
        objects: Vec<Usage>,
    ) -> Report {
        use super::Wait::Serial;
        let waits = collected.waits.iter().filter(|w| w.kind != Serial);
        Report {
            program: image::program().display().to_string(),
            processes,
            threads,
            seconds: collected.seconds,
            misses: collected.misses.iter().map(|m| m.misses).sum(),
            miss_seconds: collected.misses.iter().map(|m| m.seconds).sum(),
            wait_seconds: waits.map(|w| w.seconds).sum(),
            lost: collected.lost,
            findings,
            objects,
        }
    }

    fn text(&self) -> String {
        let mut out = format!(
            "dsm: profile of {}: {:.3} s, {} processes, {} threads\n",
            self.program, self.seconds, self.processes, self.threads
        );
        let _ = writeln!(
            out,
            "all processes together: {} misses, {:.3} s; {:.3} s in barriers and locks and between regions",
            self.misses, self.miss_seconds, self.wait_seconds
        );
        if self.lost > 0 {
            let _ = writeln!(
                out,
                "{} misses are not part of what follows: there was no space to remember them",
                self.lost
            );
        }
        for (i, finding) in self.findings.iter().enumerate() {
            add(&mut out, i + 1, finding);
        }
        out
    }
}

fn add(out: &mut String, number: usize, finding: &Finding) {
    let misses = match finding.blocks {
        0 => format!("{} times", finding.count),
        blocks => format!("{} misses, {blocks} blocks", finding.count),
    };
    let _ = writeln!(
        out,
        "\n{number:2}. {}: {}\n      cost    {:.3} s, {misses}",
        finding.kind.title(),
        finding.subject,
        finding.seconds
    );
    let mut row = |name: &str, text: &str| _ = writeln!(out, "      {name:8}{text}");
    for (i, sentence) in finding.what.iter().enumerate() {
        row(if i == 0 { "what" } else { "" }, sentence);
    }
    for (i, call) in finding.allocated.iter().skip(1).enumerate() {
        row(if i == 0 { "called" } else { "" }, &format!("at {call}"));
    }
    for (i, line) in finding.lines.iter().enumerate() {
        row(
            if i == 0 { "where" } else { "" },
            &format!("{} {} {} times, {:.3} s", line.place, line.verb, line.count, line.seconds),
        );
        if let Some(text) = &line.text {
            row("", &format!("    {text}"));
        }
    }
    for (i, remedy) in finding.remedy.iter().enumerate() {
        row(if i == 0 { "remedy" } else { "" }, remedy);
    }
}
