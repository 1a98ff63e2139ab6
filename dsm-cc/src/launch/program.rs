//! Finding the program and judging it before any process starts.

use std::env;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use dsm_abi::ABI_VERSION;

use crate::elf::{self, FileKind};

use super::Error;

/// The program's file: as named if the name has a slash, else from the directories of `path`.
pub fn find(name: &OsStr, path: &OsStr) -> Result<PathBuf, Error> {
    let as_named = Path::new(name);
    if as_named.components().count() > 1 || name.as_encoded_bytes().contains(&b'/') {
        return executable(as_named);
    }
    if let Some(found) = env::split_paths(path).map(|d| d.join(name)).find(|p| executable(p).is_ok()) {
        return Ok(found);
    }
    let hint = if as_named.is_file() {
        format!(" in PATH; for the one in this directory write ./{}", as_named.display())
    } else {
        " in PATH".into()
    };
    Err(Error::NotFound { program: as_named.to_owned(), hint })
}

fn executable(path: &Path) -> Result<PathBuf, Error> {
    let cannot = |reason: String| Err(Error::CannotRun { program: path.to_owned(), reason });
    match path.metadata() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::NotFound { program: path.to_owned(), hint: String::new() })
        }
        Err(e) => cannot(e.to_string()),
        Ok(m) if m.is_dir() => cannot("is a directory".into()),
        Ok(m) if m.permissions().mode() & 0o111 == 0 => {
            cannot("is not executable; is it the program, and does chmod +x help?".into())
        }
        Ok(_) => Ok(path.to_owned()),
    }
}

/// Whether dsm-cc linked it, for this version of the runtime.
pub fn check(path: &Path) -> Result<(), Error> {
    let cannot = |reason: String| Err(Error::CannotRun { program: path.to_owned(), reason });
    let unit = match elf::inspect(path) {
        Ok(FileKind::Program(unit)) => unit,
        Ok(FileKind::Object(_)) => return cannot("is an object, not a program; link it with dsm-cc".into()),
        Ok(_) => {
            return cannot(
                "is not a program built by dsm-cc; if it is a script or a tool that starts one, use --unchecked".into(),
            );
        }
        Err(e) => return cannot(e.to_string()),
    };
    match unit.notes.iter().find(|n| n.abi_version != ABI_VERSION) {
        _ if unit.notes.is_empty() => cannot(
            "was not built by dsm-cc, so its processes would not share memory; compile and link it with dsm-cc".into(),
        ),
        Some(note) => cannot(format!(
            "was built for ABI version {}, this launcher has {ABI_VERSION}; build it again or use the dsm-run it was built with",
            note.abi_version
        )),
        None => Ok(()),
    }
}
