//! The commands of this package say what they can do, and what they do not understand.

use std::process::{Command, Output};

const COMMANDS: [(&str, &str); 5] = [
    ("bench", env!("CARGO_BIN_EXE_bench")),
    ("fuzz", env!("CARGO_BIN_EXE_fuzz")),
    ("inject", env!("CARGO_BIN_EXE_inject")),
    ("litmus", env!("CARGO_BIN_EXE_litmus")),
    ("matrix", env!("CARGO_BIN_EXE_matrix")),
];

fn run(path: &str, argument: &str) -> Output {
    Command::new(path).arg(argument).output().expect("the command can be started")
}

#[test]
fn help_is_an_answer_and_not_an_error() {
    for (name, path) in COMMANDS {
        let output = run(path, "--help");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && output.stderr.is_empty(), "{name}: {output:?}");
        assert!(text.starts_with(&format!("usage: {name} ")), "{text}");
    }
}

#[test]
fn what_is_not_understood_gives_one_message_with_the_remedy() {
    for (name, path) in COMMANDS {
        for argument in ["--no-such-option", "no-such-word", "--runs"] {
            let output = run(path, argument);
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{name} {argument}: {output:?}");
            assert!(text.starts_with(&format!("{name}: ")) && text.contains("--help"), "{text}");
            assert_eq!((text.lines().count(), output.stdout.len()), (1, 0), "{text}");
        }
    }
}
