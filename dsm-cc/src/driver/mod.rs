//! The compiler drivers: read what was typed ([`arguments`]), turn it into clang's argument vector ([`edit`]), become clang.

pub mod arguments;
pub mod components;
pub mod edit;
pub mod error;
pub mod objects;
pub mod own;
pub mod response;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use nix::sys::memfd::{MFdFlags, memfd_create};

use arguments::Typed;
use components::{HEADERS, Language, PLUGIN, RUNTIME};
use edit::Parts;
use error::Error;

/// Environment variable that carries the driver's options to the plugin.
pub const PASS_VARIABLE: &str = "DSM_PASS_OPTIONS";

/// Runs the driver on the process's arguments; returns only if there is nothing for the compiler to do.
pub fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let language = Language::of_program(&words.next().unwrap_or_default());
    let arguments = words.collect();
    match run(language, arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{}: error: {error}", language.driver());
            ExitCode::FAILURE
        }
    }
}

fn run(language: Language, arguments: Vec<OsString>) -> Result<ExitCode, Error> {
    if arguments.first().is_some_and(|a| a == "--dsm-check") {
        return check_files(&arguments[1..]);
    }
    let arguments = response::expand(arguments)?;
    let mut typed = Typed::read(&arguments)?;
    if language == Language::Fortran {
        typed.front_end = edit::FLANG;
    }
    let compiler = language.find_compiler()?;
    if std::env::var_os("DSM_DISABLE").is_some_and(|v| !v.is_empty() && v != "0") {
        return become_compiler(&compiler, edit::plain(&arguments), None);
    }
    announce(language, &arguments);
    if typed.query || typed.inputs.is_empty() {
        return become_compiler(&compiler, edit::plain(&arguments), None);
    }
    if let Some((option, reason)) = &typed.refused {
        return Err(Error::Refused { option: option.clone(), reason });
    }
    let mut parts = Parts::default();
    if typed.reads_text() && language != Language::Fortran {
        parts.cxx_headers = Some(components::find(HEADERS)?);
    }
    if typed.compiles() {
        parts.plugin = Some(components::find(PLUGIN)?);
    }
    if typed.reads_sources() && language != Language::Fortran {
        parts.headers = components::find_headers();
    }
    let mut script = None;
    if typed.links() {
        objects::check(&typed, language.driver())?;
        if !typed.relocatable && !typed.shared && !typed.by_hand {
            parts.runtime = Some(components::find(RUNTIME)?);
            let file = linker_script()?;
            parts.script = Some(format!("/proc/self/fd/{}", file.as_raw_fd()));
            script = Some(file);
        }
    }
    let options = typed.own.pass_options();
    let result = become_compiler(&compiler, edit::edit(&arguments, &typed, &parts), Some(&options));
    drop(script);
    result
}

/// The linker script as a file without a name: the linker inherits the descriptor, and nothing is left behind.
fn linker_script() -> Result<File, Error> {
    let failed = |source: io::Error| Error::MemoryFile { purpose: "the linker script", source };
    let fd = memfd_create(c"dsm-link.ld", MFdFlags::empty()).map_err(|e| failed(e.into()))?;
    let mut file = File::from(fd);
    file.write_all(include_bytes!("link.ld")).map_err(failed)?;
    Ok(file)
}

fn check_files(paths: &[OsString]) -> Result<ExitCode, Error> {
    if paths.is_empty() {
        return Err(Error::NothingToCheck);
    }
    for path in paths {
        println!("{}", objects::describe(Path::new(path))?);
    }
    Ok(ExitCode::SUCCESS)
}

/// What the driver says before the compiler does.
fn announce(language: Language, arguments: &[OsString]) {
    let name = language.driver();
    if arguments.iter().any(|a| a == "--version") {
        println!(
            "{name} {} (a driver for {} version 22)",
            env!("CARGO_PKG_VERSION"),
            language.stands_in_for()
        );
    }
    if arguments.iter().any(|a| a == "--help") {
        println!("USAGE: {name} [options] file...\n");
        println!("{name} takes every option of the compiler and adds:\n");
        println!("{}", own::help());
        println!("  --dsm-check <file>...\n      Tell how objects, libraries and programs were compiled.\n");
        println!(
            "DSM_DISABLE=1 in the environment makes it the plain compiler. The compiler's own help follows.\n"
        );
    }
}

fn become_compiler(
    compiler: &Path,
    arguments: Vec<OsString>,
    options: Option<&str>,
) -> Result<ExitCode, Error> {
    let mut command = Command::new(compiler);
    command.args(arguments);
    if let Some(options) = options {
        command.env(PASS_VARIABLE, options);
    }
    Err(Error::Exec { path: compiler.to_owned(), source: command.exec() })
}
