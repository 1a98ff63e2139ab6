//! Running a command with a time limit, in its own process group, with captured output.

use crate::evidence;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Exit status as a shell reports it: 128 + signal for a signal; `None` if the time limit was exceeded.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

impl Outcome {
    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// A row of the table that `DSM_STATS` prints: a value for each process. Panics if there is none.
    pub fn counter(&self, name: &str) -> Vec<u64> {
        let errors = self.errors();
        let line = errors.lines().find(|l| l.split_whitespace().next() == Some(name));
        let line = line.unwrap_or_else(|| panic!("no counter {name} in\n{errors}"));
        line.split_whitespace().skip(1).map(|value| value.parse().expect("counters are numbers")).collect()
    }
}

/// Time limit of one run: `DSM_TEST_TIMEOUT` seconds, by default 60.
pub fn time_limit() -> Duration {
    let seconds = std::env::var("DSM_TEST_TIMEOUT").ok().and_then(|v| v.parse().ok()).unwrap_or(60);
    Duration::from_secs(seconds)
}

/// A file or directory in the scratch directory that is deleted on drop.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new empty name that no other thread or process uses.
    pub fn new(kind: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(crate::toolchain::scratch().join(format!("{kind}-{}-{number}", std::process::id())))
    }

    /// A new empty directory.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn directory(kind: &str) -> Self {
        let new = Self::new(kind);
        std::fs::create_dir(&new.0).expect("a scratch directory can be made");
        new
    }

    /// Its path.
    pub fn path(&self) -> &std::path::Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ =
            if self.0.is_dir() { std::fs::remove_dir_all(&self.0) } else { std::fs::remove_file(&self.0) };
    }
}

/// Runs `command` with `input` on its standard input. If it has to be killed, the stacks of its threads follow its standard error.
///
/// Output goes through files, not pipes: a process that outlives the command could hold a pipe open and
/// hang the test that is meant to notice it.
///
/// # Panics
/// If the command cannot be started.
pub fn run(command: &mut Command, input: &str, limit: Duration) -> Outcome {
    let stdin = Scratch::new("in");
    std::fs::write(stdin.path(), input).expect("a scratch file can be written");
    run_with_file(command, stdin.path(), limit)
}

/// As [`run`], with a file as its standard input.
///
/// # Panics
/// If the file cannot be opened, or the command cannot be started.
pub fn run_with_file(command: &mut Command, input: &Path, limit: Duration) -> Outcome {
    let (out, err) = (Scratch::new("out"), Scratch::new("err"));
    let create = |s: &Scratch| File::create(s.path()).expect("a scratch file can be made");
    command
        .stdin(File::open(input).expect("the input can be read"))
        .stdout(create(&out))
        .stderr(create(&err));
    let child = start(command);
    let mut stacks = String::new();
    let status = wait_or(child, limit, |group| stacks = evidence::stacks(group)).map(shell_status);
    let read = |s: &Scratch| std::fs::read(s.path()).unwrap_or_default();
    let mut stderr = read(&err);
    stderr.extend(stacks.bytes());
    Outcome { status, stdout: read(&out), stderr }
}

/// Removes the tests' own variables from the environment of `command`: the runtime warns about variables
/// with its prefix that it does not know.
pub fn hide_own_variables(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("DSM_TEST_") || text == "DSM_BIN_DIR" {
            command.env_remove(&name);
        }
    }
}

/// Starts `command` as the leader of a process group of its own.
///
/// # Panics
/// If it cannot be started.
pub fn start(command: &mut Command) -> Child {
    command.process_group(0);
    // Whoever runs the tests in the background may have them ignored, which the command would inherit.
    let heard = || {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
            // SAFETY: no handler of this process is involved.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure only makes system calls.
    unsafe { command.pre_exec(heard) };
    command.spawn().unwrap_or_else(|e| panic!("cannot start {:?}: {e}", command.get_program()))
}

/// Waits at most `limit`, then kills the child's process group.
pub fn wait(child: Child, limit: Duration) -> Option<ExitStatus> {
    wait_or(child, limit, |_| ())
}

/// As [`wait`]; looks at the process group with `inspect` before it is killed.
fn wait_or(mut child: Child, limit: Duration, inspect: impl FnOnce(u32)) -> Option<ExitStatus> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return Some(status);
        }
        if Instant::now() > deadline {
            inspect(child.id());
            kill_group(child.id());
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Sends SIGKILL to a process group.
pub fn kill_group(leader: u32) {
    // SAFETY: kill(2) takes no pointers; the group is one that `start` made.
    unsafe { libc::kill(-(leader as i32), libc::SIGKILL) };
}

/// An exit status as a shell shows it.
pub fn shell_status(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::{Command, Duration, run};

    #[test]
    fn output_input_and_status_arrive() {
        let outcome = run(
            Command::new("sh").args(["-c", "cat; echo bad >&2; exit 3"]),
            "text",
            Duration::from_secs(10),
        );
        assert_eq!(
            (outcome.status, outcome.text().as_str(), outcome.errors().as_str()),
            (Some(3), "text", "bad\n")
        );
    }

    #[test]
    fn a_signal_is_reported_as_the_shell_does() {
        let outcome = run(Command::new("sh").args(["-c", "kill -9 $$"]), "", Duration::from_secs(10));
        assert_eq!(outcome.status, Some(137));
    }

    #[test]
    fn the_time_limit_ends_the_whole_group() {
        let started = std::time::Instant::now();
        let outcome =
            run(Command::new("sh").args(["-c", "sleep 50 & sleep 50"]), "", Duration::from_millis(100));
        assert_eq!(outcome.status, None);
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}
