//! What concerns libfabric only. What all transports have in common is tested by [`crate::conformance`].

use std::process::Command;
use std::sync::atomic::Ordering;

use super::endpoint::Context;
use super::*;
use crate::conformance::ofi::{PROVIDER, is_there};
use crate::conformance::stream::{sockets, start_over};
use crate::transport::{Update, Wake, Width};

#[test]
fn what_a_stranger_sends_matches_no_receive() {
    if !is_there() {
        return;
    }
    let mut all = sockets(2).into_iter();
    let (first, second) = (all.next().unwrap(), all.next().unwrap());
    let [mut stranger, _] = endpoints(&second, PROVIDER).unwrap();
    let [client, agent] = endpoints(&first, PROVIDER).unwrap();
    let addresses = [&client, &agent].map(|endpoint| endpoint.address().unwrap());
    let second = std::thread::spawn(move || start_over(1, carrier(1, second, PROVIDER).unwrap(), 4096, None));
    let first = start_over(0, connect(0, first, client, agent).unwrap(), 4096, None);
    let second = second.join().unwrap();
    let exchange = |value| {
        second.peers.update(0, 8, Width::Bits64, Update::Swap, value, None);
        assert_eq!(first.memory[1].load(Ordering::SeqCst), value);
        assert_eq!(first.peers.load(1, 8, Width::Bits64), 0);
    };
    exchange(1);
    let mut sent = 0;
    for address in addresses {
        let to = stranger.insert(&address).unwrap();
        for (tag, bytes) in [(0, 48), (1, 8), (stranger.tags, 0), (2, 10_000), (3, 48)] {
            let context = Context::new(0);
            while stranger.send(&(0..bytes), to, tag, context).is_err() {
                stranger.poll(|_| ());
                exchange(2);
            }
            sent += 1;
        }
        exchange(3);
    }
    assert_eq!(sent, 10);
    let wake = Wake { sleepers: 64, mask: 1 };
    assert_eq!(second.peers.wait_change(0, 8, 0, wake), 3);
    exchange(4);
}

/// Variable that says what a copy of this test program loses its peer in.
const LOSES: &str = "DSM_TEST_LOSES";

#[test]
#[ignore = "the test below runs it in a process that it ends"]
fn lose_a_peer() {
    let how = std::env::var(LOSES).expect("how to lose the peer");
    let mut all = sockets(2).into_iter();
    let (first, second) = (all.next().unwrap(), all.next().unwrap());
    let peer = std::thread::spawn(move || carrier(1, second, PROVIDER).unwrap());
    let process = start_over(0, carrier(0, first, PROVIDER).unwrap(), 4096, None);
    // Serves nobody, and goes with its sockets.
    drop(peer.join().unwrap());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| match how.as_str() {
                "wait" => u64::from(process.peers.wait_change(1, 8, 0, Wake { sleepers: 0, mask: 1 })),
                _ => process.peers.load(1, 0, Width::Bits64),
            });
        }
    });
    println!("an operation returned");
}

#[test]
fn who_loses_a_peer_ends_with_one_message() {
    if !is_there() {
        return;
    }
    for how in ["load", "wait"] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture", "ofi::tests::lose_a_peer"])
            .env(LOSES, how)
            .output()
            .unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{how}: {out}{err}");
        assert_eq!(err.matches("lost the connection to process 1: ").count(), 1, "{how}: {err}");
        assert!(!out.contains("an operation returned"), "{how}: {out}");
    }
}
