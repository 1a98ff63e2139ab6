//! The program for each line size: as it is, or built by the user's command and kept.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

use super::Error;
use super::options::Options;
use super::store::PROGRAMS;
use crate::elf::{self, FileKind};
use crate::execute::{self, quoted};
use crate::launch::program;
use crate::tools::Tools;

/// Line size that the compilers take unless told otherwise.
const USUAL_LINE: u32 = 1 << dsm_abi::state::DEFAULT_LINE_SHIFT;
/// How much longer than a run a build may take.
const BUILD_FACTOR: u32 = 10;
/// Lines of a failed build's messages that are shown.
const MESSAGE_LINES: usize = 20;

/// Programs by line size.
pub type Programs = BTreeMap<u32, PathBuf>;

/// What identifies the program that runs as it is; `None` if it is built.
///
/// # Errors
/// If it is missing.
pub fn digest(options: &Options) -> Result<Option<String>, Error> {
    if options.build.is_some() {
        return Ok(None);
    }
    let path = find(options)?;
    let contents = fs::read(&path)
        .map_err(|source| Error::System { what: format!("read {}", path.display()), source })?;
    Ok(Some(Sha256::digest(contents).iter().map(|byte| format!("{byte:02x}")).collect()))
}

fn find(options: &Options) -> Result<PathBuf, Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = program::find(options.program(), &path).map_err(|error| Error::Program(error.to_string()))?;
    program::check(&found).map_err(|error| Error::Program(error.to_string()))?;
    fs::canonicalize(&found)
        .map_err(|source| Error::System { what: format!("find {}", found.display()), source })
}

/// Bytes of the lines that a program was compiled for.
fn line_of(path: &Path) -> Result<u32, Error> {
    let failed = |source| Error::System { what: format!("read {}", path.display()), source };
    match elf::inspect(path).map_err(failed)? {
        FileKind::Program(unit) if !unit.notes.is_empty() => Ok(1 << unit.notes[0].line_shift),
        _ => Err(Error::Program(format!("{}: is no program built by dsm-cc", path.display()))),
    }
}

/// Finds or builds the programs. Those that were built before in `directory` stay as they are.
///
/// # Errors
/// If the program is missing, does not build, or has other lines than it should.
pub fn prepare(options: &Options, tools: &Tools, directory: &Path) -> Result<Programs, Error> {
    let wanted = options.line.as_ref().map(|sizes| sizes.0.clone());
    let Some(command) = &options.build else {
        let path = find(options)?;
        let line = line_of(&path)?;
        return match wanted {
            Some(wanted) if wanted != [line] => Err(Error::NeedsBuild { line }),
            _ => Ok([(line, path)].into()),
        };
    };
    let mut programs = Programs::new();
    for line in wanted.unwrap_or(vec![USUAL_LINE]) {
        let place = directory.join(PROGRAMS).join(format!("line-{line}"));
        let kept = place.join(options.name());
        if !kept.exists() {
            build(options, tools, command, line, &place)?;
            keep(&find(options)?, &kept, line)?;
        }
        programs.insert(line, kept);
    }
    Ok(programs)
}

fn build(options: &Options, tools: &Tools, command: &str, line: u32, place: &Path) -> Result<(), Error> {
    let text = expand(command, &options.flags, line, |name| tools.path(name));
    if !options.quiet {
        eprintln!("dsm-sweep: {text}");
    }
    let failed = |source| Error::System { what: format!("run `{text}`"), source };
    fs::create_dir_all(place).map_err(failed)?;
    let mut shell = Command::new("sh");
    shell.args(["-c", &text]);
    let outcome = execute::run(shell, place, options.time_limit() * BUILD_FACTOR).map_err(failed)?;
    if execute::interrupted() {
        return Err(Error::Interrupted);
    }
    if !outcome.succeeded() {
        let lines: Vec<&str> = outcome.errors.lines().collect();
        let last = lines[lines.len().saturating_sub(MESSAGE_LINES)..].join("\n");
        return Err(Error::Build { command: text, end: outcome.end.to_string(), errors: last });
    }
    Ok(())
}

/// The command with its placeholders filled in. Behind an equals sign the flags are one word of the shell, else several.
fn expand(command: &str, flags: &str, line: u32, tool: impl Fn(&str) -> PathBuf) -> String {
    let flags = format!("{flags} -fdsm-line={line}");
    let mut text = command.replace("={flags}", &format!("={}", quoted(&flags))).replace("{flags}", &flags);
    text = text.replace("{line}", &line.to_string());
    for (place, name) in [("{cc}", "dsm-cc"), ("{cxx}", "dsm-c++"), ("{fc}", "dsm-fc")] {
        text = text.replace(place, &quoted(&tool(name).to_string_lossy()));
    }
    text
}

/// Copies the program that was built, which has to have these lines.
fn keep(built: &Path, kept: &Path, line: u32) -> Result<(), Error> {
    let found = line_of(built)?;
    if found != line {
        return Err(Error::WrongLine { program: built.to_owned(), found, line });
    }
    let partial = kept.with_file_name("partial");
    let copied = fs::copy(built, &partial).and_then(|_| fs::rename(&partial, kept));
    copied.map_err(|source| Error::System {
        what: format!("copy {} to {}", built.display(), kept.display()),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_become_words_of_the_shell() {
        let text = |command: &str| expand(command, "-O2 -g", 64, |name| Path::new("/opt/d s m").join(name));
        assert_eq!(
            text("make CC={cc} CFLAGS={flags} L={line}"),
            "make CC='/opt/d s m/dsm-cc' CFLAGS='-O2 -g -fdsm-line=64' L=64"
        );
        assert_eq!(text("{fc} {flags} x.f90"), "'/opt/d s m/dsm-fc' -O2 -g -fdsm-line=64 x.f90");
    }
}
