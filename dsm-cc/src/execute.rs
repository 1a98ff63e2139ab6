//! Running compilers and programs: with a time limit, in a process group of their own, which ends with them, and with this process.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{self, SaFlags, SigAction, SigHandler, SigSet, Signal};
use nix::unistd::Pid;

/// Bytes of output, and of errors, that a program may write.
const MOST_OUTPUT: u64 = 64 << 20;
/// How long a program that is to end may take to do so.
const GRACE: Duration = Duration::from_secs(3);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note_signal(_signal: i32) {
    INTERRUPTED.store(true, Ordering::SeqCst);
}

/// From now on, signals that end a command end what it has started first.
pub fn catch_signals() -> nix::Result<()> {
    let action = SigAction::new(SigHandler::Handler(note_signal), SaFlags::SA_RESTART, SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: the handler only stores to an atomic.
        unsafe { signal::sigaction(signal, &action)? };
    }
    Ok(())
}

/// Whether such a signal has come.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With this status.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It was stopped after this many seconds.
    TimedOut(u64),
    /// It was stopped because it wrote too much.
    TooMuchOutput,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Exited(status) => write!(f, "status {status}"),
            End::Signalled(signal) => match Signal::try_from(*signal) {
                Ok(signal) => write!(f, "{signal}"),
                Err(_) => write!(f, "signal {signal}"),
            },
            End::TimedOut(seconds) => write!(f, "no end within {seconds} s"),
            End::TooMuchOutput => write!(f, "more than {} MB of output", MOST_OUTPUT >> 20),
        }
    }
}

/// What a command did.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Its standard output.
    pub output: Vec<u8>,
    /// Its standard error.
    pub errors: String,
}

impl Outcome {
    /// Whether it ended with status 0.
    pub fn succeeded(&self) -> bool {
        self.end == End::Exited(0)
    }
}

/// Runs `command`; its outputs pass through files in `scratch`, which is its working directory.
pub fn run(mut command: Command, scratch: &Path, limit: Duration) -> io::Result<Outcome> {
    let paths = ["output", "errors"].map(|name| scratch.join(name));
    command
        .stdin(Stdio::null())
        .stdout(File::create(&paths[0])?)
        .stderr(File::create(&paths[1])?)
        .process_group(0);
    // SAFETY: the closure makes one system call.
    unsafe { command.pre_exec(|| Ok(nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?)) };
    let mut child = command.spawn()?;
    let end = wait(&mut child, &paths, limit)?;
    let mut contents = [Vec::new(), Vec::new()];
    for (path, content) in paths.iter().zip(&mut contents) {
        File::open(path)?.take(MOST_OUTPUT).read_to_end(content)?;
        std::fs::remove_file(path)?;
    }
    let [output, errors] = contents;
    Ok(Outcome { end, output, errors: String::from_utf8_lossy(&errors).into_owned() })
}

fn wait(child: &mut Child, outputs: &[std::path::PathBuf; 2], limit: Duration) -> io::Result<End> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            end_group(child);
            return Ok(end_of(status));
        }
        let size = |path| std::fs::metadata(path).map_or(0, |meta| meta.len());
        let stopped = if start.elapsed() >= limit {
            Some(End::TimedOut(limit.as_secs()))
        } else if outputs.iter().any(|path| size(path) > MOST_OUTPUT) {
            Some(End::TooMuchOutput)
        } else {
            interrupted().then_some(End::Signalled(Signal::SIGINT as i32))
        };
        if let Some(end) = stopped {
            stop(child)?;
            return Ok(end);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn end_of(status: ExitStatus) -> End {
    match status.code() {
        // The launcher's way to say which signal ended the job, which is also a shell's.
        Some(code) if (129..=128 + libc_signals()).contains(&code) => End::Signalled(code - 128),
        Some(code) => End::Exited(code),
        None => End::Signalled(status.signal().unwrap_or(0)),
    }
}

fn libc_signals() -> i32 {
    Signal::iterator().map(|signal| signal as i32).max().unwrap_or(0)
}

/// Asks the group's leader to end, which ends its own processes, then ends all.
fn stop(child: &mut Child) -> io::Result<()> {
    let group = Pid::from_raw(child.id() as i32);
    let _ = signal::kill(group, Signal::SIGTERM);
    let start = Instant::now();
    while child.try_wait()?.is_none() && start.elapsed() < GRACE {
        std::thread::sleep(Duration::from_millis(10));
    }
    end_group(child);
    child.wait()?;
    Ok(())
}

/// Ends what is left of the group; mostly nothing is.
fn end_group(child: &Child) {
    let _ = signal::killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
}

/// A command as a shell takes it.
pub fn line(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+,:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_given_to_a_shell() {
        let mut command = Command::new("cc");
        command.args(["-Da=b", "it's", ""]);
        assert_eq!(line(&command), "cc -Da=b 'it'\\''s' ''");
    }
}
