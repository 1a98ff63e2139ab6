//! How jobs end: whose death or exit ends them, with which status and message, and that nothing is left of them.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::AT_ONCE;
use crate::victim::{Victim, send, text};

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
