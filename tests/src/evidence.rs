//! What a failed run leaves behind for whoever looks into it later: a failure that comes once in a thousand runs may not come again.

use crate::compile::{Built, shell_line};
use crate::execute::Outcome;
use crate::toolchain::scratch;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where failed runs are kept.
pub fn directory() -> PathBuf {
    scratch().join("failed")
}

/// Keeps a failed run in a directory of its own: `commands` that repeat it, `stdout` and `stderr` (of a hang: with the stacks of all its
/// threads), the sources and the executable. Returns a line for the message.
pub fn keep(name: &str, built: &Built, command: &Command, outcome: &Outcome, sources: &[PathBuf]) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let directory = directory().join(format!("{name}-{}-{number}", std::process::id()));
    match write(&directory, built, command, outcome, sources) {
        Ok(()) => format!("  kept in {}", directory.display()),
        Err(error) => format!("  not kept: {}: {error}", directory.display()),
    }
}

fn write(
    directory: &Path,
    built: &Built,
    command: &Command,
    outcome: &Outcome,
    sources: &[PathBuf],
) -> std::io::Result<()> {
    fs::create_dir_all(directory)?;
    let status = outcome.status.map_or("no end".into(), |s| s.to_string());
    let text = format!("{}\n{}\n# status: {status}\n", built.command, shell_line(command));
    fs::write(directory.join("commands"), text)?;
    fs::write(directory.join("stdout"), &outcome.stdout)?;
    fs::write(directory.join("stderr"), &outcome.stderr)?;
    for file in sources.iter().chain([&built.path]).filter(|file| file.is_file()) {
        let name = file.file_name().unwrap_or_default();
        fs::copy(file, directory.join(name))?;
    }
    Ok(())
}

/// Where each thread of a process group is: its stack if there is a debugger (`gdb`), else the kernel's function that it waits in.
pub fn stacks(group: u32) -> String {
    let mut text = String::new();
    for pid in members(group) {
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        text.push_str(&format!("--- process {status}"));
        let mut debugger = Command::new("timeout");
        debugger.args([
            "20",
            "gdb",
            "-p",
            &pid.to_string(),
            "-batch",
            "-ex",
            "thread apply all backtrace 16",
        ]);
        match debugger.output() {
            Ok(output) if output.status.success() => text.push_str(&String::from_utf8_lossy(&output.stdout)),
            _ => text.push_str(&waits(pid)),
        }
    }
    text
}

/// A line for each thread: its state and where in the kernel it waits.
fn waits(pid: u32) -> String {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lines = tasks.map(|task| {
        let read = |file: &str| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        format!("{} waits in {:?}\n", read("stat").trim_end(), read("wchan"))
    });
    lines.collect()
}

fn members(group: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_string_lossy().parse().ok());
    // SAFETY: getpgid(2) takes no pointers.
    pids.filter(|pid: &u32| unsafe { libc::getpgid(*pid as i32) } == group as i32).collect()
}

#[cfg(test)]
mod tests {
    use super::{Outcome, keep};
    use crate::compile::Built;
    use crate::execute;
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn a_hang_leaves_commands_output_and_where_it_was() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo begun; sleep 30; true"]);
        let outcome = execute::run(&mut command, "", Duration::from_millis(300));
        assert_eq!(outcome.status, None);
        assert!(outcome.errors().contains("(sleep)"), "{}", outcome.errors());
        let built = Built { path: "/bin/true".into(), command: "cc hang.c".into() };
        let line = keep("hang", &built, &command, &outcome, &[]);
        let directory = line.strip_prefix("  kept in ").expect("the scratch directory can be written");
        let read = |file: &str| std::fs::read_to_string(format!("{directory}/{file}")).unwrap_or_default();
        assert!(read("commands").contains("cc hang.c\n") && read("commands").contains("no end"));
        assert_eq!(read("stdout"), "begun\n");
        assert_eq!(read("stderr"), outcome.errors());
        std::fs::remove_dir_all(directory).expect("just written");
    }

    #[test]
    fn what_cannot_be_kept_is_said() {
        let built = Built { path: "/nowhere".into(), command: String::new() };
        let outcome = Outcome { status: Some(1), stdout: Vec::new(), stderr: Vec::new() };
        let line = keep("a\0b", &built, &Command::new("x"), &outcome, &[]);
        assert!(line.starts_with("  not kept: "), "{line}");
    }
}
