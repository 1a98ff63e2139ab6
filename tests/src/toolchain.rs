//! Where the commands under test are, and which directories the tests use.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

/// The commands under test.
#[derive(Debug, Clone)]
pub struct Dsm {
    /// Compiler driver for C.
    pub cc: PathBuf,
    /// The same for C++.
    pub cxx: PathBuf,
    /// The same for Fortran.
    pub fc: PathBuf,
    /// Launcher.
    pub run: PathBuf,
    /// Changes whenever a file that influences the output of `cc` changes.
    pub fingerprint: String,
}

/// The reference compiler: `DSM_TEST_CLANG`, by default `clang-22`.
pub fn clang() -> String {
    std::env::var("DSM_TEST_CLANG").unwrap_or_else(|_| "clang-22".into())
}

/// The commands under test, found once; `None` if `DSM_TEST_NATIVE=1` asks to test the tests, with
/// plain clang in their place.
///
/// `DSM_BIN_DIR` names the directory of the commands; without it, `release` beside the directory of this test's own build is tried, then that
/// directory, and the workspace's `target/release`.
///
/// # Panics
/// If the commands are nowhere: a test that silently tested nothing would be worse.
pub fn dsm() -> Option<&'static Dsm> {
    static FOUND: OnceLock<Option<Dsm>> = OnceLock::new();
    let native = || std::env::var_os("DSM_TEST_NATIVE").is_some_and(|v| v == "1");
    FOUND.get_or_init(|| (!native()).then(find)).as_ref()
}

fn find() -> Dsm {
    let candidates: Vec<PathBuf> = match std::env::var_os("DSM_BIN_DIR") {
        Some(dir) => vec![dir.into()],
        None => {
            let own = profile_directory();
            vec![own.with_file_name("release"), own, workspace().join("target/release")]
        }
    };
    for directory in &candidates {
        let (cc, run) = (directory.join("dsm-cc"), directory.join("dsm-run"));
        if cc.is_file() && run.is_file() {
            let fingerprint = fingerprint(directory);
            let [cxx, fc] = ["dsm-c++", "dsm-fc"].map(|name| directory.join(name));
            return Dsm { cc, cxx, fc, run, fingerprint };
        }
    }
    panic!(
        "no dsm-cc and dsm-run in {candidates:?}: run `make build` first, set DSM_BIN_DIR, \
         or set DSM_TEST_NATIVE=1 to check the tests with plain clang"
    );
}

/// The reference compiler for C++ that belongs to [`clang`].
pub fn clangxx() -> String {
    std::env::var("DSM_TEST_CLANGXX").unwrap_or_else(|_| "clang++-22".into())
}

/// The reference compiler for Fortran: `DSM_TEST_FLANG`, by default `flang-22`.
pub fn flang() -> String {
    std::env::var("DSM_TEST_FLANG").unwrap_or_else(|_| "flang-22".into())
}

fn fingerprint(bin: &Path) -> String {
    let mut text = String::new();
    for file in ["dsm-cc", "libdsm_pass.so", "dsm-runtime/libdsm_rt.a", "dsm-include/istream"] {
        for path in [bin.join(file), bin.join("../lib/dsm").join(file)] {
            if let Ok(meta) = path.metadata() {
                let at = meta.modified().ok().and_then(|t| t.duration_since(SystemTime::UNIX_EPOCH).ok());
                text.push_str(&format!("{}:{}:{:?};", path.display(), meta.len(), at));
            }
        }
    }
    text
}

/// Directory of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace").to_path_buf()
}

/// Directory of this package.
pub fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The cargo profile directory (`target/release`) that holds the running test or command.
fn profile_directory() -> PathBuf {
    let exe = std::env::current_exe().expect("a running program has a path");
    let dir = exe.parent().expect("a file has a directory");
    if dir.ends_with("deps") { dir.parent().unwrap_or(dir).to_path_buf() } else { dir.to_path_buf() }
}

/// Scratch directory for built programs; kept between runs as a cache, safe to delete.
pub fn scratch() -> PathBuf {
    let dir = profile_directory().join("dsm-tests-scratch");
    std::fs::create_dir_all(&dir).expect("scratch directory can be made");
    dir
}
