//! Puts the headers that go before those of the C++ library beside the driver, where it looks for its parts in a build tree.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let from = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../runtime/cxx");
    println!("cargo:rerun-if-changed={}", from.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // target/<profile>/build/<package>/out
    let profile = out.ancestors().nth(3).expect("cargo's layout");
    copy(&from, &profile.join("dsm-include"))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to)?;
        } else if fs::read(&path)? != fs::read(&to).unwrap_or_default() {
            fs::copy(path, to)?;
        }
    }
    Ok(())
}
