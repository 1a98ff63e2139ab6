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
    compile(&out, "src/driver/image.c", "image.o")?;
    for part in ["facets", "filesystem"] {
        compile(&out, &format!("../runtime/c/libstdcxx_{part}.c"), &format!("{part}.o"))?;
    }
    Ok(())
}

/// An object that becomes part of every shared library, or of C++ programs; it stands in the driver itself.
fn compile(out: &Path, source: &str, object: &str) -> io::Result<()> {
    println!("cargo:rerun-if-changed={source}");
    println!("cargo:rerun-if-changed=../runtime/c/image.h");
    println!("cargo:rerun-if-changed=../runtime/c/internal.h");
    println!("cargo:rerun-if-changed=../runtime/c/libstdcxx.h");
    let mut build = cc::Build::new();
    build.file(source).opt_level(2).debug(false).pic(true).warnings(true);
    // Exceptions of libstdc++ pass through what stands in front of it.
    build.flag("-fexceptions").flag("-fno-strict-aliasing").flag_if_supported("-Wno-strict-prototypes");
    let objects = build.compile_intermediates();
    fs::copy(objects.first().expect("one source, one object"), out.join(object)).map(|_| ())
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
