//! Compiles the C++ shim against the headers of the pinned LLVM.

use std::env;
use std::process::{Command, exit};

/// The one LLVM major version that the plugin loads into.
const LLVM_MAJOR: &str = "22";

/// The shim, which includes its parts.
const SOURCE: &str = "cpp/shim.cpp";

fn main() {
    println!("cargo:rerun-if-env-changed=LLVM_CONFIG");
    println!("cargo:rerun-if-changed=cpp");
    let config = find_llvm_config();
    let mut build = cc::Build::new();
    build.cpp(true).warnings(false).file(SOURCE).flag("-fvisibility=hidden");
    for flag in query(&config, "--cxxflags").split_whitespace() {
        match flag.strip_prefix("-I") {
            // As system headers, so that LLVM's own warnings stay out of the build log.
            Some(include) => build.flag("-isystem").flag(include),
            None => build.flag(flag),
        };
    }
    build.compile("dsm_pass_shim");
    // Only test programs link LLVM; the plugin takes the compiler's.
    println!("cargo:rustc-link-arg-tests=-L{}", query(&config, "--libdir"));
    println!("cargo:rustc-link-arg-tests=-lLLVM-{LLVM_MAJOR}");
}

fn find_llvm_config() -> String {
    let named = env::var("LLVM_CONFIG").ok();
    let candidates = match &named {
        Some(path) => vec![path.clone()],
        None => vec![
            format!("llvm-config-{LLVM_MAJOR}"),
            format!("/usr/lib/llvm-{LLVM_MAJOR}/bin/llvm-config"),
            "llvm-config".to_owned(),
        ],
    };
    for candidate in &candidates {
        if let Some(version) = try_query(candidate, "--version")
            && version.split('.').next() == Some(LLVM_MAJOR)
        {
            return candidate.clone();
        }
    }
    eprintln!(
        "dsm-pass needs the development files of LLVM {LLVM_MAJOR}: no llvm-config of that version among {candidates:?}.\n\
         Install them (Debian: llvm-{LLVM_MAJOR}-dev) or set LLVM_CONFIG to the path of llvm-config."
    );
    exit(1);
}

fn query(config: &str, what: &str) -> String {
    try_query(config, what).unwrap_or_else(|| {
        eprintln!("`{config} {what}` failed");
        exit(1)
    })
}

fn try_query(config: &str, what: &str) -> Option<String> {
    let output = Command::new(config).arg(what).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
