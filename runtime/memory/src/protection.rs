//! Protection of the pages of shared memory by the states of their lines: none if all lines are invalid, read-only if none is writable. While pages may be protected, the runtime itself
//! works on the segment's other mapping, which stays open.
//!
//! Two modes need it:
//! - `-fdsm-check=mprotect`: accesses have no checks, and a fault is the miss, as in page-based systems since IVY (Li, Hudak 1989) and TreadMarks. Lines are pages
//!   or longer, so protection is exact. States and protection change together, with [`CHANGE`] locked: a thread that faults on a page that its state allows
//!   by then sets the protection that the state asks for, and must not undo a change that comes between.
//! - `DSM_GUARD=1`, for debugging, where checks decide and libraries are watched.
//!
//! Whoever handles faults says when pages are protected ([`start`]), and what a fault is.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use dsm_abi::note::Checking;
use dsm_abi::part::Part;
use dsm_abi::state::{PAGE_SHIFT, READ_LIMIT, WRITABLE};
use parking_lot::Mutex;

use crate::config::{self, RaceMode};
use crate::geometry::PAGE;
use crate::table::StateTable;
use crate::{executable, image, job};

/// What protection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A fault is a miss.
    Check,
    /// A fault is a library's mistake.
    Guard,
}

/// A fault in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What was accessed.
    pub address: usize,
    /// Whether it was to be written.
    pub write: bool,
    /// The instruction.
    pub pc: usize,
}

struct Pages {
    mode: Mode,
    table: StateTable,
    line: usize,
}

static PAGES: OnceLock<Pages> = OnceLock::new();
static ENABLED: AtomicBool = AtomicBool::new(false);
/// Whether pages may be protected where the program has its data, by this module or by the program.
static RESTRICTED: AtomicBool = AtomicBool::new(false);
/// Locked while the state and the protection of a page differ.
static CHANGE: Mutex<()> = Mutex::new(());

/// Whether pages are protected at all.
#[inline]
pub fn enabled() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

/// Whether the runtime may be denied access to shared data where the program has them.
#[inline(always)]
pub fn is_restricted() -> bool {
    RESTRICTED.load(Ordering::Relaxed)
}

/// From now on it may. Before pages are protected.
pub fn restrict() {
    RESTRICTED.store(true, Ordering::SeqCst);
}

/// How accesses are checked: as `DSM_CHECK` says, or else as the program was compiled.
///
/// # Errors
/// A sentence about a program that cannot be run so.
pub fn checking(line_shift: u32) -> Result<Checking, String> {
    let compiled = image::checking();
    let wanted = config::get().check.unwrap_or(compiled);
    let protocol = config::get().protocol;
    if protocol.has(Part::MultipleWriters) {
        if wanted != Checking::Mprotect {
            return Err("DSM_PROTOCOL=single-writer takes permissions away while threads store, which checks of the program do not see; compile it with \
                        -fdsm-check=mprotect"
                .into());
        }
        if protocol.keeps_homes() || config::get().race != RaceMode::Off {
            return Err("DSM_PROTOCOL=single-writer takes homes for stores; leave out no-migration, fixed-homes and DSM_RACE".into());
        }
    }
    match (wanted, compiled) {
        (Checking::Inline, Checking::Mprotect) => {
            Err("the program was compiled with -fdsm-check=mprotect and has no checks; unset DSM_CHECK, or compile it without".into())
        }
        (Checking::Mprotect, _) if line_shift < PAGE_SHIFT => Err(format!(
            "DSM_CHECK=mprotect protects pages of {PAGE} bytes, and the program was compiled for lines of {}; compile it with -fdsm-line={PAGE} or \
             -fdsm-check=mprotect",
            1 << line_shift
        )),
        _ => Ok(wanted),
    }
}

/// Starts protecting: nothing allows what is not valid at first. Faults are handled, and no user code runs yet.
pub fn start(mode: Mode) {
    let memory = crate::get();
    let (geometry, own) = (memory.geometry(), memory.rank());
    let _change = CHANGE.lock();
    let _ = PAGES.set(Pages { mode, table: memory.table(), line: 1 << geometry.line_shift() });
    restrict();
    ENABLED.store(true, Ordering::Relaxed);
    for rank in (0..geometry.processes()).filter(|r| *r != own) {
        for range in [geometry.arena(rank), geometry.stacks(rank)] {
            protect(range, libc::PROT_NONE);
        }
    }
    if own != 0 {
        geometry.globals().ranges().for_each(|globals| protect(globals, libc::PROT_NONE));
    }
}

/// What protection is for; `None`: pages are not protected.
pub fn mode() -> Option<Mode> {
    PAGES.get().map(|pages| pages.mode)
}

/// Whether the state of the line at an address allows an access.
pub fn allows(address: usize, write: bool) -> bool {
    let state = crate::get().table().get(address);
    if write { state == WRITABLE } else { state < READ_LIMIT }
}

/// Protects the page of an address as its lines allow.
pub fn follow_states(address: usize) {
    let _change = CHANGE.lock();
    if let Some(pages) = PAGES.get() {
        let page = address & !(PAGE - 1);
        protect(page..page + PAGE, pages.protection(page));
    }
}

/// Opens the page of an address, whatever its lines allow.
pub fn open(address: usize, write: bool) {
    let page = address & !(PAGE - 1);
    let open = if write { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
    protect(page..page + PAGE, open);
}

fn protect(range: Range<usize>, protection: c_int) {
    if range.is_empty() {
        return;
    }
    let executable = if protection == libc::PROT_NONE { 0 } else { executable::protection() };
    // SAFETY: whole pages of shared memory, which nothing but the program's accesses uses at these addresses.
    let result = unsafe { libc::mprotect(range.start as *mut c_void, range.len(), protection | executable) };
    if result != 0 {
        let error = std::io::Error::last_os_error();
        job::die(&format!(
            "cannot protect pages of shared memory: {error}; each run of pages with one protection is a mapping, of which the system allows a process as many as \
             vm.max_map_count says: raise it, or use larger blocks (DSM_BLOCK)"
        ));
    }
}

fn allowed(state: u8) -> c_int {
    match state {
        WRITABLE => libc::PROT_READ | libc::PROT_WRITE,
        state if state < READ_LIMIT => libc::PROT_READ,
        _ => libc::PROT_NONE,
    }
}

/// Sets the states of whole lines, and protects their pages accordingly.
pub fn set_states(table: StateTable, address: usize, bytes: usize, state: u8) {
    let change = CHANGE.lock();
    let Some(pages) = PAGES.get() else { return table.set(address, bytes, state) };
    let range = address & !(PAGE - 1)..(address + bytes).next_multiple_of(PAGE);
    match pages.mode {
        Mode::Check if state < READ_LIMIT => {
            // A range check that finds the state must find the page open.
            protect(range, allowed(state));
            table.set(address, bytes, state);
        }
        Mode::Check => {
            table.set(address, bytes, state);
            protect(range, allowed(state));
        }
        Mode::Guard => {
            pages.protect_by_states(range.clone(), allowed(state));
            table.set(address, bytes, state);
            pages.protect_by_states(range, libc::PROT_NONE);
        }
    }
    drop(change);
}

impl Pages {
    /// What the lines of a page allow.
    fn protection(&self, page: usize) -> c_int {
        let best = (page..page + PAGE).step_by(self.line.min(PAGE)).map(|a| self.table.get(a)).min();
        allowed(best.unwrap_or(WRITABLE))
    }

    /// Protects pages as their lines allow, and gives them `more`.
    fn protect_by_states(&self, range: Range<usize>, more: c_int) {
        let mut at = range.start;
        while at < range.end {
            let protection = self.protection(at) | more;
            let mut stop = at + PAGE;
            while stop < range.end && self.protection(stop) | more == protection {
                stop += PAGE;
            }
            protect(at..stop, protection);
            at = stop;
        }
    }
}
