//! What concerns libfabric only. What all transports have in common is tested by [`crate::conformance`].

use std::sync::atomic::Ordering;

use super::endpoint::Context;
use super::*;
use crate::conformance::lost_peer;
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
    let [mut stranger, _] = endpoints(&second, PROVIDER, true).unwrap();
    let [client, agent] = endpoints(&first, PROVIDER, true).unwrap();
    let addresses = [&client, &agent].map(|endpoint| endpoint.address().unwrap());
    let second =
        std::thread::spawn(move || start_over(1, carrier(1, second, PROVIDER, true).unwrap(), 4096, None));
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

#[test]
#[ignore = "the test below runs it in a process that it ends"]
fn lose_a_peer() {
    let mut all = sockets(2).into_iter();
    let (first, second) = (all.next().unwrap(), all.next().unwrap());
    if lost_peer::situation() == "key" {
        return lost_peer::read_by_a_key_that_is_none(
            || carrier(0, first, PROVIDER, true).unwrap(),
            || carrier(1, second, PROVIDER, true).unwrap(),
        );
    }
    let peer = std::thread::spawn(move || carrier(1, second, PROVIDER, true).unwrap());
    let process = start_over(0, carrier(0, first, PROVIDER, true).unwrap(), 4096, None);
    // Serves nobody, and goes with its sockets.
    drop(peer.join().unwrap());
    lost_peer::operate(&process, lost_peer::situation() == "wait");
}

#[test]
fn who_loses_a_peer_ends_with_one_message() {
    if is_there() {
        for situation in ["load", "wait", "key"] {
            let error = lost_peer::assert_one_message("ofi::tests::lose_a_peer", situation);
            assert_eq!(error.contains(": cannot read its memory: "), situation == "key", "{error}");
        }
    }
}
