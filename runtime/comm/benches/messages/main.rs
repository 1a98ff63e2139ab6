//! What reads and writes of a peer's memory cost over TCP, by size and number of threads, beside the same exchanges by plain sockets and by Open MPI over TCP, alternating.
//!
//! ```sh
//! cargo bench -p dsm-comm --bench messages                # as root; ROUNDS=9 in the environment for more rounds
//! cargo bench -p dsm-comm --bench messages -- raw stream  # without MPI
//! LEAST=4194304 cargo bench -p dsm-comm --bench messages  # no shorter operations
//! ```
//!
//! The two processes are in two network namespaces that are joined by a link (veth), which root can make. A read is a request and a reply with the bytes; a write is the
//! bytes and a reply that says that they are placed. Each thread does one after the other:
//!
//! - `raw`: on a connection of its own, to a thread of its own at the other end, with blocking calls;
//! - `stream`: by the carrier of requests that is used between hosts: the threads of a process share a connection;
//! - `mpi`: MPI_Send and MPI_Recv with MPI_THREAD_MULTIPLE, on a communicator of its own, to a thread of its own (Debian: `libopenmpi-dev openmpi-bin`).
//!
//! Times are medians over the rounds of mean times of an operation as its thread sees it.

mod network;
mod raw;
mod table;

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dsm_comm::requests::{Requests, Service};
use dsm_comm::stream::Peer;
use dsm_comm::{Transport, segment, stream};
use network::Network;
use table::Cells;

/// Sizes of operations, bytes. 1440 are what a packet of Ethernet carries.
const SIZES: [usize; 9] = [8, 64, 512, 1440, 4096, 32 << 10, 256 << 10, 4 << 20, 64 << 20];
const THREADS: [usize; 4] = [1, 2, 4, 8];
const MOST: usize = SIZES[SIZES.len() - 1];
/// Each thread has a part of the segment.
const SEGMENT: usize = THREADS[THREADS.len() - 1] * MOST;
/// How long each cell is measured, after a tenth of it.
const TIME: Duration = Duration::from_millis(60);
/// Variable that says what a copy of this program is: `server` or `client`, what it measures, and the server's address.
const ROLE: &str = "DSM_BENCH_ROLE";
const PORT: u16 = 7001;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Operation {
    Read,
    Write,
}

/// A system under test, as one end of it sees it.
trait Exchanges: Sync {
    /// Does one operation of a thread.
    fn run(&self, thread: usize, operation: Operation, bytes: usize);
}

fn main() {
    if let Ok(role) = std::env::var(ROLE) {
        let words: Vec<_> = role.split(' ').collect();
        return match words[..] {
            ["server", "raw", address] => raw::serve(address),
            ["server", _, address] => serve(address),
            ["client", "raw", address] => measure(&raw::Client::connect(address)),
            [_, _, address] => measure(&Streams(connect(address))),
            _ => panic!("{role}"),
        };
    }
    let named: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let systems = if named.is_empty() { ["raw", "stream", "mpi"].map(str::to_owned).into() } else { named };
    let rounds = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(5);
    let network = Network::new().unwrap_or_else(|reason| {
        eprintln!("no network namespaces here: {reason}");
        std::process::exit(1)
    });
    let mut cells = Cells::default();
    for _ in 0..rounds {
        for system in &systems {
            let output = if system == "mpi" { network.mpi() } else { both_ends(&network, system) };
            cells.add(system, &output);
        }
    }
    print!("{}", cells.table(&systems));
}

/// Runs both ends of a system; what the client says.
fn both_ends(network: &Network, system: &str) -> String {
    let own = std::env::current_exe().expect("this program");
    let start = |host: usize, role: &str| {
        let mut command = network.command(host);
        command.arg(&own).env(ROLE, format!("{role} {system} {}:{PORT}", network.address(1)));
        command.stdout(Stdio::piped()).spawn().expect("a copy of this program")
    };
    let mut server = start(1, "server");
    let mut line = String::new();
    let ready = server.stdout.take().expect("it is piped");
    BufReader::new(ready).read_line(&mut line).expect("it says that it listens");
    let client = start(0, "client").wait_with_output().expect("it ends");
    server.kill().and_then(|()| server.wait()).expect("it ends");
    String::from_utf8(client.stdout).expect("a text")
}

/// Measures all cells, and says what came of them: operation, bytes, threads, microseconds.
fn measure(exchanges: &impl Exchanges) {
    let least = std::env::var("LEAST").ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
    for operation in [Operation::Read, Operation::Write] {
        for bytes in SIZES.into_iter().filter(|bytes| *bytes >= least) {
            for threads in THREADS {
                let micros = measure_one(exchanges, operation, bytes, threads);
                println!("{operation:?} {bytes} {threads} {micros}");
            }
        }
    }
}

fn measure_one(exchanges: &impl Exchanges, operation: Operation, bytes: usize, threads: usize) -> f64 {
    let (counts, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let count = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (counts, is_over, count) = (&counts, &is_over, &count);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    exchanges.run(thread, operation, bytes);
                    count.fetch_add(counts.load(Ordering::Relaxed).into(), Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(TIME / 10);
        counts.store(true, Ordering::Relaxed);
        let start = Instant::now();
        std::thread::sleep(TIME);
        let done = count.load(Ordering::Relaxed);
        let elapsed = start.elapsed();
        is_over.store(true, Ordering::Relaxed);
        // Large ones may take longer than that.
        elapsed.as_secs_f64() * 1e6 * threads as f64 / done.max(1) as f64
    })
}

/// The carrier of requests.
struct Streams(Requests);

impl Exchanges for Streams {
    fn run(&self, thread: usize, operation: Operation, bytes: usize) {
        thread_local!(static BUFFER: std::cell::RefCell<Vec<u8>> = std::cell::RefCell::new(vec![1; MOST]));
        BUFFER.with_borrow_mut(|buffer| {
            let offset = thread * MOST;
            // SAFETY: the buffer has as many bytes.
            let done = unsafe {
                match operation {
                    Operation::Read => self.0.read(1, offset, buffer.as_mut_ptr(), bytes),
                    Operation::Write => self.0.write(1, offset, buffer.as_ptr(), bytes),
                }
            };
            done.expect("the other process is there");
        });
    }
}

fn start(rank: u32, [requests, serves, waits, serves_waits]: [TcpStream; 4]) -> Requests {
    let [requests, serves, waits, serves_waits] = [requests, serves, waits, serves_waits].map(|socket| {
        socket.set_nodelay(true).expect("an option of TCP");
        OwnedFd::from(socket)
    });
    let mut peers = [Some(Peer { requests, serves, waits, serves_waits }), None];
    peers.rotate_right(1 - rank as usize);
    let own = segment::reserve(SEGMENT).expect("memory");
    let service = Service { identity: 0, calls: &|_, _| None, readable: [0..0, 0..0], writable: 0..0 };
    let spawn = &|_: &str, serve: Box<dyn FnOnce() + Send>| drop(std::thread::spawn(serve));
    // SAFETY: the memory stays, and nobody else uses it.
    unsafe {
        Requests::start(rank, stream::carrier(rank, peers.into(), None), own, SEGMENT, service, None, spawn)
    }
}

fn connect(address: &str) -> Requests {
    start(0, [(); 4].map(|()| TcpStream::connect(address).expect("the server listens")))
}

/// Serves until it is killed.
fn serve(address: &str) {
    let mut sockets = raw::listen(address).map(|socket| socket.expect("a connection"));
    let [a, b, c, d] = [(); 4].map(|()| sockets.next().expect("it goes on"));
    let _requests = start(1, [b, a, d, c]);
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

/// A command that ends with a status.
fn succeed(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}
