//! The compiler drivers: read what was typed ([`arguments`]), turn it into clang's argument vector ([`edit`]), become clang.

pub mod arguments;
pub mod attempts;
pub mod components;
pub mod edit;
pub mod error;
pub mod objects;
pub mod openmp;
pub mod own;
pub mod refusals;
pub mod response;
pub mod unknown;
pub mod wrap;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::UNIX_EPOCH;

use dsm_abi::layout::STATE_BASE;
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::say;
use arguments::Typed;
use attempts::Compilation;
use components::{
    EXCEPTIONS_ARCHIVE, HEADERS, LAUNCHER, Language, MODULES, PLUGIN, TEMPLATES, TEMPLATES_ARCHIVE,
};
use edit::Parts;
use error::Error;
use objects::Needs;
use wrap::Wraps;

/// `image.c`, compiled.
const IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/image.o"));
/// What programs show to libraries.
const VERSIONS: &[u8] = include_bytes!("versions.ld");
/// What libraries show.
const LIBRARY_VERSIONS: &[u8] = include_bytes!("library_versions.ld");
/// What stands in front of functions of the shared libstdc++; a static one has the functions itself.
const BEFORE_LIBSTDCXX: [&[u8]; 2] = [
    include_bytes!(concat!(env!("OUT_DIR"), "/facets.o")),
    include_bytes!(concat!(env!("OUT_DIR"), "/filesystem.o")),
];

/// Why a program in Fortran cannot wrap `free`.
const FORTRAN_FREES: &str = "flang's library frees memory of the program, and was not compiled by dsm-cc; leave the option out and have the sources call the wrapper";

/// Why the system's libraries cannot be left out of a program.
const NO_RUNTIME: &str =
    "a program needs the runtime, which such a link leaves out; link with the driver without the option";

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
    if typed.help && !is_disabled() {
        return print(&own::help(language));
    }
    let compiler = language.find_compiler()?;
    if arguments.iter().any(|a| a == "--dsm-version") {
        return print_version(language, &compiler);
    }
    if is_disabled() {
        return become_compiler(&compiler, edit::plain(&arguments));
    }
    announce(language, &compiler, &arguments)?;
    if typed.query || !typed.has_inputs() {
        return become_compiler(&compiler, edit::plain(&arguments));
    }
    refuse(language, &typed)?;
    let mut parts = compile_parts(language, &typed)?;
    let mut files = Vec::new();
    let mut wraps = Wraps::default();
    if typed.links() {
        let needs = objects::check(&typed, language.driver())?;
        wraps = Wraps::read(&typed)?;
        let (typed, arguments, compiler, wraps) = (&typed, &*arguments, &*compiler, &wraps);
        let link = Link { language, typed, arguments, compiler, needs, wraps };
        link.add_parts(&mut parts, &mut files)?;
    }
    let arguments = edit::edit(&wraps.arguments(&arguments), &typed, &parts);
    let program = typed.links() && !typed.relocatable && !typed.shared && !typed.quiet;
    if typed.dry || !(program || typed.compiles()) {
        let result = become_compiler(&compiler, arguments);
        drop(files);
        return result;
    }
    let status = Compilation::new(language, &compiler, arguments, &typed)?.run()?;
    if program && status == ExitCode::SUCCESS {
        unknown::warnings(&typed).iter().for_each(|line| eprintln!("{line}"));
        openmp::warning(&typed, language.driver()).iter().for_each(|line| eprintln!("{line}"));
    }
    Ok(status)
}

/// Whether what was typed can work.
fn refuse(language: Language, typed: &Typed) -> Result<(), Error> {
    let refused_link = typed.refusals.at_links().filter(|_| typed.links());
    if let Some((option, reason)) = typed.refusals.anywhere().or(refused_link) {
        return Err(Error::Refused { option, reason: reason.into() });
    }
    if let Some(option) = typed.leaves_runtime_out() {
        return Err(Error::Refused { option: option.into(), reason: NO_RUNTIME.into() });
    }
    if let Some(path) = typed.foreign_source(language) {
        return Err(Error::ForeignSource { path: path.to_owned(), language });
    }
    Ok(())
}

/// What a compilation takes.
fn compile_parts(language: Language, typed: &Typed) -> Result<Parts, Error> {
    let mut parts = Parts::default();
    if typed.reads_text() && language != Language::Fortran {
        parts.cxx_headers = Some(components::find(HEADERS)?);
        // A build tree without them instantiates them in each source.
        parts.templates =
            Some(TEMPLATES).filter(|_| typed.own.is_usual()).and_then(|t| components::find(t).ok());
    }
    if typed.compiles() {
        parts.plugin = Some(components::find(PLUGIN)?);
    }
    if typed.reads_sources() && language != Language::Fortran {
        parts.headers = components::find_headers();
    }
    if typed.reads_sources() && language == Language::Fortran {
        parts.modules = Some(components::find(MODULES)?);
    }
    Ok(parts)
}

/// What a link depends on.
struct Link<'a> {
    language: Language,
    typed: &'a Typed,
    arguments: &'a [OsString],
    compiler: &'a Path,
    needs: Needs,
    wraps: &'a Wraps,
}

impl Link<'_> {
    /// Adds what the link takes; `files` are those that the linker inherits.
    fn add_parts(&self, parts: &mut Parts, files: &mut Vec<File>) -> Result<(), Error> {
        let Link { language, typed, compiler, needs, wraps, .. } = *self;
        if language == Language::Fortran && wraps.replaces("free") {
            return Err(Error::Refused { option: "--wrap=free".into(), reason: FORTRAN_FREES.into() });
        }
        parts.lld = may_link_with_lld(language, typed, needs) && components::has_lld(compiler);
        parts.program_wraps_free = wraps.replaces("free");
        if typed.relocatable {
            return Ok(());
        }
        // The linker takes it where an object refers to it.
        let templates = components::find(TEMPLATES_ARCHIVE).ok();
        parts.templates_archive = templates.map(|path| archive(path, wraps, compiler, files)).transpose()?;
        // The compiler of C++ names the C++ library itself, be it the static one.
        parts.libstdcxx = needs.templates && language != Language::Cxx;
        parts.bind_now = typed.shared || needs.indirect_functions;
        // Build systems name the start files of shared libraries themselves.
        let program = !typed.shared && typed.by_hand.is_none();
        if typed.shared || program {
            parts.script = Some(inherited(files, "the linker script", &script(typed, program))?);
        }
        if typed.shared {
            parts.image = Some(inherited(files, "the library's record", &self.unwrapped(IMAGE)?)?);
        }
        if program {
            self.add_runtime(parts, files)?;
        }
        Ok(())
    }

    /// Adds the runtime, and what stands in front of the C++ library.
    fn add_runtime(&self, parts: &mut Parts, files: &mut Vec<File>) -> Result<(), Error> {
        let runtime = components::find_runtime(self.typed.own.runtime_debug)?;
        parts.runtime = Some(archive(runtime, self.wraps, self.compiler, files)?);
        let has = |option: &str| self.arguments.iter().any(|a| a == option);
        if has("-static-libstdc++") {
            return Ok(());
        }
        let exceptions = components::find(EXCEPTIONS_ARCHIVE)?;
        parts.exceptions = Some(archive(exceptions, self.wraps, self.compiler, files)?);
        if self.language == Language::Cxx || has("-lstdc++") || has("stdc++") {
            for object in BEFORE_LIBSTDCXX {
                let object = self.unwrapped(object)?;
                parts.before_libstdcxx.push(inherited(files, "a part of the runtime", &object)?);
            }
        }
        Ok(())
    }

    /// The object, or what is linked in its place where symbols are wrapped.
    fn unwrapped(&self, object: &'static [u8]) -> Result<Cow<'static, [u8]>, Error> {
        Ok(self.wraps.renamed(self.compiler, object)?.map_or(Cow::Borrowed(object), Cow::Owned))
    }
}

/// The linker script.
fn script(typed: &Typed, program: bool) -> Vec<u8> {
    let mut script = include_bytes!("link.ld").to_vec();
    if program {
        script.extend_from_slice(launcher_record().as_bytes());
        script.extend_from_slice(limit_of_fixed_programs().as_bytes());
    }
    // The linker takes no version beside one without a name, which a script of the user's may have.
    if !typed.has_version_script() {
        script.extend_from_slice(if program { VERSIONS } else { LIBRARY_VERSIONS });
    }
    script
}

/// Whether LLVM's linker may take the place of the system's, which takes longer over the runtime. Not where an option is for
/// a linker, which may be made for one of them; not where code that no compiler has made is linked; and not where the stack
/// may have to be executable, as LLVM's linker makes it only on demand: flang's trampolines lie there.
fn may_link_with_lld(language: Language, typed: &Typed, needs: Needs) -> bool {
    let may_need_trampolines = needs.executable_stack || (language == Language::Fortran && typed.compiles());
    let by_hand =
        typed.linker_options || typed.relocatable || typed.by_hand.is_some() || typed.own.allow_plain;
    !by_hand && !needs.unknown && !may_need_trampolines
}

/// A linker script that tells a program where the launcher is, which it becomes where another one has started it.
fn launcher_record() -> String {
    let path = components::find(LAUNCHER).unwrap_or_default();
    let bytes: String =
        path.as_os_str().as_encoded_bytes().iter().map(|byte| format!("BYTE({byte}) ")).collect();
    format!(
        "SECTIONS {{ .dsm.launcher : {{ HIDDEN(__dsm_launcher = .); {bytes}BYTE(0) }} }} INSERT BEFORE .bss;\n"
    )
}

/// The archive, or what is linked in its place where symbols are wrapped.
fn archive(path: PathBuf, wraps: &Wraps, compiler: &Path, files: &mut Vec<File>) -> Result<PathBuf, Error> {
    if wraps.is_empty() {
        return Ok(path);
    }
    let contents = fs::read(&path).map_err(|source| Error::Unreadable { path: path.clone(), source })?;
    match wraps.renamed(compiler, &contents)? {
        Some(copy) => inherited(files, "a copy of the runtime", &copy).map(PathBuf::from),
        None => Ok(path),
    }
}

/// A linker script that refuses a program at fixed addresses whose globals would lie where the runtime's memory does.
fn limit_of_fixed_programs() -> String {
    format!(
        "ASSERT(ADDR(.interp) < 0x10000 || __dsm_globals_end <= {STATE_BASE:#x}, \"dsm: static data of a program at fixed addresses must end below \
         {STATE_BASE:#x} (1.75 GiB): allocate large arrays, or link without -no-pie\");\n"
    )
}

/// A file for the linker that has no name: the linker inherits the descriptor, and nothing is left behind.
fn inherited(files: &mut Vec<File>, purpose: &'static str, contents: &[u8]) -> Result<String, Error> {
    let file = memory_file(purpose, contents)?;
    let name = attempts::descriptor(&file);
    files.push(file);
    Ok(name)
}

/// A file without a name that processes of the driver inherit.
fn memory_file(purpose: &'static str, contents: &[u8]) -> Result<File, Error> {
    let failed = |source: io::Error| Error::MemoryFile { purpose, source };
    let fd = memfd_create(c"dsm-link", MFdFlags::empty()).map_err(|e| failed(e.into()))?;
    let mut file = File::from(fd);
    file.write_all(contents).map_err(failed)?;
    Ok(file)
}

fn is_disabled() -> bool {
    std::env::var_os("DSM_DISABLE").is_some_and(|v| !v.is_empty() && v != "0")
}

/// One line that differs whenever the same command may make other code: what compiler caches want to know.
fn print_version(language: Language, compiler: &Path) -> Result<ExitCode, Error> {
    let state = |path: &Path| {
        let file = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let changed = file.metadata().and_then(|m| m.modified()).ok();
        let nanoseconds = changed.and_then(|t| t.duration_since(UNIX_EPOCH).ok()).map_or(0, |t| t.as_nanos());
        format!("{} of {nanoseconds}", file.display())
    };
    let pass =
        if is_disabled() { "no pass, DSM_DISABLE is set".into() } else { state(&components::find(PLUGIN)?) };
    print(&format!("{} {}: {}, {pass}\n", language.driver(), env!("CARGO_PKG_VERSION"), state(compiler)))
}

fn check_files(paths: &[OsString]) -> Result<ExitCode, Error> {
    if paths.is_empty() {
        return Err(Error::NothingToCheck);
    }
    for path in paths {
        print(&format!("{}\n", objects::describe(Path::new(path))?))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What the driver says before the compiler does. Build systems take the first version in it for the compiler's, as this is what options depend on.
fn announce(language: Language, compiler: &Path, arguments: &[OsString]) -> Result<(), Error> {
    if !arguments.iter().any(|a| a == "--version") {
        return Ok(());
    }
    let said =
        Command::new(compiler).arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let behind = said.lines().next().unwrap_or_else(|| language.stands_in_for());
    print(&format!(
        "{}, a driver for {behind}; version of the driver: {}\n",
        language.driver(),
        env!("CARGO_PKG_VERSION")
    ))?;
    Ok(())
}

/// Answers a question.
fn print(text: &str) -> Result<ExitCode, Error> {
    say(text).map_err(Error::Output)?;
    Ok(ExitCode::SUCCESS)
}

fn become_compiler(compiler: &Path, arguments: Vec<OsString>) -> Result<ExitCode, Error> {
    let mut command = Command::new(compiler);
    command.args(arguments);
    Err(Error::Exec { path: compiler.to_owned(), source: command.exec() })
}
