//! Puts the headers that go before those of the C++ library beside the driver, where it looks for its parts in a build tree,
//! and compiles what the driver carries in itself.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let from = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../runtime/cxx");
    println!("cargo:rerun-if-changed={}", from.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // target/<profile>/build/<package>/out
    let profile = out.ancestors().nth(3).expect("cargo's layout");
    copy(&from, &profile.join("dsm-include"))?;
    compile_image(&out)
}

/// The object that becomes part of every shared library; it stands in the driver itself.
fn compile_image(out: &Path) -> io::Result<()> {
    println!("cargo:rerun-if-changed=src/driver/image.c");
    println!("cargo:rerun-if-changed=../runtime/c/image.h");
    let mut build = cc::Build::new();
    build.file("src/driver/image.c").opt_level(2).debug(false).pic(true).warnings(true);
    let objects = build.compile_intermediates();
    fs::copy(objects.first().expect("one source, one object"), out.join("image.o")).map(|_| ())
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
