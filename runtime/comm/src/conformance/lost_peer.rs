//! How a process ends that has lost a peer: a test runs another one, which is ignored otherwise, in a copy of the test program, and looks at what that printed.

use std::process::Command;

use super::Process;
use super::stream::start_over;
use crate::requests::Carrier;
use crate::requests::carrier::Registrar;
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

/// A peer that tells keys that are none.
struct Liar(Box<dyn Registrar>);

impl Registrar for Liar {
    unsafe fn register(&mut self, start: *mut u8, bytes: usize) -> Option<(u64, u64)> {
        // SAFETY: the caller's promise.
        unsafe { self.0.register(start, bytes) }.map(|(key, address)| (key ^ 0x5a00, address))
    }
}

/// In the copy: reads from process 1, which tells a key that is none. Does not return if that is noticed.
pub(crate) fn read_by_a_key_that_is_none(
    first: impl FnOnce() -> Carrier,
    second: impl FnOnce() -> Carrier + Send,
) {
    const BYTES: usize = 1 << 20;
    let peer = || {
        let mut carrier = second();
        carrier.registrar = carrier.registrar.map(|own| Box::new(Liar(own)) as Box<dyn Registrar>);
        start_over(1, carrier, BYTES, None)
    };
    std::thread::scope(|scope| {
        let peer = scope.spawn(peer);
        let process = start_over(0, first(), BYTES, None);
        let _peer = peer.join().unwrap();
        let mut buffer = vec![0; BYTES / 2];
        let transport = process.peers.transport(1).expect("it is not mapped");
        // SAFETY: the buffer is as long.
        let read = unsafe { transport.read(1, 0, buffer.as_mut_ptr(), buffer.len()) };
        read.unwrap_or_else(|lost| lost.end_process());
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
