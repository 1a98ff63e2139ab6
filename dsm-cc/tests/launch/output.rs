//! What processes print, and who reads it.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::AT_ONCE;
use crate::victim::{Victim, send, text};

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
