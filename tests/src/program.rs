//! Test programs: source files with directives in comments.
//!
//! A program is `programs/<name>.<ext>` or all sources of `programs/<name>/`, in the order of their names; `c`, `cpp` and
//! `f90` are known extensions. Lines that start with `//@` (Fortran: `!@`) direct the test: `args:` (words), `env: K=V`, `stdin:` (with `\n`), `exit:` (expected status),
//! `flags:` and `libs:` (for the compiler), `varies` (output may depend on the number of threads).

use std::path::{Path, PathBuf};

/// What a program is written in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Language {
    /// C.
    #[default]
    C,
    /// C++.
    Cxx,
    /// Fortran, free form.
    Fortran,
}

impl Language {
    const ALL: [Language; 3] = [Language::C, Language::Cxx, Language::Fortran];

    /// Of a source file, by its name.
    pub fn of(source: &Path) -> Option<Language> {
        let extension = source.extension()?;
        Self::ALL.into_iter().find(|l| extension == l.extension())
    }

    fn extension(self) -> &'static str {
        match self {
            Language::C => "c",
            Language::Cxx => "cpp",
            Language::Fortran => "f90",
        }
    }
}

/// A program and how to run it.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// File or directory name.
    pub name: String,
    /// Source files, all of one language.
    pub sources: Vec<PathBuf>,
    /// That language.
    pub language: Language,
    /// Further compiler flags.
    pub flags: Vec<String>,
    /// Libraries, last on the command line.
    pub libraries: Vec<String>,
    /// Command line arguments.
    pub arguments: Vec<String>,
    /// Environment.
    pub environment: Vec<(String, String)>,
    /// Standard input.
    pub input: String,
    /// Exit status the program must end with, natively too.
    pub status: i32,
    /// The output may depend on the number of threads.
    pub varies: bool,
}

impl Program {
    /// Loads `name` from the directory of test programs.
    ///
    /// # Panics
    /// If there is no such program or a directive is unknown.
    pub fn load(name: &str) -> Self {
        let base = directory();
        let single = Language::ALL.map(|l| base.join(format!("{name}.{}", l.extension())));
        let sources = match single.into_iter().find(|s| s.is_file()) {
            Some(single) => vec![single],
            None => source_files(&base.join(name)),
        };
        let language = sources.first().and_then(|s| Language::of(s));
        let language = language.unwrap_or_else(|| panic!("no test program {name} in {}", base.display()));
        let mut program = Self { name: name.into(), sources, language, ..Self::default() };
        for source in program.sources.clone() {
            let text = std::fs::read_to_string(&source).expect("a program can be read");
            for line in text.lines().filter_map(|l| l.strip_prefix("//@ ").or(l.strip_prefix("!@ "))) {
                program.direct(line);
            }
        }
        program
    }

    /// A program of one file outside the directory of test programs.
    pub fn from_source(name: &str, source: &Path) -> Self {
        let language = Language::of(source).unwrap_or_default();
        Self { name: name.into(), sources: vec![source.to_path_buf()], language, ..Self::default() }
    }

    fn direct(&mut self, line: &str) {
        let (key, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.trim();
        let words = || value.split_whitespace().map(str::to_string);
        match key.trim() {
            "args" => self.arguments.extend(words()),
            "flags" => self.flags.extend(words()),
            "libs" => self.libraries.extend(words()),
            "env" => {
                let (name, content) = value.split_once('=').expect("env: NAME=VALUE");
                self.environment.push((name.into(), content.into()));
            }
            "stdin" => self.input = value.replace("\\n", "\n"),
            "exit" => self.status = value.parse().expect("exit: NUMBER"),
            "varies" => self.varies = true,
            other => panic!("{}: unknown directive {other}", self.name),
        }
    }
}

/// Directory of the test programs.
pub fn directory() -> PathBuf {
    crate::toolchain::package().join("programs")
}

/// Names of all test programs, sorted.
pub fn all_names() -> Vec<String> {
    let entries = std::fs::read_dir(directory()).expect("the programs' directory can be read");
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let is_program = path.is_dir() || Language::of(&path).is_some();
            is_program.then(|| path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
        })
        .collect();
    names.sort();
    names
}

fn source_files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut files: Vec<PathBuf> =
        entries.filter_map(|e| Some(e.ok()?.path())).filter(|p| Language::of(p).is_some()).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::{Program, all_names};

    #[test]
    fn directives_are_read() {
        let program = Program::load("arguments");
        assert_eq!(program.arguments, ["one", "two=2", "-three"]);
        assert_eq!(program.environment, [("TEST_WORD".to_string(), "hello".to_string())]);
        assert!(program.input.starts_with("12 first line\nsecond"));
    }

    #[test]
    fn every_program_loads() {
        let names = all_names();
        assert!(names.len() >= 50, "only {} programs", names.len());
        assert!(
            names.iter().any(|n| Program::load(n).sources.len() > 2),
            "programs of several files are found"
        );
    }
}
