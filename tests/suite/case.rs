//! A scratch directory where the drivers do what the plain compilers do, for comparison.

use dsm_tests::compile::shell_line;
use dsm_tests::execute::{self, Outcome};
use dsm_tests::toolchain::{self, Dsm};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that shares an array with [`PART`].
pub const MAIN: &str = "#include <stdio.h>
extern int part[1000];
long sum(void);
int main(void)
{
    long n = 0;
#pragma omp parallel for reduction(+ : n)
    for (int i = 0; i < 1000; i++) {
        part[i] = 3 * i;
        n += i;
    }
    printf(\"%ld %ld\\n\", n, sum());
    return 3;
}
";

/// See [`MAIN`].
pub const PART: &str = "int part[1000];
long sum(void)
{
    long n = 0;
    for (int i = 0; i < 1000; i++)
        n += part[i];
    return n;
}
";

/// Whose driver, whose compiler.
#[derive(Clone, Copy)]
pub enum Language {
    C,
    Cxx,
    Fortran,
}

/// A directory of its own: sources in it, what clang makes in `clang/`, what the driver makes in `dsm/`.
/// Commands run in the latter two, so sources are `../name` to both compilers.
pub struct Case {
    pub dsm: &'static Dsm,
    pub root: PathBuf,
}

impl Case {
    /// An empty case with some sources; none with `DSM_TEST_NATIVE=1`, which leaves no driver to test.
    pub fn new(name: &str, sources: &[(&str, &str)]) -> Option<Self> {
        let Some(dsm) = toolchain::dsm() else {
            eprintln!("not tested: there is no driver with DSM_TEST_NATIVE=1");
            return None;
        };
        let root = toolchain::scratch().join("driver").join(name);
        let _ = std::fs::remove_dir_all(&root);
        for directory in ["clang", "dsm"] {
            std::fs::create_dir_all(root.join(directory)).expect("a directory can be made");
        }
        let case = Self { dsm, root };
        for (name, text) in sources {
            case.write(name, text);
        }
        Some(case)
    }

    /// The two files of a program that shares an array.
    pub fn program(name: &str) -> Option<Self> {
        Self::new(name, &[("main.c", MAIN), ("part.c", PART)])
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.root.join(name), text).expect("a file can be written");
    }

    pub fn read(&self, name: &str) -> String {
        let path = self.root.join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Runs a command in a directory of the case.
    pub fn run(&self, directory: &str, program: impl AsRef<Path>, arguments: &str) -> Outcome {
        let mut command = Command::new(program.as_ref());
        command.args(arguments.split_whitespace()).current_dir(self.root.join(directory));
        execute::hide_own_variables(&mut command);
        execute::run(&mut command, "", execute::time_limit())
    }

    /// Runs a command that must succeed; its standard output.
    pub fn must(&self, directory: &str, program: impl AsRef<Path>, arguments: &str) -> String {
        let outcome = self.run(directory, program.as_ref(), arguments);
        let place = self.root.join(directory);
        let line = format!("cd {} && {} {arguments}", place.display(), program.as_ref().display());
        assert_eq!(outcome.status, Some(0), "{line}\n{}{}", outcome.text(), outcome.errors());
        assert_eq!(outcome.errors(), "", "{line}");
        outcome.text()
    }

    pub fn cc(&self, arguments: &str) -> Outcome {
        self.run("dsm", &self.dsm.cc, arguments)
    }

    /// The driver must succeed without a word.
    pub fn compiled(&self, arguments: &str) {
        self.must("dsm", &self.dsm.cc, arguments);
    }

    /// Plain clang must succeed without a word.
    pub fn native(&self, arguments: &str) {
        self.must("clang", toolchain::clang(), arguments);
    }

    /// Both compilers must succeed without a word.
    pub fn both(&self, arguments: &str) {
        self.native(arguments);
        self.compiled(arguments);
    }

    /// Both compilers of a language must succeed without a word.
    pub fn both_as(&self, language: Language, arguments: &str) {
        let (plain, driver) = match language {
            Language::C => (toolchain::clang(), &self.dsm.cc),
            Language::Cxx => (toolchain::clangxx(), &self.dsm.cxx),
            Language::Fortran => (toolchain::flang(), &self.dsm.fc),
        };
        self.must("clang", plain, arguments);
        self.must("dsm", driver, arguments);
    }

    /// The driver must refuse with a message that has all of `parts`, and make no `output`.
    pub fn refused(&self, arguments: &str, output: &str, parts: &[&str]) {
        let outcome = self.cc(arguments);
        let message = outcome.errors();
        assert_eq!(outcome.status, Some(1), "dsm-cc {arguments}\n{message}");
        assert!(message.starts_with("dsm-cc: error: "), "dsm-cc {arguments}\n{message}");
        assert_eq!(message.lines().count(), 1, "dsm-cc {arguments}\n{message}");
        for part in parts {
            assert!(message.contains(part), "dsm-cc {arguments}\nnot '{part}' in: {message}");
        }
        assert!(!self.root.join("dsm").join(output).exists(), "dsm-cc {arguments} made {output}");
    }

    /// `dsm/<program>` by itself and as two processes does what `clang/<program>` does.
    pub fn agrees(&self, program: &str) {
        let outcome = |command: &mut Command| {
            execute::hide_own_variables(command);
            let outcome = execute::run(command, "", execute::time_limit());
            (outcome, shell_line(command))
        };
        let ours = self.root.join("dsm").join(program);
        let (expected, line) = outcome(&mut Command::new(self.root.join("clang").join(program)));
        assert!(expected.status.is_some() && !expected.stdout.is_empty(), "{line}: {expected:?}");
        let mut launched = Command::new(&self.dsm.run);
        launched.args(["-n", "2"]).arg(&ours);
        for mut command in [Command::new(&ours), launched] {
            let (found, line) = outcome(&mut command);
            let place = self.root.display();
            assert_eq!(found.text(), expected.text(), "{place}: {line}\n{}", found.errors());
            assert_eq!(found.status, expected.status, "{place}: {line}\n{}", found.errors());
            // Two processes are one too many for programs of one thread, which are told so.
            let errors: Vec<_> = found
                .errors()
                .lines()
                .filter(|l| !l.contains("has no OpenMP in it"))
                .map(str::to_owned)
                .collect();
            assert_eq!(errors, [""; 0], "{place}: {line}");
        }
    }
}
