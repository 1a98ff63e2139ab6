//! Finding the compiler, the plugin and the runtime.

use std::env;
use std::ffi::OsStr;
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
    /// All of them; each is a name of the one driver program.
    pub const ALL: [Language; 3] = [Language::C, Language::Cxx, Language::Fortran];

    /// What the driver stands in for if it is called `program`; a prefix (`x86_64-linux-gnu-dsm-c++`) does not matter.
    pub fn of_program(program: &OsStr) -> Language {
        let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
        let called = |language: &Language| name.ends_with(language.driver());
        Language::ALL.into_iter().find(called).unwrap_or(Language::C)
    }

    /// Name of the driver.
    pub fn driver(self) -> &'static str {
        match self {
            Language::C => "dsm-cc",
            Language::Cxx => "dsm-c++",
            Language::Fortran => "dsm-fc",
        }
    }

    /// What its sources are written in.
    pub fn takes(self) -> &'static str {
        match self {
            Language::C | Language::Cxx => "C and C++",
            Language::Fortran => "Fortran",
        }
    }

    /// The driver for sources that this one does not take.
    pub fn counterpart(self) -> &'static str {
        match self {
            Language::C | Language::Cxx => "dsm-fc",
            Language::Fortran => "dsm-cc or dsm-c++",
        }
    }

    /// Name of the compiler, without a version.
    pub fn stands_in_for(self) -> &'static str {
        self.compiler().0.trim_end_matches("-22")
    }

    /// The environment variable that names another compiler.
    pub fn variable(self) -> &'static str {
        self.compiler().1
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
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path)
            .map(|dir| dir.join(name))
            .chain([Path::new("/usr/lib/llvm-22/bin").join(self.stands_in_for())])
            .find(|p| executable(p))
            .ok_or(Error::NoCompiler { name, variable })
    }
}

/// Whether LLVM's linker is where the compiler is, which then finds it by `-fuse-ld=lld`.
pub fn has_lld(compiler: &Path) -> bool {
    let compiler = compiler.canonicalize().unwrap_or_default();
    compiler.parent().is_some_and(|directory| executable(&directory.join("ld.lld")))
}

/// A tool of LLVM: beside the compiler, or in LLVM's own folder.
pub fn find_tool(compiler: &Path, name: &'static str) -> Result<PathBuf, Error> {
    let real = compiler.canonicalize().unwrap_or_default();
    let beside = real.parent().unwrap_or(Path::new("/"));
    let looked = [beside.join(name), Path::new("/usr/lib/llvm-22/bin").join(name)];
    let found = looked.into_iter().find(|path| executable(path));
    found.ok_or_else(|| Error::NoTool { name, compiler: compiler.to_owned() })
}

fn executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// File name of the plugin.
pub const PLUGIN: &str = "libdsm_pass.so";
/// Directory of the headers that go before those of the C++ library.
pub const HEADERS: &str = "dsm-include";
/// Directory of Fortran's module files.
pub const MODULES: &str = "dsm-modules";
/// The runtime: what `scripts/link-runtime.sh` makes of the archive that cargo builds.
pub const RUNTIME: &str = "dsm-runtime/libdsm_rt.a";
/// The same with its debug information.
pub const RUNTIME_WITH_DEBUG: &str = "dsm-runtime/libdsm_rt_debug.a";
/// What stands in front of a shared libstdc++ for exceptions.
pub const EXCEPTIONS_ARCHIVE: &str = "dsm-runtime/libdsm_rt_exceptions.a";
/// The archive that cargo builds.
const BUILT_RUNTIME: &str = "libdsm_rt.a";

/// Directory of the header that says which templates of the C++ library are compiled.
pub const TEMPLATES: &str = "dsm-templates";
/// The archive with the object that `scripts/compile-templates.sh` makes of them.
pub const TEMPLATES_ARCHIVE: &str = "dsm-templates/libdsm_templates.a";

/// File name of the launcher, which is always beside the driver.
pub const LAUNCHER: &str = "dsm-run";

/// A part of the toolchain: beside the driver (build tree), or in `../lib/dsm` (installed).
pub fn find(file: &'static str) -> Result<PathBuf, Error> {
    let own = env::current_exe().and_then(|p| p.canonicalize()).unwrap_or_default();
    let beside = own.parent().unwrap_or(Path::new("/"));
    let installed = beside.parent().unwrap_or(Path::new("/")).join("lib/dsm");
    let looked = [beside.join(file), installed.join(file)];
    looked.iter().find(|p| p.exists()).cloned().ok_or_else(|| Error::NoComponent {
        file,
        looked: looked.iter().map(|p| p.display().to_string()).collect(),
    })
}

/// The runtime, with or without its debug information. In a build tree it may be older than what cargo has built.
pub fn find_runtime(with_debug: bool) -> Result<PathBuf, Error> {
    let found = find(if with_debug { RUNTIME_WITH_DEBUG } else { RUNTIME })?;
    let changed = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    let built = found.ancestors().nth(2).map(|beside| beside.join(BUILT_RUNTIME));
    match built.filter(|built| changed(built) > changed(&found)) {
        Some(built) => Err(Error::StaleRuntime { found, built }),
        None => Ok(found),
    }
}

/// The directory of the C header that programs may include: `include` in [`find`]'s directories, or the source tree of a build tree.
pub fn find_headers() -> Option<PathBuf> {
    let own = env::current_exe().and_then(|p| p.canonicalize()).unwrap_or_default();
    let beside = own.parent()?;
    let up = |levels: usize| beside.ancestors().nth(levels);
    let looked = [
        Some(beside.join("include")),
        up(1).map(|d| d.join("lib/dsm/include")),
        up(2).map(|d| d.join("runtime/include")),
    ];
    looked.into_iter().flatten().find(|dir| dir.join("dsm.h").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_knows_the_variables_of_the_driver() {
        for language in Language::ALL {
            assert!(dsm_config::VARIABLES.iter().any(|v| v.name == language.variable()), "{language:?}");
        }
    }

    #[test]
    fn the_name_decides() {
        for (name, language) in [
            ("dsm-cc", Language::C),
            ("/usr/bin/dsm-c++", Language::Cxx),
            ("./dsm-fc", Language::Fortran),
            ("x86_64-linux-gnu-dsm-c++", Language::Cxx),
            ("cc", Language::C),
            ("/dsm-c++/dsm-cc", Language::C),
            ("", Language::C),
        ] {
            assert_eq!(Language::of_program(OsStr::new(name)), language, "{name}");
        }
    }
}
