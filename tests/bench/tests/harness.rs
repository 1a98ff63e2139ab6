//! The command measures, writes all its files, and finds a row that was made worse.

use std::path::Path;
use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dsm-bench"))
        .args(arguments)
        .output()
        .expect("the command can be started")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn path(directory: &Path, name: &str) -> String {
    directory.join(name).display().to_string()
}

#[test]
fn a_tiny_set_produces_all_files_and_a_row_made_worse_is_marked() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let out = path(directory.path(), "");
    let run =
        ["run", "--class", "S", "--runs", "1", "--only", "kernels/ep,constructs/barrier,constructs/lock"];
    let measured = bench(&[&run[..], &["--out", &out]].concat());
    assert!(measured.status.success(), "{measured:?}");
    let read = |name| std::fs::read_to_string(directory.path().join(name)).expect("the file was written");
    let [json, markdown, svg] = ["bench.json", "bench.md", "bench.svg"].map(read);
    let keys = ["ep.S | 1x1", "ep.S | 1x2", "ep.S | 2x1", "barrier | 1x2", "barrier | 2x1", "lock | 1x2"];
    assert!(keys.iter().all(|key| markdown.contains(key)) && !markdown.contains("| single |"), "{markdown}");
    assert!(markdown.contains("Load") && svg.contains("ep.S 2x1"), "{markdown}{svg}");

    let worse = json.replacen(r#""measured":["#, r#""measured":[1000"#, 1);
    assert_ne!(worse, json);
    std::fs::write(directory.path().join("worse.json"), worse).expect("a file can be written");
    let [old, new] = ["bench.json", "worse.json"].map(|name| path(directory.path(), name));
    let same = bench(&["compare", &old, &old]);
    assert_eq!((same.status.code(), text(&same.stdout).contains("WORSE")), (Some(0), false), "{same:?}");
    let differs = bench(&["compare", &old, &new]);
    let marked = text(&differs.stdout).lines().filter(|line| line.ends_with("WORSE")).count();
    assert_eq!((differs.status.code(), marked), (Some(1), 1), "{differs:?}");

    let again = path(directory.path(), "again");
    let shown = bench(&["show", &old, "--out", &again]);
    assert!(shown.status.success(), "{shown:?}");
    assert_eq!(std::fs::read_to_string(format!("{again}/bench.md")).expect("written"), markdown);
}

#[test]
fn what_there_is_not_gives_one_message() {
    for arguments in [
        &["run", "--only", "kernel"][..],
        &["run", "--only", "constructs/barriers", "--runs", "1"],
        &["compare", "/nonexistent.json", "/nonexistent.json"],
    ] {
        let output = bench(arguments);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{output:?}");
        assert_eq!(text(&output.stderr).lines().count(), 1, "{output:?}");
    }
}
