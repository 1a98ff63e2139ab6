//! Says what happened when a thread accesses memory that is private to another process, such as a thread's stack or what a library has
//! allocated there. That memory is mapped in its own process only ([`crate::memory::private_range`]), so the access faults.
//!
//! A program that handles SIGSEGV itself takes the handler's place. All other faults are left to whoever was there before.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use crate::memory::private_range;
use crate::{image, sync};

/// Bit of the page fault's error code that tells writes apart (x86).
const WRITE_FAULT: i64 = 2;
/// Frames of the faulting thread that are looked at.
const FRAMES: usize = 64;

static PREVIOUS: OnceLock<Previous> = OnceLock::new();

struct Previous(libc::sigaction);

// SAFETY: plain values, and a handler that any thread may run.
unsafe impl Send for Previous {}
// SAFETY: as above.
unsafe impl Sync for Previous {}

/// Takes over faults; in a job of several processes, before user code runs.
pub fn init() {
    if sync::size() == 1 {
        return;
    }
    // SAFETY: the action is filled in, and the handler has the signature that SA_SIGINFO demands.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_ONSTACK;
        let mut previous = std::mem::zeroed();
        libc::sigaction(libc::SIGSEGV, &action, &mut previous);
        let _ = PREVIOUS.set(Previous(previous));
    }
}

/// The action before, if `handler` is the one of this module: the program must not see that.
pub fn hidden_action(handler: usize) -> Option<libc::sigaction> {
    PREVIOUS.get().filter(|_| handler == on_fault as *const () as usize).map(|previous| previous.0)
}

unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid description of the fault and the thread's context.
    let (address, code, pc) = unsafe {
        let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        ((*info).si_addr() as usize, registers[libc::REG_ERR as usize], registers[libc::REG_RIP as usize])
    };
    // SAFETY: puts back the action from before, which sees the fault when the instruction is tried again.
    unsafe {
        match PREVIOUS.get() {
            Some(previous) => libc::sigaction(signal, &previous.0, std::ptr::null_mut()),
            None => libc::signal(signal, libc::SIG_DFL) as c_int,
        };
    }
    if let Some(owner) = private_range::owner(address).filter(|owner| *owner != sync::rank()) {
        report(owner, address, code & WRITE_FAULT != 0, pc as usize);
    }
    // SAFETY: the kernel's record, and its number of this thread.
    unsafe {
        if (*info).si_code <= 0 {
            // No instruction that is tried again caused it: somebody sent it.
            libc::syscall(libc::SYS_rt_tgsigqueueinfo, libc::getpid(), libc::gettid(), signal, info);
        }
    }
}

fn report(owner: u32, address: usize, write: bool, pc: usize) -> ! {
    let mut frames = [std::ptr::null_mut(); FRAMES];
    // SAFETY: the array has as many elements.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), FRAMES as c_int) };
    let frames: Vec<usize> = frames[..count.max(0) as usize].iter().map(|f| *f as usize).collect();
    let fault = frames.iter().position(|f| *f == pc).unwrap_or(0);
    let program = image::instrumented();
    let is_program = |at: usize| program.iter().any(|range| range.contains(&at));
    let caller = frames[fault..].iter().copied().find(|f| *f != pc && is_program(*f));
    let who = match caller.filter(|_| !is_program(pc)) {
        Some(at) => {
            let name = image::function_of(pc).unwrap_or_else(|| "a library".into());
            format!("{name}, called at {},", image::call_site(at))
        }
        None => image::call_site(pc + 1).to_string(),
    };
    let verb = if write { "writes" } else { "reads" };
    crate::job::die(&format!(
        "process {}: {who} {verb} {address:#x}, which is private to process {owner}: the stack or thread-local data of one of its threads, or \
         memory that a library allocated there",
        sync::rank()
    ))
}
