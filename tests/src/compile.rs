//! Compiling test programs, each (sources, flags, toolchain) once: within a run by a table, between runs
//! by the executable's name, a hash of everything that it was made from.

use crate::execute;
use crate::matrix::Build;
use crate::program::{Language, Program};
use crate::toolchain::{self, scratch};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

/// Which compiler, with which flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// Plain clang or flang -O2 with its own OpenMP library.
    Native,
    /// The driver under test.
    Dsm(Build),
}

impl Target {
    /// The commands that make and run it; `None` for the plain compiler.
    pub fn toolchain(self) -> Option<&'static toolchain::Dsm> {
        if self == Self::Native { None } else { toolchain::dsm() }
    }
}

/// A command line as text that can be pasted into a shell, with what the toolchain and OpenMP find in the environment.
pub fn shell_line(command: &Command) -> String {
    let matters = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("DSM_") || name.starts_with("OMP_")
    };
    line(command, std::env::vars_os().filter(|(name, _)| matters(name)))
}

/// A command line; its own environment goes over what is `inherited`.
fn line(command: &Command, inherited: impl Iterator<Item = (OsString, OsString)>) -> String {
    let mut environment: BTreeMap<OsString, Option<OsString>> =
        inherited.map(|(name, value)| (name, Some(value))).collect();
    environment.extend(command.get_envs().map(|(name, value)| (name.into(), value.map(Into::into))));
    let mut text = String::new();
    for (name, value) in environment {
        if let Some(value) = value {
            text.push_str(&format!("{}='{}' ", name.to_string_lossy(), value.to_string_lossy()));
        }
    }
    text.push_str(&command.get_program().to_string_lossy());
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        let plain = argument.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./,+:%".contains(c));
        if plain { text.push_str(&format!(" {argument}")) } else { text.push_str(&format!(" '{argument}'")) }
    }
    text
}

/// An executable, and the command that made it.
#[derive(Debug, Clone)]
pub struct Built {
    /// The executable.
    pub path: PathBuf,
    /// Shell command.
    pub command: String,
}

/// What the driver says of functions whose accesses are not checked.
const UNKNOWN_FUNCTION: &str = "gets a pointer to memory that processes may share";

type Slot = Arc<OnceLock<Result<Built, String>>>;

fn reference(language: Language) -> String {
    match language {
        Language::C => toolchain::clang(),
        Language::Cxx => toolchain::clangxx(),
        Language::Fortran => toolchain::flang(),
    }
}

/// Compiles `program` for `target`, unless that has been done.
///
/// # Errors
/// The command and the compiler's messages.
pub fn compile(program: &Program, target: Target) -> Result<Built, String> {
    static TABLE: OnceLock<Mutex<HashMap<(String, Target), Slot>>> = OnceLock::new();
    let key = (format!("{:?} {:?}", program.sources, program.flags), target);
    let slot = {
        let mut table =
            TABLE.get_or_init(Mutex::default).lock().expect("no test panics while it holds the table");
        table.entry(key).or_default().clone()
    };
    slot.get_or_init(|| build(program, target)).clone()
}

fn build(program: &Program, target: Target) -> Result<Built, String> {
    let mut command = match (target, target.toolchain()) {
        (Target::Dsm(build), Some(dsm)) => {
            let mut command = Command::new(match program.language {
                Language::C => &dsm.cc,
                Language::Cxx => &dsm.cxx,
                Language::Fortran => &dsm.fc,
            });
            command.arg(format!("-O{}", build.level)).arg(format!("-fdsm-line={}", build.line));
            command
        }
        (Target::Dsm(Build { level, .. }), None) => {
            let mut command = Command::new(reference(program.language));
            command.arg(format!("-O{level}")).arg("-w");
            command
        }
        (Target::Native, _) => {
            let mut command = Command::new(reference(program.language));
            command.args(["-O2", "-w"]);
            command
        }
    };
    if let Target::Dsm(_) = target {
        let further = std::env::var("DSM_TEST_CFLAGS").unwrap_or_default();
        command.args(further.split_whitespace());
    }
    if let Target::Dsm(build) = target {
        command.arg(build.linker());
    }
    command.arg("-fopenmp").args(&program.flags).args(&program.sources);
    let path =
        directory(target).join(format!("{}-{:016x}", program.name, identity(program, target, &command)));
    let partial = path.with_extension(format!("{}.part", std::process::id()));
    command.arg("-o").arg(&path).arg("-lm").args(&program.libraries);
    let built = Built { command: shell_line(&command), path: path.clone() };
    if path.is_file() {
        return Ok(built);
    }
    // Written under another name first: an interrupted or concurrent build never leaves half a file.
    let mut real = Command::new(command.get_program());
    let modules = (program.language == Language::Fortran).then(|| partial.with_extension("modules"));
    if let Some(directory) = &modules {
        std::fs::create_dir_all(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
        real.arg("-J").arg(directory);
    }
    real.args(command.get_args().map(|a| if a == path.as_os_str() { partial.as_os_str() } else { a }));
    // The largest program takes half a minute alone, and may share the machine.
    let outcome = execute::run(&mut real, "", 10 * execute::time_limit());
    if let Some(directory) = &modules {
        let _ = std::fs::remove_dir_all(directory);
    }
    if outcome.status != Some(0) {
        let _ = std::fs::remove_file(&partial);
        return Err(format!(
            "compiling failed ({:?})\n  {}\n{}",
            outcome.status,
            built.command,
            outcome.errors()
        ));
    }
    // Every function of a library that the programs call is in the compiler's tables.
    if let Some(unknown) = outcome.errors().lines().find(|line| line.contains(UNKNOWN_FUNCTION)) {
        let _ = std::fs::remove_file(&partial);
        return Err(format!("{unknown}\n  {}", built.command));
    }
    let messages = path.with_extension("messages");
    std::fs::write(&messages, outcome.errors()).map_err(|e| format!("{}: {e}", messages.display()))?;
    std::fs::rename(&partial, &path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(built)
}

/// Where the executables of a toolchain are. Whoever builds the toolchain anew would leave those of the old one for good, so a process deletes what no other one has locked.
///
/// # Panics
/// If the scratch directory cannot be written.
fn directory(target: Target) -> PathBuf {
    static LOCKED: OnceLock<Locked> = OnceLock::new();
    match target.toolchain() {
        None => {
            let path = scratch().join("native");
            std::fs::create_dir_all(&path).expect("scratch directory can be made");
            path
        }
        Some(dsm) => LOCKED.get_or_init(|| Locked::new(&dsm.fingerprint)).path.clone(),
    }
}

/// Begins the names of the directories of toolchains.
const TOOLCHAIN: &str = "toolchain-";

/// A directory that no other process deletes.
struct Locked {
    path: PathBuf,
    _lock: File,
}

impl Locked {
    fn new(fingerprint: &str) -> Locked {
        let mut hasher = DefaultHasher::new();
        fingerprint.hash(&mut hasher);
        let path = scratch().join(format!("{TOOLCHAIN}{:016x}", hasher.finish()));
        let file = path.join("lock");
        let lock = loop {
            std::fs::create_dir_all(&path).expect("scratch directory can be made");
            let lock = match File::create(&file) {
                // Somebody has deleted the directory just now.
                Err(e) if e.kind() == ErrorKind::NotFound => continue,
                lock => lock.unwrap_or_else(|e| panic!("{}: {e}", file.display())),
            };
            assert!(flock(&lock, libc::LOCK_SH), "{}: cannot be locked", file.display());
            // Or before it was locked.
            let numbers = [lock.metadata(), file.metadata()].map(|data| data.ok().map(|data| data.ino()));
            if numbers[0] == numbers[1] {
                break lock;
            }
        };
        let others = std::fs::read_dir(scratch()).into_iter().flatten().flatten().map(|entry| entry.path());
        for other in others.filter(|other| *other != path) {
            let name = other.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(TOOLCHAIN)
                && let Ok(lock) = File::open(other.join("lock"))
                && flock(&lock, libc::LOCK_EX | libc::LOCK_NB)
            {
                // What cannot be deleted now will be another time.
                _ = std::fs::remove_dir_all(&other);
            }
        }
        Locked { path, _lock: lock }
    }
}

/// Whether the file could be locked.
fn flock(file: &File, operation: i32) -> bool {
    // SAFETY: the descriptor is open.
    unsafe { libc::flock(file.as_raw_fd(), operation) == 0 }
}

/// What the compiler said when it made an executable.
///
/// # Panics
/// If the file beside the executable was deleted.
pub fn messages(built: &Built) -> String {
    let path = built.path.with_extension("messages");
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn identity(program: &Program, target: Target, command: &Command) -> u64 {
    let mut hasher = DefaultHasher::new();
    line(command, std::iter::empty()).hash(&mut hasher);
    program.libraries.hash(&mut hasher);
    if let Some(dsm) = target.toolchain() {
        dsm.fingerprint.hash(&mut hasher);
    }
    for source in &program.sources {
        std::fs::read(source).unwrap_or_default().hash(&mut hasher);
        // Headers next to a source belong to it.
        for entry in source.parent().and_then(|d| std::fs::read_dir(d).ok()).into_iter().flatten().flatten() {
            if entry.path().extension().is_some_and(|e| e == "h" || e == "hpp") {
                std::fs::read(entry.path()).unwrap_or_default().hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}
