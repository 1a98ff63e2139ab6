//! How the launcher that sets a host up hands descriptors to those of the host's other processes: over an abstract Unix socket, to the same user's processes that know
//! the job's secret.
//!
//! Who connects says its process's number and the secret. It gets the number of groups of descriptors, the length of each (a byte), and then the descriptors
//! themselves, some at a time with a byte each. The connection stays: its end tells that the launcher at the other end has ended.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::thread;
use std::time::{Duration, Instant};

use dsm_abi::job::MAX_PROCESSES;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, getsockopt, recvmsg, sendmsg, sockopt,
};
use nix::unistd::geteuid;

use crate::launch::control::SECRET_BYTES;

/// Most descriptors that the system passes at a time are 253.
const AT_ONCE: usize = 240;
/// One for each process, and one for what the host has in common.
const MOST_GROUPS: u32 = MAX_PROCESSES + 1;
/// Longest wait for what who has connected says first.
const GREETING_LIMIT: Duration = Duration::from_secs(5);

/// Longest wait for others to take what they have been given.
const TAKING_LIMIT: Duration = Duration::from_secs(30);

/// Descriptors by what they are for.
pub type Groups = Vec<Vec<OwnedFd>>;

/// Where the other launchers of a host come to.
pub struct Reception {
    listener: UnixListener,
    /// The socket's name.
    pub name: Vec<u8>,
}

impl Reception {
    /// Opens one under a name that nobody has.
    pub fn open() -> io::Result<Reception> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|e| io::Error::other(e.to_string()))?;
        let name = [&b"dsm-host"[..], &random].concat();
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        listener.set_nonblocking(true)?;
        Ok(Reception { listener, name })
    }

    /// Waits for the launchers of these processes.
    ///
    /// # Errors
    /// The number of one that has not come.
    pub fn receive(
        self,
        secret: &[u8; SECRET_BYTES],
        expected: &[u32],
        limit: Duration,
    ) -> Result<BTreeMap<u32, UnixStream>, u32> {
        let until = Instant::now() + limit;
        let mut received = BTreeMap::new();
        while let Some(missing) = expected.iter().find(|number| !received.contains_key(*number)) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(*missing);
            }
            let mut fds = [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut fds, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX));
            let Ok((stream, _)) = self.listener.accept() else { continue };
            if let Some(number) = identify(&stream, secret).filter(|number| expected.contains(number)) {
                received.entry(number).or_insert(stream);
            }
        }
        Ok(received)
    }
}

/// The number of who has connected; `None` for strangers.
fn identify(mut stream: &UnixStream, secret: &[u8; SECRET_BYTES]) -> Option<u32> {
    if !is_own(stream) {
        return None;
    }
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(GREETING_LIMIT)).ok()?;
    let mut said = [0; 4 + SECRET_BYTES];
    stream.read_exact(&mut said).ok()?;
    let (number, proof) = said.split_first_chunk::<4>()?;
    (proof == secret).then(|| u32::from_le_bytes(*number))
}

/// Whether this user's process is at the other end.
fn is_own(stream: &UnixStream) -> bool {
    getsockopt(stream, sockopt::PeerCredentials).is_ok_and(|peer| peer.uid() == geteuid().as_raw())
}

/// Connects to the reception of this name.
pub fn enter(name: &[u8], secret: &[u8; SECRET_BYTES], number: u32) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?;
    if !is_own(&stream) {
        return Err(io::Error::other("another user's process listens there"));
    }
    stream.write_all(&[&number.to_le_bytes()[..], secret].concat())?;
    Ok(stream)
}

/// Hands descriptors over.
pub fn give(mut stream: &UnixStream, groups: &[Vec<RawFd>]) -> io::Result<()> {
    let lengths = groups.iter().map(|group| group.len() as u8);
    let head: Vec<u8> = (groups.len() as u32).to_le_bytes().into_iter().chain(lengths).collect();
    stream.write_all(&head)?;
    let all: Vec<RawFd> = groups.iter().flatten().copied().collect();
    for some in all.chunks(AT_ONCE) {
        give_some(stream, some)?;
    }
    Ok(())
}

fn give_some(stream: &UnixStream, some: &[RawFd]) -> io::Result<()> {
    let message = [ControlMessage::ScmRights(some)];
    let until = Instant::now() + TAKING_LIMIT;
    loop {
        let sent =
            sendmsg::<()>(stream.as_raw_fd(), &[IoSlice::new(&[0])], &message, MsgFlags::MSG_NOSIGNAL, None);
        match sent {
            Ok(_) => return Ok(()),
            // Others have to take what is under way first: the system limits that to the number of open files.
            Err(Errno::ETOOMANYREFS) if Instant::now() < until => thread::sleep(Duration::from_millis(1)),
            Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// Takes descriptors, all of which are closed on exec.
pub fn take(mut stream: &UnixStream, limit: Duration) -> io::Result<Groups> {
    stream.set_read_timeout(Some(limit))?;
    let mut count = [0; 4];
    stream.read_exact(&mut count)?;
    let count = u32::from_le_bytes(count);
    if count > MOST_GROUPS {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut lengths = vec![0; count as usize];
    stream.read_exact(&mut lengths)?;
    let total = lengths.iter().map(|length| usize::from(*length)).sum();
    let mut all = Vec::new();
    while all.len() < total {
        take_some(stream, &mut all)?;
    }
    let mut all = all.into_iter();
    Ok(lengths.into_iter().map(|length| all.by_ref().take(length.into()).collect()).collect())
}

fn take_some(stream: &UnixStream, all: &mut Vec<OwnedFd>) -> io::Result<()> {
    let mut byte = [0];
    let mut parts = [IoSliceMut::new(&mut byte)];
    let mut space = nix::cmsg_space!([RawFd; AT_ONCE]);
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(stream.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    let before = all.len();
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(fds) = part {
            // SAFETY: the system has just made them for this process.
            all.extend(fds.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    if all.len() == before { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Seek;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);
    const SECRET: [u8; SECRET_BYTES] = [3; SECRET_BYTES];

    #[test]
    fn descriptors_arrive_in_their_groups() {
        let (near, far) = UnixStream::pair().unwrap();
        let files: Vec<File> = (0..600_u32)
            .map(|i| {
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(&i.to_le_bytes()).unwrap();
                file
            })
            .collect();
        let mut next = files.iter().map(AsRawFd::as_raw_fd);
        let groups: Vec<Vec<RawFd>> =
            [1, 4, 0, 250, 200, 145].map(|n| next.by_ref().take(n).collect()).into();
        let giving = thread::spawn(move || give(&near, &groups));
        let taken = take(&far, LONG).unwrap();
        giving.join().unwrap().unwrap();
        assert_eq!(taken.iter().map(Vec::len).collect::<Vec<_>>(), [1, 4, 0, 250, 200, 145]);
        for (i, fd) in (0_u32..).zip(taken.into_iter().flatten()) {
            let (mut file, mut bytes) = (File::from(fd), [0; 4]);
            file.rewind().unwrap();
            file.read_exact(&mut bytes).unwrap();
            assert_eq!(u32::from_le_bytes(bytes), i);
        }
    }

    #[test]
    fn who_leaves_half_way_is_an_error() {
        let (near, far) = UnixStream::pair().unwrap();
        (&near).write_all(&[9, 0, 0, 0, 1, 1]).unwrap();
        drop(near);
        assert!(take(&far, LONG).is_err());
    }

    #[test]
    fn strangers_and_unknown_numbers_are_not_received() {
        let reception = Reception::open().unwrap();
        let name = reception.name.clone();
        let come = move || {
            let stranger = enter(&name, &[4; SECRET_BYTES], 5).unwrap();
            let unknown = enter(&name, &SECRET, 6).unwrap();
            let mut silent =
                UnixStream::connect_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
            silent.write_all(&[5, 0, 0]).unwrap();
            drop(silent);
            (stranger, unknown, enter(&name, &SECRET, 5).unwrap())
        };
        let coming = thread::spawn(come);
        let received = reception.receive(&SECRET, &[5], LONG).unwrap();
        assert_eq!(received.into_keys().collect::<Vec<_>>(), [5]);
        let (mut stranger, mut unknown, _own) = coming.join().unwrap();
        for refused in [&mut stranger, &mut unknown] {
            assert_eq!(refused.read(&mut [0]).unwrap_or(0), 0);
        }
    }

    #[test]
    fn who_does_not_come_is_named() {
        let reception = Reception::open().unwrap();
        assert_eq!(reception.receive(&SECRET, &[3], Duration::from_millis(20)).unwrap_err(), 3);
        assert!(enter(b"dsm-host-nobody", &SECRET, 1).is_err());
    }

    /// Whoever does not keep to the protocol is an error at once: nothing waits for what will not come.
    #[test]
    fn damaged_handovers_end() {
        let valid: [&[u8]; 3] = [&[2, 0, 0, 0, 1, 2, 0], &[1, 0, 0, 0, 1, 0], &[0, 0, 0, 0]];
        let file = tempfile::tempfile().unwrap();
        let mut taken = 0;
        dsm_mutate::each(&valid, 2000, |bytes| {
            let (mut near, far) = UnixStream::pair().unwrap();
            near.write_all(bytes).unwrap();
            // Descriptors with what may be their bytes.
            for _ in 0..bytes.len() % 4 {
                give_some(&near, &[file.as_raw_fd()]).unwrap();
            }
            drop(near);
            if let Ok(groups) = take(&far, LONG) {
                let sent = *[bytes, &[0; 4]].concat().first_chunk().unwrap();
                assert_eq!(groups.len() as u32, u32::from_le_bytes(sent));
                taken += 1;
            }
        });
        assert!((10..1900).contains(&taken), "{taken} of 2000 were taken");
    }

    #[test]
    fn damaged_introductions_are_of_strangers() {
        let valid = [[&5_u32.to_le_bytes()[..], &SECRET].concat()];
        dsm_mutate::each(&valid, 2000, |bytes| {
            let (mut near, far) = UnixStream::pair().unwrap();
            near.write_all(bytes).unwrap();
            drop(near);
            let known = bytes.get(4..).is_some_and(|proof| proof.starts_with(&SECRET));
            assert_eq!(identify(&far, &SECRET).is_some(), known);
        });
    }
}
