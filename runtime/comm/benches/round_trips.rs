//! What operations on a peer's segment cost, over each transport that is named, alternating, and what libfabric's own `fi_pingpong` (Debian: libfabric-bin)
//! does in the same run.
//!
//! ```sh
//! cargo bench -p dsm-comm --bench round_trips -- stream ofi      # ROUNDS=9 in the environment for more rounds
//! ```
//!
//! The two processes are this program and a copy of itself. Times are medians over the rounds of medians (of means for bulk), in microseconds; the
//! bulk row is in MB/s.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dsm_comm::requests::{Requests, Service};
use dsm_comm::stream::Peer;
use dsm_comm::{Transport, Update, Width, ofi, segment, stream, verbs};

const BULK: usize = 64 << 20;
const SEGMENT: usize = BULK + 4096;
/// Variable that says what a copy is: the transport, and its descriptors.
const ROLE: &str = "DSM_BENCH_ROLE";

fn main() {
    if let Ok(role) = std::env::var(ROLE) {
        return serve(&role);
    }
    let named: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let transports = if named.is_empty() { vec!["stream".to_owned(), "ofi".to_owned()] } else { named };
    let rounds = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(5);
    let mut all: Vec<Vec<[f64; 3]>> = vec![Vec::new(); transports.len() + 1];
    for _ in 0..rounds {
        for (transport, rows) in transports.iter().zip(&mut all) {
            rows.push(measure(transport));
        }
        if let Some(row) = ping() {
            all[transports.len()].push(row);
        }
    }
    println!("{:<24}{:>14}{:>14}{:>14}", "", "load 8 B, us", "read 4 KiB, us", "read 64 MB, MB/s");
    for (name, rows) in transports.iter().map(String::as_str).chain(["fi_pingpong"]).zip(all) {
        if !rows.is_empty() {
            let [load, read, bulk] = [0, 1, 2].map(|i| median(rows.iter().map(|row| row[i]).collect()));
            println!("{name:<24}{load:>14.1}{read:>14.1}{bulk:>14.0}");
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Sockets of the two processes to each other.
fn sockets() -> [[OwnedFd; 4]; 2] {
    let [(a, d), (b, c), (e, h), (f, g)] = [(); 4].map(|()| {
        let (one, other) = UnixStream::pair().expect("sockets");
        (OwnedFd::from(one), OwnedFd::from(other))
    });
    [[a, b, e, f], [c, d, g, h]]
}

fn start(rank: u32, transport: &str, [requests, serves, waits, serves_waits]: [OwnedFd; 4]) -> Requests {
    let peer = Peer { requests, serves, waits, serves_waits };
    let mut peers = [Some(peer), None];
    peers.rotate_right(1 - rank as usize);
    let peers = Vec::from(peers);
    let carrier = match transport.split_once(':').unwrap_or((transport, "")) {
        ("stream", _) => stream::carrier(rank, peers, None),
        ("ofi", provider) => ofi::carrier(rank, peers, provider).unwrap_or_else(|error| panic!("{error}")),
        ("verbs", device) => verbs::carrier(rank, peers, device).unwrap_or_else(|error| panic!("{error}")),
        _ => panic!("{transport}: stream, ofi, ofi:PROVIDER, verbs or verbs:DEVICE"),
    };
    let own = segment::reserve(SEGMENT).expect("memory");
    let service = Service { identity: 0, calls: &|_, _| None };
    let spawn = &|_: &str, serve: Box<dyn FnOnce() + Send>| drop(std::thread::spawn(serve));
    // SAFETY: the memory stays, and nobody else uses it.
    unsafe { Requests::start(rank, carrier, own, SEGMENT, service, None, spawn) }
}

/// The copy: serves until the first process has ended.
fn serve(role: &str) {
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

fn copy(transport: &str, sockets: &[OwnedFd; 4]) -> Child {
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

/// The three rows of one transport.
fn measure(transport: &str) -> [f64; 3] {
    let [own, other] = sockets();
    let mut child = copy(transport, &other);
    drop(other);
    let requests = start(0, transport, own);
    let mut buffer = vec![0_u8; BULK];
    let micros = |count: u32, operation: &mut dyn FnMut()| {
        let times = (0..count).map(|_| {
            let start = Instant::now();
            operation();
            start.elapsed().as_secs_f64() * 1e6
        });
        times.collect::<Vec<f64>>()
    };
    micros(200, &mut || _ = requests.load(1, 64, Width::Bits64));
    let load = median(micros(3000, &mut || _ = requests.load(1, 64, Width::Bits64)));
    // SAFETY: the buffer is as long.
    let read = median(micros(3000, &mut || _ = unsafe { requests.read(1, 0, buffer.as_mut_ptr(), 4096) }));
    // SAFETY: as above.
    let bulk = micros(4, &mut || _ = unsafe { requests.read(1, 0, buffer.as_mut_ptr(), BULK) });
    // The first touches the pages.
    let bulk = median(bulk[1..].to_vec());
    child.kill().and_then(|()| child.wait()).expect("it ends");
    [load, read, BULK as f64 / bulk]
}

/// The same exchanges by `fi_pingpong`: two ways of 8 bytes, 4 KiB one way and a request the other, 64 MB one way.
fn ping() -> Option<[f64; 3]> {
    // Microseconds for one way.
    let way = |bytes: usize, count: u32| -> Option<f64> {
        let arguments = |command: &mut Command| {
            command
                .args(["-e", "rdm", "-p", "tcp;ofi_rxm", "-S", &bytes.to_string(), "-I", &count.to_string()])
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
        };
        let mut server = arguments(&mut Command::new("fi_pingpong")).ok()?;
        std::thread::sleep(Duration::from_millis(300));
        let client = arguments(Command::new("fi_pingpong").arg("127.0.0.1")).ok()?;
        let output = client.wait_with_output().ok()?;
        server.wait().ok()?;
        // bytes, sent, acknowledged, total, time, MB/s, us per transfer, transfers per second
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().last()?.split_whitespace().nth(6)?.parse().ok()
    };
    let (short, page, bulk) = (way(8, 2000)?, way(4096, 2000)?, way(BULK, 5)?);
    Some([2.0 * short, short + page, BULK as f64 / bulk])
}
