//! Tests of connections on loopback addresses, with strangers among those who connect.

use std::io::{Read, Write};
use std::net::Shutdown;

use hmac::Mac;

use super::proof::{ACCEPTED, NONCE, PROOF, Role, claim, prove, read_claim};
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
    Network { secret, hosts: hosts(), own, has_head: false, addresses: Vec::new() }
}

fn limits(handshake: Duration) -> Limits {
    Limits { total: LONG, handshake, candidates: 3 }
}

/// The acceptor of host 0, which lets processes in until `stop`, and then says who came.
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
            let mut acceptor = Acceptor::new(&SECRET, network(0, SECRET).expected(), limits);
            while stopped.try_recv().is_err() {
                acceptor.wait(&listener, Duration::from_millis(5)).unwrap();
                assert!(acceptor.candidates.len() <= limits.candidates);
            }
            acceptor.accepted.into_keys().collect()
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
    let network = move || Network {
        secret: SECRET,
        hosts: hosts.clone(),
        own: 0,
        has_head: true,
        addresses: Vec::new(),
    };
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
    let opened = Opened::new(limits(LONG));
    let error = opened.connect([6; SECRET_BYTES], PAIR).unwrap_err();
    assert!(error.to_string().contains("does not belong to the job"), "{error}");
    // A stranger who skips the check of the other side.
    let mut socket = opened.raw();
    socket.write_all(&claim(PAIR, &[1; NONCE])).unwrap();
    socket.read_exact(&mut [0; NONCE + PROOF]).unwrap();
    socket.write_all(&[9; PROOF]).unwrap();
    assert!(is_dropped(&mut socket));
    opened.connect(SECRET, PAIR).unwrap();
    assert_eq!(opened.accepted(), [PAIR]);
}

#[test]
fn what_was_recorded_is_of_no_use() {
    let opened = Opened::new(limits(LONG));
    let sent_back = |pair, record: Option<Vec<u8>>| {
        let mut socket = opened.raw();
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
    let mut socket = opened.raw();
    socket.write_all(&claim(PAIR, &[1; NONCE])).unwrap();
    let mut answer = [0; NONCE + PROOF];
    socket.read_exact(&mut answer).unwrap();
    let other = claim(Pair { kind: Kind::Requests, ..PAIR }, &[1; NONCE]);
    let nonce = answer[..NONCE].try_into().unwrap();
    socket.write_all(&prove(&SECRET, Role::Connects, &other, nonce).finalize().into_bytes()).unwrap();
    assert!(self::is_dropped(&mut socket));
    assert_eq!(opened.accepted(), []);
}

#[test]
fn a_process_connects_once_and_as_itself() {
    let opened = Opened::new(limits(LONG));
    let _first = opened.connect(SECRET, PAIR).unwrap();
    for pair in [PAIR, Pair { from: 0, ..PAIR }, Pair { to: 2, ..PAIR }, Pair { from: 77, ..PAIR }] {
        let error = opened.connect(SECRET, pair).unwrap_err();
        assert!(error.to_string().contains("refused") || error.kind() == io::ErrorKind::ConnectionReset);
    }
    let other = Pair { kind: Kind::Requests, ..PAIR };
    opened.connect(SECRET, other).unwrap();
    assert_eq!(opened.accepted(), [other, PAIR]);
}

/// More strangers than may be candidates, who say nothing or half of something: they are dropped, and the others come in after them.
#[test]
fn strangers_do_not_keep_the_others_out() {
    let opened = Opened::new(limits(Duration::from_millis(50)));
    let mut silent: Vec<_> = (0..7).map(|_| opened.raw()).collect();
    for (i, socket) in silent.iter_mut().enumerate() {
        socket.write_all(&claim(PAIR, &[0; NONCE])[..i * 8]).unwrap();
    }
    opened.connect(SECRET, PAIR).unwrap();
    for socket in &mut silent {
        assert!(is_dropped(socket));
    }
    let mut halfway = opened.raw();
    let other = Pair { from: 3, ..PAIR };
    halfway.write_all(&claim(other, &[0; NONCE])).unwrap();
    halfway.read_exact(&mut [0; NONCE + PROOF]).unwrap();
    halfway.write_all(&[1; PROOF - 1]).unwrap();
    assert!(is_dropped(&mut halfway));
    assert_eq!(opened.accepted(), [PAIR]);
}

#[test]
fn garbage_is_dropped() {
    let opened = Opened::new(limits(LONG));
    let valid = [[&claim(PAIR, &[3; NONCE])[..], &[4; PROOF]].concat()];
    dsm_mutate::each(&valid, 500, |bytes| {
        let mut socket = opened.raw();
        let _ = socket.write_all(bytes);
        let _ = socket.shutdown(Shutdown::Write);
        // The acceptor answers a claim, and no proof was right.
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        assert!([0, NONCE + PROOF].contains(&answer.len()), "{} bytes", answer.len());
    });
    opened.connect(SECRET, PAIR).unwrap();
    assert_eq!(opened.accepted(), [PAIR]);
}

/// Who connects meets somebody who answers with what was recorded, damaged, and gets an error; the proof of the one who connects is of no use.
#[test]
fn garbage_from_who_listens_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let valid = [[&[7; NONCE + PROOF][..], &[ACCEPTED]].concat()];
    dsm_mutate::each(&valid, 500, |bytes| {
        let socket = TcpStream::connect(address).unwrap();
        let (mut stranger, _) = listener.accept().unwrap();
        stranger.write_all(bytes).unwrap();
        stranger.shutdown(Shutdown::Write).unwrap();
        prove_to(&SECRET, socket, PAIR, Instant::now() + LONG).unwrap_err();
    });
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
    assert!(error.contains("leads to 127.0.0.1") && error.contains("192.0.2.1 cannot reach it"), "{error}");
}
