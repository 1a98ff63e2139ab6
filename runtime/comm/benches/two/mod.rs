//! Two processes that reach each other's segment by a transport: the bench, and a copy of it that serves.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

use dsm_comm::requests::{Requests, Service};
use dsm_comm::stream::Peer;
use dsm_comm::{Transport, Update, Width, ofi, segment, stream, verbs};

/// Most bytes of a transfer.
pub const BULK: usize = 64 << 20;
const SEGMENT: usize = BULK + 4096;
/// Variable that says what a copy is: the transport, and its descriptors.
pub const ROLE: &str = "DSM_BENCH_ROLE";

/// Sockets of the two processes to each other.
pub fn sockets() -> [[OwnedFd; 4]; 2] {
    let [(a, d), (b, c), (e, h), (f, g)] = [(); 4].map(|()| {
        let (one, other) = UnixStream::pair().expect("sockets");
        (OwnedFd::from(one), OwnedFd::from(other))
    });
    [[a, b, e, f], [c, d, g, h]]
}

pub fn start(rank: u32, transport: &str, [requests, serves, waits, serves_waits]: [OwnedFd; 4]) -> Requests {
    let peer = Peer { requests, serves, waits, serves_waits };
    let mut peers = [Some(peer), None];
    peers.rotate_right(1 - rank as usize);
    let peers = Vec::from(peers);
    let (name, reads) = transport.strip_suffix("+read").map_or((transport, false), |name| (name, true));
    let carrier = match name.split_once(':').unwrap_or((name, "")) {
        ("stream", _) => stream::carrier(rank, peers, None),
        ("ofi", provider) => {
            ofi::carrier(rank, peers, provider, reads).unwrap_or_else(|error| panic!("{error}"))
        }
        ("verbs", device) => {
            verbs::carrier(rank, peers, device, reads).unwrap_or_else(|error| panic!("{error}"))
        }
        _ => panic!(
            "{transport}: stream, ofi, ofi:PROVIDER, verbs or verbs:DEVICE, the latter four with +read"
        ),
    };
    let own = segment::reserve(SEGMENT).expect("memory");
    let service = Service { identity: 0, calls: &|_, _| None, readable: [0..SEGMENT, 0..0], writable: 0..0 };
    let spawn = &|_: &str, serve: Box<dyn FnOnce() + Send>| drop(std::thread::spawn(serve));
    // SAFETY: the memory stays, and nobody else uses it.
    unsafe { Requests::start(rank, carrier, own, SEGMENT, service, None, spawn) }
}

/// The copy: serves until the first process has ended.
pub fn serve(role: &str) {
    let mut words = role.split(' ');
    let transport = words.next().expect("a transport");
    let mut descriptor = || words.next().and_then(|word| word.parse().ok()).expect("a descriptor");
    // SAFETY: they were inherited, and nobody else has them.
    let sockets = [(); 4].map(|()| unsafe { OwnedFd::from_raw_fd(descriptor()) });
    let requests = start(1, transport, sockets);
    requests.update(0, 0, Width::Bits64, Update::Swap, 1, None).expect("the other process is there");
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

pub fn copy(transport: &str, sockets: &[OwnedFd; 4]) -> Child {
    let numbers = sockets.each_ref().map(AsRawFd::as_raw_fd);
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env(ROLE, format!("{transport} {} {} {} {}", numbers[0], numbers[1], numbers[2], numbers[3]));
    let inherit = move || {
        // SAFETY: plain system calls on open descriptors.
        numbers.iter().for_each(|fd| unsafe { _ = libc::fcntl(*fd, libc::F_SETFD, 0) });
        Ok(())
    };
    // SAFETY: makes system calls only.
    unsafe { command.pre_exec(inherit) };
    command.spawn().expect("a copy of this program")
}
