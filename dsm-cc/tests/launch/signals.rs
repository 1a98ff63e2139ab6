//! Signals to the launcher.

use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::AT_ONCE;
use crate::victim::{Victim, send};

/// A job must have ended this long after a signal that its processes ignore: half a second later they are killed.
const STUBBORN: Duration = Duration::from_millis(1500);

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
