//! The sources of a directory.

use std::io;
use std::path::{Path, PathBuf};

/// Which compiler a source is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
    /// Fortran.
    Fortran,
}

impl Language {
    /// By the suffix, as compilers tell languages apart.
    fn of(path: &Path) -> Option<Language> {
        match path.extension()?.to_str()? {
            "c" => Some(Language::C),
            "C" | "cc" | "cpp" | "cxx" | "c++" => Some(Language::Cxx),
            "f" | "F" | "for" | "f90" | "F90" | "f95" | "F95" | "f03" | "F03" | "f08" | "F08" => {
                Some(Language::Fortran)
            }
            _ => None,
        }
    }

    /// The driver's name for it.
    pub fn driver(self) -> &'static str {
        match self {
            Language::C => "dsm-cc",
            Language::Cxx => "dsm-c++",
            Language::Fortran => "dsm-fc",
        }
    }
}

/// A source file.
#[derive(Debug, Clone)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// What it is written in.
    pub language: Language,
}

/// The sources at and below `path`, in the order of their names; links to directories are not followed.
pub fn under(path: &Path) -> io::Result<Vec<Source>> {
    let mut found = Vec::new();
    if std::fs::metadata(path)?.is_dir() {
        walk(path, &mut found)?;
    } else if let Some(language) = Language::of(path) {
        found.push(Source { path: path.to_owned(), language });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn walk(directory: &Path, found: &mut Vec<Source>) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            walk(&path, found)?;
        } else if let Some(language) = Language::of(&path) {
            found.push(Source { path, language });
        }
    }
    Ok(())
}
