//! Transfers between memory and the file, many at a time: by `io_uring(7)`, or by threads where the system does not let the process use that.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use super::copies::{Cooperation, Copies, Expected};
use super::file::SpillFile;
use super::pool::Pool;
use super::uring::Uring;
use crate::page::{PAGE_BYTES, Page, Run, runs};
use crate::pager::IO_PAGES;

/// Threads for transfers where the system has no queues for them.
const THREADS: usize = 8;
/// Threads that copy what other processes of this host have, and as many for those of other hosts.
const COPYING_THREADS: usize = 4;

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
pub(super) struct Transfer {
    pub(super) run: Run,
    /// `None`: it writes.
    buffer: Option<Buffer>,
    from: *mut u8,
    done: usize,
    /// Of a read that other processes are asked for first.
    expected: Option<Expected>,
    /// Of a read that processes of other hosts are asked for: its number.
    far: Option<u64>,
}

// SAFETY: the addresses are those of memory that is mapped for good.
unsafe impl Send for Transfer {}

impl Transfer {
    pub(super) fn writes(&self) -> bool {
        self.buffer.is_none()
    }

    /// What other processes are asked for first, with the memory for it.
    pub(super) fn take_expected(&mut self) -> Option<(Expected, &mut [u8])> {
        let buffer = self.buffer.as_ref()?;
        // SAFETY: memory of its own, as long as the longest run.
        let space = unsafe { std::slice::from_raw_parts_mut(buffer.address(), self.run.bytes()) };
        Some((self.expected.take()?, space))
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

/// Pages that processes of other hosts have been asked for. Such a process may answer late: it may wait for a page itself, from here. Whoever serves it must not wait for that, so the page is
/// then read from disk.
#[derive(Default)]
struct Far {
    /// Number of the last transfer.
    last: u64,
    /// Pages, with the transfers that bring them.
    pages: HashMap<Page, u64>,
    /// Pages that came from disk meanwhile.
    overtaken: HashSet<(Page, u64)>,
}

impl Far {
    fn begin(&mut self, run: Run) -> u64 {
        self.last += 1;
        self.pages.extend(run.pages().map(|page| (page, self.last)));
        self.last
    }

    fn overtake(&mut self, page: Page) -> bool {
        let transfer = self.pages.remove(&page);
        transfer.is_some_and(|transfer| self.overtaken.insert((page, transfer)))
    }

    /// The pages that a transfer has brought and nothing else.
    fn end(&mut self, run: Run, transfer: u64) -> Vec<Run> {
        let mut pages: Vec<Page> =
            run.pages().filter(|page| !self.overtaken.remove(&(*page, transfer))).collect();
        for page in &pages {
            self.pages.remove(page);
        }
        runs(&mut pages, IO_PAGES).collect()
    }
}

/// What a transfer that is done has brought: contents of a run in a buffer, and the parts of the run that are wanted.
pub(super) struct Arrived {
    pub(super) run: Run,
    pub(super) wanted: Vec<Run>,
    pub(super) buffer: Buffer,
}

/// A transfer that is done.
pub(super) enum Done {
    Read(Arrived),
    Written(Run),
}

/// Other processes, and the threads that copy what they have. Those that copy from this host never wait for another one.
struct Others {
    cooperation: Cooperation,
    near: Pool,
    far: Pool,
}

/// The file and its transfers.
pub struct Disk {
    file: SpillFile,
    engine: Engine,
    /// What other processes have, and the threads that copy it.
    others: Option<Others>,
    far: Far,
    free: Vec<Buffer>,
    /// Becomes readable when a transfer is done.
    done: OwnedFd,
}

impl Disk {
    /// Transfers of a file. What other processes have in memory, of so many bytes, is not read from it.
    ///
    /// # Errors
    /// The system's, if there can be neither queues nor threads.
    pub fn new(file: SpillFile, copies: Option<(Arc<dyn Copies>, usize)>) -> io::Result<Disk> {
        let done = event()?;
        let engine = match Uring::new(file.raw(), done.as_raw_fd()) {
            Ok(uring) => Engine::Uring(Box::new(uring)),
            Err(_) => Engine::Pool(Pool::new(file.raw(), done.as_raw_fd(), THREADS)?),
        };
        let others = copies.map(|(copies, bytes)| {
            let pool = || Pool::new(file.raw(), done.as_raw_fd(), COPYING_THREADS);
            let cooperation = Cooperation::new(copies, bytes);
            Ok::<_, io::Error>(Others { cooperation, near: pool()?, far: pool()? })
        });
        Ok(Disk { file, engine, others: others.transpose()?, far: Far::default(), free: Vec::new(), done })
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

    /// Begins to read a run, and what of it another process may have from there. `is_urgent`: whether a page must not wait for other hosts.
    pub(super) fn read(&mut self, run: Run, is_urgent: impl Fn(Page) -> bool) {
        let Some(Others { cooperation, .. }) = &self.others else { return self.begin_read(run) };
        let (mut near, rest): (Vec<Page>, Vec<Page>) =
            run.pages().partition(|page| cooperation.is_near(*page));
        let (mut far, mut rest): (Vec<Page>, Vec<Page>) =
            rest.into_iter().partition(|page| !is_urgent(*page) && cooperation.may_be_far(*page));
        for (run, is_far) in runs(&mut near, IO_PAGES)
            .map(|run| (run, false))
            .chain(runs(&mut far, IO_PAGES).map(|run| (run, true)))
        {
            let transfer = self.transfer(run);
            let far = is_far.then(|| self.far.begin(run));
            let Others { cooperation, near, far: from_far } = self.others.as_mut().expect("as above");
            let pool = if is_far { from_far } else { near };
            pool.begin(Transfer { expected: Some(cooperation.expected(run, is_far)), far, ..transfer });
        }
        runs(&mut rest, IO_PAGES).for_each(|run| self.begin_read(run));
    }

    /// A page must not wait for other hosts any more.
    pub(super) fn overtake(&mut self, page: Page) {
        if self.far.overtake(page) {
            self.begin_read(Run::single(page));
        }
    }

    fn transfer(&mut self, run: Run) -> Transfer {
        let buffer = self.free.pop().unwrap_or_else(Buffer::new);
        Transfer { run, buffer: Some(buffer), from: std::ptr::null_mut(), done: 0, expected: None, far: None }
    }

    fn begin_read(&mut self, run: Run) {
        let transfer = self.transfer(run);
        self.begin(transfer);
    }

    /// Begins to write a run.
    ///
    /// # Safety
    /// The run's contents, at least those of its pages that are in the memory file, are at `from`, mapped for good; no thread of this process stores to them.
    pub(super) unsafe fn write(&mut self, run: Run, (from, bytes): (*mut u8, usize)) {
        if let Some(Others { cooperation, .. }) = &mut self.others {
            // SAFETY: the caller's promise. What another process stores meanwhile spoils the digest, and keeps the pages from leaving.
            cooperation.note(run, unsafe { std::slice::from_raw_parts(from, bytes) });
        }
        self.begin(Transfer { run, buffer: None, from, done: 0, expected: None, far: None });
    }

    /// Whether another process of this host has a page in memory.
    pub(super) fn is_near(&self, page: Page) -> bool {
        self.others.as_ref().is_some_and(|others| others.cooperation.is_near(page))
    }

    /// Whether another process can have a page.
    pub(super) fn may_be_elsewhere(&self, page: Page) -> bool {
        self.others.as_ref().is_some_and(|others| others.cooperation.covers(page))
    }

    /// Whether there are other processes on this host.
    pub(super) fn has_near(&self) -> bool {
        self.others.as_ref().is_some_and(|others| others.cooperation.has_near())
    }

    /// Pages that other processes had.
    pub(super) fn copied(&self) -> u64 {
        self.others.as_ref().map_or(0, |others| others.cooperation.copied())
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

    /// A transfer that is done.
    ///
    /// # Errors
    /// It failed.
    pub(super) fn next(&mut self) -> Result<Option<Done>, DiskError> {
        loop {
            let copied =
                self.others.as_mut().and_then(|others| others.near.next().or_else(|| others.far.next()));
            let next = copied.or_else(|| match &mut self.engine {
                Engine::Uring(uring) => uring.next(),
                Engine::Pool(pool) => pool.next(),
            });
            let Some((mut transfer, result)) = next else { return Ok(None) };
            transfer.done += result.map_err(|error| self.error(&transfer, error))?;
            if transfer.done == transfer.run.bytes() {
                let Transfer { run, buffer, far, .. } = transfer;
                return Ok(Some(match buffer {
                    Some(buffer) => {
                        let wanted = far.map_or_else(|| vec![run], |number| self.far.end(run, number));
                        Done::Read(Arrived { run, wanted, buffer })
                    }
                    None => Done::Written(run),
                }));
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
