//! Test programs: C files with directives in comments.
//!
//! A program is `programs/<name>.c` or all C files of `programs/<name>/`. Lines that start with `//@`
//! direct the test: `args:` (words), `env: K=V`, `stdin:` (with `\n`), `exit:` (expected status),
//! `flags:` and `libs:` (for the compiler), `varies` (output may depend on the number of threads).

use std::path::{Path, PathBuf};

/// A program and how to run it.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// File or directory name.
    pub name: String,
    /// C files.
    pub sources: Vec<PathBuf>,
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
        let single = base.join(format!("{name}.c"));
        let sources = if single.is_file() { vec![single] } else { c_files(&base.join(name)) };
        assert!(!sources.is_empty(), "no test program {name} in {}", base.display());
        let mut program = Self { name: name.into(), sources, ..Self::default() };
        for source in program.sources.clone() {
            let text = std::fs::read_to_string(&source).expect("a program can be read");
            for line in text.lines().filter_map(|l| l.strip_prefix("//@ ")) {
                program.direct(line);
            }
        }
        program
    }

    /// A program of one file outside the directory of test programs.
    pub fn from_source(name: &str, source: &Path) -> Self {
        Self { name: name.into(), sources: vec![source.to_path_buf()], ..Self::default() }
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
            let is_program = path.is_dir() || path.extension().is_some_and(|e| e == "c");
            is_program.then(|| path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
        })
        .collect();
    names.sort();
    names
}

fn c_files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|p| p.extension().is_some_and(|e| e == "c"))
        .collect();
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
        assert_eq!(names.iter().map(|n| Program::load(n).sources.len()).max(), Some(3));
    }
}
