//! A process that a process manager with PMIx (Open MPI's mpirun, Slurm's srun) has started beside others.
//!
//! It becomes its own launcher, `dsm-run --pmix`, which joins the processes to one job and starts the program again as one of them. A program that calls MPI has another
//! idea of what its processes are, and is left alone.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use dsm_abi::job::JOB_VARIABLE;

use crate::config;

/// What all processes find that are started so.
const NAMESPACE: &str = "PMIX_NAMESPACE";
/// The launcher's name.
const LAUNCHER: &str = "dsm-run";
/// What a program has that calls MPI.
const MPI: &CStr = c"MPI_Init";

unsafe extern "C" {
    fn dsm_rt_launcher() -> *const c_char;
}

/// Becomes the launcher, if there is a reason to.
///
/// # Errors
/// There is, and it is not possible.
///
/// # Safety
/// The arguments are those of the C `main`, and no other thread runs.
pub unsafe fn become_launcher(argc: c_int, argv: *const *mut c_char) -> Result<(), String> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !is_set(NAMESPACE) || is_set(JOB_VARIABLE) || !config::get().pmix || calls_mpi() {
        return Ok(());
    }
    // SAFETY: there are so many strings, as the caller says.
    let words: Vec<_> = (0..argc as usize).map(|i| unsafe { CStr::from_ptr(*argv.add(i)) }).collect();
    let words: Vec<_> = words.into_iter().map(|word| OsStr::from_bytes(word.to_bytes())).collect();
    let recorded = recorded();
    let found = find(recorded, std::env::var_os("PATH").as_deref());
    let Some(launcher) = found else {
        let recorded = recorded.map(|path| format!("at {} nor ", path.display())).unwrap_or_default();
        return Err(format!(
            "mpirun or srun has started this process ({NAMESPACE} is set), but {LAUNCHER}, which joins the processes to one job, is neither {recorded}in PATH; \
             install it, or have each process run on its own with DSM_PMIX=0"
        ));
    };
    let own = std::env::current_exe().map_err(|e| format!("cannot find the program's own file: {e}"))?;
    let named = words.first().map(Path::new).filter(|name| is_same(name, &own));
    let mut command = Command::new(&launcher);
    command.args(["--pmix", "--"]).arg(named.unwrap_or(&own)).args(words.get(1..).unwrap_or_default());
    Err(format!("cannot start {}: {}", launcher.display(), command.exec()))
}

fn calls_mpi() -> bool {
    // SAFETY: looks a name up.
    !unsafe { libc::dlsym(libc::RTLD_DEFAULT, MPI.as_ptr()) }.is_null()
}

/// Where the launcher was when the program was linked.
fn recorded() -> Option<&'static Path> {
    // SAFETY: a function that returns an address, of a string of the program or null.
    let path = unsafe { dsm_rt_launcher() };
    // SAFETY: as above.
    let path = (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) })?;
    Some(Path::new(OsStr::from_bytes(path.to_bytes())))
}

/// The launcher's file.
fn find(recorded: Option<&Path>, path: Option<&OsStr>) -> Option<PathBuf> {
    let is_executable =
        |file: &Path| file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    let directories = path.map(|path| std::env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
    let in_path = directories.into_iter().map(|directory| directory.join(LAUNCHER));
    recorded.map(Path::to_owned).into_iter().chain(in_path).find(|file| is_executable(file))
}

/// Whether a name as it was typed, with a slash, leads to the file.
fn is_same(name: &Path, file: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|m| (m.dev(), m.ino()));
    name.as_os_str().as_bytes().contains(&b'/')
        && identity(name).is_some_and(|own| identity(file) == Some(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_is_where_it_was_or_in_path() {
        let own = std::env::current_exe().unwrap();
        assert_eq!(find(Some(&own), None), Some(own.clone()));
        assert_eq!(find(Some(Path::new("/nowhere/dsm-run")), Some(OsStr::new("/nowhere:/"))), None);
    }

    #[test]
    fn names_lead_to_files() {
        let own = std::env::current_exe().unwrap();
        assert!(is_same(&own, &own) && !is_same(Path::new("/"), &own) && !is_same(Path::new("sh"), &own));
    }
}
