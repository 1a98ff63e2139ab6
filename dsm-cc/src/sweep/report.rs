//! What is written from the journal: tables for programs and people, and the chart.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use dsm_charts::{Chart, Line, Panel};
use serde::Serialize;
use serde_json::Value;

use super::choice::Choice;
use super::comparison::Comparison;
use super::machine::Machine;
use super::plan::{Blocks, Purpose, Setting};
use super::store::Record;
use super::summary::Summary;

/// Variables that a table shows.
const VARIABLES: usize = 12;

/// All results.
#[derive(Debug, Serialize)]
pub struct Results<'a> {
    /// The program and its arguments.
    pub command: String,
    /// What the sweep was started with.
    pub options: &'a Value,
    /// Where it ran.
    pub machine: Machine,
    /// Runs with uniform sizes.
    pub summaries: Vec<Summary>,
    /// What follows from them, for each setting of several processes.
    pub choices: Vec<Choice>,
    /// What the block files are worth.
    pub comparisons: Vec<Comparison>,
}

/// A line for each run, counters included.
pub fn csv(records: &[Record]) -> String {
    let names: BTreeSet<&str> = records.iter().flat_map(|r| r.counters.keys().map(String::as_str)).collect();
    let mut out = String::from(
        "line,processes,threads,blocks,block,purpose,repetition,status,seconds,wall_seconds,falsely_shared",
    );
    names.iter().for_each(|name| _ = write!(out, ",{name}"));
    out.push('\n');
    for record in records {
        let Setting { line, processes, threads } = record.run.setting;
        let (blocks, block) = match record.run.blocks {
            Blocks::Unset => ("unset", String::new()),
            Blocks::Uniform(bytes) => ("uniform", bytes.to_string()),
            Blocks::File(bytes) => ("file", bytes.to_string()),
        };
        let purpose = match record.run.purpose {
            Purpose::Profile => "profile",
            Purpose::Time => "time",
            Purpose::Comparison => "comparison",
        };
        let status = if record.failure.is_none() { "ok" } else { "failed" };
        let falsely_shared = match record.run.purpose {
            Purpose::Profile => record.objects.iter().map(|o| o.falsely_shared).sum::<u64>().to_string(),
            _ => String::new(),
        };
        let _ = write!(
            out,
            "{line},{processes},{threads},{blocks},{block},{purpose},{},{status},{},{},{falsely_shared}",
            record.run.repetition, record.seconds, record.wall_seconds
        );
        for name in &names {
            let value = record.counters.get(*name).map(u64::to_string);
            let _ = write!(out, ",{}", value.unwrap_or_default());
        }
        out.push('\n');
    }
    out
}

impl Results<'_> {
    /// For programs.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers and strings") + "\n"
    }

    /// For people, in Markdown.
    pub fn text(&self) -> String {
        let mut out = format!("`{}`, {}.\n", self.command, self.machine);
        let settings: BTreeSet<Setting> = self.summaries.iter().map(|s| s.setting).collect();
        for setting in settings {
            self.write_setting(&mut out, setting);
        }
        out
    }

    fn write_setting(&self, out: &mut String, setting: Setting) {
        let Setting { line, processes, threads } = setting;
        let _ = writeln!(
            out,
            "\n{}, {}, lines of {line} bytes:\n",
            many(processes, "process"),
            many(threads, "thread")
        );
        out.push_str("| block | seconds (least to most) | misses | blocks fetched | MB moved | falsely shared | cost, ms |\n");
        out.push_str("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
        for summary in self.summaries.iter().filter(|s| s.setting == setting) {
            out.push_str(&row(summary));
        }
        if let Some(choice) = self.choices.iter().find(|c| c.setting == setting) {
            write_choice(out, choice);
        }
        if let Some(comparison) = self.comparisons.iter().find(|c| c.setting == setting) {
            out.push_str("\nThe sizes of these variables, everything else uniform:\n\n");
            comparison.sentences().iter().for_each(|sentence| _ = writeln!(out, "- {sentence}"));
        }
    }

    /// Time and counts against the block size, a line for each setting.
    ///
    /// # Errors
    /// What the drawing library says.
    pub fn chart(&self) -> Result<String, String> {
        let panel = |title: &str, of: &dyn Fn(&Summary) -> Option<f64>| Panel {
            title: title.to_owned(),
            lines: self.lines(of),
        };
        let panels = vec![
            panel("seconds, median", &|s| s.seconds.map(|spread| spread.median)),
            panel("misses", &|s| Some(s.misses() as f64)),
            panel("bytes moved", &|s| Some(s.counter("bytes_moved") as f64)),
            panel("misses of falsely shared blocks", &|s| s.falsely_shared.map(|n| n as f64)),
        ];
        dsm_charts::draw(&Chart { x_title: "bytes of a block".into(), columns: 2, panels })
    }

    fn lines(&self, of: &dyn Fn(&Summary) -> Option<f64>) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        for summary in self.summaries.iter().filter(|s| s.runs > 0) {
            let (Some(bytes), Some(value)) = (summary.blocks.uniform(), of(summary)) else { continue };
            let (name, point) = (summary.setting.to_string(), (f64::from(bytes), value));
            match lines.last_mut().filter(|(last, _)| *last == name) {
                Some((_, points)) => points.push(point),
                None => lines.push((name, vec![point])),
            }
        }
        lines
    }
}

fn many(count: u32, noun: &str) -> String {
    match (count, noun) {
        (1, _) => format!("1 {noun}"),
        (_, "process") => format!("{count} processes"),
        _ => format!("{count} {noun}s"),
    }
}

fn row(summary: &Summary) -> String {
    let block = summary.blocks.uniform().map_or("any".into(), |bytes| bytes.to_string());
    let seconds = match summary.seconds {
        Some(s) => format!("{:.3} ({:.3} to {:.3})", s.median, s.least, s.most),
        None => "failed".into(),
    };
    let number = |value: Option<f64>, digits: usize| value.map_or("-".into(), |v| format!("{v:.digits$}"));
    let has_counts = summary.blocks.uniform().is_some() && summary.runs > 0;
    let counted = |value: f64, digits| number(has_counts.then_some(value), digits);
    format!(
        "| {block} | {seconds} | {} | {} | {} | {} | {} |\n",
        counted(summary.misses() as f64, 0),
        counted(summary.counter("blocks_fetched") as f64, 0),
        counted(summary.counter("bytes_moved") as f64 / 1e6, 2),
        number(summary.falsely_shared.map(|n| n as f64), 0),
        number(summary.cost_ms, 2)
    )
}

fn write_choice(out: &mut String, choice: &Choice) {
    let Choice { uniform, by_time, by_counts, .. } = choice;
    let _ = match by_time == by_counts {
        true => writeln!(out, "\nBest uniform size: {uniform}, by time and by counts."),
        false => writeln!(
            out,
            "\nBest uniform size: {by_time} by time, {by_counts} by counts; what follows takes {uniform}."
        ),
    };
    if choice.variables.is_empty() {
        out.push_str("No variable misses enough to be given a size of its own.\n");
        return;
    }
    let _ = writeln!(
        out,
        "\n| variable | best block | in the file | cost at the best, ms | at {uniform}, ms | misses | at {uniform} | MB fetched | at {uniform} | falsely shared | at {uniform} |"
    );
    out.push_str("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for v in choice.variables.iter().take(VARIABLES) {
        let (best, uniform) = (&v.best_usage, &v.uniform_usage);
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {:.2} | {:.2} | {} | {} | {:.2} | {:.2} | {} | {} |",
            v.rule,
            v.best,
            v.size,
            v.best_cost_ms,
            v.uniform_cost_ms,
            best.misses,
            uniform.misses,
            best.bytes_fetched as f64 / 1e6,
            uniform.bytes_fetched as f64 / 1e6,
            best.falsely_shared,
            uniform.falsely_shared
        );
    }
    match choice.has_other_sizes() {
        true => {
            let _ = writeln!(
                out,
                "\nExpected from these: cost {:.2} ms instead of {:.2} ms.",
                choice.expected_cost_ms, choice.uniform_cost_ms
            );
        }
        false => out.push_str("\nNo variable wants another size than the best uniform one.\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::plan::Run;
    use crate::sweep::store::Failure;

    #[test]
    fn each_run_is_a_line_with_as_many_fields_as_names() {
        let setting = Setting { line: 64, processes: 2, threads: 1 };
        let run = |blocks, purpose| Run { setting, blocks, purpose, repetition: 1 };
        let record = Record {
            run: run(Blocks::Uniform(64), Purpose::Time),
            failure: None,
            wall_seconds: 2.0,
            seconds: 1.0,
            counters: [("releases".to_owned(), 5)].into(),
            objects: Vec::new(),
        };
        let failed = Record {
            run: run(Blocks::File(64), Purpose::Profile),
            failure: Some(Failure { reason: "a, b".into(), output: "x".into() }),
            counters: Default::default(),
            ..record.clone()
        };
        let text = csv(&[record, failed]);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert!(lines.len() == 3 && lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
        assert_eq!(lines[1].join(","), "64,2,1,uniform,64,time,1,ok,1,2,,5");
        assert_eq!(lines[2].join(","), "64,2,1,file,64,profile,1,failed,1,2,0,");
    }
}
