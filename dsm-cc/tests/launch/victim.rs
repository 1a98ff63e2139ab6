//! A program that speaks the launcher's protocol and does what the tests want, and jobs of it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// A victim of its own for each test, so that what is left of it can be told from other tests' processes.
pub struct Victim {
    _directory: TempDir,
    pub path: PathBuf,
}

impl Victim {
    pub fn new() -> Victim {
        Victim::with_version(Some(dsm_abi::ABI_VERSION))
    }

    /// With the note of an interface version, or without a note.
    pub fn with_version(version: Option<u32>) -> Victim {
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

    pub fn command(&self, own: &str, arguments: &[&str]) -> Command {
        let mut command = launcher();
        command.args(own.split_whitespace()).arg(&self.path).args(arguments);
        command
    }

    pub fn run(&self, own: &str, arguments: &[&str]) -> Output {
        let output = self.command(own, arguments).output().unwrap();
        self.assert_gone(Duration::ZERO);
        output
    }

    /// Starts a job in a mode in which every process says that it is ready.
    pub fn start(&self, own: &str, arguments: &[&str], lines: usize) -> Job<'_> {
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
    pub fn processes(&self) -> Vec<i32> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|e| e.file_name().to_str()?.parse().ok());
        pids.filter(|pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == self.path))
            .collect()
    }

    pub fn assert_gone(&self, patience: Duration) {
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

pub struct Job<'a> {
    victim: &'a Victim,
    pub launcher: Child,
    output: BufReader<ChildStdout>,
    pub pids: Vec<i32>,
}

impl Job<'_> {
    pub fn launcher(&self) -> i32 {
        self.launcher.id() as i32
    }

    /// The exit status and the launcher's messages; everything must be over after `limit`.
    pub fn end(mut self, limit: Duration) -> (i32, String) {
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

/// `dsm-run`, which ends at signals that whoever runs the tests may ignore.
pub fn launcher() -> Command {
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

/// Sends a signal to a process, or to a group with a negative number.
pub fn send(pid: i32, signal: i32) {
    // SAFETY: kill(2) takes no pointers. nix's wrapper knows no real-time signals.
    assert_eq!(unsafe { nix::libc::kill(pid, signal) }, 0, "signal {signal} to {pid}");
}

/// Output as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
