//! Protection of the pages of shared memory by the states of their lines: none if all lines are invalid, read-only if none is writable. The runtime itself
//! works on the segments' other mappings, which stay open.
//!
//! Two modes need it:
//! - `-fdsm-check=mprotect`: accesses have no checks, and a fault is the miss, as in page-based systems since IVY (Li, Hudak 1989) and TreadMarks. Lines are pages
//!   or longer, so protection is exact. States and protection change together, with [`CHANGE`] locked: a thread that faults on a page that its state allows
//!   by then sets the protection that the state asks for, and must not undo a change that comes between.
//! - `DSM_GUARD=1` ([`crate::guard`]), for debugging, where checks decide and libraries are watched.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, mpsc};

use dsm_abi::note::Checking;
use dsm_abi::part::Part;
use dsm_abi::state::{PAGE_SHIFT, READ_LIMIT, WRITABLE};
use parking_lot::Mutex;

use crate::check::{self, Access};
use crate::config::RaceMode;
use crate::fabric::{revocations, run};
use crate::memory::executable;
use crate::memory::table::StateTable;
use crate::pthread::thread::spawn_service;
use crate::{config, guard, image, job, memory, sync};

const PAGE: usize = 1 << PAGE_SHIFT;
/// Bit of the page fault's error code that tells writes apart (x86).
const WRITE_FAULT: i64 = 2;

/// What protection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A fault is a miss.
    Check,
    /// A fault is a library's mistake.
    Guard,
}

struct Pages {
    mode: Mode,
    table: StateTable,
    line: usize,
    previous: libc::sigaction,
}

// SAFETY: the previous action holds plain values and a handler that any thread may run.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

static PAGES: OnceLock<Pages> = OnceLock::new();
static ENABLED: AtomicBool = AtomicBool::new(false);
/// Locked while the state and the protection of a page differ.
static CHANGE: Mutex<()> = Mutex::new(());

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

/// Whether pages are protected at all.
#[inline]
pub fn enabled() -> bool {
    ENABLED.load(Ordering::Relaxed)
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

/// Starts protecting; memory is set up, and no user code runs yet.
pub fn init() {
    if sync::size() == 1 {
        return;
    }
    let geometry = memory::get().geometry();
    let mode = match memory::get().checking() {
        Checking::Mprotect => Mode::Check,
        Checking::Inline if config::get().guard => Mode::Guard,
        Checking::Inline => return,
    };
    if mode == Mode::Guard {
        guard::init();
    }
    // SAFETY: the action is filled in, and the handler has the signature that SA_SIGINFO demands.
    let previous = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        let mut previous = std::mem::zeroed();
        libc::sigaction(libc::SIGSEGV, &action, &mut previous);
        previous
    };
    let pages = Pages { mode, table: memory::get().table(), line: 1 << geometry.line_shift(), previous };
    if config::get().protocol.has(Part::MultipleWriters) {
        start_revoking();
    }
    let _change = CHANGE.lock();
    let _ = PAGES.set(pages);
    ENABLED.store(true, Ordering::Relaxed);
    for rank in (0..sync::size()).filter(|r| *r != sync::rank()) {
        for range in [geometry.arena(rank), geometry.stacks(rank)] {
            protect(range, libc::PROT_NONE);
        }
    }
    if sync::rank() != 0 {
        geometry.globals().ranges().for_each(|globals| protect(globals, libc::PROT_NONE));
    }
}

/// Starts the thread that takes permissions to store back when other processes ask for them.
fn start_revoking() {
    let (begun, begins) = mpsc::channel();
    spawn_service("dsm-revoke", "permissions to store", move || {
        let requests = revocations(sync::rank());
        let revoke = || memory::shared().map_or((), |shared| run(pin!(shared.coherence.revoke())));
        // From here on no thread has the protocol for itself while it waits for another process.
        revoke();
        let _ = begun.send(());
        let mut served = 0;
        loop {
            served = requests.sleep_until(|now| now != served);
            revoke();
        }
    });
    let _ = begins.recv();
}

/// The action before, if `handler` is the one of this module: the program must not see that.
pub fn hidden_action(handler: usize) -> Option<libc::sigaction> {
    PAGES.get().filter(|_| handler == on_fault as *const () as usize).map(|pages| pages.previous)
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

    fn allows(&self, fault: Fault) -> bool {
        let state = self.table.get(fault.address);
        if fault.write { state == WRITABLE } else { state < READ_LIMIT }
    }

    fn handle(&self, fault: Fault) {
        let page = fault.address & !(PAGE - 1);
        match self.mode {
            Mode::Check if self.allows(fault) => {
                let _change = CHANGE.lock();
                protect(page..page + PAGE, self.protection(page));
            }
            Mode::Check => {
                check::ensure(fault.address, 1, if fault.write { Access::Write } else { Access::Read });
            }
            Mode::Guard => {
                if !self.allows(fault) {
                    guard::report(fault);
                }
                let open = if fault.write { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
                protect(page..page + PAGE, open);
            }
        }
    }
}

unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid description of the fault and the thread's context.
    let (address, code, pc) = unsafe {
        let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        ((*info).si_addr() as usize, registers[libc::REG_ERR as usize], registers[libc::REG_RIP as usize])
    };
    if let Some(pages) = PAGES.get().filter(|_| memory::is_shared(address)) {
        // SAFETY: the thread's own variable, which the interrupted code may be about to look at.
        let errno = unsafe { *libc::__errno_location() };
        pages.handle(Fault { address, write: code & WRITE_FAULT != 0, pc: pc as usize });
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
        return;
    }
    // Not ours: the program's handler, or death, takes it when the instruction is tried again.
    // SAFETY: puts back the action from before.
    unsafe {
        match PAGES.get() {
            Some(pages) => libc::sigaction(signal, &pages.previous, std::ptr::null_mut()),
            None => libc::signal(signal, libc::SIG_DFL) as c_int,
        };
    }
}
