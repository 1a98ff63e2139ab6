//! Batches of seeds: one executable, run in several layouts, judged by the expected results in the program or by the plain
//! compiler's output.

use super::kernels::{self, draw::Distributions};
use super::{Fault, emit_phases};
use crate::compile::{self, Built, Target, shell_line};
use crate::differential::{reference, run_command};
use crate::evidence;
use crate::execute::{self, Outcome};
use crate::matrix::Shape;
use crate::program::{Language, Program};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Kinds of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Phases between barriers, with expected results; C only.
    Phases,
    /// Kernels with loops of all shapes.
    Loops,
    /// The same in tasks and nested regions.
    Tasks,
}

impl Kind {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Phases => "phases",
            Self::Loops => "loops",
            Self::Tasks => "tasks",
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Phases, Self::Loops, Self::Tasks].into_iter().find(|k| k.name() == name)
    }
}

/// The language's name on the command line.
pub fn language_name(language: Language) -> &'static str {
    match language {
        Language::C => "c",
        Language::Cxx => "cxx",
        Language::Fortran => "fortran",
    }
}

/// Programs that are one executable.
#[derive(Debug, Clone)]
pub struct Batch {
    /// What they are.
    pub kind: Kind,
    /// What they are written in.
    pub language: Language,
    /// What they are drawn from.
    pub seeds: Range<u64>,
    /// What is wrong with them.
    pub fault: Fault,
}

impl Batch {
    /// The source files: name and text.
    pub fn files(&self) -> Vec<kernels::File> {
        let distributions = match self.kind {
            Kind::Phases => return vec![("seeds.c".into(), emit_phases(self.seeds.clone(), self.fault))],
            Kind::Loops => Distributions::Worksharing,
            Kind::Tasks => Distributions::Tasks,
        };
        let faulty = self.fault == Fault::LostWrite;
        let programs: Vec<_> = self
            .seeds
            .clone()
            .map(|seed| kernels::program(seed, self.language, distributions, faulty))
            .collect();
        kernels::files(&programs, self.language)
    }

    fn name(&self) -> String {
        let (language, kind) = (language_name(self.language), self.kind.name());
        format!("{kind}-{language}-{}-{}-{:?}", self.seeds.start, self.seeds.end, self.fault)
    }

    /// As a test program, its sources in a directory of their own.
    ///
    /// # Panics
    /// If the scratch directory cannot be written.
    pub fn program(&self) -> Program {
        let name = self.name();
        let directory = crate::toolchain::scratch().join("generated").join(&name);
        std::fs::create_dir_all(&directory).expect("scratch directory can be made");
        let write = |(file, text): &kernels::File| {
            let path = directory.join(file);
            keep_or_write(&path, text);
            path
        };
        let sources: Vec<PathBuf> = self.files().iter().map(write).collect();
        Program { name, sources, language: self.language, ..Program::default() }
    }

    /// The same, with the compiler's totals of what its pass did beside the executable ([`compile::messages`]).
    pub fn program_with_statistics(&self) -> Program {
        let mut program = self.program();
        program.flags.push("-fdsm-stats".into());
        program
    }

    /// Compiles the batch and runs it in `shapes`; what was wrong, with the commands that show it and the one that repeats the seed.
    pub fn check(&self, target: Target, shapes: &[Shape]) -> Vec<String> {
        let program = self.program();
        let expected = match self.kind {
            Kind::Phases => self.seeds.clone().map(|seed| format!("seed {seed} ok\n")).collect(),
            _ => match reference(&Batch { fault: Fault::None, ..self.clone() }.program(), 2) {
                Ok(outcome) => outcome.text(),
                Err(message) => return vec![message],
            },
        };
        let subject = if target.toolchain().is_some() { self.program_with_statistics() } else { program };
        let built = match compile::compile(&subject, target) {
            Ok(built) => built,
            Err(message) => return vec![message],
        };
        shapes.iter().filter_map(|shape| self.run(&subject, &built, target, *shape, &expected)).collect()
    }

    fn run(
        &self,
        program: &Program,
        built: &Built,
        target: Target,
        shape: Shape,
        expected: &str,
    ) -> Option<String> {
        let mut command = run_command(built, target, shape, program);
        let outcome = execute::run(&mut command, "", execute::time_limit());
        if outcome.status == Some(0) && outcome.text() == expected {
            return None;
        }
        let text = outcome.text();
        let (blamed, wrong) = self.blame(&outcome, &text, expected);
        let errors = outcome.errors();
        let (kind, language) = (self.kind.name(), language_name(self.language));
        let mut message =
            format!("{kind} {language} seeds {:?} {shape}: status {:?}\n", self.seeds, outcome.status);
        for line in wrong.iter().map(String::as_str).chain(errors.lines().take(8)) {
            let _ = writeln!(message, "  | {line}");
        }
        let _ = writeln!(message, "  {}\n  {}", built.command, shell_line(&command));
        let _ = writeln!(
            message,
            "{}",
            evidence::keep(&program.name, built, &command, &outcome, &program.sources)
        );
        let _ = write!(message, "  seed {blamed} alone: append the argument {blamed}");
        if let Target::Dsm(build) = target {
            let _ = write!(
                message,
                ", or:\n  cargo run -p dsm-tests --release --bin fuzz -- --kind {kind} --language {language} --seeds {blamed} -n {} -t {} -O {} --line {}",
                shape.processes, shape.threads, build.level, build.line
            );
        }
        Some(message)
    }

    /// The seed that failed first, and the first lines that show it.
    fn blame(&self, outcome: &Outcome, text: &str, expected: &str) -> (u64, Vec<String>) {
        let seed_of = |line: &str| line.strip_prefix("seed ")?.split_whitespace().next()?.parse::<u64>().ok();
        if self.kind == Kind::Phases {
            let wrong: Vec<String> =
                text.lines().filter(|l| !l.ends_with(" ok")).take(8).map(str::to_owned).collect();
            let last = text.lines().rev().find_map(|l| seed_of(l.strip_suffix(" ok")?));
            let blamed = wrong.first().and_then(|l| seed_of(l)).or(last.map(|l| l + 1));
            return (blamed.unwrap_or(self.seeds.start), wrong);
        }
        let mut seed = self.seeds.start;
        let mut found = text.lines();
        for line in expected.lines() {
            seed = seed_of(line).unwrap_or(seed);
            match found.next() {
                Some(same) if same == line => {}
                other => return (seed, vec![format!("expected {line:?}, got {other:?}")]),
            }
        }
        (seed, vec![format!("status {:?} behind the last line", outcome.status)])
    }
}

/// Tests share batches: an unchanged file is left alone while another thread may be compiling it.
fn keep_or_write(path: &Path, text: &str) {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    let partial =
        path.with_extension(format!("{}.{:?}.part", std::process::id(), std::thread::current().id()));
    std::fs::write(&partial, text).expect("scratch file can be written");
    std::fs::rename(&partial, path).expect("scratch file can be renamed");
}
