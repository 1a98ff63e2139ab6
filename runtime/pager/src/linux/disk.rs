//! Transfers between memory and the file, many at a time: by `io_uring(7)`, or by threads where the system does not let the process use that.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

use thiserror::Error;

use super::file::SpillFile;
use super::pool::Pool;
use super::uring::Uring;
use crate::page::{PAGE_BYTES, Run};
use crate::pager::IO_PAGES;

/// A transfer failed.
#[derive(Debug, Error)]
pub enum DiskError {
    /// No space.
    #[error(
        "the file system of {0} is full, and memory that does not fit cannot be written; free space there, name another directory with --spill (DSM_SPILL), or raise --memory"
    )]
    Full(PathBuf),
    /// Anything else.
    #[error("cannot {0} memory that does not fit {1} {2}: {3}")]
    Failed(&'static str, &'static str, PathBuf, io::Error),
}

/// Memory of one read.
#[derive(Debug)]
pub(super) struct Buffer(*mut u8);

// SAFETY: memory of its own.
unsafe impl Send for Buffer {}

impl Buffer {
    const BYTES: usize = IO_PAGES as usize * PAGE_BYTES;

    fn new() -> Buffer {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new pages, wherever there is space.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), Buffer::BYTES, access, flags, -1, 0) };
        assert_ne!(at, libc::MAP_FAILED, "no memory for a read");
        Buffer(at.cast())
    }

    pub(super) fn address(&self) -> *mut u8 {
        self.0
    }
}

/// A transfer, and how much of it is done.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) run: Run,
    /// `None`: it writes.
    buffer: Option<Buffer>,
    from: *mut u8,
    done: usize,
}

// SAFETY: the addresses are those of memory that is mapped for good.
unsafe impl Send for Transfer {}

impl Transfer {
    pub(super) fn writes(&self) -> bool {
        self.buffer.is_none()
    }

    /// Address, length and offset in the file of what is left.
    pub(super) fn rest(&self) -> (*mut u8, usize, u64) {
        let start = self.buffer.as_ref().map_or(self.from, Buffer::address);
        (start.wrapping_add(self.done), self.run.bytes() - self.done, (self.run.offset() + self.done) as u64)
    }
}

/// What executes transfers.
enum Engine {
    Uring(Box<Uring>),
    Pool(Pool),
}

/// The file and its transfers.
pub struct Disk {
    file: SpillFile,
    engine: Engine,
    free: Vec<Buffer>,
    /// Becomes readable when a transfer is done.
    done: OwnedFd,
}

impl Disk {
    /// Transfers of a file.
    ///
    /// # Errors
    /// The system's, if there can be neither queues nor threads.
    pub fn new(file: SpillFile) -> io::Result<Disk> {
        let done = event()?;
        let engine = match Uring::new(file.raw(), done.as_raw_fd()) {
            Ok(uring) => Engine::Uring(Box::new(uring)),
            Err(_) => Engine::Pool(Pool::new(file.raw(), done.as_raw_fd())?),
        };
        Ok(Disk { file, engine, free: Vec::new(), done })
    }

    /// How transfers are executed.
    pub fn engine(&self) -> &'static str {
        match self.engine {
            Engine::Uring(_) => "io_uring",
            Engine::Pool(_) => "threads",
        }
    }

    /// What becomes readable when a transfer is done.
    pub(super) fn event(&self) -> BorrowedFd<'_> {
        self.done.as_fd()
    }

    pub(super) fn read(&mut self, run: Run) {
        let buffer = self.free.pop().unwrap_or_else(Buffer::new);
        self.begin(Transfer { run, buffer: Some(buffer), from: std::ptr::null_mut(), done: 0 });
    }

    pub(super) fn write(&mut self, run: Run, from: *mut u8) {
        self.begin(Transfer { run, buffer: None, from, done: 0 });
    }

    fn begin(&mut self, transfer: Transfer) {
        match &mut self.engine {
            Engine::Uring(uring) => uring.begin(transfer),
            Engine::Pool(pool) => pool.begin(transfer),
        }
    }

    /// Hands transfers that were begun to the system.
    pub(super) fn submit(&mut self) {
        if let Engine::Uring(uring) = &mut self.engine {
            uring.submit();
        }
    }

    /// A transfer that is done, with what it has read.
    ///
    /// # Errors
    /// It failed.
    pub(super) fn next(&mut self) -> Result<Option<(Run, Option<Buffer>)>, DiskError> {
        loop {
            let next = match &mut self.engine {
                Engine::Uring(uring) => uring.next(),
                Engine::Pool(pool) => pool.next(),
            };
            let Some((mut transfer, result)) = next else { return Ok(None) };
            transfer.done += result.map_err(|error| self.error(&transfer, error))?;
            if transfer.done == transfer.run.bytes() {
                return Ok(Some((transfer.run, transfer.buffer)));
            }
            self.begin(transfer);
        }
    }

    fn error(&self, transfer: &Transfer, error: io::Error) -> DiskError {
        let directory = self.file.directory().to_owned();
        match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => DiskError::Full(directory),
            _ if transfer.writes() => DiskError::Failed("write", "to", directory, error),
            _ => DiskError::Failed("read", "from", directory, error),
        }
    }

    pub(super) fn recycle(&mut self, buffer: Buffer) {
        self.free.push(buffer);
    }
}

/// A descriptor that becomes readable when another thread says so.
pub(super) fn event() -> io::Result<OwnedFd> {
    // SAFETY: plain system call.
    match unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the descriptor is new and ours.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
    }
}

/// What a transfer's system call returned: bytes, of which there are some, or the error, negative.
pub(super) fn outcome(result: i64) -> io::Result<usize> {
    match result {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        bytes if bytes > 0 => Ok(bytes as usize),
        error => Err(io::Error::from_raw_os_error(-error as i32)),
    }
}
