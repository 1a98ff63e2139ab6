//! `dsm-run` as its users see it, with a program that speaks the launcher's protocol and does what the tests want.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// A job must have ended this long after its cause.
const AT_ONCE: Duration = Duration::from_secs(1);
/// The same after a signal that processes ignore: half a second later they are killed.
const STUBBORN: Duration = Duration::from_millis(1500);

/// A victim of its own for each test, so that what is left of it can be told from other tests' processes.
struct Victim {
    _directory: TempDir,
    path: PathBuf,
}

impl Victim {
    fn new() -> Victim {
        Victim::with_version(Some(dsm_abi::ABI_VERSION))
    }

    /// With the note of an interface version, or without a note.
    fn with_version(version: Option<u32>) -> Victim {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/launch");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("victim");
        let mut compile = Command::new("clang-22");
        compile.arg("-O1").arg("-w").arg(sources.join("victim.c")).arg("-o").arg(&path);
        if let Some(version) = version {
            let note = fs::read_to_string(sources.join("note.s")).unwrap();
            let file = directory.path().join("note.s");
            fs::write(&file, note.replace("VERSION", &version.to_string())).unwrap();
            compile.arg(file);
        }
        assert!(compile.status().expect("clang-22 is installed").success());
        Victim { _directory: directory, path }
    }

    fn command(&self, own: &str, arguments: &[&str]) -> Command {
        let mut command = launcher();
        command.args(own.split_whitespace()).arg(&self.path).args(arguments);
        command
    }

    fn run(&self, own: &str, arguments: &[&str]) -> Output {
        let output = self.command(own, arguments).output().unwrap();
        self.assert_gone(Duration::ZERO);
        output
    }

    /// Starts a job in a mode in which every process says that it is ready.
    fn start(&self, own: &str, arguments: &[&str], lines: usize) -> Job<'_> {
        let mut command = self.command(own, arguments);
        // A group of its own, for signals that a terminal would send to all.
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut launcher = command.spawn().unwrap();
        let mut output = BufReader::new(launcher.stdout.take().unwrap());
        let mut pids = vec![0; lines];
        for _ in 0..lines {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            let fields: Vec<_> = line.split_whitespace().collect();
            match fields[..] {
                ["ready", rank, pid] => pids[rank.parse::<usize>().unwrap()] = pid.parse().unwrap(),
                ["stray", ..] => {}
                _ => panic!("{line:?}"),
            }
        }
        Job { victim: self, launcher, output, pids }
    }

    /// Processes of this victim, zombies excluded.
    fn processes(&self) -> Vec<i32> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|e| e.file_name().to_str()?.parse().ok());
        pids.filter(|pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == self.path))
            .collect()
    }

    fn assert_gone(&self, patience: Duration) {
        let limit = Instant::now() + patience;
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            if Instant::now() > limit {
                for pid in &left {
                    let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
                }
                panic!("processes {left:?} are left");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

struct Job<'a> {
    victim: &'a Victim,
    launcher: Child,
    output: BufReader<ChildStdout>,
    pids: Vec<i32>,
}

impl Job<'_> {
    fn launcher(&self) -> i32 {
        self.launcher.id() as i32
    }

    /// The exit status and the launcher's messages; everything must be over after `limit`.
    fn end(mut self, limit: Duration) -> (i32, String) {
        let since = Instant::now();
        let status = loop {
            if let Some(status) = self.launcher.try_wait().unwrap() {
                break status;
            }
            if since.elapsed() > limit + Duration::from_secs(10) {
                self.launcher.kill().unwrap();
                panic!("the job does not end");
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        assert!(since.elapsed() < limit, "the end took {:?}", since.elapsed());
        self.victim.assert_gone(Duration::ZERO);
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        let mut messages = String::new();
        self.launcher.stderr.take().unwrap().read_to_string(&mut messages).unwrap();
        (status.code().unwrap_or_else(|| panic!("{status}")), messages)
    }
}

fn launcher() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dsm-run"));
    // Whoever runs the tests in the background may have them ignored, which launcher and processes would inherit.
    let heard = || {
        for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT] {
            // SAFETY: no handler of this process is involved.
            unsafe { nix::sys::signal::signal(signal, nix::sys::signal::SigHandler::SigDfl)? };
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure only makes system calls.
    unsafe { command.pre_exec(heard) };
    command
}

fn send(pid: i32, signal: i32) {
    // SAFETY: kill(2) takes no pointers. nix's wrapper knows no real-time signals.
    assert_eq!(unsafe { nix::libc::kill(pid, signal) }, 0, "signal {signal} to {pid}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn whoever_is_killed_the_job_ends_with_one_message() {
    let victim = Victim::new();
    for (signal, name) in [
        (9, "9 (SIGKILL)"),
        (11, "11 (SIGSEGV)"),
        (6, "6 (SIGABRT)"),
        (7, "7 (SIGBUS)"),
        (15, "15 (SIGTERM)"),
        (2, "2 (SIGINT)"),
        (40, "40"),
    ] {
        for rank in 0..3 {
            let job = victim.start("-n 3", &["run"], 3);
            let pid = job.pids[rank];
            send(pid, signal);
            let (status, messages) = job.end(AT_ONCE);
            assert_eq!(status, 128 + signal);
            let expected = format!(
                "dsm-run: process {rank} (pid {pid}) was killed by signal {name}; the job was ended\n"
            );
            assert_eq!(messages, expected);
        }
    }
}

#[test]
fn a_process_that_cannot_run_is_killed_too() {
    let victim = Victim::new();
    let job = victim.start("-n 3", &["run"], 3);
    send(job.pids[1], Signal::SIGSTOP as i32);
    send(job.pids[2], Signal::SIGKILL as i32);
    assert_eq!(job.end(AT_ONCE).0, 137);
}

#[test]
fn the_status_is_that_of_process_0() {
    let victim = Victim::new();
    for code in [0, 1, 5, 255] {
        for mode in ["return", "exit"] {
            let output = victim.run("-n 3", &[mode, "0", &code.to_string()]);
            assert_eq!(output.status.code(), Some(code), "{mode}");
            assert_eq!(text(&output.stderr), "", "{mode}");
        }
    }
}

#[test]
fn another_process_that_exits_ends_the_job() {
    let victim = Victim::new();
    for (code, status) in [(0, 1), (5, 5), (255, 255)] {
        for rank in ["1", "2"] {
            let output = victim.run("-n 3", &["exit", rank, &code.to_string()]);
            assert_eq!(output.status.code(), Some(status));
            let messages = text(&output.stderr);
            assert!(messages.starts_with(&format!("dsm-run: process {rank} (pid ")), "{messages}");
            let cause = format!(") exited with status {code} before the program ended; the job was ended\n");
            assert!(messages.ends_with(&cause) && messages.lines().count() == 1, "{messages}");
        }
    }
}

#[test]
fn processes_that_do_not_leave_are_killed_after_a_second() {
    let victim = Victim::new();
    let since = Instant::now();
    let output = victim.run("-n 3", &["late", "0", "4"]);
    let took = since.elapsed();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(4), String::new()));
    assert!(took > Duration::from_millis(900) && took < Duration::from_millis(2500), "{took:?}");
}

#[test]
fn signals_to_the_launcher_end_the_job() {
    let victim = Victim::new();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        for (mode, limit) in [("run", Duration::from_millis(450)), ("stubborn", STUBBORN)] {
            let job = victim.start("-n 3", &[mode], 3);
            send(job.launcher(), signal as i32);
            let (status, messages) = job.end(limit);
            assert_eq!(status, 128 + signal as i32, "{signal} {mode}");
            assert!(messages.lines().count() <= 1 && !messages.contains("process"), "{messages}");
        }
    }
}

#[test]
fn ctrl_c_reaches_everyone_and_is_no_failure_of_a_process() {
    let victim = Victim::new();
    for _ in 0..10 {
        let job = victim.start("-n 3", &["run"], 3);
        send(-job.launcher(), Signal::SIGINT as i32);
        let (status, messages) = job.end(AT_ONCE);
        assert_eq!(status, 130);
        assert!(!messages.contains("process"), "{messages}");
    }
}

#[test]
fn a_second_signal_is_impatience() {
    let victim = Victim::new();
    let job = victim.start("-n 2", &["stubborn"], 2);
    send(job.launcher(), Signal::SIGTERM as i32);
    std::thread::sleep(Duration::from_millis(100));
    send(job.launcher(), Signal::SIGTERM as i32);
    assert_eq!(job.end(Duration::from_millis(350)).0, 143);
}

#[test]
fn sigint_counts_even_if_a_shell_ignores_it_for_background_commands() {
    let victim = Victim::new();
    let script = format!("\"$0\" -n 2 \"$1\" run & {}; kill -INT $!; wait $!", "sleep 0.3");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_dsm-run")).arg(&victim.path);
    assert_eq!(shell.output().unwrap().status.code(), Some(130));
    victim.assert_gone(Duration::ZERO);
}

#[test]
fn nothing_survives_the_launcher() {
    let victim = Victim::new();
    for mode in ["run", "stubborn"] {
        let mut job = victim.start("-n 4", &[mode], 4);
        job.launcher.kill().unwrap();
        assert_eq!(job.launcher.wait().unwrap().signal(), Some(9));
        victim.assert_gone(AT_ONCE);
    }
}

#[test]
fn what_processes_leave_behind_goes_too() {
    let victim = Victim::new();
    let job = victim.start("-n 2", &["stray", "1"], 3);
    assert_eq!(victim.processes().len(), 4);
    send(job.pids[1], Signal::SIGKILL as i32);
    assert_eq!(job.end(AT_ONCE).0, 137);
    let job = victim.start("-n 2", &["stray", "0"], 3);
    send(job.launcher(), Signal::SIGTERM as i32);
    assert_eq!(job.end(AT_ONCE).0, 143);
}

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
fn labels_keep_lines_whole() {
    let victim = Victim::new();
    let output = victim.run("-l -n 3", &["talk"]);
    for (stream, parity) in [(text(&output.stdout), 0), (text(&output.stderr), 1)] {
        for rank in 0..3 {
            let own: Vec<_> = stream.lines().filter_map(|l| l.strip_prefix(&format!("[{rank}] "))).collect();
            let mut expected: Vec<_> =
                (0..2000).filter(|i| i % 2 == parity).map(|i| format!("line {i} of {rank}")).collect();
            expected.extend((parity == 0).then(|| "no newline".to_owned()));
            assert_eq!(own, expected);
        }
        assert_eq!(stream.lines().count(), stream.lines().filter(|l| l.starts_with('[')).count());
    }
}

#[test]
fn a_reader_that_stops_does_not_keep_the_job_alive() {
    let victim = Victim::new();
    for own in ["-n 3", "-l -n 3"] {
        let mut command = victim.command(own, &["flood", "1"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        send(child.id() as i32, Signal::SIGTERM as i32);
        victim.assert_gone(AT_ONCE);
        assert_eq!(child.wait().unwrap().code(), Some(143), "{own}");
    }
}

#[test]
fn a_reader_that_leaves_ends_the_job() {
    let victim = Victim::new();
    for own in ["-n 3", "-l -n 3"] {
        let mut command = victim.command(own, &["flood", "1"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.ends_with("line 0\n"), "{line}");
        victim.assert_gone(AT_ONCE);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(141), "{own}");
        assert!(text(&output.stderr).contains("signal 13 (SIGPIPE)"), "{own}");
    }
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

#[test]
fn arguments_are_the_programs() {
    let victim = Victim::new();
    let output = victim.run("-n 2", &["args", "-n", "7", "--help", "", "a b"]);
    let path = victim.path.to_str().unwrap();
    assert_eq!(text(&output.stdout), format!("{path}\nargs\n-n\n7\n--help\n\na b\n"));
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
