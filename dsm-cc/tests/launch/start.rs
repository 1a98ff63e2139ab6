//! How processes start: what they inherit and what they are given; and what cannot be started.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;

use crate::victim::{Victim, launcher, send, text};

#[test]
fn processes_start_with_a_clean_slate() {
    let victim = Victim::new();
    let mut command = victim.command("-n 3 -t 4", &["look"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"12345").unwrap();
    let output = text(&child.wait_with_output().unwrap().stdout);
    let mut lines: Vec<_> = output.lines().collect();
    lines.sort_unstable();
    let address = lines[0].rsplit(' ').next().unwrap();
    for (rank, line) in lines.iter().enumerate() {
        let input = if rank == 0 { 5 } else { 0 };
        let expected = format!("rank {rank} size 3 threads 4 blocked 0 fixed 1 input {input} at {address}");
        assert_eq!(*line, expected);
    }
    assert_eq!(lines.len(), 3);
}

#[test]
fn processes_are_connected_if_they_do_not_map_memory() {
    let victim = Victim::new();
    for (transport, processes, is_connected) in [
        ("stream", 3, true),
        ("stream:7", 4, true),
        ("stream", 1, false),
        ("shm", 3, false),
        ("auto", 3, false),
        ("streams", 3, false),
    ] {
        let mut command = victim.command(&format!("-n {processes}"), &["meet", "1"]);
        let output = command.env("DSM_TRANSPORT", transport).output().unwrap();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!((output.status.code(), &*err), (Some(0), ""), "{transport}, {processes}: {out}");
        let mut lines: Vec<_> = out.lines().collect();
        lines.sort_unstable();
        let to = |rank: usize| (0..processes).filter(move |peer| is_connected && *peer != rank);
        let line = |rank| {
            to(rank).fold(format!("rank {rank} is connected to"), |line, peer| format!("{line} {peer}"))
        };
        // Without connections, the first process may end before others say anything.
        let ranks = if is_connected { processes } else { 1 };
        let expected: Vec<_> = (0..ranks).map(line).collect();
        assert_eq!(lines[..ranks], expected, "{transport}, {processes}");
    }
}

#[test]
fn arguments_are_the_programs() {
    let victim = Victim::new();
    let output = victim.run("-n 2", &["args", "-n", "7", "--help", "", "a b"]);
    let path = victim.path.to_str().unwrap();
    assert_eq!(text(&output.stdout), format!("{path}\nargs\n-n\n7\n--help\n\na b\n"));
}

#[test]
fn children_that_the_launcher_already_had_are_left_alone() {
    let victim = Victim::new();
    let script = "sleep 30 & echo $!; exec \"$0\" -n 2 \"$1\" return 0 3";
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_dsm-run")).arg(&victim.path).stdout(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    // Still there to be killed.
    send(line.trim().parse().unwrap(), Signal::SIGKILL as i32);
}

fn refusal(arguments: &[&OsStr]) -> (i32, String) {
    let output = launcher().args(arguments).env("PATH", "/nowhere").output().unwrap();
    assert_eq!(text(&output.stdout), "");
    (output.status.code().unwrap(), text(&output.stderr))
}

#[test]
fn what_cannot_be_started() {
    let foreign = Victim::with_version(None);
    let old = Victim::with_version(Some(dsm_abi::ABI_VERSION + 1));
    let plain = foreign.path.with_file_name("plain");
    fs::write(&plain, "text").unwrap();
    for (program, status, words) in [
        (OsStr::new("./missing"), 127, "no such file"),
        (OsStr::new("missing"), 127, "PATH"),
        (OsStr::new("/tmp"), 126, "directory"),
        (plain.as_os_str(), 126, "not executable"),
        (foreign.path.as_os_str(), 126, "not built by dsm-cc"),
        (old.path.as_os_str(), 126, "version"),
    ] {
        let (code, message) = refusal(&[OsStr::new("-n"), OsStr::new("2"), program]);
        assert_eq!(code, status, "{message}");
        assert!(message.starts_with("dsm-run: ") && message.lines().count() == 1, "{message}");
        assert!(message.contains(words) && message.contains(program.to_str().unwrap()), "{message}");
    }
}

#[test]
fn wrong_command_lines() {
    for line in ["", "-n 0 x", "-n x y", "-n 1025 x", "-t 0 x", "-t 257 x", "-q x", "--frob x", "-n"] {
        let words: Vec<_> = line.split_whitespace().map(OsStr::new).collect();
        let (code, message) = refusal(&words);
        assert_eq!(code, 2, "{line}: {message}");
        assert!(message.starts_with("error: "), "{line}: {message}");
    }
    for (option, words) in
        [("--help", "Usage: dsm-run"), ("--version", "dsm-run "), ("--help-env", "DSM_STATS")]
    {
        let output = launcher().arg(option).output().unwrap();
        assert!(output.status.success() && text(&output.stdout).contains(words), "{option}");
    }
}
