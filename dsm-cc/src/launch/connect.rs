//! TCP connections between the processes of different hosts.
//!
//! For each ordered pair of processes the host of the first one connects twice to the host of the second: for requests and for waits. Each pair of hosts has
//! a line ([`super::lines`]) besides, made by the first of the two, and each host one that the head makes if it can. Before anything else passes, both ends prove that they
//! know the job's secret, without sending it:
//!
//! 1. who connects: [`MAGIC`], the two ranks (of hosts, those of their first processes; of the head, [`HEAD`]), the kind, a random number;
//! 2. who accepts: a random number, and HMAC-SHA256 of all of these and of its role;
//! 3. who connects: the same with the other role;
//! 4. who accepts: [`ACCEPTED`].
//!
//! Both random numbers are new each time, so nothing that was recorded is of use, and the role keeps answers from being sent back. Whoever sends anything
//! else, or too slowly, is dropped; so is a second connection of a pair and kind. Those who have not proved themselves are bounded in number: further ones
//! wait in the system's queue.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit, Mac};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{setsockopt, sockopt};
use sha2::Sha256;

use super::control::SECRET_BYTES;
use super::hosts::Placement;
use super::lines::Far;

const MAGIC: [u8; 8] = *b"dsm-tcp1";
const ACCEPTED: u8 = 1;
const NONCE: usize = 32;
const PROOF: usize = 32;
const CLAIM: usize = MAGIC.len() + 4 + 4 + 1 + NONCE;

/// What stands for the head in the place of a rank.
const HEAD: u32 = u32::MAX;
/// Longest time for the head to reach a host's port.
const REACH_LIMIT: Duration = Duration::from_secs(2);

/// Silence after which the system asks whether the other host is still there, the time between such questions, and how many may be unanswered. There is no
/// TCP_USER_TIMEOUT: it would also end connections to a process that a debugger has stopped. A host that is cut off is noticed by a line.
const KEEPALIVE_IDLE: u32 = 30;
const KEEPALIVE_INTERVAL: u32 = 10;
const KEEPALIVE_COUNT: u32 = 6;

/// Longest time between looks at what the connecting threads have done.
const TICK: Duration = Duration::from_millis(50);

/// Bounds of time and number.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For all connections together.
    pub total: Duration,
    /// For the other end to prove itself.
    pub handshake: Duration,
    /// Most connections that have not proved themselves.
    pub unknown: usize,
}

/// What applies to jobs.
pub const LIMITS: Limits =
    Limits { total: Duration::from_secs(60), handshake: Duration::from_secs(5), unknown: 64 };

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum Kind {
    Requests = 0,
    Waits = 1,
    Line = 2,
}

const KINDS: [Kind; 3] = [Kind::Requests, Kind::Waits, Kind::Line];
/// Of connections between processes.
const STREAMS: [Kind; 2] = [Kind::Requests, Kind::Waits];

/// Who a connection is between: `from` sends requests, `to` serves them; or a line, which `from` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    from: u32,
    to: u32,
    kind: Kind,
}

/// Which end proves itself.
#[derive(Clone, Copy)]
enum Role {
    Connects = b'c' as isize,
    Accepts = b'a' as isize,
}

/// A job as the daemon of one host sees it.
pub struct Network {
    /// What everyone proves to know.
    pub secret: [u8; SECRET_BYTES],
    /// All hosts.
    pub hosts: Vec<Placement>,
    /// This one's index.
    pub own: usize,
    /// Whether the head makes a line.
    pub has_head: bool,
}

/// What a host has been connected by.
pub struct Connections {
    /// For its processes.
    pub sockets: Sockets,
    /// For its daemon.
    pub lines: Vec<(Far, TcpStream)>,
}

/// Sockets between a process of this host and one of another, by their ranks; in the order of `dsm_abi::job`.
pub type Sockets = BTreeMap<(u32, u32), [OwnedFd; 4]>;

impl Network {
    fn own(&self) -> &Placement {
        &self.hosts[self.own]
    }

    fn others(&self) -> impl Iterator<Item = (usize, &Placement)> {
        self.hosts.iter().enumerate().filter(|(i, _)| *i != self.own)
    }

    /// Number of sockets of this host's processes.
    pub fn sockets(&self) -> u64 {
        let others: u64 = self.others().map(|(_, host)| u64::from(host.count)).sum();
        4 * u64::from(self.own().count) * others
    }

    /// Listens where the host's name leads to.
    pub fn listen(&self) -> Result<TcpListener, String> {
        let name = self.own().address();
        let addresses = resolve(name, 0).map_err(|reason| {
            format!("{reason}; the name given to -H must be known on the host itself and on the others")
        })?;
        let is_local = |a: &SocketAddr| a.ip().is_loopback();
        let remote = self.others().find(|(_, host)| {
            resolve(host.address(), 0).is_ok_and(|addresses| !addresses.iter().any(is_local))
        });
        if let Some((_, remote)) = remote.filter(|_| addresses.iter().all(is_local)) {
            return Err(format!(
                "the name {name} leads to {} on the host itself, where {} cannot reach it; give -H a name or address that all hosts know",
                addresses[0].ip(),
                remote.address()
            ));
        }
        TcpListener::bind(&*addresses).map_err(|e| {
            format!(
                "cannot listen on {}: {e}; the name {name} must lead to the host itself from everywhere",
                addresses[0].ip()
            )
        })
    }

    /// Makes the connections between this host's processes and the others. The others' daemons listen at `ports`.
    pub fn connect(
        self,
        listener: TcpListener,
        ports: &[u16],
        limits: Limits,
    ) -> Result<Connections, String> {
        let until = Instant::now() + limits.total;
        let network = Arc::new(self);
        let (connected, results) = mpsc::channel();
        for (host, port) in ports.iter().enumerate().filter(|(i, _)| *i != network.own) {
            let (network, connected, port) = (Arc::clone(&network), connected.clone(), *port);
            let run = move || network.connect_to(host, port, until, &connected);
            thread::Builder::new().name("connect".into()).spawn(run).map_err(|e| e.to_string())?;
        }
        drop(connected);
        let mut made = BTreeMap::new();
        let accepted = network.accept(listener, &results, &mut made, until, limits)?;
        for result in results {
            let (pair, socket) = result?;
            made.insert(pair, socket);
        }
        network.sort(made, accepted)
    }

    /// Connects this host's processes to those of another one.
    fn connect_to(&self, host: usize, port: u16, until: Instant, connected: &Sender<Made>) {
        let peer = &self.hosts[host];
        let failed = |reason: String| {
            format!(
                "cannot connect to {}: {reason}; do the hosts reach each other at all TCP ports?",
                peer.address()
            )
        };
        let addresses = match resolve(peer.address(), port) {
            Ok(addresses) => addresses,
            Err(reason) => return drop(connected.send(Err(failed(reason)))),
        };
        let line = (self.own < host).then(|| line(self.own().first, peer.first));
        for pair in line.into_iter().chain(streams(self.own(), peer)) {
            let result = connect_one(&self.secret, &addresses, pair, until);
            let made = result.map(|socket| (pair, socket)).map_err(|e| failed(e.to_string()));
            let is_over = made.is_err();
            if connected.send(made).is_err() || is_over {
                return;
            }
        }
    }

    /// What others have to connect to this host.
    fn expected(&self) -> BTreeSet<Pair> {
        let own = self.own();
        let pairs = self.others().flat_map(|(_, host)| streams(host, own));
        let lines = self.hosts[..self.own].iter().map(|host| host.first).chain(self.has_head.then_some(HEAD));
        pairs.chain(lines.map(|from| line(from, own.first))).collect()
    }

    /// Accepts what is expected. Ends early if a connection to another host cannot be made.
    fn accept(
        &self,
        listener: TcpListener,
        results: &Receiver<Made>,
        made: &mut BTreeMap<Pair, TcpStream>,
        until: Instant,
        limits: Limits,
    ) -> Result<BTreeMap<Pair, TcpStream>, String> {
        let mut door = Door::new(&self.secret, self.expected(), limits);
        listener.set_nonblocking(true).map_err(|e| e.to_string())?;
        while let Some(missing) = door.missing() {
            while let Ok(result) = results.try_recv() {
                let (pair, socket) = result?;
                made.insert(pair, socket);
            }
            if Instant::now() >= until {
                let host = self.hosts.iter().find(|h| h.ranks().contains(&missing.from));
                let host = host.map_or("the launcher", |h| &h.name);
                return Err(format!(
                    "{host} has not made all connections to {} within {} s; do the hosts reach each other at all TCP ports?",
                    self.own().name,
                    limits.total.as_secs()
                ));
            }
            door.wait(&listener, TICK)?;
        }
        Ok(door.accepted)
    }

    /// Four sockets for each pair of processes.
    fn sort(
        &self,
        mut made: BTreeMap<Pair, TcpStream>,
        mut accepted: BTreeMap<Pair, TcpStream>,
    ) -> Result<Connections, String> {
        let mut sockets = Sockets::new();
        for own in self.own().ranks() {
            for peer in self.others().flat_map(|(_, host)| host.ranks()) {
                let mut out = |kind| made.remove(&Pair { from: own, to: peer, kind });
                let mut back = |kind| accepted.remove(&Pair { from: peer, to: own, kind });
                let four = [out(Kind::Requests), back(Kind::Requests), out(Kind::Waits), back(Kind::Waits)];
                let four: Option<Vec<_>> = four.into_iter().collect();
                let four: [TcpStream; 4] = four
                    .and_then(|four| four.try_into().ok())
                    .ok_or_else(|| format!("process {own} is not connected to process {peer}"))?;
                for socket in &four {
                    tune(socket).map_err(|e| format!("cannot set a connection's options: {e}"))?;
                }
                sockets.insert((own, peer), four.map(OwnedFd::from));
            }
        }
        // What is left are lines.
        let far = |pair: Pair| {
            let is_there = |h: &Placement| [pair.from, pair.to].contains(&h.first);
            self.others().find(|(_, h)| is_there(h)).map_or(Far::Head, |(host, _)| Far::Host(host))
        };
        let lines = made.into_iter().chain(accepted).map(|(pair, socket)| (far(pair), socket)).collect();
        Ok(Connections { sockets, lines })
    }
}

/// The connections that one host makes to another for its processes.
fn streams(from: &Placement, to: &Placement) -> impl Iterator<Item = Pair> {
    let to = to.ranks();
    from.ranks()
        .flat_map(move |from| to.clone().flat_map(move |to| STREAMS.map(|kind| Pair { from, to, kind })))
}

fn line(from: u32, to: u32) -> Pair {
    Pair { from, to, kind: Kind::Line }
}

/// Reaches the ports that daemons listen at, if that is possible from where the head is. In the order of the hosts.
pub fn reach(hosts: &[(Placement, u16)]) -> Vec<Option<TcpStream>> {
    let dial = |(host, port): &(Placement, u16)| {
        let addresses = (*port != 0).then(|| resolve(host.address(), *port))?.ok()?;
        dial(&addresses, Instant::now() + REACH_LIMIT).ok()
    };
    thread::scope(|scope| {
        let all: Vec<_> = hosts.iter().map(|host| scope.spawn(move || dial(host))).collect();
        all.into_iter().map(|thread| thread.join().ok().flatten()).collect()
    })
}

/// Makes lines of the connections that [`reach`] has made, each to the host whose first process it comes with.
///
/// # Errors
/// Somebody else listens at a port: the index of the host, and the reason.
pub fn introduce(
    secret: &[u8; SECRET_BYTES],
    reached: Vec<(usize, u32, TcpStream)>,
) -> Result<Vec<(Far, TcpStream)>, (usize, String)> {
    let until = Instant::now() + LIMITS.total;
    let introduce = |(host, first, socket)| match prove_to(secret, socket, line(HEAD, first), until) {
        Ok(socket) => Ok((Far::Host(host), socket)),
        Err(e) => Err((host, format!("cannot connect to its daemon: {e}"))),
    };
    reached.into_iter().map(introduce).collect()
}

type Made = Result<(Pair, TcpStream), String>;

fn resolve(name: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let found = match name.parse::<IpAddr>() {
        Ok(address) => Ok(vec![SocketAddr::new(address, port)]),
        Err(_) => (name, port).to_socket_addrs().map(Iterator::collect),
    };
    let addresses: Vec<SocketAddr> = found.map_err(|e| format!("{name} has no address: {e}"))?;
    if addresses.is_empty() { Err(format!("{name} has no address")) } else { Ok(addresses) }
}

/// As processes want their sockets: they wait for what they read and write, and small messages leave at once.
fn tune(socket: &TcpStream) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(None)?;
    socket.set_write_timeout(None)?;
    socket.set_nodelay(true)?;
    setsockopt(socket, sockopt::KeepAlive, &true)?;
    setsockopt(socket, sockopt::TcpKeepIdle, &KEEPALIVE_IDLE)?;
    setsockopt(socket, sockopt::TcpKeepInterval, &KEEPALIVE_INTERVAL)?;
    setsockopt(socket, sockopt::TcpKeepCount, &KEEPALIVE_COUNT)?;
    Ok(())
}

fn nonce() -> io::Result<[u8; NONCE]> {
    let mut nonce = [0; NONCE];
    getrandom::fill(&mut nonce).map_err(|e| io::Error::other(e.to_string()))?;
    Ok(nonce)
}

/// The first message: who connects to whom.
fn claim(pair: Pair, nonce: &[u8; NONCE]) -> [u8; CLAIM] {
    let mut bytes = [0; CLAIM];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&pair.from.to_le_bytes());
    bytes[12..16].copy_from_slice(&pair.to.to_le_bytes());
    bytes[16] = pair.kind as u8;
    bytes[17..].copy_from_slice(nonce);
    bytes
}

/// Reads [`claim`]'s bytes.
fn read_claim(bytes: &[u8; CLAIM]) -> Option<Pair> {
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let kind = KINDS.into_iter().find(|kind| *kind as u8 == bytes[16])?;
    (bytes[..8] == MAGIC).then(|| Pair { from: word(8), to: word(12), kind })
}

/// What only somebody who knows the secret can say about a connection.
fn prove(secret: &[u8; SECRET_BYTES], role: Role, claim: &[u8; CLAIM], answer: &[u8; NONCE]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
    mac.update(&[role as u8]);
    mac.update(claim);
    mac.update(answer);
    mac
}

/// Makes one connection.
fn connect_one(
    secret: &[u8; SECRET_BYTES],
    addresses: &[SocketAddr],
    pair: Pair,
    until: Instant,
) -> io::Result<TcpStream> {
    prove_to(secret, dial(addresses, until)?, pair, until)
}

fn left(until: Instant) -> io::Result<Duration> {
    match until.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => Ok(left),
    }
}

/// Connects to the first of the addresses that answers.
fn dial(addresses: &[SocketAddr], until: Instant) -> io::Result<TcpStream> {
    let mut result = Err(io::Error::from(io::ErrorKind::AddrNotAvailable));
    for address in addresses {
        result = TcpStream::connect_timeout(address, left(until)?);
        if result.is_ok() {
            break;
        }
    }
    let socket = result?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// Proves who is connecting to who listens, and has that prove itself.
fn prove_to(
    secret: &[u8; SECRET_BYTES],
    mut socket: TcpStream,
    pair: Pair,
    until: Instant,
) -> io::Result<TcpStream> {
    let receive = |socket: &mut TcpStream, mut bytes: &mut [u8]| {
        while !bytes.is_empty() {
            socket.set_read_timeout(Some(left(until)?))?;
            match socket.read(bytes) {
                Ok(0) => return Err(io::Error::other("the connection was refused by the daemon there")),
                Ok(count) => bytes = &mut bytes[count..],
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    };
    let claim = claim(pair, &nonce()?);
    socket.write_all(&claim)?;
    let mut answer = [0; NONCE + PROOF];
    receive(&mut socket, &mut answer)?;
    let (nonce, proof) = answer.split_at(NONCE);
    let nonce: &[u8; NONCE] = nonce.try_into().expect("the length is constant");
    if prove(secret, Role::Accepts, &claim, nonce).verify_slice(proof).is_err() {
        return Err(io::Error::other("who listens there does not belong to the job"));
    }
    let proof = prove(secret, Role::Connects, &claim, nonce).finalize().into_bytes();
    socket.write_all(&proof)?;
    let mut accepted = [0];
    receive(&mut socket, &mut accepted)?;
    match accepted {
        [ACCEPTED] => Ok(socket),
        _ => Err(io::Error::other("who listens there does not keep to the protocol")),
    }
}

/// The listening side.
struct Door<'a> {
    secret: &'a [u8; SECRET_BYTES],
    expected: BTreeSet<Pair>,
    limits: Limits,
    unknown: Vec<Unknown>,
    accepted: BTreeMap<Pair, TcpStream>,
}

/// Somebody who has not proved to belong to the job.
struct Unknown {
    socket: TcpStream,
    until: Instant,
    bytes: Vec<u8>,
    challenge: Option<Challenge>,
}

struct Challenge {
    pair: Pair,
    /// What proves the claim.
    proof: Hmac<Sha256>,
}

/// How far somebody has come.
enum Progress {
    Waits,
    Refused,
    Proved(Pair),
}

impl<'a> Door<'a> {
    fn new(secret: &'a [u8; SECRET_BYTES], expected: BTreeSet<Pair>, limits: Limits) -> Door<'a> {
        Door { secret, expected, limits, unknown: Vec::new(), accepted: BTreeMap::new() }
    }

    /// A pair that has not connected.
    fn missing(&self) -> Option<Pair> {
        self.expected.iter().find(|pair| !self.accepted.contains_key(pair)).copied()
    }

    /// Waits at most so long for somebody to do something, and answers.
    fn wait(&mut self, listener: &TcpListener, timeout: Duration) -> Result<(), String> {
        let mut fds: Vec<_> =
            self.unknown.iter().map(|u| PollFd::new(u.socket.as_fd(), PollFlags::POLLIN)).collect();
        if self.unknown.len() < self.limits.unknown {
            fds.push(PollFd::new(listener.as_fd(), PollFlags::POLLIN));
        }
        let _ = poll(&mut fds, PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX));
        drop(fds);
        while self.unknown.len() < self.limits.unknown {
            let until = Instant::now() + self.limits.handshake;
            match listener.accept() {
                Ok((socket, _)) if socket.set_nonblocking(true).is_ok() => {
                    self.unknown.push(Unknown { socket, until, bytes: Vec::new(), challenge: None });
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                // Whoever connected has left already.
                Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    return Err(format!("cannot accept a connection: {e} (ulimit -n limits the number)"));
                }
            }
        }
        let now = Instant::now();
        for mut unknown in std::mem::take(&mut self.unknown) {
            match self.progress(&mut unknown) {
                Progress::Proved(pair) => {
                    let written = unknown.socket.write(&[ACCEPTED]);
                    if written.is_ok_and(|count| count == 1) {
                        self.accepted.insert(pair, unknown.socket);
                    }
                }
                Progress::Waits if now < unknown.until => self.unknown.push(unknown),
                Progress::Waits | Progress::Refused => {}
            }
        }
        Ok(())
    }

    fn is_open(&self, pair: &Pair) -> bool {
        self.expected.contains(pair) && !self.accepted.contains_key(pair)
    }

    fn progress(&self, unknown: &mut Unknown) -> Progress {
        if unknown.challenge.is_none() {
            match unknown.receive::<CLAIM>() {
                Ok(None) => return Progress::Waits,
                Ok(Some(claim)) => match self.challenge(unknown, &claim) {
                    Some(challenge) => unknown.challenge = Some(challenge),
                    None => return Progress::Refused,
                },
                Err(_) => return Progress::Refused,
            }
        }
        match unknown.receive::<PROOF>() {
            Ok(None) => Progress::Waits,
            Ok(Some(proof)) => {
                let proved = unknown.challenge.take().and_then(|challenge| {
                    challenge.proof.verify_slice(&proof).is_ok().then_some(challenge.pair)
                });
                proved.filter(|pair| self.is_open(pair)).map_or(Progress::Refused, Progress::Proved)
            }
            Err(_) => Progress::Refused,
        }
    }

    /// Answers a claim.
    fn challenge(&self, unknown: &mut Unknown, claim: &[u8; CLAIM]) -> Option<Challenge> {
        let pair = read_claim(claim).filter(|pair| self.is_open(pair))?;
        let nonce = nonce().ok()?;
        let own = prove(self.secret, Role::Accepts, claim, &nonce).finalize().into_bytes();
        let answer: Vec<u8> = nonce.iter().chain(&own).copied().collect();
        // A new connection's buffers take this much.
        let sent = unknown.socket.write(&answer).ok()?;
        let proof = prove(self.secret, Role::Connects, claim, &nonce);
        (sent == answer.len()).then_some(Challenge { pair, proof })
    }
}

impl Unknown {
    /// So many bytes, once they are all there. Takes no byte that comes after them.
    fn receive<const COUNT: usize>(&mut self) -> io::Result<Option<[u8; COUNT]>> {
        while self.bytes.len() < COUNT {
            let mut buffer = [0; COUNT];
            let missing = COUNT - self.bytes.len();
            match self.socket.read(&mut buffer[..missing]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.bytes.extend_from_slice(&buffer[..count]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(std::mem::take(&mut self.bytes).try_into().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);
    const SECRET: [u8; SECRET_BYTES] = [5; SECRET_BYTES];
    const PAIR: Pair = Pair { from: 2, to: 1, kind: Kind::Waits };

    fn hosts() -> Vec<Placement> {
        vec![
            Placement { name: "127.0.0.1".into(), first: 0, count: 2 },
            Placement { name: "me@127.0.0.2".into(), first: 2, count: 1 },
            Placement { name: "127.0.0.3".into(), first: 3, count: 2 },
        ]
    }

    fn network(own: usize, secret: [u8; SECRET_BYTES]) -> Network {
        Network { secret, hosts: hosts(), own, has_head: false }
    }

    fn limits(handshake: Duration) -> Limits {
        Limits { total: LONG, handshake, unknown: 3 }
    }

    /// The door of host 0, which lets processes in until `stop`, and then says who came.
    struct Opened {
        address: SocketAddr,
        stop: Sender<()>,
        thread: thread::JoinHandle<Vec<Pair>>,
    }

    impl Opened {
        fn new(limits: Limits) -> Opened {
            let listener = network(0, SECRET).listen().unwrap();
            listener.set_nonblocking(true).unwrap();
            let address = listener.local_addr().unwrap();
            let (stop, stopped) = mpsc::channel();
            let thread = thread::spawn(move || {
                let mut door = Door::new(&SECRET, network(0, SECRET).expected(), limits);
                while stopped.try_recv().is_err() {
                    door.wait(&listener, Duration::from_millis(5)).unwrap();
                    assert!(door.unknown.len() <= limits.unknown);
                }
                door.accepted.into_keys().collect()
            });
            Opened { address, stop, thread }
        }

        fn connect(&self, secret: [u8; SECRET_BYTES], pair: Pair) -> io::Result<TcpStream> {
            connect_one(&secret, &[self.address], pair, Instant::now() + LONG)
        }

        fn raw(&self) -> TcpStream {
            let socket = TcpStream::connect(self.address).unwrap();
            socket.set_read_timeout(Some(LONG)).unwrap();
            socket
        }

        fn accepted(self) -> Vec<Pair> {
            self.stop.send(()).unwrap();
            self.thread.join().unwrap()
        }
    }

    /// Whether the other end has closed the connection without a word.
    fn is_dropped(socket: &mut TcpStream) -> bool {
        match socket.read(&mut [0; 1]) {
            Ok(count) => count == 0,
            Err(e) => e.kind() == io::ErrorKind::ConnectionReset,
        }
    }

    #[test]
    fn every_process_is_connected_to_every_one_of_another_host() {
        let listeners: Vec<_> = (0..3).map(|own| network(own, SECRET).listen().unwrap()).collect();
        let ports: Vec<u16> = listeners.iter().map(|l| l.local_addr().unwrap().port()).collect();
        let threads: Vec<_> = listeners
            .into_iter()
            .enumerate()
            .map(|(own, listener)| {
                let ports = ports.clone();
                thread::spawn(move || network(own, SECRET).connect(listener, &ports, LIMITS).unwrap())
            })
            .collect();
        let mut all = Sockets::new();
        for (own, thread) in threads.into_iter().enumerate() {
            let Connections { sockets, lines } = thread.join().unwrap();
            let far: BTreeSet<_> = lines.iter().map(|(far, _)| *far).collect();
            assert_eq!(far, (0..3).filter(|i| *i != own).map(Far::Host).collect());
            assert_eq!(lines.len(), 2);
            assert_eq!(sockets.values().count() as u64 * 4, network(own, SECRET).sockets());
            all.extend(sockets);
        }
        let mut streams: BTreeMap<_, _> =
            all.into_iter().map(|(pair, four)| (pair, four.map(TcpStream::from))).collect();
        let pairs: Vec<_> = streams.keys().copied().collect();
        let expected: Vec<(u32, u32)> = [(0..2, 2..5), (2..3, 0..2), (2..3, 3..5), (3..5, 0..3)]
            .into_iter()
            .flat_map(|(own, peers)| own.flat_map(move |o| peers.clone().map(move |p| (o, p))))
            .collect();
        assert_eq!(pairs, expected);
        for (own, peer) in &pairs {
            for (i, socket) in streams.get_mut(&(*own, *peer)).unwrap().iter_mut().enumerate() {
                assert!(socket.nodelay().unwrap() && socket.read_timeout().unwrap().is_none());
                socket.write_all(&[*own as u8, *peer as u8, i as u8]).unwrap();
            }
        }
        for (own, peer) in &pairs {
            for (i, socket) in streams.get_mut(&(*own, *peer)).unwrap().iter_mut().enumerate() {
                let mut said = [0; 3];
                socket.read_exact(&mut said).unwrap();
                assert_eq!(said, [*peer as u8, *own as u8, i as u8 ^ 1]);
            }
        }
    }

    #[test]
    fn the_head_has_a_line_to_each_host_that_it_reaches() {
        let place = Placement { name: "127.0.0.1".into(), first: 0, count: 2 };
        let hosts = vec![place.clone()];
        let network = move || Network { secret: SECRET, hosts: hosts.clone(), own: 0, has_head: true };
        let listener = network().listen().unwrap();
        let port = listener.local_addr().unwrap().port();
        let nobody = Placement { name: "no.such.host.invalid".into(), first: 2, count: 1 };
        let mut reached = reach(&[(place.clone(), port), (nobody.clone(), 7), (place.clone(), 0)]);
        assert_eq!(reached.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, false]);
        let socket = reached.swap_remove(0).unwrap();
        let daemon = thread::spawn(move || network().connect(listener, &[port], LIMITS).unwrap().lines);
        let lines = introduce(&SECRET, vec![(0, 0, socket)]).unwrap();
        assert_eq!(lines[0].0, Far::Host(0));
        assert_eq!(daemon.join().unwrap()[0].0, Far::Head);
        // Somebody else.
        let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = stranger.local_addr().unwrap().port();
        let socket = reach(&[(place.clone(), port)]).swap_remove(0).unwrap();
        drop(stranger.accept().unwrap());
        assert_eq!(introduce(&SECRET, vec![(3, 0, socket)]).unwrap_err().0, 3);
    }

    #[test]
    fn who_does_not_know_the_secret_is_refused_on_either_side() {
        let door = Opened::new(limits(LONG));
        let error = door.connect([6; SECRET_BYTES], PAIR).unwrap_err();
        assert!(error.to_string().contains("does not belong to the job"), "{error}");
        // A stranger who skips the check of the other side.
        let mut socket = door.raw();
        socket.write_all(&claim(PAIR, &[1; NONCE])).unwrap();
        socket.read_exact(&mut [0; NONCE + PROOF]).unwrap();
        socket.write_all(&[9; PROOF]).unwrap();
        assert!(is_dropped(&mut socket));
        door.connect(SECRET, PAIR).unwrap();
        assert_eq!(door.accepted(), [PAIR]);
    }

    #[test]
    fn what_was_recorded_is_of_no_use() {
        let door = Opened::new(limits(LONG));
        let sent_back = |pair, record: Option<Vec<u8>>| {
            let mut socket = door.raw();
            let claim = claim(pair, &[1; NONCE]);
            socket.write_all(&claim).unwrap();
            let mut answer = [0; NONCE + PROOF];
            socket.read_exact(&mut answer).unwrap();
            let nonce = answer[..NONCE].try_into().unwrap();
            let right = prove(&SECRET, Role::Connects, &claim, nonce).finalize().into_bytes().to_vec();
            // The acceptor's own proof, if nothing was recorded.
            socket.write_all(&record.unwrap_or_else(|| answer[NONCE..].to_vec())).unwrap();
            (is_dropped(&mut socket), right)
        };
        let (is_dropped, record) = sent_back(PAIR, None);
        assert!(is_dropped, "a proof that is sent back");
        let (is_dropped, _) = sent_back(PAIR, Some(record));
        assert!(is_dropped, "a proof of an earlier connection");
        // A proof for another kind of connection with the same numbers.
        let mut socket = door.raw();
        socket.write_all(&claim(PAIR, &[1; NONCE])).unwrap();
        let mut answer = [0; NONCE + PROOF];
        socket.read_exact(&mut answer).unwrap();
        let other = claim(Pair { kind: Kind::Requests, ..PAIR }, &[1; NONCE]);
        let nonce = answer[..NONCE].try_into().unwrap();
        socket.write_all(&prove(&SECRET, Role::Connects, &other, nonce).finalize().into_bytes()).unwrap();
        assert!(self::is_dropped(&mut socket));
        assert_eq!(door.accepted(), []);
    }

    #[test]
    fn a_process_connects_once_and_as_itself() {
        let door = Opened::new(limits(LONG));
        let _first = door.connect(SECRET, PAIR).unwrap();
        for pair in [PAIR, Pair { from: 0, ..PAIR }, Pair { to: 2, ..PAIR }, Pair { from: 77, ..PAIR }] {
            let error = door.connect(SECRET, pair).unwrap_err();
            assert!(error.to_string().contains("refused") || error.kind() == io::ErrorKind::ConnectionReset);
        }
        let other = Pair { kind: Kind::Requests, ..PAIR };
        door.connect(SECRET, other).unwrap();
        assert_eq!(door.accepted(), [other, PAIR]);
    }

    /// More strangers than may be unknown, who say nothing or half of something: they are dropped, and the others come in after them.
    #[test]
    fn strangers_do_not_keep_the_others_out() {
        let door = Opened::new(limits(Duration::from_millis(50)));
        let mut silent: Vec<_> = (0..7).map(|_| door.raw()).collect();
        for (i, socket) in silent.iter_mut().enumerate() {
            socket.write_all(&claim(PAIR, &[0; NONCE])[..i * 8]).unwrap();
        }
        door.connect(SECRET, PAIR).unwrap();
        for socket in &mut silent {
            assert!(is_dropped(socket));
        }
        let mut halfway = door.raw();
        let other = Pair { from: 3, ..PAIR };
        halfway.write_all(&claim(other, &[0; NONCE])).unwrap();
        halfway.read_exact(&mut [0; NONCE + PROOF]).unwrap();
        halfway.write_all(&[1; PROOF - 1]).unwrap();
        assert!(is_dropped(&mut halfway));
        assert_eq!(door.accepted(), [PAIR]);
    }

    #[test]
    fn garbage_is_dropped() {
        let door = Opened::new(limits(LONG));
        let mut random = 1_u64;
        for round in 0..300 {
            let mut socket = door.raw();
            let mut bytes = claim(PAIR, &[3; NONCE]).to_vec();
            for byte in bytes.iter_mut().skip(round % 17).take(1 + round % 5) {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *byte ^= ((random >> 40) as u8).max(1);
            }
            // Bytes of the random number may be anything: this proof is wrong for all of them.
            bytes.extend([round as u8; PROOF]);
            let _ = socket.write_all(&bytes);
            let _ = socket.read(&mut [0; NONCE + PROOF]).map(|count| count == 0 || is_dropped(&mut socket));
        }
        door.connect(SECRET, PAIR).unwrap();
        assert_eq!(door.accepted(), [PAIR]);
    }

    #[test]
    fn claims_are_read_as_they_are_written() {
        assert_eq!(read_claim(&claim(PAIR, &[0; NONCE])), Some(PAIR));
        for at in (0..8).chain([16]) {
            let mut bytes = claim(PAIR, &[0; NONCE]);
            bytes[at] ^= 0x80;
            assert_eq!(read_claim(&bytes), None, "{at}");
        }
    }

    #[test]
    fn a_host_that_does_not_come_is_named() {
        let listener = network(0, SECRET).listen().unwrap();
        // Connections to the others succeed or wait: nobody answers.
        let silent: Vec<_> = (1..3).map(|own| network(own, SECRET).listen().unwrap()).collect();
        let ports: Vec<u16> =
            [0].into_iter().chain(silent.iter().map(|l| l.local_addr().unwrap().port())).collect();
        let short = Limits { total: Duration::from_millis(100), ..LIMITS };
        let result = network(0, SECRET).connect(listener, &ports, short);
        let error = result.map(|connections| connections.lines).unwrap_err();
        assert!(error.contains("127.0.0.2") || error.contains("127.0.0.3"), "{error}");
        assert!(error.contains("all TCP ports?"), "{error}");
    }

    #[test]
    fn addresses_of_other_machines_cannot_be_listened_on() {
        let at = |name: &str| {
            let mut network = network(0, SECRET);
            network.hosts[0].name = name.into();
            network.listen().unwrap_err()
        };
        // An address for documentation, which no machine has.
        assert!(at("192.0.2.1").contains("cannot listen on 192.0.2.1"));
        assert!(at("no.such.host.invalid").contains("no.such.host.invalid has no address"));
        let mut network = network(0, SECRET);
        network.hosts[1].name = "192.0.2.1".into();
        let error = network.listen().unwrap_err();
        assert!(
            error.contains("leads to 127.0.0.1") && error.contains("192.0.2.1 cannot reach it"),
            "{error}"
        );
    }
}
