//! How a process ends that has lost a peer: a test runs another one, which is ignored otherwise, in a copy of the test program, and looks at what that printed.

use std::process::Command;

use super::Process;
use crate::transport::{Wake, Width};

/// Variable that says what a copy of the test program loses its peer in.
const LOSES: &str = "DSM_TEST_LOSES";
const RETURNED: &str = "an operation returned";

/// In the copy: what it loses its peer in.
pub(crate) fn situation() -> String {
    std::env::var(LOSES).expect("how to lose the peer")
}

/// In the copy: threads wait for process 1, which is lost, or load from it. Does not return if that is noticed.
pub(crate) fn operate(process: &Process, waits: bool) {
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let transport = process.peers.transport(1).expect("it is not mapped");
                let value = match waits {
                    true => transport.wait_change(1, 8, 0, Wake { sleepers: 0, mask: 1 }).map(u64::from),
                    false => transport.load(1, 0, Width::Bits64),
                };
                value.unwrap_or_else(|lost| lost.end_process())
            });
        }
    });
    println!("{RETURNED}");
}

/// Runs the test of this name in a copy, which has to end with one message that process 1 is lost. Returns its messages.
pub(crate) fn assert_one_message(test: &str, situation: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", test])
        .env(LOSES, situation)
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{situation}: {out}{err}");
    assert_eq!(err.matches("lost the connection to process 1: ").count(), 1, "{situation}: {err}");
    assert!(err.contains("dsm: error: process 0, after "), "{situation}: {err}");
    assert!(!out.contains(RETURNED), "{situation}: {out}");
    err.into_owned()
}
