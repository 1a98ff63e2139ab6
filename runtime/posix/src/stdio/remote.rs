//! Descriptors of processes on other hosts: the owner's thread ([`mailbox`]) carries out what can be carried out elsewhere. Reading, writing, and what is about the file itself
//! can; what gives a process a file of its own (`mmap` for writing, `poll`, a program that it starts) or has the system look at the memory of the process cannot.
//!
//! The owner never waits for a pipe, a socket or a terminal: other processes' requests would wait behind it, that of the one who writes to the pipe perhaps. It answers
//! [`NOT_READY`], and the requester asks again after a while.

use std::ffi::c_int;
use std::io::Error;
use std::ptr;
use std::sync::Once;
use std::time::Duration;

use super::arrivals;
use super::descriptors::{self, Place, functions};
use super::mailbox::{self, Operation};
use crate::job::die;
use crate::{check, sync};

/// In the place of an error number: nothing can be read or written now.
const NOT_READY: c_int = 1 << 16;
/// Shortest and longest time between two questions.
const PAUSES: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(10));
/// Stands for the file's own position.
const OWN_POSITION: i64 = -1;
/// So many bytes can be written to a pipe that is ready.
const PIPE_PIECE: usize = libc::PIPE_BUF;

codes! {
    /// Functions that need no data.
    pub(super) enum Call {
        Duplicate,
        DescriptorFlags,
        SetDescriptorFlags,
        StatusFlags,
        SetStatusFlags,
        /// `lseek` from the start.
        SeekStart,
        /// `lseek` from the current position.
        SeekCurrent,
        /// `lseek` from the end.
        SeekEnd,
        Sync,
        SyncData,
        Truncate,
        /// `fstat`, whose result comes back.
        Status,
        IsTerminal,
    }
}

/// What a command of `fcntl` asks for, if it can be carried out elsewhere.
pub(super) fn control(command: c_int) -> Option<Call> {
    match command {
        libc::F_GETFD => Some(Call::DescriptorFlags),
        libc::F_SETFD => Some(Call::SetDescriptorFlags),
        libc::F_GETFL => Some(Call::StatusFlags),
        libc::F_SETFL => Some(Call::SetStatusFlags),
        // Whatever the lowest number is: the number tells whose it is.
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => Some(Call::Duplicate),
        _ => None,
    }
}

fn fail(error: c_int) -> i64 {
    descriptors::fail(error).into()
}

/// A request to the owner of a descriptor.
fn request(
    owner: u32,
    operation: Operation,
    descriptor: c_int,
    place: (i64, i64),
    out: &[u8],
    into: &mut [u8],
) -> Result<i64, c_int> {
    mailbox::request(owner, operation, descriptor as usize, place, out, into)
}

/// Repeats a request until something can be read or written.
fn when_ready(mut request: impl FnMut() -> Result<i64, c_int>) -> Result<i64, c_int> {
    let mut pause = PAUSES.0;
    loop {
        match request() {
            Err(NOT_READY) => std::thread::sleep(pause),
            done => return done,
        }
        pause = (2 * pause).min(PAUSES.1);
    }
}

/// Has the owner carry out a function without data.
pub(super) fn call(owner: u32, descriptor: c_int, call: Call, argument: i64) -> i64 {
    request(owner, Operation::DescriptorCall, descriptor, (call as i64, argument), &[], &mut [])
        .unwrap_or_else(fail)
}

/// `read`, and `pread` with an offset.
///
/// # Safety
/// The program passed memory for `bytes`, or as much as arrives.
pub(super) unsafe fn read(
    owner: u32,
    descriptor: c_int,
    to: *mut u8,
    bytes: usize,
    offset: Option<i64>,
) -> i64 {
    let mut piece = vec![0; bytes.min(mailbox::DATA_BYTES)];
    let mut done = 0;
    loop {
        let length = (bytes - done).min(piece.len());
        let at = offset.map_or(OWN_POSITION, |offset| offset.wrapping_add(done as i64));
        let mut ask = || {
            let place = (length as i64, at);
            request(owner, Operation::DescriptorRead, descriptor, place, &[], &mut piece[..length])
        };
        // What has arrived is not kept for what may come.
        let read = if done == 0 { when_ready(ask) } else { ask() };
        let count = match read {
            Ok(count) => count as usize,
            Err(_) if done > 0 => return done as i64,
            Err(error) => return fail(error),
        };
        // SAFETY: so many bytes have arrived for the program.
        unsafe { arrivals::deliver(to.add(done), &piece[..count]) };
        done += count;
        if count < length || done == bytes {
            return done as i64;
        }
    }
}

/// `write`, and `pwrite` with an offset.
///
/// # Safety
/// The program passed `bytes` bytes, which are readable.
unsafe fn write(owner: u32, descriptor: c_int, from: *const u8, bytes: usize, offset: Option<i64>) -> i64 {
    let mut done = 0;
    loop {
        let length = (bytes - done).min(mailbox::DATA_BYTES);
        // SAFETY: the caller's promise.
        let piece = unsafe { std::slice::from_raw_parts(from.add(done), length) };
        let at = offset.map_or(OWN_POSITION, |offset| offset.wrapping_add(done as i64));
        let write =
            || request(owner, Operation::DescriptorWrite, descriptor, (length as i64, at), piece, &mut []);
        match when_ready(write) {
            Ok(count) => done += count as usize,
            Err(_) if done > 0 => return done as i64,
            Err(error) => {
                if error == libc::EPIPE {
                    // As the system does with who writes.
                    // SAFETY: a signal for this thread.
                    unsafe { libc::raise(libc::SIGPIPE) };
                }
                return fail(error);
            }
        }
        if done == bytes {
            return done as i64;
        }
    }
}

/// What cannot be carried out elsewhere ends the job, unless the file is closed: then it fails.
pub(super) fn refuse(owner: u32, descriptor: c_int) -> c_int {
    if call(owner, descriptor, Call::DescriptorFlags, 0) < 0 {
        return -1;
    }
    die(&format!(
        "process {} uses descriptor {descriptor} of process {owner}, which is on another host, in a call that works on one host only: such are poll, select, epoll, send, recv, \
         ioctl, locks, readv, writev, dprintf, dup2 and mappings that are written to; read, write, lseek, fstat, fsync, ftruncate, dup, close and the like work. Make the call in \
         a thread of process {owner}, outside of parallel regions for example, or open the file in each process",
        sync::rank()
    ))
}

/// Process 0, which is on another host, has put another file in the place of standard output or error.
pub(super) fn warn_about_standard(descriptor: c_int) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        eprintln!(
            "dsm: warning: process 0, on another host, has put another file at descriptor {descriptor}: what process {} and others there write to it goes where it went before; \
             have process 0 write, or open the file by name",
            sync::rank()
        );
    });
}

/// `errno` of the last call of this thread.
fn errno() -> c_int {
    Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Whether something can be read or written at once, or nothing ever: a call that would wait does not.
fn is_ready(descriptor: c_int, events: i16) -> bool {
    let mut polled = libc::pollfd { fd: descriptor, events, revents: 0 };
    // SAFETY: one structure, on the stack.
    unsafe { libc::syscall(libc::SYS_poll, &raw mut polled, 1, 0) != 0 }
}

/// Whether waiting is what the program wants.
fn waits(descriptor: c_int) -> bool {
    // SAFETY: no memory is involved.
    let flags = unsafe { libc::syscall(libc::SYS_fcntl, descriptor, libc::F_GETFL) };
    flags & i64::from(libc::O_NONBLOCK) == 0
}

fn not_ready() -> i64 {
    fail(NOT_READY)
}

/// The owner's side of [`read`].
pub(super) fn read_own(descriptor: c_int, into: &mut [u8], offset: i64) -> i64 {
    let (place, length) = (into.as_mut_ptr(), into.len());
    if offset != OWN_POSITION {
        // SAFETY: the slice.
        return unsafe { libc::syscall(libc::SYS_pread64, descriptor, place, length, offset) };
    }
    if !is_ready(descriptor, libc::POLLIN) && waits(descriptor) {
        return not_ready();
    }
    let part = libc::iovec { iov_base: place.cast(), iov_len: length };
    // Another one may have read in between. What the system cannot do without waiting (files, which need none, and terminals) it refuses.
    // SAFETY: one part, which is the slice.
    let count = unsafe {
        libc::syscall(libc::SYS_preadv2, descriptor, &raw const part, 1, -1_i64, 0, libc::RWF_NOWAIT)
    };
    match errno() {
        _ if count >= 0 => count,
        // A file whose contents are not in memory, or nothing any more.
        libc::EAGAIN if kind(descriptor) != Kind::File => {
            if waits(descriptor) {
                not_ready()
            } else {
                count
            }
        }
        // SAFETY: the slice.
        libc::EAGAIN | libc::EOPNOTSUPP => unsafe {
            libc::syscall(libc::SYS_read, descriptor, place, length)
        },
        _ => count,
    }
}

/// The owner's side of [`write()`].
pub(super) fn write_own(descriptor: c_int, from: &[u8], offset: i64) -> i64 {
    let place = from.as_ptr();
    if offset != OWN_POSITION {
        // SAFETY: the slice.
        return unsafe { libc::syscall(libc::SYS_pwrite64, descriptor, place, from.len(), offset) };
    }
    let kind = kind(descriptor);
    let waits = waits(descriptor);
    if kind == Kind::Socket {
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the slice; a connected socket needs no address.
        let sent = unsafe { libc::syscall(libc::SYS_sendto, descriptor, place, from.len(), flags, 0, 0) };
        return if sent < 0 && errno() == libc::EAGAIN && waits { not_ready() } else { sent };
    }
    let is_other = kind == Kind::Other;
    if is_other && waits && !is_ready(descriptor, libc::POLLOUT) {
        return not_ready();
    }
    let length = if is_other && waits { from.len().min(PIPE_PIECE) } else { from.len() };
    // SAFETY: the slice.
    unsafe { libc::syscall(libc::SYS_write, descriptor, place, length) }
}

/// What matters for whether reading and writing wait for somebody.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// They do not.
    File,
    Socket,
    /// A pipe, a terminal, and what else there is.
    Other,
}

fn kind(descriptor: c_int) -> Kind {
    match status(descriptor).map(|status| status.st_mode & libc::S_IFMT) {
        Ok(libc::S_IFSOCK) => Kind::Socket,
        Ok(libc::S_IFIFO | libc::S_IFCHR | 0) => Kind::Other,
        _ => Kind::File,
    }
}

fn status(descriptor: c_int) -> Result<libc::stat, c_int> {
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the place is filled in if the call succeeds.
    unsafe {
        match libc::syscall(libc::SYS_fstat, descriptor, status.as_mut_ptr()) {
            0 => Ok(status.assume_init()),
            _ => Err(errno()),
        }
    }
}

/// The owner's side of [`call`]. What comes back besides the result is put into `data`.
pub(super) fn call_own(descriptor: c_int, code: u64, argument: i64, data: &mut [u8]) -> i64 {
    let Some(call) = Call::from_code(code) else { return fail(libc::EINVAL) };
    let control = |command| (libc::SYS_fcntl, i64::from(command), argument);
    let (number, first, second) = match call {
        Call::Duplicate => {
            // SAFETY: no memory is involved.
            let new = unsafe { libc::syscall(libc::SYS_dup, descriptor) } as c_int;
            return descriptors::opened(new).into();
        }
        Call::Status => {
            return match status(descriptor) {
                Ok(status) => {
                    let length = size_of_val(&status);
                    // SAFETY: a structure of numbers.
                    let bytes =
                        unsafe { std::slice::from_raw_parts((&raw const status).cast::<u8>(), length) };
                    data[..length].copy_from_slice(bytes);
                    length as i64
                }
                Err(error) => fail(error),
            };
        }
        Call::IsTerminal => {
            return is_terminal(descriptor);
        }
        Call::DescriptorFlags => control(libc::F_GETFD),
        Call::SetDescriptorFlags => control(libc::F_SETFD),
        Call::StatusFlags => control(libc::F_GETFL),
        Call::SetStatusFlags => control(libc::F_SETFL),
        Call::SeekStart => (libc::SYS_lseek, argument, libc::SEEK_SET.into()),
        Call::SeekCurrent => (libc::SYS_lseek, argument, libc::SEEK_CUR.into()),
        Call::SeekEnd => (libc::SYS_lseek, argument, libc::SEEK_END.into()),
        Call::Sync => (libc::SYS_fsync, 0, 0),
        Call::SyncData => (libc::SYS_fdatasync, 0, 0),
        Call::Truncate => (libc::SYS_ftruncate, argument, 0),
    };
    // SAFETY: none of these has an address.
    unsafe { libc::syscall(number, descriptor, first, second) }
}

/// `isatty`.
fn is_terminal(descriptor: c_int) -> i64 {
    let mut settings = std::mem::MaybeUninit::<libc::termios>::uninit();
    // SAFETY: the system's structure is not longer than the C library's.
    let known = unsafe { libc::syscall(libc::SYS_ioctl, descriptor, libc::TCGETS, settings.as_mut_ptr()) };
    i64::from(known == 0)
}

/// A function without data where the descriptor is.
fn anywhere(descriptor: c_int, local: impl FnOnce(c_int) -> i64, call: Call, argument: i64) -> i64 {
    match descriptors::place(descriptor) {
        Place::Local(own) => local(own),
        Place::Remote(owner) => self::call(owner, descriptor, call, argument),
    }
}

functions! {
    __dsm_write(descriptor: c_int, from: *const u8, bytes: usize) -> i64 = {
        check::readable(from as usize, bytes);
        match descriptors::place(descriptor) {
            Place::Local(own) => libc::write(own, from.cast(), bytes) as i64,
            Place::Remote(owner) => write(owner, descriptor, from, bytes, None),
        }
    };
    __dsm_pwrite(descriptor: c_int, from: *const u8, bytes: usize, offset: i64) -> i64 = {
        check::readable(from as usize, bytes);
        match descriptors::place(descriptor) {
            Place::Local(own) => libc::pwrite64(own, from.cast(), bytes, offset) as i64,
            Place::Remote(_) if offset < 0 => fail(libc::EINVAL),
            Place::Remote(owner) => write(owner, descriptor, from, bytes, Some(offset)),
        }
    };
    __dsm_lseek(descriptor: c_int, offset: i64, from: c_int) -> i64 = {
        let call = match from {
            libc::SEEK_SET => Some(Call::SeekStart),
            libc::SEEK_CUR => Some(Call::SeekCurrent),
            libc::SEEK_END => Some(Call::SeekEnd),
            _ => None,
        };
        match (descriptors::place(descriptor), call) {
            (Place::Remote(owner), Some(call)) => self::call(owner, descriptor, call, offset),
            (Place::Remote(_), None) => fail(libc::EINVAL),
            (Place::Local(own), _) => libc::syscall(libc::SYS_lseek, own, offset, from),
        }
    };
    __dsm_fsync(descriptor: c_int) -> c_int =
        anywhere(descriptor, |own| libc::syscall(libc::SYS_fsync, own), Call::Sync, 0) as c_int;
    __dsm_fdatasync(descriptor: c_int) -> c_int =
        anywhere(descriptor, |own| libc::syscall(libc::SYS_fdatasync, own), Call::SyncData, 0) as c_int;
    __dsm_ftruncate(descriptor: c_int, length: i64) -> c_int =
        anywhere(descriptor, |own| libc::syscall(libc::SYS_ftruncate, own, length), Call::Truncate, length) as c_int;
    __dsm_isatty(descriptor: c_int) -> c_int =
        anywhere(descriptor, is_terminal, Call::IsTerminal, 0).max(0) as c_int;
    __dsm_fstat(descriptor: c_int, to: *mut libc::stat) -> c_int = {
        check::writable(to as usize, size_of::<libc::stat>());
        match descriptors::place(descriptor) {
            Place::Local(own) => libc::syscall(libc::SYS_fstat, own, to) as c_int,
            Place::Remote(owner) => {
                let mut status = [0; size_of::<libc::stat>()];
                let place = (Call::Status as i64, 0);
                match request(owner, Operation::DescriptorCall, descriptor, place, &[], &mut status) {
                    Ok(_) => {
                        ptr::copy_nonoverlapping(status.as_ptr(), to.cast(), status.len());
                        0
                    }
                    Err(error) => descriptors::fail(error),
                }
            }
        }
    };
}
