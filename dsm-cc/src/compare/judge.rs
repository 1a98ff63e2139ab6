//! One program: built twice, run in all layouts, compared.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::options::{Layout, Options};
use super::sources::Source;
use crate::execute::{self, End, Outcome, line};
use crate::tools::Tools;

/// How much longer than a program a compiler may take.
const COMPILER_FACTOR: u32 = 10;
/// Runs of the plain program after a difference, to see whether its output varies after all.
const MORE_RUNS: u32 = 4;
/// Lines of a compiler's or program's messages that are kept.
const MOST_LINES: usize = 20;

/// What came of a program.
#[derive(Debug)]
pub enum Verdict {
    /// It was not compared, because with the plain compiler it is no program that succeeds.
    NotJudged(Reason),
    /// It was compared.
    Judged {
        /// The plain program's output varies: only the status was compared.
        by_status: bool,
        /// Layouts in which something differs.
        differences: Vec<Difference>,
        /// What `-fdsm-remarks` says, if something differs.
        remarks: Vec<String>,
        /// The command that built the program.
        build: String,
    },
}

/// Why a program was not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The plain compiler rejects it.
    DoesNotCompile,
    /// It has no main program.
    NoMain,
    /// It does not end with status 0.
    Fails,
    /// It takes too long.
    TakesTooLong,
}

/// A difference in one layout, or in the build.
#[derive(Debug)]
pub struct Difference {
    /// Where; none if the build failed.
    pub layout: Option<Layout>,
    /// What differs.
    pub kind: Kind,
    /// More about it in words.
    pub detail: String,
    /// The command that showed it.
    pub command: String,
    /// What the program, or the compiler, wrote to standard error.
    pub errors: Vec<String>,
    /// What `DSM_GUARD=1` reports.
    pub guard: Vec<String>,
}

/// What differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// dsm-cc does not build it.
    Build,
    /// The output.
    Output,
    /// The exit status.
    Status,
    /// It does not end in time.
    Hang,
}

impl Kind {
    /// In the table.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Build => "does not compile",
            Kind::Output => "output differs",
            Kind::Status => "status differs",
            Kind::Hang => "does not end",
        }
    }
}

/// What all programs are judged with.
pub struct Judge<'a> {
    options: &'a Options,
    scratch: &'a Path,
    tools: Tools,
}

/// The plain program's results for one number of threads.
struct Reference {
    output: Vec<u8>,
    varies: bool,
}

impl<'a> Judge<'a> {
    /// With these commands; `scratch` is for all files.
    pub fn new(options: &'a Options, scratch: &'a Path, tools: Tools) -> Judge<'a> {
        Judge { options, scratch, tools }
    }

    /// Judges program `number`.
    pub fn judge(&self, number: usize, source: &Source) -> Verdict {
        let directory = self.scratch.join(number.to_string());
        let verdict = std::fs::create_dir(&directory).and_then(|()| self.compare(source, &directory));
        // A program may have left anything in it; the whole is deleted at the end, too.
        let _ = std::fs::remove_dir_all(&directory);
        verdict.unwrap_or_else(|error| Verdict::Judged {
            by_status: false,
            differences: vec![Difference {
                layout: None,
                kind: Kind::Build,
                detail: format!("cannot run the comparison: {error}"),
                command: String::new(),
                errors: Vec::new(),
                guard: Vec::new(),
            }],
            remarks: Vec::new(),
            build: String::new(),
        })
    }

    fn compare(&self, source: &Source, directory: &Path) -> io::Result<Verdict> {
        let (plain, ours) = (directory.join("plain"), directory.join("ours"));
        let mut command = self.compiler(source, &plain, false);
        command.env("DSM_DISABLE", "1");
        let built = self.run(command, directory, COMPILER_FACTOR)?;
        if !built.succeeded() {
            let no_main = built.errors.contains("undefined reference to `main'");
            let reason = if no_main { Reason::NoMain } else { Reason::DoesNotCompile };
            return Ok(Verdict::NotJudged(reason));
        }
        let mut references = BTreeMap::new();
        for layout in &self.options.layouts {
            if references.contains_key(&layout.total()) {
                continue;
            }
            match self.reference(&plain, directory, layout.total())? {
                Ok(reference) => references.insert(layout.total(), reference),
                Err(reason) => return Ok(Verdict::NotJudged(reason)),
            };
        }
        let command = self.compiler(source, &ours, true);
        let build = line(&self.compiler(source, Path::new("a.out"), false));
        let built = self.run(command, directory, COMPILER_FACTOR)?;
        if !built.succeeded() {
            let difference = Difference {
                layout: None,
                kind: Kind::Build,
                detail: built.end.to_string(),
                command: build.clone(),
                errors: lines(&built.errors, |line| line.contains("error") || line.contains("undefined")),
                guard: Vec::new(),
            };
            return Ok(Verdict::Judged {
                by_status: false,
                differences: vec![difference],
                remarks: Vec::new(),
                build,
            });
        }
        let mut differences = Vec::new();
        for layout in &self.options.layouts {
            let reference = references.get_mut(&layout.total()).expect("made above");
            differences.extend(self.difference(&plain, &ours, directory, *layout, reference)?);
        }
        let by_status = references.values().any(|reference| reference.varies);
        let remarks = if differences.is_empty() {
            Vec::new()
        } else {
            lines(&built.errors, |line| line.contains("warning:") || line.contains("remark:"))
        };
        Ok(Verdict::Judged { by_status, differences, remarks, build })
    }

    /// Runs the plain program as often as the options say.
    fn reference(
        &self,
        plain: &Path,
        directory: &Path,
        threads: u32,
    ) -> io::Result<Result<Reference, Reason>> {
        let mut reference: Option<Reference> = None;
        for _ in 0..self.options.repeat {
            let outcome = self.run_plain(plain, directory, threads)?;
            match outcome.end {
                End::Exited(0) => {}
                End::TimedOut(_) => return Ok(Err(Reason::TakesTooLong)),
                _ => return Ok(Err(Reason::Fails)),
            }
            match &mut reference {
                None => reference = Some(Reference { output: outcome.output, varies: false }),
                Some(first) => first.varies |= first.output != outcome.output,
            }
        }
        Ok(reference.ok_or(Reason::Fails))
    }

    /// What differs in one layout.
    fn difference(
        &self,
        plain: &Path,
        ours: &Path,
        directory: &Path,
        layout: Layout,
        reference: &mut Reference,
    ) -> io::Result<Option<Difference>> {
        let outcome = self.run(self.program(ours, layout, false), directory, 1)?;
        let kind = match outcome.end {
            End::Exited(0) if reference.varies || outcome.output == reference.output => return Ok(None),
            End::Exited(0) => Kind::Output,
            End::TimedOut(_) => Kind::Hang,
            _ => Kind::Status,
        };
        for _ in 0..MORE_RUNS {
            let again = self.run_plain(plain, directory, layout.total())?;
            if !again.succeeded() {
                // It fails at times when it is built plainly: nothing can be said.
                return Ok(None);
            }
            reference.varies |= again.output != reference.output;
            if kind == Kind::Output && reference.varies {
                return Ok(None);
            }
        }
        let detail = match kind {
            Kind::Output => first_difference(&reference.output, &outcome.output),
            _ => format!("{} instead of status 0", outcome.end),
        };
        let guarded = self.run(self.program(ours, layout, true), directory, 1)?;
        let command = self.program(Path::new("./a.out"), layout, false);
        Ok(Some(Difference {
            layout: Some(layout),
            kind,
            detail,
            command: line(&command),
            errors: lines(&outcome.errors, |_| true),
            guard: lines(&guarded.errors, |line| line.contains("DSM_GUARD") || line.contains("guard")),
        }))
    }

    /// The driver's command; dsm-cc acts as the plain compiler where `DSM_DISABLE` is set.
    fn compiler(&self, source: &Source, program: &Path, remarks: bool) -> Command {
        let mut command = Command::new(self.tools.path(source.language.driver()));
        command.env_remove("DSM_DISABLE");
        command.args(self.options.flags());
        if remarks {
            command.arg("-fdsm-remarks");
        }
        let path = std::path::absolute(&source.path).unwrap_or_else(|_| source.path.clone());
        command.arg(path).arg("-o").arg(program).arg("-lm");
        command
    }

    fn program(&self, program: &Path, layout: Layout, guard: bool) -> Command {
        let mut command = Command::new(self.tools.launcher());
        command.args(["-n", &layout.processes.to_string(), "-t", &layout.threads.to_string()]).arg(program);
        command.env_remove("OMP_NUM_THREADS");
        if guard {
            command.env("DSM_GUARD", "1");
        }
        command
    }

    fn run_plain(&self, plain: &Path, directory: &Path, threads: u32) -> io::Result<Outcome> {
        let mut command = Command::new(plain);
        command.env("OMP_NUM_THREADS", threads.to_string());
        self.run(command, directory, 1)
    }

    /// Runs a command in a new directory, so that a program does not find the files of the run before.
    fn run(&self, mut command: Command, directory: &Path, factor: u32) -> io::Result<Outcome> {
        let (work, outputs) = (directory.join("work"), directory.join("outputs"));
        for path in [&work, &outputs] {
            if path.exists() {
                std::fs::remove_dir_all(path)?;
            }
            std::fs::create_dir(path)?;
        }
        command.current_dir(&work);
        let limit: Duration = self.options.time_limit() * factor;
        execute::run(command, &outputs, limit)
    }
}

/// The first lines of a text that are wanted.
fn lines(text: &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut lines: Vec<String> =
        text.lines().filter(|line| wanted(line)).take(MOST_LINES + 1).map(str::to_owned).collect();
    if lines.len() > MOST_LINES {
        lines[MOST_LINES] = "...".into();
    }
    lines
}

/// Where two outputs part.
fn first_difference(expected: &[u8], got: &[u8]) -> String {
    let (expected, got) = (String::from_utf8_lossy(expected), String::from_utf8_lossy(got));
    let (mut a, mut b) = (expected.lines(), got.lines());
    let shown = |line: Option<&str>| match line {
        Some(line) => format!("`{}`", line.chars().take(100).collect::<String>()),
        None => "the end".into(),
    };
    for number in 1.. {
        match (a.next(), b.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => return format!("line {number} is {} instead of {}", shown(b), shown(a)),
        }
    }
    "line ends differ".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(first_difference(b"a\nb\n", b"a\nc\n"), "line 2 is `c` instead of `b`");
        assert_eq!(first_difference(b"a\n", b""), "line 1 is the end instead of `a`");
        assert_eq!(first_difference(b"a\n", b"a"), "line ends differ");
    }
}
