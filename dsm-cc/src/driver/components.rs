//! Finding the compiler, the plugin and the runtime.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::error::Error;

/// The compiler that a driver stands in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `dsm-cc`: clang.
    C,
    /// `dsm-c++`: clang++.
    Cxx,
    /// `dsm-fc`: flang.
    Fortran,
}

impl Language {
    /// Name of the driver.
    pub fn driver(self) -> &'static str {
        match self {
            Language::C => "dsm-cc",
            Language::Cxx => "dsm-c++",
            Language::Fortran => "dsm-fc",
        }
    }

    fn compiler(self) -> (&'static str, &'static str) {
        match self {
            Language::C => ("clang-22", "DSM_CLANG"),
            Language::Cxx => ("clang++-22", "DSM_CLANGXX"),
            Language::Fortran => ("flang-22", "DSM_FLANG"),
        }
    }

    /// The compiler to become: the variable's value, or the pinned version from PATH or LLVM's own folder.
    pub fn find_compiler(self) -> Result<PathBuf, Error> {
        let (name, variable) = self.compiler();
        if let Some(path) = env::var_os(variable).map(PathBuf::from) {
            return if executable(&path) { Ok(path) } else { Err(Error::BadCompiler { variable, path }) };
        }
        let plain = name.trim_end_matches("-22");
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path)
            .map(|dir| dir.join(name))
            .chain([Path::new("/usr/lib/llvm-22/bin").join(plain)])
            .find(|p| executable(p))
            .ok_or(Error::NoCompiler { name, variable })
    }
}

fn executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// File name of the plugin.
pub const PLUGIN: &str = "libdsm_pass.so";
/// File name of the runtime.
pub const RUNTIME: &str = "libdsm_rt.a";

/// A part of the toolchain: beside the driver (build tree), or in `../lib/dsm` (installed).
pub fn find(file: &'static str) -> Result<PathBuf, Error> {
    let own = env::current_exe().and_then(|p| p.canonicalize()).unwrap_or_default();
    let beside = own.parent().unwrap_or(Path::new("/"));
    let installed = beside.parent().unwrap_or(Path::new("/")).join("lib/dsm");
    let looked = [beside.join(file), installed.join(file)];
    looked.iter().find(|p| p.is_file()).cloned().ok_or_else(|| Error::NoComponent {
        file,
        looked: looked.iter().map(|p| p.display().to_string()).collect(),
    })
}
