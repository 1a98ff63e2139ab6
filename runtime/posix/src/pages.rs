//! Faults in shared memory whose pages are protected ([`crate::memory::protection`]): they are misses, or a library's mistakes ([`crate::guard`]).

use std::ffi::{c_int, c_void};
use std::pin::pin;
use std::sync::{OnceLock, mpsc};

use dsm_abi::note::Checking;
use dsm_abi::part::Part;

use crate::check::{self, Access};
use crate::memory::fabric::{revocations, run};
use crate::memory::protection::{self, Fault, Mode};
use crate::memory::services::spawn_service;
use crate::{config, guard, memory, sync};

/// Bit of the page fault's error code that tells writes apart (x86).
const WRITE_FAULT: i64 = 2;

struct Previous(libc::sigaction);

// SAFETY: plain values, and a handler that any thread may run.
unsafe impl Send for Previous {}
// SAFETY: as above.
unsafe impl Sync for Previous {}

static PREVIOUS: OnceLock<Previous> = OnceLock::new();

/// Starts protecting; memory is set up, and no user code runs yet.
pub fn init() {
    if sync::size() == 1 {
        return;
    }
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
    let _ = PREVIOUS.set(Previous(previous));
    if config::get().protocol.has(Part::MultipleWriters) {
        start_revoking();
    }
    protection::start(mode);
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
    PREVIOUS.get().filter(|_| handler == on_fault as *const () as usize).map(|previous| previous.0)
}

fn handle(mode: Mode, fault: Fault) {
    let allowed = protection::allows(fault.address, fault.write);
    match mode {
        Mode::Check if allowed => protection::follow_states(fault.address),
        Mode::Check => {
            check::ensure(fault.address, 1, if fault.write { Access::Write } else { Access::Read });
        }
        Mode::Guard => {
            if !allowed {
                guard::report(fault);
            }
            protection::open(fault.address, fault.write);
        }
    }
}

unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid description of the fault and the thread's context.
    let (address, code, pc) = unsafe {
        let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        ((*info).si_addr() as usize, registers[libc::REG_ERR as usize], registers[libc::REG_RIP as usize])
    };
    if let Some(mode) = protection::mode().filter(|_| memory::is_shared(address)) {
        // SAFETY: the thread's own variable, which the interrupted code may be about to look at.
        let errno = unsafe { *libc::__errno_location() };
        handle(mode, Fault { address, write: code & WRITE_FAULT != 0, pc: pc as usize });
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
        return;
    }
    // Not ours: the program's handler, or death, takes it when the instruction is tried again.
    // SAFETY: puts back the action from before.
    unsafe {
        match PREVIOUS.get() {
            Some(previous) => libc::sigaction(signal, &previous.0, std::ptr::null_mut()),
            None => libc::signal(signal, libc::SIG_DFL) as c_int,
        };
    }
}
