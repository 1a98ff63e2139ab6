//! Runs every `tests/*.ll` through `opt` and `FileCheck`.
//!
//! A test names the pass options in `; OPTIONS: <DSM_PASS_OPTIONS>` (optional) and the pipeline in
//! `; PIPELINE: <passes>` (default `dsm`), further options of `opt` in `; OPT:`, and holds `CHECK` lines. Output that does not verify fails. A line
//! `; STDERR` checks the messages instead of the module.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Tools of the pinned LLVM, under the names that distributions give them.
fn tool(name: &str) -> PathBuf {
    let candidates = [format!("/usr/lib/llvm-22/bin/{name}"), format!("{name}-22"), name.to_owned()];
    for candidate in &candidates {
        let version = Command::new(candidate).arg("--version").output();
        if version.is_ok_and(|o| String::from_utf8_lossy(&o.stdout).contains("version 22.")) {
            return candidate.into();
        }
    }
    panic!("no {name} of LLVM 22 among {candidates:?}");
}

/// The plugin that this build made: beside the test program's directory.
fn plugin() -> PathBuf {
    let program = std::env::current_exe().expect("a test knows its path");
    let deps = program.parent().expect("in deps/");
    let found = [deps.join("libdsm_pass.so"), deps.with_file_name("libdsm_pass.so")];
    found.into_iter().find(|p| p.exists()).expect("cargo builds the plugin before the tests")
}

fn setting<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|l| l.strip_prefix("; ")?.strip_prefix(key)?.strip_prefix(": ").map(str::trim))
}

fn run(path: &Path) -> Result<(), String> {
    run_with(path, "")
}

/// With further options of the pass.
fn run_with(path: &Path, further: &str) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
    let pipeline = setting(&text, "PIPELINE").unwrap_or("dsm");
    let output = Command::new(tool("opt"))
        .arg(format!("-load-pass-plugin={}", plugin().display()))
        .arg(format!("-passes={pipeline}"))
        .args(["-S", "-verify-each"])
        .args(setting(&text, "OPT").unwrap_or("").split_whitespace())
        .arg(path)
        .env("DSM_PASS_OPTIONS", format!("{};{further}", setting(&text, "OPTIONS").unwrap_or("")))
        .output()
        .map_err(|e| e.to_string())?;
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    let stderr = text.contains("; STDERR");
    if !output.status.success() && !stderr {
        return Err(format!("opt failed:\n{messages}"));
    }
    let mut check = Command::new(tool("FileCheck"))
        .args(["--dump-input=fail", "--allow-unused-prefixes"])
        .arg(path)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    let input = if stderr { output.stderr } else { output.stdout };
    // FileCheck may stop reading at the first mismatch.
    let _ = check.stdin.take().expect("piped").write_all(&input);
    let result = check.wait_with_output().map_err(|e| e.to_string())?;
    if result.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&result.stderr).into_owned()) }
}

/// The pass's output must not depend on addresses or hash seeds.
#[test]
fn same_output_twice() {
    for name in ["hoist-nest.ll", "version-indirect.ll", "hoist-grid.ll", "globals.ll", "escape-fork.ll"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
        let output = || {
            let mut opt = Command::new(tool("opt"));
            opt.arg(format!("-load-pass-plugin={}", plugin().display()))
                .args(["-passes=dsm", "-S"])
                .arg(&path);
            opt.output().expect("opt runs").stdout
        };
        let first = output();
        assert!(!first.is_empty(), "{name}");
        assert!((0..4).all(|_| output() == first), "{name} differs");
    }
}

/// The seeded faults that no program shows: the processor orders loads, and LLVM seldom makes use of it that it may reorder these.
#[test]
fn faults_of_order_are_found() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/load.ll");
    let message = run_with(&path, "fault=state-order").expect_err("the state is loaded with acquire order");
    assert!(message.contains("acquire"), "{message}");
    run_with(&path, "fault=state-limit").expect_err("states from 2 on refuse loads");
}

#[test]
fn all_modules() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .expect("the tests' directory")
        .map(|e| e.expect("readable").path())
        .filter(|p| p.extension().is_some_and(|e| e == "ll"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 20, "only {} modules found", paths.len());
    let failures: Vec<String> =
        paths.iter().filter_map(|p| run(p).err().map(|e| format!("{}:\n{e}", p.display()))).collect();
    assert!(failures.is_empty(), "{} of {} failed\n{}", failures.len(), paths.len(), failures.join("\n"));
}
