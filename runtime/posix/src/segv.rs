//! Handlers of SIGSEGV that the runtime puts in front of the program's, and what the kernel reports of a fault.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

/// A handler, as `SA_SIGINFO` demands it.
pub type Function = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// A handler, and the action that it replaced.
pub struct Handler {
    function: Function,
    previous: OnceLock<libc::sigaction>,
}

impl Handler {
    /// Not installed yet.
    pub const fn new(function: Function) -> Handler {
        Handler { function, previous: OnceLock::new() }
    }

    /// Takes over faults. `flags` besides `SA_SIGINFO`. Only once.
    pub fn install(&self, flags: c_int) {
        // SAFETY: the action is filled in, and the handler has the signature that SA_SIGINFO demands.
        let previous = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = self.function as usize;
            action.sa_flags = libc::SA_SIGINFO | flags;
            let mut previous = std::mem::zeroed();
            libc::sigaction(libc::SIGSEGV, &action, &mut previous);
            previous
        };
        let _ = self.previous.set(previous);
    }

    /// The action before, if `handler` is this one: the program must not see that.
    pub fn hidden_action(&self, handler: usize) -> Option<libc::sigaction> {
        self.previous.get().filter(|_| handler == self.function as usize).copied()
    }

    /// Puts the action from before back, which sees the fault when the instruction is tried again. Signal handlers may use it.
    pub fn restore(&self) {
        // SAFETY: an action of the kernel's, or the default one.
        unsafe {
            match self.previous.get() {
                Some(previous) => libc::sigaction(libc::SIGSEGV, previous, std::ptr::null_mut()),
                None => libc::signal(libc::SIGSEGV, libc::SIG_DFL) as c_int,
            };
        }
    }
}

/// Bits of a page fault's error code (x86).
const WRITE: i64 = 2;
const FETCH: i64 = 16;

/// What the kernel says of a fault.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What was accessed.
    pub address: usize,
    /// The instruction.
    pub pc: usize,
    /// Of the thread at that instruction.
    pub stack_pointer: usize,
    /// The page fault's error code.
    error: i64,
}

impl Fault {
    /// # Safety
    /// The records are those that the kernel passes to a handler.
    pub unsafe fn of(info: *const libc::siginfo_t, context: *const c_void) -> Fault {
        // SAFETY: as the caller promises.
        unsafe {
            let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
            Fault {
                address: (*info).si_addr() as usize,
                pc: registers[libc::REG_RIP as usize] as usize,
                stack_pointer: registers[libc::REG_RSP as usize] as usize,
                error: registers[libc::REG_ERR as usize],
            }
        }
    }

    /// Whether the instruction writes.
    pub fn is_write(self) -> bool {
        self.error & WRITE != 0
    }

    /// Whether the address was to be executed.
    pub fn is_fetch(self) -> bool {
        self.error & FETCH != 0
    }
}
