//! What the compiler says of the program's checks: remarks in its own form, the record of them, and the plan, each with the lines of the source.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dsm_tests::compile::shell_line;
use dsm_tests::execute::{self, Scratch};
use dsm_tests::toolchain;

const ALL: [&str; 3] = ["-Rpass=dsm", "-Rpass-missed=dsm", "-Rpass-analysis=dsm"];

/// Expected remarks about `loops.c`: text of the only line of the source they are at, kind, parts of their text.
const LINES: [(&str, &str, &[&str]); 10] = [
    ("unit[i] += 1", "Passed", &["store of 8 bytes of unit: checked in front of the loop"]),
    ("part[i * step] += 2", "Passed", &["store of 8 bytes", "checked in front of the loop"]),
    ("for (long i = 0", "Analysis", &["2 accesses", "2 checked once in front of the outermost loop"]),
    (
        "sum += node->value",
        "Missed",
        &["load", "checked in every iteration: how often the loop runs is not known"],
    ),
    (
        "while (node)",
        "Analysis",
        &["checked per element", "what would help: a loop that is left by its count alone"],
    ),
    ("part[i] = 3", "Missed", &["store of 8 bytes", "may synchronise: call of consume at", "loops.c:"]),
    ("consume(part)", "Missed", &["consume gets a pointer to memory that may be shared"]),
    (
        "table[index[i]] = 1",
        "Passed",
        &["store of 8 bytes of table: no check in the first of two versions of the loop"],
    ),
    ("table[index[i]] = 1", "Passed", &["load of 4 bytes", "checked in front of the loop"]),
    (
        "return table[0]",
        "Analysis",
        &["load of 8 bytes of table: checked each time: no check before it covers it"],
    ),
];

/// A remark of the pass.
#[derive(Debug)]
struct Remark {
    line: usize,
    kind: String,
    text: String,
}

fn source(name: &str) -> PathBuf {
    toolchain::package().join("remarks").join(name)
}

/// Compiles a source to `object`; returns what the compiler said.
fn compile(compiler: &Path, name: &str, object: &Path, flags: &[&str]) -> String {
    let mut command = Command::new(compiler);
    command.args(["-O2", "-fopenmp", "-c"]).arg(source(name)).arg("-o").arg(object).args(flags);
    execute::hide_own_variables(&mut command);
    let outcome = execute::run(&mut command, "", Duration::from_secs(120));
    assert_eq!(outcome.status, Some(0), "{}\n{}", shell_line(&command), outcome.errors());
    outcome.errors()
}

/// The pass's remarks among the messages: "file:line:column: remark: text [-Rpass-missed=dsm]".
fn remarks(messages: &str) -> Vec<Remark> {
    let remark = |message: &str| {
        let (place, rest) = message.split_once(": remark: ")?;
        let (text, option) = rest.rsplit_once(" [-Rpass")?;
        let kind = match option {
            "=dsm]" => "Passed",
            "-missed=dsm]" => "Missed",
            "-analysis=dsm]" => "Analysis",
            _ => return None,
        };
        let line = place.rsplit(':').nth(1)?.parse().ok()?;
        Some(Remark { line, kind: kind.to_owned(), text: text.to_owned() })
    };
    messages.lines().filter_map(remark).collect()
}

/// Number of the only line of a source with the text.
fn line_of(name: &str, text: &str) -> usize {
    let lines = std::fs::read_to_string(source(name)).expect("the source is there");
    let found: Vec<usize> =
        (1..).zip(lines.lines()).filter(|(_, l)| l.contains(text)).map(|(n, _)| n).collect();
    assert_eq!(found.len(), 1, "{text}");
    found[0]
}

fn expect(found: &[Remark], name: &str, expected: &[(&str, &str, &[&str])]) {
    for (at, kind, parts) in expected {
        let line = line_of(name, at);
        let has = |r: &Remark| r.line == line && r.kind == *kind && parts.iter().all(|p| r.text.contains(p));
        assert!(found.iter().any(has), "no {kind} remark {parts:?} at line {line} in {found:#?}");
    }
}

#[test]
fn remarks_name_lines_and_reasons_without_debug_information() {
    let Some(dsm) = toolchain::dsm() else { return };
    let directory = Scratch::directory("remarks");
    let object = directory.path().join("x.o");
    let found = remarks(&compile(&dsm.cc, "loops.c", &object, &ALL));
    expect(&found, "loops.c", &LINES);
}

#[test]
fn the_same_of_fortran() {
    let Some(dsm) = toolchain::dsm() else { return };
    let directory = Scratch::directory("remarks");
    let object = directory.path().join("x.o");
    let found = remarks(&compile(&dsm.fc, "loops.f90", &object, &ALL));
    let expected: [(&str, &str, &[&str]); 2] = [
        ("part(i) = part(i) + 1", "Passed", &["load of 8 bytes", "checked in front of the loop"]),
        ("part(i) = 3", "Missed", &["store of 8 bytes", "may synchronise: call of consume_"]),
    ];
    expect(&found, "loops.f90", &expected);
}

#[test]
fn the_record_holds_the_same_and_llvm_reads_it() {
    let Some(dsm) = toolchain::dsm() else { return };
    let directory = Scratch::directory("remarks");
    let (object, record) = (directory.path().join("x.o"), directory.path().join("x.yaml"));
    let file = format!("-foptimization-record-file={}", record.display());
    let said = remarks(&compile(&dsm.cc, "loops.c", &object, &[&ALL[..], &[&file]].concat()));
    let number = |kind: &str| said.iter().filter(|r| r.kind == kind).count();
    let text = std::fs::read_to_string(&record).expect("the record was written");
    let documents: Vec<&str> =
        text.split("--- ").filter(|d| d.contains("\nPass:            dsm\n")).collect();
    for kind in ["Passed", "Missed", "Analysis"] {
        let mut count = Command::new("llvm-remarkutil-22");
        count.args(["count", "--count-by=remark-name", "--group-by=total", "--pass-name=dsm"]);
        count.arg(format!("--remark-type={}", kind.to_lowercase())).arg(&record);
        let outcome = execute::run(&mut count, "", Duration::from_secs(60));
        assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
        let counted = outcome.text().trim().rsplit(',').next().and_then(|n| n.trim().parse().ok());
        assert_eq!(counted, Some(number(kind)), "{kind}: {}\n{said:#?}", outcome.text());
        assert_eq!(documents.iter().filter(|d| d.starts_with(&format!("!{kind}\n"))).count(), number(kind));
    }
    let line = line_of("loops.c", "part[i] = 3");
    let stays = documents.iter().find(|d| d.contains("CheckInLoop") && d.contains(&format!("Line: {line},")));
    let stays = stays.unwrap_or_else(|| panic!("no remark of line {line} in {text}"));
    for value in ["  - Access:          store", "  - Bytes:           '8'", "  - Reason:          '"] {
        assert!(stays.contains(value), "{stays}");
    }
}

#[test]
fn asking_changes_no_code_and_nothing_is_said_unasked() {
    let Some(dsm) = toolchain::dsm() else { return };
    let directory = Scratch::directory("remarks");
    let object = |flags: &[&str]| {
        let path = directory.path().join("x.o");
        let said = compile(&dsm.cc, "loops.c", &path, flags);
        (std::fs::read(path).expect("the object is there"), said)
    };
    let (plain, said) = object(&[]);
    assert_eq!(said, "");
    assert!(object(&[&ALL[..], &["-fdsm-plan"]].concat()).0 == plain, "remarks change the object");
    // A record makes clang keep line tables, as this option does.
    let file = format!("-foptimization-record-file={}", directory.path().join("x.yaml").display());
    let lines = "-gline-tables-only";
    assert!(object(&[lines, &file]).0 == object(&[lines]).0, "a record changes the object");
}

#[test]
fn the_plan_names_lines_and_reasons() {
    let Some(dsm) = toolchain::dsm() else { return };
    let directory = Scratch::directory("remarks");
    let plan = compile(&dsm.cc, "loops.c", &directory.path().join("x.o"), &["-g", "-fdsm-plan"]);
    let has = |at: &str, parts: &[&str]| {
        let place = format!("loops.c:{}:", line_of("loops.c", at));
        let fits = |l: &&str| l.contains(&place) && parts.iter().all(|p| l.contains(p));
        assert!(plan.lines().any(|l| fits(&l)), "no {parts:?} at {place} in\n{plan}");
    };
    has("unit[i] += 1", &["store 8 of unit", ": hoisted before loop 0"]);
    has("sum += node->value", &["load 8", ": checked, because how often the loop runs is not known"]);
    has("part[i] = 3", &["store 8", ": checked, because the loop may synchronise: call of consume at "]);
    has("while (node)", &["loop 0 at", "checked per element", "what would help"]);
}
