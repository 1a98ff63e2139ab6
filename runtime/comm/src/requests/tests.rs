//! What concerns requests only, over sockets. What all have in common is tested by [`crate::conformance`].

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::conformance::stream::{sockets, start};
use crate::conformance::{calls, lost_peer};

/// Without irregularity, and with some.
const SEEDS: [Option<u64>; 4] = [None, Some(0), Some(1), Some(0x5eed)];

#[test]
fn a_malformed_request_ends_its_connection_only() {
    for seed in SEEDS {
        let mut all = sockets(3);
        // The second process is the test itself.
        let second = all[1][0].take().unwrap();
        let mut requests = UnixStream::from(second.requests);
        let mut waits = UnixStream::from(second.waits);
        let mut all = all.into_iter();
        let first = start(0, all.next().unwrap(), 4096, seed);
        let third = start(2, all.nth(1).unwrap(), 4096, seed);
        let works = |value| {
            third.peers.update(0, 8, Width::Bits64, Update::Swap, value, None);
            assert_eq!(first.memory[1].load(Ordering::SeqCst), value);
            let wake = Wake { sleepers: 64, mask: 1 };
            assert_eq!(third.peers.wait_change(0, 8, 0, wake), value as u32);
        };
        works(1);
        let load = Request::Load { offset: 8, width: Width::Bits64 };
        requests.write_all(&load.header()).unwrap();
        let mut reply = [0; wire::REPLY];
        requests.read_exact(&mut reply).unwrap();
        assert_eq!(wire::decode_reply(&reply, 0), Ok(1));
        // Behind the end of the segment.
        let store = Request::Update {
            offset: 4096,
            width: Width::Bits64,
            update: Update::Swap,
            value: 77,
            wake: None,
        };
        requests.write_all(&store.header()).unwrap();
        assert_eq!(requests.read(&mut reply).unwrap_or(0), 0, "the connection has ended, seed {seed:?}");
        works(2);
        // The second's other connection stays; then it gets what it does not carry.
        let wait = Request::Wait { offset: 8, seen: 0, wake: Wake { sleepers: 64, mask: 1 }, id: 5 };
        waits.write_all(&wait.header()).unwrap();
        let mut answer = [0; wire::ANSWER];
        waits.read_exact(&mut answer).unwrap();
        assert_eq!(wire::decode_answer(&answer), (5, 2));
        waits.write_all(&load.header()).unwrap();
        assert_eq!(waits.read(&mut answer).unwrap_or(0), 0, "the connection has ended, seed {seed:?}");
        works(3);
    }
}

/// Whatever is decoded is executed inside the segment.
#[test]
fn no_request_touches_what_is_outside() {
    const SEGMENT: usize = 4096;
    const GUARD: u64 = 0x6a6a_6a6a_6a6a_6a6a;
    let words: Vec<AtomicU64> = (0..3 * SEGMENT / 8).map(|_| AtomicU64::new(GUARD)).collect();
    let middle = words[SEGMENT / 8..].as_ptr().cast::<u8>().cast_mut();
    // SAFETY: the middle third of the words, which outlive their use and are accessed by atomics only.
    let segment = unsafe { Segment::new(middle, SEGMENT, 0, &calls) };
    let mut reply = vec![0; MAX_CALL_REPLY];
    let mut executed = 0;
    for seed in 0..100_000 {
        let mut random = Random::new(seed, 3);
        // Mostly in form, so that many are executed: places at and beyond both ends.
        let near = |random: &mut Random| {
            let place = [0, SEGMENT as u64, 2 * SEGMENT as u64, u64::MAX, random.next()][random.below(5)];
            place.wrapping_add(random.below(130) as u64).wrapping_sub(65)
        };
        let mut bytes = vec![0; wire::HEADER];
        bytes[0] = random.below(15) as u8;
        bytes[1] = random.below(6) as u8 * u8::from(bytes[0] <= 3);
        bytes[2] = random.below(8) as u8 * u8::from(bytes[0] == 2);
        bytes[3] = u8::from(bytes[0] >= 9 || random.below(2) == 0 && [2, 3].contains(&bytes[0]));
        bytes[8..16].copy_from_slice(&near(&mut random).to_le_bytes());
        if [2, 3, 4, 6].contains(&bytes[0]) {
            let value = [random.below(200) as u64, near(&mut random)][random.below(2)];
            bytes[16..24].copy_from_slice(&value.to_le_bytes());
        }
        if bytes[3] == 1 {
            bytes[32..40].copy_from_slice(&near(&mut random).to_le_bytes());
            bytes[40] = 1;
        }
        if [5, 7, 8, 12].contains(&bytes[0]) {
            let length = random.below(200);
            bytes[4] = length as u8;
            bytes.extend((0..length).map(|_| random.next() as u8));
            if bytes[0] == 8 && length > 8 {
                let at = near(&mut random) as u32;
                bytes[wire::HEADER..][..4].copy_from_slice(&at.to_le_bytes());
                bytes[wire::HEADER + 4..][..4].copy_from_slice(&(length as u32 - 8).to_le_bytes());
            }
        }
        if let Ok(Some((request, _))) = Request::decode(&bytes, SEGMENT) {
            executed += u32::from(segment.execute(&request, &mut reply).is_ok());
        }
        let is_whole = |part: &[AtomicU64]| part.iter().all(|w| w.load(Ordering::Relaxed) == GUARD);
        let (before, after) = (&words[..SEGMENT / 8], &words[2 * SEGMENT / 8..]);
        assert!(is_whole(before) && is_whole(after), "seed {seed}: {bytes:?}");
    }
    assert!(executed > 2000, "{executed} requests were executed");
    assert!(words.iter().any(|w| w.load(Ordering::Relaxed) != GUARD), "and none wrote anything");
}

#[test]
#[ignore = "the test below runs it in a process that it ends"]
fn lose_a_peer() {
    let how = lost_peer::situation();
    let mut all = sockets(3).into_iter();
    let (first, mut second) = (all.next().unwrap(), all.next().unwrap());
    let process = start(0, first, 4096, None);
    let peer = second[0].take().unwrap();
    let transport = process.peers.transport(1).expect("it is not mapped");
    let wait = || {
        let value = transport.wait_change(1, 8, 0, Wake { sleepers: 0, mask: 1 });
        value.unwrap_or_else(|lost| lost.end_process())
    };
    std::thread::scope(|scope| {
        match how.as_str() {
            "gone before" => drop(peer),
            "malformed request" => {
                let mut requests = UnixStream::from(peer.requests);
                requests.write_all(&[0xff; wire::HEADER]).unwrap();
                assert_eq!(requests.read(&mut [0]).unwrap_or(0), 0, "the connection has ended");
                drop(peer.serves);
            }
            "gone in a request" => {
                scope.spawn(move || {
                    let mut serves = UnixStream::from(peer.serves);
                    serves.read_exact(&mut [0; wire::HEADER]).unwrap();
                    serves.write_all(&[1; wire::REPLY - 1]).unwrap();
                });
            }
            "malformed reply" => {
                scope.spawn(move || {
                    let mut serves = UnixStream::from(peer.serves);
                    serves.read_exact(&mut [0; wire::HEADER]).unwrap();
                    serves.write_all(&wire::reply(1, 1)).unwrap();
                    // Requests of other threads may be under way.
                    while serves.read(&mut [0; wire::HEADER]).is_ok_and(|bytes| bytes != 0) {}
                });
            }
            "gone in a wait" => {
                scope.spawn(wait);
                scope.spawn(move || {
                    let mut serves = UnixStream::from(peer.serves_waits);
                    serves.read_exact(&mut [0; wire::HEADER]).unwrap();
                });
                wait();
            }
            "wrong answer" => {
                scope.spawn(move || {
                    let mut serves = UnixStream::from(peer.serves_waits);
                    serves.read_exact(&mut [0; wire::HEADER]).unwrap();
                    serves.write_all(&wire::answer(1, 1)).unwrap();
                    serves.read_exact(&mut [0]).unwrap_err();
                });
                wait();
            }
            unknown => panic!("{unknown}"),
        }
        lost_peer::operate(&process, false);
    });
}

#[test]
fn who_loses_a_peer_ends_with_one_message() {
    for (how, said) in [
        ("gone before", ""),
        ("gone in a request", ""),
        ("gone in a wait", ""),
        ("malformed request", "dsm: error: process 0: malformed request from process 1: "),
        ("malformed reply", "lost the connection to process 1: malformed reply: "),
        ("wrong answer", "dsm: error: process 0: malformed answer from process 1: "),
    ] {
        let err = lost_peer::assert_one_message("requests::tests::lose_a_peer", how);
        assert_eq!(err.matches("malformed").count(), usize::from(!said.is_empty()), "{how}: {err}");
        assert!(err.contains(said) && !err.contains("panicked"), "{how}: {err}");
    }
}
