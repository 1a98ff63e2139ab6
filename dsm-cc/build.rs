//! Puts the headers that go before those of the C++ library, and the Fortran modules, beside the driver, where it looks for its parts in a build tree,
//! and compiles what the driver carries in itself.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let from = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../runtime/cxx");
    println!("cargo:rerun-if-changed={}", from.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // target/<profile>/build/<package>/out
    let profile = out.ancestors().nth(3).expect("cargo's layout");
    copy(&from, &profile.join("dsm-include"))?;
    for module in ["dsm", "dsm_arrays"] {
        compile_module(&format!("../runtime/include/{module}.f90"), &profile.join("dsm-modules"))?;
    }
    compile(&out, "src/driver/image.c", "image.o")?;
    for part in ["facets", "filesystem"] {
        compile(&out, &format!("../runtime/c/libstdcxx_{part}.c"), &format!("{part}.o"))?;
    }
    Ok(())
}

/// Makes the module file of a Fortran source, which has nothing but interfaces.
fn compile_module(source: &str, directory: &Path) -> io::Result<()> {
    println!("cargo:rerun-if-changed={source}");
    println!("cargo:rerun-if-env-changed=DSM_FLANG");
    fs::create_dir_all(directory)?;
    let compiler = env::var_os("DSM_FLANG").unwrap_or_else(|| "flang-22".into());
    let mut flang = Command::new(compiler);
    flang.arg("-fsyntax-only").arg("-J").arg(directory).arg(source);
    match flang.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(io::Error::other(format!("{flang:?}: {status}"))),
        Err(error) => Err(io::Error::other(format!(
            "{flang:?}: {error}; install flang-22 (scripts/setup.sh), or name it in DSM_FLANG"
        ))),
    }
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
