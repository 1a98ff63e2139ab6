//! TCP connections between the processes of different hosts.
//!
//! For each ordered pair of processes the host of the first one connects twice to the host of the second: for requests and for waits. Each pair of hosts has
//! a line ([`super::lines`]) besides, made by the first of the two, and each host one that the head makes if it can. Before anything else passes, both ends
//! prove that they know the job's secret ([`proof`]).

mod acceptor;
pub mod addresses;
mod proof;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::socket::{setsockopt, sockopt};

use super::Error;
use super::control::SECRET_BYTES;
use super::hosts::Placement;
use super::lines::Far;
use acceptor::Acceptor;
use proof::{Kind, Pair, left, prove_to};

/// Of connections between processes.
const STREAMS: [Kind; 2] = [Kind::Requests, Kind::Waits];

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
    pub candidates: usize,
}

/// What applies to jobs.
pub const LIMITS: Limits =
    Limits { total: Duration::from_secs(60), handshake: Duration::from_secs(5), candidates: 64 };

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
    /// Addresses that may lead to each host; empty if the hosts' names do.
    pub addresses: Vec<Vec<IpAddr>>,
}

/// What a host has been connected by.
pub struct Connections {
    /// For its processes.
    pub sockets: Sockets,
    /// For its daemon.
    pub lines: Vec<(Far, TcpStream)>,
}

/// What connections of a job are authenticated with.
pub fn secret() -> Result<[u8; SECRET_BYTES], Error> {
    let mut secret = [0; SECRET_BYTES];
    let failed = |e: getrandom::Error| Error::System {
        what: "get random bytes",
        source: io::Error::other(e.to_string()),
    };
    getrandom::fill(&mut secret).map_err(failed)?;
    Ok(secret)
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
        let addresses = match self.addresses_of(host, port) {
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

    fn addresses_of(&self, host: usize, port: u16) -> Result<Vec<SocketAddr>, String> {
        match (self.addresses.get(host), self.addresses.get(self.own)) {
            (Some(there), Some(here)) => {
                Ok(addresses::apart(there, here).into_iter().map(|ip| SocketAddr::new(ip, port)).collect())
            }
            _ => resolve(self.hosts[host].address(), port),
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
        let mut acceptor = Acceptor::new(&self.secret, self.expected(), limits);
        listener.set_nonblocking(true).map_err(|e| e.to_string())?;
        while let Some(missing) = acceptor.missing() {
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
            acceptor.wait(&listener, TICK)?;
        }
        Ok(acceptor.accepted)
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

/// Makes one connection.
fn connect_one(
    secret: &[u8; SECRET_BYTES],
    addresses: &[SocketAddr],
    pair: Pair,
    until: Instant,
) -> io::Result<TcpStream> {
    prove_to(secret, dial(addresses, until)?, pair, until)
}

/// Connects to the first of the addresses that answers. None takes the time that others need.
fn dial(addresses: &[SocketAddr], until: Instant) -> io::Result<TcpStream> {
    let mut result = Err(io::Error::from(io::ErrorKind::AddrNotAvailable));
    for (address, untried) in addresses.iter().zip((1..=addresses.len() as u32).rev()) {
        result = TcpStream::connect_timeout(address, left(until)? / untried);
        if result.is_ok() {
            break;
        }
    }
    let socket = result?;
    socket.set_nodelay(true)?;
    Ok(socket)
}
