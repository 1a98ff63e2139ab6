//! The results: a table with the differences below it, and JSON.

use std::fmt;
use std::path::Path;

use serde_json::{Value, json};

use super::judge::{Difference, Kind, Reason, Verdict};
use super::options::{Layout, Options};
use super::sources::Source;

/// All verdicts.
pub struct Report {
    command: String,
    layouts: Vec<Layout>,
    programs: Vec<(Source, Verdict)>,
}

impl Report {
    /// Of programs in the order of their names.
    pub fn new(options: &Options, programs: Vec<(Source, Verdict)>) -> Report {
        let paths: Vec<_> = options.paths.iter().map(|path| path.display().to_string()).collect();
        let command = format!("dsm-compare {} -- {}", paths.join(" "), options.flags().join(" "));
        Report { command, layouts: options.layouts.clone(), programs }
    }

    /// Programs that differ somewhere.
    pub fn differences(&self) -> usize {
        self.judged().filter(|(_, differences, _)| !differences.is_empty()).count()
    }

    /// Path, differences, and whether only the status was compared.
    fn judged(&self) -> impl Iterator<Item = (&Path, &[Difference], bool)> {
        self.programs.iter().filter_map(|(source, verdict)| match verdict {
            Verdict::Judged { differences, by_status, .. } => {
                Some((&*source.path, &**differences, *by_status))
            }
            Verdict::NotJudged(_) => None,
        })
    }

    fn count(&self, layout: Layout, wanted: impl Fn(Option<Kind>, bool) -> bool) -> usize {
        let kind = |differences: &[Difference]| {
            differences.iter().find(|d| d.layout.is_none_or(|l| l == layout)).map(|d| d.kind)
        };
        self.judged().filter(|(_, differences, by_status)| wanted(kind(differences), *by_status)).count()
    }

    fn not_judged(&self, reason: Reason) -> usize {
        let is_it = |verdict: &Verdict| matches!(verdict, Verdict::NotJudged(r) if *r == reason);
        self.programs.iter().filter(|(_, verdict)| is_it(verdict)).count()
    }

    /// The same for programs to read.
    pub fn json(&self) -> String {
        let programs: Vec<Value> =
            self.programs.iter().map(|(source, verdict)| program(&source.path, verdict)).collect();
        let layouts: Vec<String> = self.layouts.iter().map(Layout::to_string).collect();
        let all = json!({ "command": self.command, "layouts": layouts, "programs": programs });
        format!("{all:#}\n")
    }
}

fn program(path: &Path, verdict: &Verdict) -> Value {
    let path = path.display().to_string();
    match verdict {
        Verdict::NotJudged(reason) => {
            json!({ "source": path, "result": "not judged", "reason": why(*reason) })
        }
        Verdict::Judged { by_status, differences, remarks, build } => {
            let result = if differences.is_empty() { "same" } else { "different" };
            let compared = if *by_status { "status" } else { "output and status" };
            let differences: Vec<Value> = differences
                .iter()
                .map(|d| {
                    json!({
                        "layout": d.layout.map(|l| l.to_string()),
                        "kind": d.kind.name(),
                        "detail": d.detail,
                        "command": d.command,
                        "errors": d.errors,
                        "guard": d.guard,
                    })
                })
                .collect();
            json!({
                "source": path,
                "result": result,
                "compared": compared,
                "build": build,
                "remarks": remarks,
                "differences": differences,
            })
        }
    }
}

fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::DoesNotCompile => "the plain compiler rejects it",
        Reason::NoMain => "no main program",
        Reason::Fails => "fails when built plainly",
        Reason::TakesTooLong => "takes too long when built plainly",
    }
}

/// A line for one program.
pub fn progress(path: &Path, verdict: &Verdict) -> String {
    let result = match verdict {
        Verdict::NotJudged(reason) => format!("not judged: {}", why(*reason)),
        Verdict::Judged { differences, .. } if differences.is_empty() => "same".into(),
        Verdict::Judged { differences, .. } => {
            let parts = differences.iter().map(|d| match d.layout {
                Some(layout) => format!("{} at {layout}", d.kind.name()),
                None => d.kind.name().into(),
            });
            parts.collect::<Vec<_>>().join(", ")
        }
    };
    format!("{}: {result}", path.display())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let judged = self.judged().count();
        writeln!(f, "{} sources, {judged} compared: {}\n", self.programs.len(), self.command)?;
        let row = |f: &mut fmt::Formatter<'_>, name: &str, cells: Vec<String>| {
            write!(f, "| {name:<36} |")?;
            cells.iter().try_for_each(|cell| write!(f, " {cell:>6} |"))?;
            writeln!(f)
        };
        row(f, "processes x threads", self.layouts.iter().map(Layout::to_string).collect())?;
        row(f, "---", self.layouts.iter().map(|_| "---:".into()).collect())?;
        let counts = |wanted: &dyn Fn(Option<Kind>, bool) -> bool| {
            self.layouts.iter().map(|l| self.count(*l, wanted).to_string()).collect::<Vec<_>>()
        };
        row(f, "same output and status", counts(&|kind, by_status| kind.is_none() && !by_status))?;
        row(
            f,
            "same status, the plain output varies",
            counts(&|kind, by_status| kind.is_none() && by_status),
        )?;
        for wanted in [Kind::Output, Kind::Status, Kind::Hang, Kind::Build] {
            row(f, wanted.name(), counts(&|kind, _| kind == Some(wanted)))?;
        }
        let reasons = [Reason::DoesNotCompile, Reason::NoMain, Reason::Fails, Reason::TakesTooLong];
        let skipped: Vec<String> = reasons
            .into_iter()
            .filter(|reason| self.not_judged(*reason) > 0)
            .map(|reason| format!("{} ({})", self.not_judged(reason), why(reason)))
            .collect();
        if !skipped.is_empty() {
            writeln!(f, "\nNot compared: {}.", skipped.join(", "))?;
        }
        for (source, verdict) in &self.programs {
            if let Verdict::Judged { differences, remarks, build, .. } = verdict
                && !differences.is_empty()
            {
                writeln!(f, "\n{}\n  {build}", source.path.display())?;
                differences.iter().try_for_each(|difference| write_difference(f, difference))?;
                write_lines(f, "-fdsm-remarks", remarks)?;
            }
        }
        Ok(())
    }
}

fn write_difference(f: &mut fmt::Formatter<'_>, difference: &Difference) -> fmt::Result {
    let Difference { layout, kind, detail, command, errors, guard } = difference;
    match layout {
        Some(layout) => writeln!(f, "  {layout}: {}: {detail}\n    {command}", kind.name())?,
        None => writeln!(f, "  {}: {detail}", kind.name())?,
    }
    write_lines(f, "  standard error", errors)?;
    write_lines(f, "  DSM_GUARD=1", guard)
}

fn write_lines(f: &mut fmt::Formatter<'_>, title: &str, lines: &[String]) -> fmt::Result {
    if !lines.is_empty() {
        writeln!(f, "  {title}:")?;
    }
    lines.iter().try_for_each(|line| writeln!(f, "      {line}"))
}
