//! Bytes through sockets.
//!
//! System calls are made directly: the C library's functions are cancellation points, and a thread that ends in the middle of an exchange would leave half of
//! it in the socket.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::requests::Random;

/// Sends all bytes, however long it takes.
pub(super) fn send(socket: &OwnedFd, mut bytes: &[u8], mut random: Option<&mut Random>) -> io::Result<()> {
    while !bytes.is_empty() {
        let piece = random.as_mut().map_or(bytes.len(), |r| r.piece(bytes.len()));
        let sent = retry(|| send_once(socket, &bytes[..piece], 0))?;
        bytes = &bytes[sent..];
    }
    Ok(())
}

/// Receives as many bytes as fit, however long it takes.
pub(super) fn receive(
    socket: &OwnedFd,
    mut bytes: &mut [u8],
    mut random: Option<&mut Random>,
) -> io::Result<()> {
    while !bytes.is_empty() {
        let piece = random.as_mut().map_or(bytes.len(), |r| r.piece(bytes.len()));
        let received = retry(|| receive_once(socket, &mut bytes[..piece], 0))?;
        if received == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[received..];
    }
    Ok(())
}

/// Receives what comes next, at least a byte.
pub(super) fn receive_some(
    socket: &OwnedFd,
    bytes: &mut [u8],
    random: Option<&mut Random>,
) -> io::Result<usize> {
    let piece = random.map_or(bytes.len(), |r| r.piece(bytes.len()));
    match retry(|| receive_once(socket, &mut bytes[..piece], 0))? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        received => Ok(received),
    }
}

/// Sends what the socket takes at once; `None` if that is nothing.
pub(super) fn send_now(
    socket: &OwnedFd,
    bytes: &[u8],
    random: Option<&mut Random>,
) -> io::Result<Option<usize>> {
    let piece = random.map_or(bytes.len(), |r| r.piece(bytes.len()));
    at_once(retry(|| send_once(socket, &bytes[..piece], libc::MSG_DONTWAIT)))
}

/// Receives what is there; `None` if that is nothing, 0 at the end.
pub(super) fn receive_now(
    socket: &OwnedFd,
    bytes: &mut [u8],
    random: Option<&mut Random>,
) -> io::Result<Option<usize>> {
    let piece = random.map_or(bytes.len(), |r| r.piece(bytes.len()));
    at_once(retry(|| receive_once(socket, &mut bytes[..piece], libc::MSG_DONTWAIT)))
}

/// Ends the connection in both directions, whoever else holds the socket.
pub(crate) fn shut_down(socket: &OwnedFd) {
    // SAFETY: plain system call on an own descriptor; a connection that has ended makes it fail, which is as good.
    unsafe { libc::syscall(libc::SYS_shutdown, socket.as_raw_fd(), libc::SHUT_RDWR) };
}

fn send_once(socket: &OwnedFd, bytes: &[u8], flags: i32) -> io::Result<usize> {
    // SAFETY: the bytes are readable for the call; no address is given.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            socket.as_raw_fd(),
            bytes.as_ptr(),
            bytes.len(),
            flags | libc::MSG_NOSIGNAL,
            std::ptr::null::<libc::sockaddr>(),
            0,
        )
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

fn receive_once(socket: &OwnedFd, bytes: &mut [u8], flags: i32) -> io::Result<usize> {
    // SAFETY: the bytes are writable for the call; no address is asked for.
    let received = unsafe {
        libc::syscall(
            libc::SYS_recvfrom,
            socket.as_raw_fd(),
            bytes.as_mut_ptr(),
            bytes.len(),
            flags,
            std::ptr::null_mut::<libc::sockaddr>(),
            std::ptr::null_mut::<libc::socklen_t>(),
        )
    };
    usize::try_from(received).map_err(|_| io::Error::last_os_error())
}

fn retry(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

fn at_once(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        result => result.map(Some),
    }
}
