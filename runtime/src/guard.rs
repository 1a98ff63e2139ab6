//! `DSM_GUARD=1`: finds code without checks, such as libraries, that touches memory which is not valid in its process.
//!
//! Pages of shared memory get the protection that their lines' states allow: none if all lines are invalid, read-only if none is writable. With
//! blocks of at least a page that is exact; with smaller ones a page takes the best of its lines. The runtime itself works on the
//! segments' other mappings, which stay open. A fault in a library is reported once per function and kind, then the page is opened
//! and the program goes on with what the memory holds. A fault in the program's own code is none of a library: the
//! code has passed its check before another thread's acquire took the block away, and goes on.

use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;

use dsm_abi::state::{READ_LIMIT, WRITABLE};
use parking_lot::Mutex;

use crate::memory::executable;
use crate::memory::table::StateTable;
use crate::{config, image, memory, sync};

const PAGE: usize = 4096;
/// Bit of the page fault's error code that tells writes apart (x86).
const WRITE_FAULT: i64 = 2;

struct Guard {
    table: StateTable,
    line: usize,
    /// Files with code of the pass, from the lowest to the highest address.
    program: Vec<Range<usize>>,
    previous: libc::sigaction,
}

// SAFETY: the previous action holds plain values and a handler that any thread may run.
unsafe impl Send for Guard {}
// SAFETY: as above.
unsafe impl Sync for Guard {}

static GUARD: OnceLock<Guard> = OnceLock::new();

/// Whether memory is guarded.
#[inline]
pub fn enabled() -> bool {
    config::get().guard
}

/// Starts guarding; memory is set up, and no user code runs yet.
pub fn init() {
    if !enabled() || sync::size() == 1 {
        return;
    }
    let geometry = memory::get().geometry();
    // SAFETY: the action is filled in, the handler has the signature that SA_SIGINFO demands; the unwinder is loaded before a fault needs it.
    let previous = unsafe {
        let mut frames = [std::ptr::null_mut(); 4];
        libc::backtrace(frames.as_mut_ptr(), 4);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        let mut previous = std::mem::zeroed();
        libc::sigaction(libc::SIGSEGV, &action, &mut previous);
        previous
    };
    let guard = Guard {
        table: memory::get().table(),
        line: 1 << geometry.line_shift(),
        program: image::instrumented(),
        previous,
    };
    let _ = GUARD.set(guard);
    for rank in (0..sync::size()).filter(|r| *r != sync::rank()) {
        for range in [geometry.arena(rank), geometry.stacks(rank)] {
            protect(range.start, range.len(), libc::PROT_NONE);
        }
    }
    if sync::rank() != 0 {
        geometry
            .globals()
            .ranges()
            .for_each(|globals| protect(globals.start, globals.len(), libc::PROT_NONE));
    }
}

fn protect(address: usize, bytes: usize, protection: c_int) {
    let executable = if protection == libc::PROT_NONE { 0 } else { executable::protection() };
    if bytes > 0 {
        // SAFETY: whole pages of shared memory, which nothing but the program's accesses uses at these addresses.
        unsafe { libc::mprotect(address as *mut c_void, bytes, protection | executable) };
    }
}

impl Guard {
    /// Whether the address lies in the program, or in a library that was compiled as it.
    fn is_program(&self, pc: usize) -> bool {
        self.program.iter().any(|range| range.contains(&pc))
    }

    /// What the lines of a page allow.
    fn protection(&self, page: usize) -> c_int {
        let best = (page..page + PAGE).step_by(self.line.min(PAGE)).map(|a| self.table.get(a)).min();
        match best.unwrap_or(WRITABLE) {
            WRITABLE => libc::PROT_READ | libc::PROT_WRITE,
            state if state < READ_LIMIT => libc::PROT_READ,
            _ => libc::PROT_NONE,
        }
    }
}

/// The states of whole lines have changed, or are about to become `opening` (so that the pages are open before a check passes).
pub fn states_changed(address: usize, bytes: usize, opening: Option<u8>) {
    let Some(guard) = GUARD.get() else { return };
    let first = address & !(PAGE - 1);
    let end = (address + bytes).next_multiple_of(PAGE);
    let wanted = |page| match opening {
        Some(WRITABLE) => libc::PROT_READ | libc::PROT_WRITE,
        Some(state) if state < READ_LIMIT => guard.protection(page) | libc::PROT_READ,
        _ => guard.protection(page),
    };
    let mut at = first;
    while at < end {
        let protection = wanted(at);
        let mut stop = at + PAGE;
        while stop < end && wanted(stop) == protection {
            stop += PAGE;
        }
        protect(at, stop - at, protection);
        at = stop;
    }
}

/// Functions reported already, by name and kind.
static REPORTED: Mutex<BTreeSet<(String, bool)>> = Mutex::new(BTreeSet::new());

unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid description of the fault and the thread's context.
    let (address, code, pc) = unsafe {
        let context = &*context.cast::<libc::ucontext_t>();
        let registers = &context.uc_mcontext.gregs;
        ((*info).si_addr() as usize, registers[libc::REG_ERR as usize], registers[libc::REG_RIP as usize])
    };
    let write = code & WRITE_FAULT != 0;
    let guard = GUARD.get().filter(|_| memory::is_shared(address));
    let Some(guard) = guard else {
        // Not ours: the program's handler, or death, takes it when the instruction is tried again.
        // SAFETY: puts back the action from before.
        unsafe {
            match GUARD.get() {
                Some(g) => libc::sigaction(signal, &g.previous, std::ptr::null_mut()),
                None => libc::signal(signal, libc::SIG_DFL) as c_int,
            };
        }
        return;
    };
    let state = guard.table.get(address);
    let allowed = if write { state == WRITABLE } else { state < READ_LIMIT };
    if !allowed && !guard.is_program(pc as usize) {
        report(guard, address, write, pc as usize);
    }
    let open = if write { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
    protect(address & !(PAGE - 1), PAGE, open);
}

fn report(guard: &Guard, address: usize, write: bool, pc: usize) {
    let mut frames = [std::ptr::null_mut(); 64];
    // SAFETY: the array has 64 elements; the unwinder was loaded at start.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), 64) };
    let frames: Vec<usize> = frames[..count.max(0) as usize].iter().map(|f| *f as usize).collect();
    // From the faulting instruction outwards to the program's call.
    let fault = frames.iter().position(|f| *f == pc).unwrap_or(0);
    let library: Vec<usize> = frames[fault..].iter().copied().take_while(|f| !guard.is_program(*f)).collect();
    let caller = frames[fault..].iter().copied().find(|f| guard.is_program(*f));
    let called = library.last().copied().unwrap_or(pc);
    let name = image::function_of(called).unwrap_or_else(|| format!("code at {called:#x}"));
    let object = image::file_of(called).unwrap_or_default();
    let object = object.file_name().unwrap_or_default().to_string_lossy();
    if !REPORTED.lock().insert((name.clone(), write)) {
        return;
    }
    let verb = if write { "writes" } else { "reads" };
    let from = caller.map_or(String::new(), |at| format!(", called at {}", image::call_site(at)));
    eprintln!(
        "dsm: guard: process {}: {name} ({object}) {verb} {address:#x}, which is not valid in this process{from}",
        sync::rank()
    );
}
