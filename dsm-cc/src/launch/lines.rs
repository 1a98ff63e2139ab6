//! Lines: TCP connections between hosts over which nothing is said. The systems at both ends ask each other whether they are there (keepalive), so a line
//! tells when a host is cut off, which no process or remote shell would notice for minutes.
//!
//! It is the system that answers, not a process: a process that is stopped, or a machine that is busy, is not taken for one that is gone. That is also why it is
//! not the connections between processes that are watched: with a time limit on those, the system would give up a process that is stopped and does not read
//! (TCP_USER_TIMEOUT counts a window that stays closed).

use std::io::{self, Read};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::{setsockopt, sockopt};

/// Silence after which the system asks, the time between questions, and the time without an answer after which the other end is lost.
const IDLE_SECONDS: u32 = 2;
const INTERVAL_SECONDS: u32 = 1;
const LOST: Duration = Duration::from_secs(8);

/// Who is at the other end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Far {
    /// The launcher that the user started.
    Head,
    /// The daemon of the host with this index.
    Host(usize),
}

/// How a line has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The other end has closed it, or its system has ended it.
    Closed,
    /// There is no answer any more.
    Lost,
}

/// What there is to say about a host that is lost to somebody.
pub fn no_answer(to: &str) -> String {
    format!("it has not answered {to} for {} s, so it is down or cut off", LOST.as_secs())
}

/// Lines to other hosts.
#[derive(Default)]
pub struct Lines(Vec<(Far, TcpStream)>);

impl Lines {
    /// Watches connections.
    pub fn watch(connections: Vec<(Far, TcpStream)>) -> io::Result<Lines> {
        connections.iter().try_for_each(|(_, socket)| tune(socket))?;
        Ok(Lines(connections))
    }

    /// What to poll: when one is ready, [`Lines::ended`] has news.
    pub fn polled(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.0.iter().map(|(_, socket)| PollFd::new(socket.as_fd(), PollFlags::POLLIN))
    }

    /// The lines that have ended since the last call.
    pub fn ended(&mut self) -> Vec<(Far, End)> {
        let mut ended = Vec::new();
        self.0.retain_mut(|(far, socket)| match state(socket) {
            None => true,
            Some(end) => {
                ended.push((*far, end));
                false
            }
        });
        ended
    }
}

fn state(socket: &mut TcpStream) -> Option<End> {
    match socket.read(&mut [0]) {
        Err(e) if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&e.kind()) => None,
        Err(e) if e.kind() != io::ErrorKind::ConnectionReset => Some(End::Lost),
        // Who speaks on a line does not keep to the protocol.
        Ok(_) | Err(_) => Some(End::Closed),
    }
}

fn tune(socket: &TcpStream) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    setsockopt(socket, sockopt::KeepAlive, &true)?;
    setsockopt(socket, sockopt::TcpKeepIdle, &IDLE_SECONDS)?;
    setsockopt(socket, sockopt::TcpKeepInterval, &INTERVAL_SECONDS)?;
    // Takes the place of the number of questions.
    setsockopt(socket, sockopt::TcpUserTimeout, &(LOST.as_millis() as u32))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Instant;

    use nix::poll::{PollTimeout, poll};

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    /// Waits for news.
    fn next(lines: &mut Lines) -> Vec<(Far, End)> {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let ended = lines.ended();
            if !ended.is_empty() {
                return ended;
            }
            assert!(Instant::now() < until, "no line has ended");
            poll(&mut lines.polled().collect::<Vec<_>>(), PollTimeout::from(1000_u16)).unwrap();
        }
    }

    #[test]
    fn who_closes_a_line_or_speaks_is_named() {
        let (first, second, third) = (pair(), pair(), pair());
        let all = vec![(Far::Head, first.0), (Far::Host(2), second.0), (Far::Host(5), third.0)];
        let mut lines = Lines::watch(all).unwrap();
        assert_eq!(lines.ended(), []);
        drop(second.1);
        assert_eq!(next(&mut lines), [(Far::Host(2), End::Closed)]);
        (&first.1).write_all(b"x").unwrap();
        assert_eq!(next(&mut lines), [(Far::Head, End::Closed)]);
        assert_eq!((lines.ended(), lines.polled().count()), (vec![], 1));
    }

    #[test]
    fn the_system_watches_lines() {
        let (near, _far) = pair();
        let lines = Lines::watch(vec![(Far::Head, near)]).unwrap();
        let socket = &lines.0[0].1;
        let get = nix::sys::socket::getsockopt::<TcpStream, sockopt::TcpUserTimeout>;
        assert_eq!(get(socket, sockopt::TcpUserTimeout).unwrap(), 8000);
        assert!(nix::sys::socket::getsockopt(socket, sockopt::KeepAlive).unwrap());
    }
}
