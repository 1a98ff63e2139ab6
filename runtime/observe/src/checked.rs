//! What each thread has checked since it last synchronised, in builds with `-fdsm-verify`, and whether others have synchronised since then.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dsm_abi::state::Access;
use dsm_geometry::Geometry;

use crate::job::die;

/// Whether code of the process verifies itself.
static ON: AtomicBool = AtomicBool::new(false);
/// Synchronising operations of all threads that have begun, and that have ended.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);
/// [`SEEN`] of a thread while whose operation another one was under way.
const OVERLAPPED: u64 = u64::MAX;
/// Intervals are numbered from 1 to this, then again.
const LAST_INTERVAL: u32 = (1 << 31) - 1;

thread_local! {
    static TABLE: Table = const { Table { first: Cell::new(std::ptr::null_mut()), bytes: Cell::new(0) } };
    /// Number of the thread's interval between two synchronisations.
    static INTERVAL: Cell<u32> = const { Cell::new(1) };
    /// The first interval whose checks count: the present one, or an earlier one if only signal handlers have synchronised since then.
    static COUNTS_FROM: Cell<u32> = const { Cell::new(1) };
    /// [`BEGUN`] at the end of the thread's last synchronisation.
    static SEEN: Cell<u64> = const { Cell::new(0) };
}

/// One thread's checks: for each line of the shared data twice the number of the interval in which it was last checked, and 1 more if for a store.
struct Table {
    first: Cell<*mut u32>,
    bytes: Cell<usize>,
}

impl Table {
    /// The entry of the line at an offset in the shared data.
    fn entry(&self, geometry: &Geometry, offset: usize) -> &Cell<u32> {
        if self.first.get().is_null() {
            self.reserve(geometry);
        }
        let line = offset >> geometry.line_shift();
        assert!(line * size_of::<u32>() < self.bytes.get(), "shared data lies in the table");
        // SAFETY: in the mapping, which is the thread's own; pages of it that were not touched hold zeros.
        unsafe { &*self.first.get().add(line).cast::<Cell<u32>>() }
    }

    fn reserve(&self, geometry: &Geometry) {
        let end = geometry.parts().map(|part| geometry.offset(part.end - 1) + 1).max().unwrap_or(0);
        let bytes = ((end >> geometry.line_shift()) + 1) * size_of::<u32>();
        // SAFETY: a new mapping.
        let first = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        if first == libc::MAP_FAILED {
            die(
                "-fdsm-verify: no address space for a thread's table of checks (ulimit -v, vm.overcommit_memory)",
            );
        }
        self.first.set(first.cast());
        self.bytes.set(bytes);
    }

    fn forget(&self) {
        if !self.first.get().is_null() {
            // SAFETY: the mapping that `reserve` made.
            unsafe { libc::madvise(self.first.get().cast(), self.bytes.get(), libc::MADV_DONTNEED) };
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if !self.first.get().is_null() {
            // SAFETY: the mapping that `reserve` made, and the thread's last use of it.
            unsafe { libc::munmap(self.first.get().cast(), self.bytes.get()) };
        }
    }
}

/// Whether code of the process verifies itself.
#[inline]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// A release or an acquire of this thread, as long as the value lives: what was checked before it does not count after it.
#[derive(Debug)]
pub struct Synchronising(());

impl Synchronising {
    /// See the type; `None` where nothing is verified.
    #[inline]
    pub fn begin() -> Option<Synchronising> {
        is_on().then(Synchronising::begin_on)
    }

    #[cold]
    fn begin_on() -> Synchronising {
        BEGUN.fetch_add(1, Ordering::SeqCst);
        next_interval();
        Synchronising(())
    }
}

impl Drop for Synchronising {
    fn drop(&mut self) {
        let ended = ENDED.fetch_add(1, Ordering::SeqCst) + 1;
        let begun = BEGUN.load(Ordering::SeqCst);
        SEEN.set(if begun == ended { begun } else { OVERLAPPED });
    }
}

fn next_interval() {
    let next = INTERVAL.get() + 1;
    if next > LAST_INTERVAL {
        let _ = TABLE.try_with(Table::forget);
    }
    INTERVAL.set(if next > LAST_INTERVAL { 1 } else { next });
    COUNTS_FROM.set(INTERVAL.get());
}

/// A signal handler of the program, as long as the value lives. It is to the code that it interrupts what another thread of the process is
/// (`signals`): its synchronisations take permissions away, but what was checked before it still counts after it.
#[derive(Debug)]
pub struct Handler {
    counts_from: u32,
    interval: u32,
}

impl Handler {
    /// See the type.
    #[inline]
    pub fn begin() -> Option<Handler> {
        is_on().then(|| Handler { counts_from: COUNTS_FROM.get(), interval: INTERVAL.get() })
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        if INTERVAL.get() > self.interval {
            COUNTS_FROM.set(self.counts_from);
            SEEN.set(OVERLAPPED);
        }
    }
}

/// Remembers that the thread has checked `[address, address + len)`, or is about to.
#[cold]
pub fn note(geometry: &Geometry, address: usize, len: usize, access: Access) {
    let Some(last) = len.checked_sub(1).map(|more| address.saturating_add(more)) else { return };
    let mark = 2 * INTERVAL.get() + u32::from(access != Access::Read);
    let _ = TABLE.try_with(|table| {
        for part in geometry.parts().filter(|part| address < part.end && last >= part.start) {
            let first = geometry.offset(address.max(part.start)) >> geometry.line_shift();
            let last = geometry.offset(last.min(part.end - 1)) >> geometry.line_shift();
            for line in first..=last {
                let entry = table.entry(geometry, line << geometry.line_shift());
                entry.set(entry.get().max(mark));
            }
        }
    });
}

/// From now on code of the process verifies itself.
pub fn begin() {
    if !is_on() {
        ON.store(true, Ordering::Relaxed);
    }
}

/// The first of the thread's intervals whose checks count.
pub fn interval() -> u32 {
    COUNTS_FROM.get()
}

/// What the thread knows of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It has not checked it in its present interval.
    Nothing,
    /// It has checked it for loads only.
    Loads,
    /// It has checked it for the access.
    Enough,
}

/// What the thread knows of the line at an offset in the shared data; `None`: it is ending, and has no table any more.
pub fn known(geometry: &Geometry, offset: usize, access: Access) -> Option<Known> {
    let entry = TABLE.try_with(|table| table.entry(geometry, offset).get()).ok()?;
    if entry < 2 * COUNTS_FROM.get() {
        return Some(Known::Nothing);
    }
    // A handler's load may have overwritten what is known of an earlier check for a store.
    let is_for_loads =
        access != Access::Read && entry.is_multiple_of(2) && COUNTS_FROM.get() == INTERVAL.get();
    Some(if is_for_loads { Known::Loads } else { Known::Enough })
}

/// Whether no other thread of the process has synchronised since this one did last.
pub fn is_undisturbed() -> bool {
    SEEN.get() == BEGUN.load(Ordering::SeqCst)
}
