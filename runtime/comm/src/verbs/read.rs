//! READs of a peer's memory, by a queue pair of their own: what is read so disturbs no messages, and a key that the peer's adapter refuses ends no other connection.
//!
//! What is read comes into memory of this adapter, in parts, and is copied from there: to register the destinations would take longer than to copy most of them. Several parts are under way while others are
//! copied. Parts are posted many at a time, so that the adapter is told once of all of them, and of several one reports: READs of a queue pair end in their order. More may be posted than the two adapters can have under way;
//! the own one then begins them as others end.
//!
//! A thread has the queue pair until all its parts have come: one large transfer keeps the link busy.

use std::io;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use super::adapter::{Adapter, Landing};
use super::ends::{End, closed};
use super::queue_pair::{ReadList, SENDS};
use super::sys::RemoteAddress;
use crate::copy::copy;
use crate::requests::carrier::{Reader, Registrar, RemoteAction, RemotePart, RemoteStep};
use crate::uncancelled::Uncancelled;

/// Parts that are under way at a time.
const PARTS: usize = SENDS;
/// Bytes of a part.
pub(crate) const PART_BYTES: usize = 64 << 10;
/// Of so many parts one reports, and as many at least are posted at once, if there are more.
const TOGETHER: usize = 4;

/// Lets peers read own memory.
pub(super) struct VerbsRegistrar(pub(super) &'static Adapter);

impl Registrar for VerbsRegistrar {
    unsafe fn register(&mut self, start: *mut u8, bytes: usize) -> Option<(u64, u64)> {
        // SAFETY: the caller's promise.
        let key = unsafe { self.0.lend(start, bytes) }.ok()?;
        Some((key.into(), start.addr() as u64))
    }

    unsafe fn register_writable(&mut self, start: *mut u8, bytes: usize) -> Option<(u64, u64)> {
        // SAFETY: the caller's promise.
        let key = unsafe { self.0.share(start, bytes) }.ok()?;
        Some((key.into(), start.addr() as u64))
    }
}

/// Reads a peer's memory.
pub(super) struct VerbsReader {
    end: Mutex<ReadEnd>,
    /// Whether the peer has its memory written to.
    writes: bool,
}

struct ReadEnd {
    end: End,
    adapter: &'static Adapter,
    /// From the first read on.
    landing: Option<Landing>,
    /// Where what has been posted and not been copied goes, and its bytes: a ring.
    under_way: [(*mut u8, usize); PARTS],
    /// The number of the oldest of these, and of the next.
    oldest: u32,
    next: u32,
    has_failed: bool,
}

// SAFETY: the addresses are of memory that a thread lends while it reads, which has the lock.
unsafe impl Send for ReadEnd {}

impl VerbsReader {
    /// `writes`: whether the peer has its memory written to.
    pub(super) fn new(end: End, adapter: &'static Adapter, writes: bool) -> VerbsReader {
        let under_way = [(ptr::null_mut(), 0); PARTS];
        let (landing, has_failed) = (None, false);
        let end = ReadEnd { end, adapter, landing, under_way, oldest: 0, next: 0, has_failed };
        VerbsReader { end: Mutex::new(end), writes }
    }

    /// Uses it, unless that has failed before.
    fn using(&self, body: impl FnOnce(&mut ReadEnd) -> io::Result<()>) -> io::Result<()> {
        let _whole = Uncancelled::begin();
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        if end.has_failed {
            return Err(closed());
        }
        let result = end.end.expect_peer().and_then(|()| body(&mut end));
        end.has_failed = result.is_err();
        result.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => error,
            _ => io::Error::other(format!("cannot read its memory: {error}")),
        })
    }
}

impl Reader for VerbsReader {
    unsafe fn read(&self, next: &mut dyn FnMut() -> Option<RemotePart>) -> io::Result<()> {
        // SAFETY: the caller's promise.
        self.using(|end| unsafe { end.read(next) })
    }

    fn looks(&self) -> bool {
        self.writes
    }

    unsafe fn look(&self, steps: &[RemoteStep]) -> io::Result<()> {
        // SAFETY: the caller's promise.
        self.using(|end| unsafe { end.look(steps) })
    }
}

impl ReadEnd {
    fn count(&self) -> usize {
        self.next.wrapping_sub(self.oldest) as usize
    }

    /// # Safety
    /// As for [`Reader::read`].
    unsafe fn read(&mut self, next: &mut dyn FnMut() -> Option<RemotePart>) -> io::Result<()> {
        let landing = match self.landing.take() {
            Some(landing) => landing,
            None => self.adapter.landing(PARTS * PART_BYTES)?,
        };
        let mut rest = next();
        while rest.is_some() || self.count() != 0 {
            if rest.is_some() && PARTS - self.count() >= TOGETHER {
                self.post(&landing, &mut rest, next)?;
            }
            let done = self.end.next()?.id;
            while self.count() != 0 && done.wrapping_sub(self.oldest).cast_signed() >= 0 {
                let (into, bytes) = self.under_way[self.oldest as usize % PARTS];
                let from = landing.memory.place(&place(self.oldest, bytes));
                // SAFETY: the part has come, and nobody uses it; the destination is the caller's.
                unsafe { copy(from, into, bytes) };
                self.oldest = self.oldest.wrapping_add(1);
            }
        }
        self.landing = Some(landing);
        Ok(())
    }

    /// Posts all steps at once, which the adapter executes without this process: those of a later part wait for the READs before them by a fence.
    ///
    /// # Safety
    /// As for [`Reader::look`].
    unsafe fn look(&mut self, steps: &[RemoteStep]) -> io::Result<()> {
        let landing = match self.landing.take() {
            Some(landing) => landing,
            None => self.adapter.landing(PARTS * PART_BYTES)?,
        };
        let first = self.next;
        let numbers = || (0..).map(|number: u32| first.wrapping_add(number)).zip(steps);
        let mut list = ReadList::new();
        for (number, RemoteStep { key, address, action, is_next_part }) in numbers() {
            let key = u32::try_from(*key).map_err(|_| io::Error::other("a key of more than 32 bits"))?;
            let remote = RemoteAddress { address: *address, key };
            match *action {
                RemoteAction::Write(value) => {
                    // SAFETY: the part is mapped for good, aligned, and nobody uses it.
                    unsafe { landing.memory.place(&place(number, 8)).cast::<u64>().write_volatile(value) };
                    list.push_write(number, remote, landing.sge(&place(number, 8)));
                }
                RemoteAction::Read(_, bytes) => {
                    list.push(number, remote, landing.sge(&place(number, bytes)), false);
                }
            }
            if *is_next_part {
                list.fence_last();
            }
        }
        list.signal_last();
        self.end.pair.read(&mut list)?;
        self.next = first.wrapping_add(steps.len() as u32);
        self.oldest = self.next;
        // The last one alone reports.
        self.end.next()?;
        for (number, step) in numbers() {
            if let RemoteAction::Read(into, bytes) = step.action {
                // SAFETY: it has come, and nobody uses it; the destination is the caller's.
                unsafe { copy(landing.memory.place(&place(number, bytes)), into, bytes) };
            }
        }
        self.landing = Some(landing);
        Ok(())
    }

    /// Posts as many parts as there is space for.
    fn post(
        &mut self,
        landing: &Landing,
        rest: &mut Option<RemotePart>,
        next: &mut dyn FnMut() -> Option<RemotePart>,
    ) -> io::Result<()> {
        let mut list = ReadList::new();
        while self.count() < PARTS {
            let Some(part) = rest else { break };
            let bytes = part.bytes.min(PART_BYTES);
            let key = u32::try_from(part.key).map_err(|_| io::Error::other("a key of more than 32 bits"))?;
            let from = RemoteAddress { address: part.address, key };
            let number = self.next;
            let is_signaled = (number as usize + 1).is_multiple_of(TOGETHER);
            list.push(number, from, landing.sge(&place(number, bytes)), is_signaled);
            self.under_way[number as usize % PARTS] = (part.into, bytes);
            self.next = number.wrapping_add(1);
            part.address = part.address.wrapping_add(bytes as u64);
            part.into = part.into.wrapping_add(bytes);
            part.bytes -= bytes;
            if part.bytes == 0 {
                *rest = next();
            }
        }
        list.signal_last();
        self.end.pair.read(&mut list)
    }
}

/// Where the part of a number lands.
fn place(number: u32, bytes: usize) -> std::ops::Range<usize> {
    let start = number as usize % PARTS * PART_BYTES;
    start..start + bytes
}
