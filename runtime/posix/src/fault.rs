//! Says what happened when a thread accesses memory that is private to another process, such as a thread's stack or what a library has
//! allocated there. That memory is mapped in its own process only ([`crate::memory::private_range`]), so the access faults.
//!
//! A program that handles SIGSEGV itself takes the handler's place. All other faults are left to whoever was there before.

use std::ffi::{c_int, c_void};

use crate::memory::private_range;
use crate::segv::{Fault, Handler};
use crate::{image, sync};

/// Frames of the faulting thread that are looked at.
const FRAMES: usize = 64;

static HANDLER: Handler = Handler::new(on_fault);

/// Takes over faults; in a job of several processes, before user code runs.
pub fn init() {
    if sync::size() > 1 {
        HANDLER.install(libc::SA_NODEFER | libc::SA_ONSTACK);
    }
}

/// See [`Handler::hidden_action`].
pub fn hidden_action(handler: usize) -> Option<libc::sigaction> {
    HANDLER.hidden_action(handler)
}

unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid description of the fault and the thread's context.
    let fault = unsafe { Fault::of(info, context) };
    HANDLER.restore();
    if let Some(owner) = private_range::owner(fault.address).filter(|owner| *owner != sync::rank()) {
        report(owner, fault);
    }
    // SAFETY: the kernel's record, and its number of this thread.
    unsafe {
        if (*info).si_code <= 0 {
            // No instruction that is tried again caused it: somebody sent it.
            libc::syscall(libc::SYS_rt_tgsigqueueinfo, libc::getpid(), libc::gettid(), signal, info);
        }
    }
}

fn report(owner: u32, fault: Fault) -> ! {
    let Fault { address, pc, .. } = fault;
    let mut frames = [std::ptr::null_mut(); FRAMES];
    // SAFETY: the array has as many elements.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), FRAMES as c_int) };
    let frames: Vec<usize> = frames[..count.max(0) as usize].iter().map(|f| *f as usize).collect();
    let first = frames.iter().position(|f| *f == pc).unwrap_or(0);
    let program = image::instrumented();
    let is_program = |at: usize| program.iter().any(|range| range.contains(&at));
    let caller = frames[first..].iter().copied().find(|f| *f != pc && is_program(*f));
    let who = match caller.filter(|_| !is_program(pc)) {
        Some(at) => {
            let name = image::function_of(pc).unwrap_or_else(|| "a library".into());
            format!("{name}, called at {},", image::call_site(at))
        }
        None => image::call_site(pc + 1).to_string(),
    };
    let verb = if fault.is_write() { "writes" } else { "reads" };
    crate::job::die(&format!(
        "process {}: {who} {verb} {address:#x}, which is private to process {owner}: the stack or thread-local data of one of its threads, or \
         memory that a library allocated there",
        sync::rank()
    ))
}
