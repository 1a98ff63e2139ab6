//! Runs the compiler. Where it fails at code that the pass made, it is run again with fewer optimisations of the pass: no source may compile
//! with the plain compiler and not here.
//!
//! What the compiler says is held back until it is known which run counts, and so is what it writes to standard output.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use dsm_abi::layout::USER_MAIN;
use dsm_abi::options::{FLAGS, INVALID_CODE, LOOPS, SWITCHES, VARIABLE};
use nix::sys::signal::Signal;

use super::arguments::Typed;
use super::components::Language;
use super::error::Error;

/// What stands in messages of a compiler that failed by itself, and in none about a source.
const FAILURES: &[&str] = &[
    INVALID_CODE,
    "frontend command failed",
    "error: ran out of registers during register allocation",
    "error: <unknown>:0:0: ran out of registers during register allocation",
    "error: no registers from class available to allocate",
];

/// What precedes the cause in a message.
const CAUSES: &[&str] = &["error in backend: ", "LLVM ERROR: ", "panicked at ", "error: "];

/// What precedes the name of a file that describes a crash.
const REPORT: &str = "note: diagnostic msg: ";

/// Signals by which a process ends that has gone wrong.
const CRASHES: &[Signal] =
    &[Signal::SIGSEGV, Signal::SIGBUS, Signal::SIGILL, Signal::SIGFPE, Signal::SIGABRT, Signal::SIGTRAP];

/// One run of the compiler.
struct Attempt {
    status: ExitStatus,
    output: Vec<u8>,
    errors: Vec<u8>,
}

impl Attempt {
    /// The compiler failed, and not the source.
    fn is_crash(&self) -> bool {
        if self.status.success() {
            return false;
        }
        let signal = self.status.signal().and_then(|number| Signal::try_from(number).ok());
        let errors = String::from_utf8_lossy(&self.errors);
        signal.is_some_and(|s| CRASHES.contains(&s)) || FAILURES.iter().any(|f| errors.contains(f))
    }

    /// The linker found static data too far away from code.
    fn is_out_of_reach(&self) -> bool {
        let errors = String::from_utf8_lossy(&self.errors);
        let is_said = |line: &str| {
            line.contains("relocation truncated to fit")
                || line.contains("failed to convert GOTPCREL relocation")
                || line.contains("relocation R_X86_64_") && line.contains("out of range")
        };
        !self.status.success() && errors.lines().any(is_said)
    }

    /// A few words about the failure.
    fn cause(&self) -> String {
        let errors = String::from_utf8_lossy(&self.errors);
        let said = CAUSES.iter().find_map(|before| {
            let line = errors.lines().find(|l| l.contains(before))?;
            line.split_once(before).map(|(_, cause)| cause.trim().to_owned())
        });
        let of_driver =
            |s: &String| s.contains("frontend command failed") || s.contains("unable to execute command");
        said.filter(|s| !of_driver(s)).unwrap_or_else(|| "it crashed".into())
    }

    /// Removes the files about the crash, and what was said of them.
    fn forget_reports(&mut self) {
        let errors = String::from_utf8_lossy(&self.errors).into_owned();
        let Some(at) = errors.find(REPORT) else { return };
        for line in errors[at..].lines() {
            if let Some((_, name)) = line.split_once(REPORT) {
                remove_report(Path::new(name.trim()));
            }
        }
        let begin = errors[..at].rfind('\n').map_or(0, |end| end + 1);
        let is_rest = |l: &&str| {
            l.is_empty()
                || l.contains(REPORT.trim_end())
                || l.bytes().all(|b| b == b'*')
                || l.starts_with("PLEASE ATTACH THE FOLLOWING")
                || l.starts_with("Preprocessed source(s) and associated")
        };
        let rest = errors[begin..].lines().skip_while(is_rest).map(|l| format!("{l}\n"));
        self.errors = (errors[..begin].to_owned() + &rest.collect::<String>()).into_bytes();
    }

    /// Whether a link failed because there is no `main`, which the pass has named so.
    fn lacks_main(&self) -> bool {
        let errors = String::from_utf8_lossy(&self.errors);
        let is_said = |line: &str| line.contains("undefined") && line.contains(USER_MAIN);
        !self.status.success() && errors.lines().any(is_said)
    }

    /// Says what was held back. Only standard output can be of use to others, so only its loss is an error.
    fn show(&self) -> io::Result<()> {
        let _ = io::stderr().write_all(&self.errors);
        io::stdout().write_all(&self.output)?;
        io::stdout().flush()
    }

    /// The end of the driver, which is the compiler's: a signal that ended it ends the driver as well.
    fn end(&self) -> ExitCode {
        if let Some(signal) = self.status.signal().and_then(|number| Signal::try_from(number).ok()) {
            // The default action again, then the same end.
            let _ = nix::sys::signal::raise(signal);
        }
        self.status.code().map_or(ExitCode::FAILURE, |code| ExitCode::from(code as u8))
    }
}

/// A file that the compiler has just written for a report, and nothing else.
fn remove_report(path: &Path) {
    let directory = std::env::temp_dir();
    if path.parent().is_some_and(|p| p == directory) && path.is_file() {
        let _ = std::fs::remove_file(path);
    }
}

/// The compiler with its arguments, and what else its runs have in common.
pub struct Compilation<'a> {
    language: Language,
    compiler: &'a Path,
    arguments: Vec<OsString>,
    typed: &'a Typed,
    /// Standard input, where it is a source: each run reads it.
    input: Option<File>,
}

impl<'a> Compilation<'a> {
    /// Prepares the runs of a compiler that compiles something.
    ///
    /// # Errors
    /// Standard input is a source and cannot be kept.
    pub fn new(
        language: Language,
        compiler: &'a Path,
        mut arguments: Vec<OsString>,
        typed: &'a Typed,
    ) -> Result<Self, Error> {
        if has_colours() && !arguments.iter().any(|a| chooses_colours(&a.to_string_lossy())) {
            // The compiler writes to a pipe, where it would use none.
            arguments.insert(0, "-fcolor-diagnostics".into());
        }
        let input = typed.inputs.iter().any(|i| i.path.as_os_str() == "-").then(kept_input).transpose()?;
        Ok(Compilation { language, compiler, arguments, typed, input })
    }

    /// Runs the compiler until it does not fail at code of the pass, or nothing is left to leave out.
    ///
    /// # Errors
    /// The compiler cannot be started.
    pub fn run(&self) -> Result<ExitCode, Error> {
        let mut attempt = self.once(&[])?;
        let mut left_out = Vec::new();
        for more in [LOOPS, SWITCHES] {
            if !attempt.is_crash() {
                break;
            }
            let known = |name: &&&str| {
                !left_out.contains(*name) && !self.typed.own.disable.iter().any(|d| d == **name)
            };
            // Without it a program that polls plain variables does something else.
            let new: Vec<&str> = more.iter().filter(known).copied().filter(|name| *name != FLAGS).collect();
            if new.is_empty() {
                continue;
            }
            left_out.extend(new);
            let next = self.once(&left_out)?;
            let mut failed = std::mem::replace(&mut attempt, next);
            failed.forget_reports();
            if attempt.status.success() && !self.typed.quiet {
                eprintln!("{}", self.warning(&failed, &left_out));
            }
        }
        attempt.forget_reports();
        attempt.show().map_err(|source| self.failed(source))?;
        if attempt.is_out_of_reach() {
            eprintln!(
                "{}: note: code reaches static data within 2 GiB, and variables are further away: allocate large arrays (allocatable, malloc), or \
                 compile with -mcmodel=medium",
                self.language.driver()
            );
        }
        if attempt.lacks_main() {
            eprintln!(
                "{}: note: the program has no main function compiled by dsm-cc",
                self.language.driver()
            );
        }
        if attempt.is_crash() {
            eprintln!(
                "{}: note: it fails without optimisations of the checks, too; DSM_DISABLE=1 in the environment shows whether it fails without checks",
                self.language.driver()
            );
        }
        Ok(attempt.end())
    }

    fn warning(&self, failed: &Attempt, left_out: &[&str]) -> String {
        let names: Vec<_> = self.typed.compiled().map(|i| i.path.to_string_lossy()).collect();
        format!(
            "{}: warning: {}: compiled without optimisations of the checks ({}), because {} failed with them: {}",
            self.language.driver(),
            names.join(", "),
            left_out.join(","),
            self.language.stands_in_for(),
            failed.cause()
        )
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Exec { path: self.compiler.to_owned(), source }
    }

    /// Waits for the compiler, which ends when the driver does.
    fn once(&self, left_out: &[&str]) -> Result<Attempt, Error> {
        let mut own = self.typed.own.clone();
        own.disable.extend(left_out.iter().map(|name| (*name).to_owned()));
        let mut command = Command::new(self.compiler);
        command.args(&self.arguments).env(VARIABLE, own.pass_options()).stderr(Stdio::piped());
        command.stdout(match self.typed.output.as_deref() == Some(Path::new("-")) {
            true => Stdio::piped(),
            false => Stdio::inherit(),
        });
        let opened = self.input.as_ref().map(|file| File::open(descriptor(file))).transpose();
        command.stdin(opened.map_err(|e| self.failed(e))?.map_or(Stdio::inherit(), Stdio::from));
        // SAFETY: only a system call between fork and exec.
        unsafe {
            command.pre_exec(|| nix::sys::prctl::set_pdeathsig(Signal::SIGTERM).map_err(io::Error::from));
        }
        let result = command.spawn().and_then(std::process::Child::wait_with_output);
        let result = result.map_err(|e| self.failed(e))?;
        Ok(Attempt { status: result.status, output: result.stdout, errors: result.stderr })
    }
}

/// A copy of standard input that can be read again.
fn kept_input() -> Result<File, Error> {
    let mut text = Vec::new();
    let failed = |source| Error::Unreadable { path: PathBuf::from("-"), source };
    io::stdin().read_to_end(&mut text).map_err(failed)?;
    super::memory_file("standard input", &text)
}

/// A name under which the file can be opened anew.
pub fn descriptor(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Whether the argument is an option that says whether messages have colours.
fn chooses_colours(argument: &str) -> bool {
    argument.starts_with("-f")
        && (argument.contains("diagnostics-color") || argument.ends_with("color-diagnostics"))
}

fn has_colours() -> bool {
    let knows = |terminal: String| !terminal.is_empty() && terminal != "dumb";
    io::stderr().is_terminal() && std::env::var("TERM").is_ok_and(knows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(status: i32, errors: &str) -> Attempt {
        Attempt { status: ExitStatus::from_raw(status), output: vec![], errors: errors.into() }
    }

    #[test]
    fn failures_of_the_compiler_are_told_from_those_of_the_source() {
        let failed = 1 << 8;
        assert!(attempt(11, "").is_crash() && attempt(6, "").is_crash());
        assert!(!attempt(2, "").is_crash() && !attempt(9, "").is_crash() && !attempt(15, "").is_crash());
        assert!(attempt(failed, "clang: error: clang frontend command failed with exit code 139").is_crash());
        assert!(attempt(failed, &format!("x.c:3:1: error: {INVALID_CODE}\n")).is_crash());
        assert!(!attempt(failed, "x.c:3:1: error: use of undeclared identifier 'y'\n").is_crash());
        assert!(!attempt(failed, "clang: error: linker command failed with exit code 1\n").is_crash());
        assert!(!attempt(0, INVALID_CODE).is_crash());
    }

    #[test]
    fn only_options_choose_colours() {
        for option in [
            "-fcolor-diagnostics",
            "-fno-color-diagnostics",
            "-fdiagnostics-color=auto",
            "-fno-diagnostics-color",
        ] {
            assert!(chooses_colours(option), "{option}");
        }
        for other in ["color.c", "-Icolor", "-DCOLOR=color", "diagnostics-color.c"] {
            assert!(!chooses_colours(other), "{other}");
        }
    }

    #[test]
    fn static_data_out_of_reach() {
        let lld =
            "ld.lld: error: x.o:(.text+0x76): relocation R_X86_64_PC32 out of range: 2404198757 is not in";
        assert!(attempt(256, lld).is_out_of_reach());
        assert!(
            attempt(256, "x.f90:(.text+0x1): relocation truncated to fit: R_X86_64_PC32").is_out_of_reach()
        );
        assert!(!attempt(0, lld).is_out_of_reach() && !attempt(256, "undefined reference").is_out_of_reach());
    }

    #[test]
    fn programs_without_main() {
        let [lld, bfd] = ["undefined symbol: __dsm_user_main", "undefined reference to `__dsm_user_main'"];
        assert!(
            attempt(256, lld).lacks_main() && attempt(256, bfd).lacks_main() && !attempt(0, lld).lacks_main()
        );
        assert!(!attempt(256, "duplicate symbol: __dsm_user_main").lacks_main());
    }

    #[test]
    fn causes() {
        let text =
            "fatal error: error in backend: unsupported GC: no\nclang: error: clang frontend command failed";
        assert_eq!(attempt(256, text).cause(), "unsupported GC: no");
        assert_eq!(attempt(256, "x\nclang: error: clang frontend command failed").cause(), "it crashed");
        assert_eq!(attempt(256, &format!("x.c:1:2: error: {INVALID_CODE}")).cause(), INVALID_CODE);
    }

    #[test]
    fn what_is_said_of_reports_goes_and_the_rest_stays() {
        let stars = "*".repeat(20);
        let text = format!(
            "a\nclang: {REPORT}\n{stars}\n\nPLEASE ATTACH THE FOLLOWING FILES TO THE BUG REPORT:\n\
             Preprocessed source(s) and associated run script(s) are located at:\n\
             clang: {REPORT}/nowhere/x.c\nclang: {REPORT}\n\n{stars}\nb\n"
        );
        let mut attempt = attempt(256, &text);
        attempt.forget_reports();
        assert_eq!(String::from_utf8_lossy(&attempt.errors), "a\nb\n");
    }
}
