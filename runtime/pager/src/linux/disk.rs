//! Transfers between memory and the file, many at a time: by `io_uring(7)`, or by threads where the system does not let the process use that.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use super::copies::{Cooperation, Copies, Expected};
use super::file::SpillFile;
use super::pool::Pool;
use super::uring::Uring;
use super::userfault::Userfault;
use crate::page::{PAGE_BYTES, Page, Run, runs};
use crate::pager::IO_PAGES;
use crate::slots::Extent;

/// Threads for transfers where the system has no queues for them.
const THREADS: usize = 8;
/// Threads that copy what other processes of this host have, and as many for those of other hosts.
const COPYING_THREADS: usize = 4;
/// Threads that read many pages at once, and place them in the memory file.
const PLACING_THREADS: usize = 8;
/// Pages of a read that such a thread executes, at least: with fewer, handing it over costs more than what it takes over.
const PLACED_PAGES: u32 = 32;

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

/// What a transfer is for.
enum Work {
    Read(Run, Buffer),
    Write(Extent),
}

/// A transfer, and what is left of it.
pub(super) struct Transfer {
    work: Work,
    /// In the file.
    offset: usize,
    /// Memory that is left, in the order of the file.
    parts: Vec<libc::iovec>,
    /// Of a read that other processes are asked for first.
    expected: Option<Expected>,
    /// Of a read that processes of other hosts are asked for: its number.
    far: Option<u64>,
    /// Of a read that gets into the memory file before the pager hears of it: where it is mapped.
    placing: Option<Placing>,
}

/// See [`Disk::place_at`].
#[derive(Clone)]
pub(super) struct Placing {
    userfault: Arc<Userfault>,
    view: Range<usize>,
}

impl Placing {
    /// Puts what a read has brought into the memory file.
    fn place(&self, run: Run, buffer: &Buffer) {
        let start = self.view.start + run.offset();
        let addresses = start..(start + run.bytes()).min(self.view.end);
        // SAFETY: the buffer has the contents of the whole run.
        unsafe { self.userfault.copy(addresses, buffer.address()) };
    }
}

// SAFETY: the addresses are those of memory that is mapped for good, or of the transfer's buffer.
unsafe impl Send for Transfer {}

impl Transfer {
    fn read(run: Run, slot: u32, buffer: Buffer) -> Transfer {
        let parts = vec![libc::iovec { iov_base: buffer.address().cast(), iov_len: run.bytes() }];
        let offset = slot as usize * PAGE_BYTES;
        Transfer { work: Work::Read(run, buffer), offset, parts, expected: None, far: None, placing: None }
    }

    /// What a read has brought gets into the memory file, if it is to be there before the pager hears of it. All of it has come.
    pub(super) fn place(&self) {
        if let (Some(placing), Work::Read(run, buffer)) = (&self.placing, &self.work) {
            placing.place(*run, buffer);
        }
    }

    /// Whether the calling thread executes all of it before it goes on with another one.
    pub(super) fn is_placed(&self) -> bool {
        self.placing.is_some()
    }

    pub(super) fn writes(&self) -> bool {
        matches!(self.work, Work::Write(_))
    }

    /// What other processes are asked for first, with the memory for it, and its offset in the file.
    pub(super) fn take_expected(&mut self) -> Option<(Expected, Run, &mut [u8], usize)> {
        let Work::Read(run, buffer) = &self.work else { return None };
        // SAFETY: memory of its own, as long as the longest run.
        let space = unsafe { std::slice::from_raw_parts_mut(buffer.address(), run.bytes()) };
        Some((self.expected.take()?, *run, space, self.offset))
    }

    /// Memory that is left, and its offset in the file.
    pub(super) fn rest(&self) -> (&[libc::iovec], u64) {
        (&self.parts, self.offset as u64)
    }

    /// So many bytes more are done. Returns whether that is all.
    pub(super) fn advance(&mut self, mut bytes: usize) -> bool {
        self.offset += bytes;
        let whole = self.parts.iter().take_while(|part| {
            let is_whole = part.iov_len <= bytes;
            bytes -= if is_whole { part.iov_len } else { 0 };
            is_whole
        });
        let whole = whole.count();
        self.parts.drain(..whole);
        if let Some(part) = self.parts.first_mut() {
            part.iov_base = part.iov_base.wrapping_byte_add(bytes);
            part.iov_len -= bytes;
        }
        self.parts.is_empty()
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
    /// Pages, with the transfers that bring them, and their slots.
    pages: HashMap<Page, (u64, u32)>,
    /// Pages that came from disk meanwhile.
    overtaken: HashSet<(Page, u64)>,
}

impl Far {
    fn begin(&mut self, run: Run, slot: u32) -> u64 {
        self.last += 1;
        self.pages.extend(run.pages().zip(slot..).map(|(page, slot)| (page, (self.last, slot))));
        self.last
    }

    /// A page comes from disk, from the slot that this returns; `None`: it was not asked for.
    fn overtake(&mut self, page: Page) -> Option<u32> {
        let (transfer, slot) = self.pages.remove(&page)?;
        self.overtaken.insert((page, transfer));
        Some(slot)
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
    /// Whether the contents are in the memory file already.
    pub(super) is_placed: bool,
}

/// A transfer that is done.
pub(super) enum Done {
    Read(Arrived),
    Written(Extent),
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
    /// Where long reads are placed.
    placing: Option<Placing>,
    /// The threads that do it. Who starts the process's own threads in a way of their own makes all of them with the disk.
    placers: Pool,
    free: Vec<Buffer>,
    /// Becomes readable when a thread has done a transfer.
    done: OwnedFd,
    /// What ends a wait as well.
    watched: [RawFd; 2],
}

impl Disk {
    /// Transfers of a file. What other processes have in memory, of so many bytes, is not read from it.
    ///
    /// # Errors
    /// The system's, if there can be neither queues nor threads.
    pub fn new(file: SpillFile, copies: Option<(Arc<dyn Copies>, usize)>) -> io::Result<Disk> {
        let done = event()?;
        let engine = match Uring::new(file.raw()) {
            Ok(uring) => Engine::Uring(Box::new(uring)),
            Err(_) => Engine::Pool(Pool::new(file.raw(), done.as_raw_fd(), THREADS)?),
        };
        let others = copies.map(|(copies, bytes)| {
            let pool = || Pool::new(file.raw(), done.as_raw_fd(), COPYING_THREADS);
            let cooperation = Cooperation::new(copies, bytes);
            Ok::<_, io::Error>(Others { cooperation, near: pool()?, far: pool()? })
        });
        let (others, far) = (others.transpose()?, Far::default());
        let placers = Pool::new(file.raw(), done.as_raw_fd(), PLACING_THREADS)?;
        let (placing, free, watched) = (None, Vec::new(), [-1; 2]);
        Ok(Disk { file, engine, others, far, placing, placers, free, done, watched })
    }

    /// How transfers are executed.
    pub fn engine(&self) -> &'static str {
        match self.engine {
            Engine::Uring(_) => "io_uring",
            Engine::Pool(_) => "threads",
        }
    }

    /// The memory file is mapped at these addresses, whose faults come to this descriptor: threads of their own read many pages at once and put them there before the pager hears of it.
    pub(super) fn place_at(&mut self, userfault: Arc<Userfault>, view: Range<usize>) {
        self.placing = Some(Placing { userfault, view });
    }

    /// The calling thread hands over transfers from now on, and [`Disk::wait`] ends when one of two descriptors becomes readable.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn start(&mut self, watched: [RawFd; 2]) -> Result<(), DiskError> {
        self.watched = watched;
        let [first, second] = watched;
        let event = self.done.as_raw_fd();
        let started = match &mut self.engine {
            Engine::Uring(uring) => uring.start(&[first, second, event]),
            Engine::Pool(_) => Ok(()),
        };
        let directory = self.file.directory();
        started.map_err(|error| DiskError::Failed("transfer", "to and from", directory.to_owned(), error))
    }

    /// Hands transfers that were begun to the system, and waits until something is done or a watched descriptor is readable, so long at most. Returns which of the descriptors are.
    pub(super) fn wait(&mut self, longest: Option<Duration>) -> [bool; 2] {
        let event = self.done.as_raw_fd();
        let ready = match &mut self.engine {
            Engine::Uring(uring) => uring.wait(longest),
            Engine::Pool(_) => poll([self.watched[0], self.watched[1], event], longest),
        };
        if ready & 4 != 0 {
            clear(event);
        }
        [ready & 1 != 0, ready & 2 != 0]
    }

    /// Hands over what was begun, as the calling thread has something else to do.
    pub(super) fn submit(&mut self) {
        if let Engine::Uring(uring) = &mut self.engine {
            uring.submit();
        }
    }

    /// Begins to read a run from slots that follow each other, and what of it another process may have from there. `is_urgent`: whether a page must not wait for other hosts.
    pub(super) fn read(&mut self, run: Run, slot: u32, is_urgent: impl Fn(Page) -> bool) {
        let Some(Others { cooperation, .. }) = &self.others else { return self.begin_read(run, slot) };
        let slot_of = |part: Run| slot + (part.first.0 - run.first.0);
        let (mut near, rest): (Vec<Page>, Vec<Page>) =
            run.pages().partition(|page| cooperation.is_near(*page));
        let (mut far, mut rest): (Vec<Page>, Vec<Page>) =
            rest.into_iter().partition(|page| !is_urgent(*page) && cooperation.may_be_far(*page));
        for (run, is_far) in runs(&mut near, IO_PAGES)
            .map(|run| (run, false))
            .chain(runs(&mut far, IO_PAGES).map(|run| (run, true)))
        {
            let slot = slot_of(run);
            let mut transfer = self.transfer(run, slot);
            let far = is_far.then(|| self.far.begin(run, slot));
            // Of those from other hosts, parts may have come from disk meanwhile.
            transfer.placing = transfer.placing.filter(|_| !is_far);
            let Others { cooperation, near, far: from_far } = self.others.as_mut().expect("as above");
            let pool = if is_far { from_far } else { near };
            pool.begin(Transfer { expected: Some(cooperation.expected(run, is_far)), far, ..transfer });
        }
        runs(&mut rest, IO_PAGES).for_each(|run| self.begin_read(run, slot_of(run)));
    }

    /// A page must not wait for other hosts any more.
    pub(super) fn overtake(&mut self, page: Page) {
        if let Some(slot) = self.far.overtake(page) {
            self.begin_read(Run::single(page), slot);
        }
    }

    fn transfer(&mut self, run: Run, slot: u32) -> Transfer {
        let mut transfer = Transfer::read(run, slot, self.free.pop().unwrap_or_else(Buffer::new));
        transfer.placing = self.placing.as_ref().filter(|_| run.count >= PLACED_PAGES).cloned();
        transfer
    }

    fn begin_read(&mut self, run: Run, slot: u32) {
        let transfer = self.transfer(run, slot);
        self.begin(transfer);
    }

    /// Begins to write pages.
    ///
    /// # Safety
    /// The contents of each run, at least those of its pages that are in the memory file, are at `address(run)`, mapped for good; no thread of this process stores to them.
    pub(super) unsafe fn write(&mut self, extent: Extent, address: impl Fn(Run) -> Range<usize>) {
        if let Some(Others { cooperation, .. }) = &mut self.others {
            for run in &extent.runs {
                let addresses = address(*run);
                // SAFETY: the caller's promise. What another process stores meanwhile spoils the digest, and keeps the pages from leaving.
                let contents =
                    unsafe { std::slice::from_raw_parts(addresses.start as *const u8, addresses.len()) };
                cooperation.note(*run, contents);
            }
        }
        let part = |run: &Run| libc::iovec { iov_base: address(*run).start as *mut _, iov_len: run.bytes() };
        let parts = extent.runs.iter().map(part).collect();
        let offset = extent.offset();
        self.begin(Transfer {
            work: Work::Write(extent),
            offset,
            parts,
            expected: None,
            far: None,
            placing: None,
        });
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
            _ if transfer.is_placed() => self.placers.begin(transfer),
            Engine::Uring(uring) => uring.begin(transfer),
            Engine::Pool(pool) => pool.begin(transfer),
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
            let next = copied.or_else(|| self.placers.next()).or_else(|| match &mut self.engine {
                Engine::Uring(uring) => uring.next(),
                Engine::Pool(pool) => pool.next(),
            });
            let Some((mut transfer, result)) = next else { return Ok(None) };
            let bytes = result.map_err(|error| self.error(&transfer, error))?;
            if transfer.advance(bytes) {
                return Ok(Some(match transfer.work {
                    Work::Read(run, buffer) => {
                        let wanted =
                            transfer.far.map_or_else(|| vec![run], |number| self.far.end(run, number));
                        Done::Read(Arrived { run, wanted, buffer, is_placed: transfer.placing.is_some() })
                    }
                    Work::Write(extent) => Done::Written(extent),
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

/// Waits until one of some descriptors is readable, so long at most. Returns which are, one bit each.
fn poll<const N: usize>(descriptors: [RawFd; N], longest: Option<Duration>) -> u32 {
    let mut polled = descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    let time = longest.map(|longest| libc::timespec {
        tv_sec: longest.as_secs() as libc::time_t,
        tv_nsec: longest.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(std::ptr::null(), |time| time as *const _);
    // SAFETY: an array of that length, and a time or none.
    unsafe { libc::ppoll(polled.as_mut_ptr(), N as libc::nfds_t, time, std::ptr::null()) };
    polled.iter().enumerate().map(|(at, event)| u32::from(event.revents != 0) << at).sum()
}

/// Takes what a descriptor has counted.
pub(super) fn clear(event: RawFd) {
    let mut count = 0u64;
    // SAFETY: reads 8 bytes into a word.
    unsafe { libc::read(event, (&raw mut count).cast(), 8) };
}

/// What a transfer's system call returned: bytes, of which there are some, or the error, negative.
pub(super) fn outcome(result: i64) -> io::Result<usize> {
    match result {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        bytes if bytes > 0 => Ok(bytes as usize),
        error => Err(io::Error::from_raw_os_error(-error as i32)),
    }
}
