//! Faults in shared memory whose pages are protected ([`crate::memory::protection`]): they are misses, or a library's mistakes ([`crate::guard`]).

use std::ffi::{c_int, c_void};
use std::pin::pin;
use std::sync::mpsc;

use dsm_abi::note::Checking;
use dsm_abi::part::Part;

use crate::check::{self, Access};
use crate::job::library::{errno, set_errno};
use crate::memory::fabric::{revocations, run};
use crate::memory::protection::{self, Fault, Mode};
use crate::memory::services::spawn_service;
use crate::segv::{self, Handler};
use crate::{config, guard, memory, sync};

static HANDLER: Handler = Handler::new(on_fault);

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
    HANDLER.install(libc::SA_NODEFER);
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

/// See [`Handler::hidden_action`].
pub fn hidden_action(handler: usize) -> Option<libc::sigaction> {
    HANDLER.hidden_action(handler)
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

unsafe extern "C" fn on_fault(_signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid description of the fault and the thread's context.
    let fault = unsafe { segv::Fault::of(info, context) };
    if let Some(mode) = protection::mode().filter(|_| memory::is_shared(fault.address)) {
        // The interrupted code may be about to look at it.
        let errno = errno();
        handle(mode, Fault { address: fault.address, write: fault.is_write(), pc: fault.pc });
        set_errno(errno);
        return;
    }
    // Not ours: the program's handler, or death, takes it when the instruction is tried again.
    HANDLER.restore();
}
