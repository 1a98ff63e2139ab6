//! A program whose OpenMP directives were all compiled without `-fopenmp`: it has one thread, and would make several processes wait for one.
//! Build systems that look for "gcc" or "clang" in the compiler's name leave the option out.

use std::path::{Path, PathBuf};

use crate::elf::{self, FileKind, Member, Unit};

use super::arguments::Typed;
use super::objects;

/// The warning about the program that was linked, if it deserves one.
pub fn warning(typed: &Typed, driver: &str) -> Option<String> {
    if typed.serial {
        return None;
    }
    let path = typed.output.clone().unwrap_or_else(|| "a.out".into());
    let Ok(FileKind::Program(program)) = elf::inspect(&path) else { return None };
    let (file, line) = program.ignored_directive.as_ref()?;
    if program.uses_openmp || objects::files(typed).iter().any(has_openmp) {
        return None;
    }
    Some(format!(
        "{driver}: warning: {} has no OpenMP in it: the directives in its sources (such as {file}:{line}) were compiled without -fopenmp; \
         add -fopenmp to the compiler's options (a Makefile may do that only if it finds gcc or clang in $(CC)), or \
         -fno-openmp to the linker's if one thread is meant",
        path.display()
    ))
}

/// Whether a file on the link line uses OpenMP, whoever compiled it.
fn has_openmp(path: &PathBuf) -> bool {
    let uses = |unit: &Unit| unit.uses_openmp || unit.missing.iter().any(|name| is_openmp(name));
    match elf::inspect(Path::new(path)) {
        Ok(FileKind::Object(unit) | FileKind::SharedLibrary(unit) | FileKind::Bitcode(unit)) => uses(&unit),
        Ok(FileKind::Archive(members)) => members
            .iter()
            .any(|(_, member)| matches!(member, Member::Object(unit) | Member::Bitcode(unit) if uses(unit))),
        _ => false,
    }
}

fn is_openmp(symbol: &str) -> bool {
    ["__kmpc_", "omp_", "GOMP_"].iter().any(|prefix| symbol.starts_with(prefix))
}
