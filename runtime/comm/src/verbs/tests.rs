//! What concerns RDMA only. What all transports have in common is tested by [`crate::conformance`].

use super::*;
use crate::conformance::lost_peer;
use crate::conformance::stream::{look_at_a_peer, sockets, start_all_over, start_over, start_with_looks};
use crate::conformance::verbs::is_there;
use crate::requests::carrier::RemotePart;

#[test]
fn parts_of_the_memory_do_not_overlap() {
    for peers in [1, 2, REQUESTS, REQUESTS + 9] {
        let layout = Layout { peers };
        let of_peer =
            |peer| [layout.request(peer), layout.reply(peer), layout.own_reply(peer), layout.shorts(peer)];
        let mut parts: Vec<_> = (0..peers).flat_map(of_peer).collect();
        let requests = layout.shared_requests();
        parts.push(requests..requests + layout.requests() * Layout::REQUEST);
        parts.push(layout.shared_shorts()..layout.bytes());
        assert!(parts.iter().all(|part| part.start.is_multiple_of(LINE)), "{parts:?}");
        assert!(parts.windows(2).all(|pair| pair[0].end <= pair[1].start), "{parts:?}");
    }
}

#[test]
fn a_device_that_is_not_there_is_named() {
    let error = check("no_such_device").unwrap_err().to_string();
    assert!(error.starts_with("DSM_TRANSPORT=verbs: "), "{error}");
    // Without the library, or without any device, that is what is said.
    let expected = if is_there() { "none is called no_such_device" } else { "use TCP" };
    assert!(error.contains(expected), "{error}");
}

/// Each message is whole when its completion is seen, and the memory that it was sent from may be changed as soon as the reply has come: adapter and
/// processor agree about both. Requests of all lengths, whose every byte is the round's, go on as the one before has been answered; a process that got
/// parts of two rounds would answer with another sum.
#[test]
fn messages_are_whole_when_their_completion_is_seen() {
    if !is_there() {
        return;
    }
    let rounds = std::env::var("ROUNDS").map_or(3000, |rounds| rounds.parse().expect("a number"));
    let job = processes();
    let mut reply = vec![0; crate::CALL_REPLY_BYTES];
    for round in 0..rounds {
        let length = if round % 100 == 0 { crate::CALL_BYTES - 8 } else { round * 61 % 5000 };
        let wanted = if round % 100 == 50 { crate::CALL_REPLY_BYTES } else { round * 31 % 3000 };
        let request = crate::conformance::call(wanted, &vec![round as u8; length]);
        assert_eq!(job[0].peers.ask(1, &request, &mut reply), wanted);
        let expected = (round as u8).wrapping_mul(length as u8);
        let place = reply[..wanted].iter().position(|byte| *byte != expected);
        assert_eq!(place, None, "round {round}, {length} bytes, reply of {wanted}");
    }
}

/// A key that is none ends the queue pair for READs, with an error that says so, and nothing else.
#[test]
fn a_key_that_is_none_is_said() {
    if !is_there() {
        return;
    }
    let mut all = sockets(2).into_iter();
    let (first, second) = (all.next().unwrap(), all.next().unwrap());
    let peer = std::thread::spawn(move || carrier(1, second, "", true).unwrap());
    let mut carrier = carrier(0, first, "", true).unwrap();
    let mut other = peer.join().unwrap();
    let reader = carrier.peers[1].as_mut().and_then(|ends| ends.reader.take()).expect("there are READs");
    let memory = crate::memory::Memory::map(4096).unwrap();
    let start = memory.place(&(0..4096));
    // SAFETY: it stays mapped, and nobody else uses it.
    unsafe { start.write_bytes(7, 4096) };
    // SAFETY: as above.
    let (key, address) = unsafe { other.registrar.as_mut().unwrap().register(start, 4096).unwrap() };
    let mut got = vec![0_u8; 4096];
    let into = got.as_mut_ptr();
    let read = |key, address| {
        let mut part = Some(RemotePart { key, address, into, bytes: 4096 });
        // SAFETY: the buffer is as long.
        unsafe { reader.read(&mut || part.take()) }
    };
    read(key, address).unwrap();
    assert!(got.iter().all(|byte| *byte == 7));
    let error = read(key ^ 0x5a00, address).unwrap_err().to_string();
    assert!(error.starts_with("cannot read its memory: RDMA: ") && error.contains("access"), "{error}");
    read(key, address).unwrap_err();
    let [first, second] =
        [(0, carrier), (1, other)].map(|(rank, carrier)| start_over(rank, carrier, 4096, None));
    second.peers.update(0, 8, crate::Width::Bits64, crate::Update::Swap, 5, None);
    assert_eq!(first.memory[1].load(std::sync::atomic::Ordering::SeqCst), 5);
}

/// By the adapter alone, with what has no key left alone.
#[test]
fn a_look_is_one_list_of_requests_to_the_adapter() {
    if is_there() {
        look_at_a_peer(&start_with_looks(|rank, peers| one_sided_carrier(rank, peers, "").unwrap()), true);
    }
}

/// Two processes.
fn processes() -> Vec<crate::conformance::Process> {
    start_all_over(4096, None, 2, |rank, peers| carrier(rank, peers, "", true).unwrap())
}

#[test]
#[ignore = "the test below runs it in a process that it ends"]
fn lose_a_peer() {
    let mut all = sockets(2).into_iter();
    let (first, second) = (all.next().unwrap(), all.next().unwrap());
    if lost_peer::situation() == "key" {
        return lost_peer::read_by_a_key_that_is_none(
            || carrier(0, first, "", true).unwrap(),
            || carrier(1, second, "", true).unwrap(),
        );
    }
    let peer = std::thread::spawn(move || carrier(1, second, "", true).unwrap());
    let process = start_over(0, carrier(0, first, "", true).unwrap(), 4096, None);
    // Serves nobody, and goes with its sockets.
    drop(peer.join().unwrap());
    lost_peer::operate(&process, lost_peer::situation() == "wait");
}

#[test]
fn who_loses_a_peer_ends_with_one_message() {
    if is_there() {
        for situation in ["load", "wait", "key"] {
            let error = lost_peer::assert_one_message("verbs::tests::lose_a_peer", situation);
            let is_said = error.contains(": cannot read its memory: RDMA: ");
            assert_eq!(is_said, situation == "key", "{error}");
        }
    }
}
