//! Crates of the runtime depend on each other as the book says, and the modules of the crate that joins them form no circle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

type Graph = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The lines of the book's block of this kind.
fn documented(kind: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("book/src/internals/architecture.md")).expect("the chapter");
    let begin = format!("```{kind}\n");
    let (_, block) = text.split_once(&begin).unwrap_or_else(|| panic!("the chapter has no block {kind}"));
    let (block, _) = block.split_once("```").expect("the block ends");
    block.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

/// What the packages under `runtime/` need of each other, tests left aside.
fn crates() -> Graph {
    let mut metadata = Command::new(env!("CARGO"));
    metadata.args(["metadata", "--no-deps", "--offline", "--format-version=1"]).current_dir(root());
    let output = metadata.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let is_ours =
        |package: &&Value| package["manifest_path"].as_str().is_some_and(|path| path.contains("/runtime/"));
    packages.filter(is_ours).map(|package| (name(&package["name"]), needs(package))).collect()
}

fn needs(package: &Value) -> BTreeSet<String> {
    let dependencies = package["dependencies"].as_array().expect("dependencies").iter();
    let ours = dependencies.filter(|d| d["kind"].is_null() && !d["path"].is_null());
    ours.map(|d| name(&d["name"])).collect()
}

fn name(value: &Value) -> String {
    value.as_str().expect("a name").to_owned()
}

#[test]
fn crates_depend_on_each_other_as_the_book_says() {
    let found = crates();
    let lines = documented("crates").into_iter();
    let expected: Graph = lines.map(|mut line| (line.remove(0), line.into_iter().collect())).collect();
    assert_eq!(found, expected, "left: cargo; right: the book's table");
    assert!(found.contains_key("dsm-runtime"), "the library is one of them");
}

/// Which top modules of `runtime/src` name each other, from `crate::` paths and imports.
fn modules() -> Graph {
    let source = root().join("runtime/src");
    let mut texts = BTreeMap::<String, String>::new();
    for entry in fs::read_dir(&source).expect("sources") {
        let path = entry.expect("an entry").path();
        let module = path.file_stem().expect("a name").to_string_lossy().into_owned();
        texts.entry(module).or_default().push_str(&code(&path));
    }
    texts.remove("lib");
    let names: BTreeSet<String> = texts.keys().cloned().collect();
    let of = |text: &str| named(text).into_iter().filter(|n| names.contains(n)).collect();
    texts.iter().map(|(module, text)| (module.clone(), of(text))).collect()
}

/// All code at a path, without comments.
fn code(path: &Path) -> String {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a module");
        return entries.map(|entry| code(&entry.expect("an entry").path())).collect();
    }
    let text = fs::read_to_string(path).expect("a source");
    text.lines().flat_map(|line| [line.split("//").next().unwrap_or(""), "\n"]).collect()
}

/// First names behind `crate::`, those of lists in braces among them.
fn named(text: &str) -> BTreeSet<String> {
    let first =
        |path: &str| path.trim().split(|c: char| c != '_' && !c.is_alphanumeric()).next().map(str::to_owned);
    text.split("crate::")
        .skip(1)
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(list) => outermost(list).into_iter().filter_map(first).collect::<Vec<_>>(),
            None => first(rest).into_iter().collect(),
        })
        .collect()
}

/// The elements of a list that ends with a brace, each with what is nested in it.
fn outermost(list: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut found) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                found.push(&list[begin..at]);
                begin = at + 1;
                if c == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    found
}

/// All that can be reached from a module by at least one step.
fn reached(graph: &Graph, from: &str) -> BTreeSet<String> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(module) = next.pop() {
        next.extend(graph[&module].iter().filter(|to| **to != module && seen.insert((*to).clone())).cloned());
    }
    seen
}

/// Those that can be reached from themselves.
fn circular(graph: &Graph) -> BTreeSet<String> {
    graph.keys().filter(|module| reached(graph, module).contains(*module)).cloned().collect()
}

#[test]
fn modules_form_no_circle() {
    let modules = modules();
    assert!(modules["start"].contains("process"), "imports are found");
    assert_eq!(circular(&modules), BTreeSet::new());
}

#[test]
fn circles_are_found_through_lists_and_paths() {
    let list = "use crate::{a::{self, x}, b, c as d};\nlet y = crate::e::f(crate::g());";
    assert_eq!(named(list), ["a", "b", "c", "e", "g"].map(str::to_owned).into());
    let graph = |edges: &[(&str, &[&str])]| -> Graph {
        edges
            .iter()
            .map(|(from, to)| (from.to_string(), to.iter().map(|t| t.to_string()).collect()))
            .collect()
    };
    assert_eq!(circular(&graph(&[("a", &["b"]), ("b", &["c"]), ("c", &["c"])])), BTreeSet::new());
    let two = graph(&[("a", &["b"]), ("b", &["a"]), ("c", &["a"])]);
    assert_eq!(circular(&two), ["a", "b"].map(str::to_owned).into());
}
