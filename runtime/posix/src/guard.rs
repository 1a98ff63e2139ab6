//! `DSM_GUARD=1`: finds code without checks, such as libraries, that touches memory which is not valid in its process.
//!
//! Pages get the protection that their lines' states allow ([`crate::pages`]). With
//! blocks of at least a page that is exact; with smaller ones a page takes the best of its lines. A fault in a library is reported once per function and kind,
//! then the page is opened and the program goes on with what the memory holds. A fault in the program's own code is none of a library: the
//! code has passed its check before another thread's acquire took the block away, and goes on.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;

use parking_lot::Mutex;

use crate::memory::protection::Fault;
use crate::{image, sync};

/// Files with code of the pass, from the lowest to the highest address.
static PROGRAM: OnceLock<Vec<Range<usize>>> = OnceLock::new();

/// Gets ready for faults; no user code runs yet.
pub fn init() {
    let mut frames = [std::ptr::null_mut(); 4];
    // SAFETY: the array has so many elements; the unwinder is loaded before a fault needs it.
    unsafe { libc::backtrace(frames.as_mut_ptr(), 4) };
    let _ = PROGRAM.set(image::instrumented());
}

/// Whether the address lies in the program, or in a library that was compiled as it.
fn is_program(pc: usize) -> bool {
    PROGRAM.get().is_some_and(|program| program.iter().any(|range| range.contains(&pc)))
}

/// Functions reported already, by name and kind.
static REPORTED: Mutex<BTreeSet<(String, bool)>> = Mutex::new(BTreeSet::new());

/// Reports a fault, unless it is in the program's own code, or its function has been reported.
pub fn report(fault: Fault) {
    let Fault { address, write, pc } = fault;
    if is_program(pc) {
        return;
    }
    let mut frames = [std::ptr::null_mut(); 64];
    // SAFETY: the array has 64 elements; the unwinder was loaded at start.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), 64) };
    let frames: Vec<usize> = frames[..count.max(0) as usize].iter().map(|f| *f as usize).collect();
    // From the faulting instruction outwards to the program's call.
    let fault = frames.iter().position(|f| *f == pc).unwrap_or(0);
    let library: Vec<usize> = frames[fault..].iter().copied().take_while(|f| !is_program(*f)).collect();
    let caller = frames[fault..].iter().copied().find(|f| is_program(*f));
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
