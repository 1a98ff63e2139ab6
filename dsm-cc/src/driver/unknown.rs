//! Calls that hand shared memory to functions without checks: what the pass wrote into the notes of the objects, less what has checks.
//!
//! Only the linked program tells which calls are left, which functions it brings itself, and which come from shared libraries; so it is looked at when
//! it is there. A function has checks if instrumented code defines it: an object, a member of a static library, or a shared library with a
//! note. What the compiler adds to the link by itself (start files, the libraries of the languages) is never named.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use crate::elf::{self, FileKind, Member, Unit, UnknownCall};

use super::arguments::Typed;
use super::objects;

/// Where the system's libraries are.
const SYSTEM_DIRECTORIES: [&str; 5] =
    ["/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];

/// What else is part of the program.
#[derive(Default)]
struct Surroundings {
    /// Functions of files on the command line that have checks.
    checked: HashSet<String>,
    /// Functions of such files that have none.
    plain: HashSet<String>,
    /// Shared libraries with a note.
    libraries: Vec<Unit>,
}

/// Warnings about the program that was linked, in order of their places.
pub fn warnings(typed: &Typed) -> Vec<String> {
    let program = typed.output.clone().unwrap_or_else(|| "a.out".into());
    let Ok(FileKind::Program(program)) = elf::inspect(&program) else { return vec![] };
    let surroundings = Surroundings::of(typed);
    let calls = program.calls.iter().chain(surroundings.libraries.iter().flat_map(|l| &l.calls));
    let calls: Vec<&UnknownCall> =
        calls.filter(|call| surroundings.lacks_checks(&call.function, &program)).collect();
    describe(&calls)
}

impl Surroundings {
    fn of(typed: &Typed) -> Surroundings {
        let mut out = Surroundings::default();
        let system = SYSTEM_DIRECTORIES.map(PathBuf::from);
        let named = typed
            .libraries
            .iter()
            .filter(|name| objects::library(name, &typed.library_directories).is_none());
        let named = named.filter_map(|name| objects::library(name, &system));
        for path in objects::files(typed).into_iter().chain(named) {
            out.add(&path);
        }
        out
    }

    fn add(&mut self, path: &Path) {
        match elf::inspect(path) {
            Ok(FileKind::Object(unit)) => self.add_object(unit),
            Ok(FileKind::SharedLibrary(unit)) if !unit.notes.is_empty() => self.libraries.push(unit),
            Ok(FileKind::Archive(members)) => {
                for (_, member) in members {
                    if let Member::Object(unit) = member {
                        self.add_object(unit);
                    }
                }
            }
            _ => {}
        }
    }

    fn add_object(&mut self, unit: Unit) {
        let to = if unit.notes.is_empty() { &mut self.plain } else { &mut self.checked };
        to.extend(unit.functions);
    }

    fn lacks_checks(&self, function: &str, program: &Unit) -> bool {
        let in_library = self.libraries.iter().any(|library| library.functions.contains(function));
        if program.functions.contains(function) || !is_missing(function, program, &self.libraries) {
            return self.plain.contains(function) && !self.checked.contains(function);
        }
        !in_library
    }
}

/// Whether the program or one of the libraries takes the function from elsewhere.
fn is_missing(function: &str, program: &Unit, libraries: &[Unit]) -> bool {
    program.missing.contains(function) || libraries.iter().any(|library| library.missing.contains(function))
}

/// A line for each function, with its first call.
fn describe(calls: &[&UnknownCall]) -> Vec<String> {
    let mut functions: BTreeMap<&str, (&UnknownCall, u32)> = BTreeMap::new();
    for call in calls {
        let (first, sum) = functions.entry(&call.function).or_insert((call, 0));
        *sum += call.calls;
        *first = (*first).min(call);
    }
    let mut lines: Vec<(&UnknownCall, u32)> = functions.into_values().collect();
    lines.sort_by_key(|(call, _)| (&call.file, call.line));
    lines.iter().map(|(call, sum)| line(call, *sum)).collect()
}

fn line(call: &UnknownCall, sum: u32) -> String {
    let place = if call.line == 0 { call.file.clone() } else { format!("{}:{}", call.file, call.line) };
    let more = match sum {
        1 => String::new(),
        2 => " (and in one more call)".to_owned(),
        _ => format!(" (and in {} more calls)", sum - 1),
    };
    format!(
        "{place}: warning: `{}` gets a pointer to memory that processes may share{more}, but was not compiled by dsm-cc: its accesses are not \
         checked; compile it with dsm-cc, or say what it reads and writes (-fdsm-effects, DSM_EFFECTS in <dsm.h>)",
        demangled(&call.function)
    )
}

/// A function's name as its source has it.
pub fn demangled(symbol: &str) -> String {
    // Names of C may look like those of types.
    let mangled = symbol.starts_with("_Z").then(|| cpp_demangle::Symbol::new(symbol).ok()).flatten();
    mangled.and_then(|symbol| symbol.demangle().ok()).unwrap_or_else(|| symbol.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(functions: &[&str], missing: &[&str]) -> Unit {
        let set = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        Unit { functions: set(functions), missing: set(missing), ..Unit::default() }
    }

    fn call(function: &str, file: &str, line: u32) -> UnknownCall {
        UnknownCall { function: function.into(), file: file.into(), line, calls: 1 }
    }

    #[test]
    fn what_is_defined_with_checks_is_known() {
        let program = unit(&["own", "archived", "both"], &["imported", "shared"]);
        let set = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        let surroundings = Surroundings {
            checked: set(&["both"]),
            plain: set(&["archived", "both"]),
            libraries: vec![unit(&["shared"], &["own", "deep"])],
        };
        let lacking = ["own", "archived", "both", "imported", "shared", "deep", "removed"];
        let lacking: Vec<&str> =
            lacking.into_iter().filter(|f| surroundings.lacks_checks(f, &program)).collect();
        assert_eq!(lacking, ["archived", "imported", "deep"]);
    }

    #[test]
    fn a_function_is_named_once() {
        let calls = [call("f", "b.c", 4), call("_ZN1a1bEPi", "a.c", 9), call("f", "a.c", 2)];
        let lines = describe(&calls.iter().collect::<Vec<_>>());
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("a.c:2: warning: `f` gets") && lines[0].contains("in one more call"),
            "{lines:?}"
        );
        assert!(lines[1].starts_with("a.c:9: warning: `a::b(int*)` gets a pointer"), "{lines:?}");
    }
}
