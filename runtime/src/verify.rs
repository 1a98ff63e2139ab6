//! What builds with `-fdsm-verify` assert: each access of instrumented code is allowed at the moment at which it is made.
//!
//! Two things are asserted of every line that an access touches. First, the thread has checked the line for this kind of access since it last
//! synchronised: that is what makes an access right, whatever the data and the timing happen to be, in a single process as well. Each
//! thread has a table with the interval in which it last checked a line; checks enter themselves, inline ones just before they look
//! at the states. Second, the state table allows the access. Other threads of the process may take that away after the check, by an acquire or a
//! release of theirs, and rightly so; hence it is only asserted if none of them has synchronised since this thread did last.
//!
//! Of calls that the pass takes not to synchronise it is asserted that the thread's interval is the same before and behind them.
//!
//! Builds without the option never come here: whoever makes memory valid looks at one word, on its slow path.

use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dsm_abi::state;

use crate::check::Access;
use crate::job::die;
use crate::memory::geometry::Geometry;
use crate::memory::{self, Memory};
use crate::omp::frame;
use crate::race::{self, sites};
use crate::{image, sync};
use dsm_comm::Word;

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
pub(crate) fn checked(address: usize, len: usize, access: Access) {
    let Some(last) = len.checked_sub(1).map(|more| address.saturating_add(more)) else { return };
    let geometry = memory::get().geometry();
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

/// Entry point, see `dsm_abi::entries`.
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_verify_begin() {
    if !is_on() {
        ON.store(true, Ordering::Relaxed);
    }
}

/// Entry point, see `dsm_abi::entries`.
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_verify_checked(addr: *mut u8, len: u64, store: u32) {
    if memory::is_up() {
        checked(addr as usize, len as usize, wanted(store));
    }
}

/// Entry point, see `dsm_abi::entries`.
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_verify_interval() -> u32 {
    COUNTS_FROM.get()
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// `place` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_verify_same_interval(interval: u32, place: *mut u8) {
    if COUNTS_FROM.get() != interval && memory::is_up() {
        // SAFETY: the caller's promise.
        let place = unsafe { CStr::from_ptr(place.cast::<c_char>()) }.to_string_lossy();
        let (place, called) = place.split_once('\n').unwrap_or((&place, "a function"));
        fail_once();
        die(&format!(
            "verify: process {}, thread {}: the call of {called} at {place} has synchronised, which it is taken not to do; checks made before it \
             are relied on behind it",
            sync::rank(),
            frame::current().tid,
        ))
    }
}

fn wanted(store: u32) -> Access {
    if store != 0 { Access::Write } else { Access::Read }
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// `place` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_verify_access(addr: *mut u8, len: u64, store: u32, place: *mut u8) {
    let Some(memory) = memory::is_up().then(memory::get) else { return };
    let (address, geometry) = (addr as usize, memory.geometry());
    let line = 1usize << geometry.line_shift();
    let end = address.saturating_add(len as usize);
    let mut at = address;
    while at < end {
        if geometry.is_shared(at)
            && let Some(why) = refused(memory, at, wanted(store))
        {
            // SAFETY: the caller's promise.
            let place = unsafe { CStr::from_ptr(place.cast::<c_char>()) }.to_string_lossy();
            fail(memory, at, (address, len as usize), wanted(store), &place, why);
        }
        at = (at & !(line - 1)) + line;
    }
}

/// Why an access is not allowed.
#[derive(Clone, Copy)]
enum Refused {
    /// The thread has not checked the line in its present interval.
    Unchecked,
    /// It has checked it for loads only.
    CheckedForLoad,
    /// It has, but the state does not allow the access.
    State,
}

fn refused(memory: &Memory, address: usize, access: Access) -> Option<Refused> {
    let geometry = memory.geometry();
    let offset = geometry.offset(address);
    // A thread that is ending has no table any more.
    let entry = TABLE.try_with(|table| table.entry(geometry, offset).get()).ok()?;
    if entry < 2 * COUNTS_FROM.get() {
        return Some(Refused::Unchecked);
    }
    // A handler's load may have overwritten what is known of an earlier check for a store.
    if access != Access::Read && entry.is_multiple_of(2) && COUNTS_FROM.get() == INTERVAL.get() {
        return Some(Refused::CheckedForLoad);
    }
    let undisturbed = || SEEN.get() == BEGUN.load(Ordering::SeqCst);
    let bad = undisturbed() && memory.table().get(address) >= access.limit() && undisturbed();
    bad.then_some(Refused::State)
}

crate::control::declare! {
    /// 1 once an assertion has failed, in process 0.
    static JOB_FAILED: u64;
}

/// Others may fail at the same time; the first one ends the job, and only that one returns.
fn fail_once() {
    static FAILED: AtomicU64 = AtomicU64::new(0);
    let failed = memory::shared().map_or(Word::of(&FAILED), |_| JOB_FAILED.shared(0));
    while failed.swap(1, Ordering::SeqCst) != 0 {
        std::thread::park();
    }
}

/// Ends the job with the one message; `at` is in the line that refuses.
#[cold]
fn fail(
    memory: &Memory,
    at: usize,
    (address, len): (usize, usize),
    access: Access,
    place: &str,
    why: Refused,
) -> ! {
    fail_once();
    let (verb, needed) = match access {
        Access::Read => ("load", "readable"),
        _ => ("store", "writable"),
    };
    let why = match why {
        Refused::Unchecked => "without a check since the thread last synchronised",
        Refused::CheckedForLoad => "that was only checked for loads since the thread last synchronised",
        Refused::State => "that was checked, but whose line does not allow it",
    };
    let (place, relied) = place.split_once('\n').unwrap_or((place, "unknown"));
    die(&format!(
        "verify: process {}, thread {}: {verb} of {len} bytes at {address:#x} ({}) {why}, at {place}; the state of the line at {:#x} is {}, needed is \
         {needed}; what the access relied on: {relied}",
        sync::rank(),
        frame::current().tid,
        object(memory, at.max(address)),
        at & !((1 << memory.geometry().line_shift()) - 1),
        name(memory.table().get(at)),
    ))
}

fn name(state: u8) -> &'static str {
    match state {
        state::WRITABLE => "0 (writable)",
        state::READABLE => "1 (readable)",
        state::COLD => "2 (cold)",
        state::EXPIRED => "3 (expired)",
        state::NOTICED => "4 (invalidated by a notice)",
        state::INVALID_DIRTY => "5 (invalid, with own bytes)",
        _ => "unknown",
    }
}

/// What a shared address belongs to.
fn object(memory: &Memory, address: usize) -> String {
    if let Some(v) = image::variable_at(address) {
        return format!("{}+{}", v.name, address - v.address);
    }
    let geometry = memory.geometry();
    if let Some((rank, thread)) = geometry.stack_of(address) {
        return format!("a local variable in the shared stack of thread {thread} of process {rank}");
    }
    let home = geometry.default_home(geometry.block(address)).0;
    let shared = memory::shared().filter(|_| race::is_on());
    let found = shared.and_then(|shared| sites::find(&shared.segments, geometry, home, address));
    match found {
        Some(found) => format!(
            "byte {} of {} that process {home} allocated at {}",
            address - found.address,
            found.bytes,
            image::call_site(found.site)
        ),
        None => format!("memory that process {home} allocated"),
    }
}
