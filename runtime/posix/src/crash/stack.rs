//! The alternate signal stack of each thread that runs user code.

use std::cell::Cell;
use std::ffi::c_void;

/// Enough for the report, which reads debug information.
const BYTES: usize = 256 << 10;
/// Nobody can access the lowest page.
const GUARD_BYTES: usize = 4096;

thread_local! {
    /// First byte of the thread's stack above the guard; 0: it has none.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

fn current() -> libc::stack_t {
    // SAFETY: all zero is a valid structure, which the system fills in.
    unsafe {
        let mut stack = std::mem::zeroed();
        libc::sigaltstack(std::ptr::null(), &mut stack);
        stack
    }
}

/// Whether the thread has the stack that starts there from this module: the program must not see it.
pub fn is_own(stack: &libc::stack_t) -> bool {
    OWN.get() != 0 && stack.ss_sp as usize == OWN.get()
}

/// Gives the calling thread one, unless it has any.
pub fn give() {
    if current().ss_flags & libc::SS_DISABLE == 0 {
        return;
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
    // SAFETY: new memory, of which the thread keeps the part above the guard until `take_back`.
    unsafe {
        let bytes = GUARD_BYTES + BYTES;
        let at = libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if at == libc::MAP_FAILED {
            return;
        }
        libc::mprotect(at, GUARD_BYTES, libc::PROT_NONE);
        let stack = libc::stack_t { ss_sp: at.byte_add(GUARD_BYTES), ss_flags: 0, ss_size: BYTES };
        if libc::sigaltstack(&stack, std::ptr::null_mut()) == 0 {
            OWN.set(stack.ss_sp as usize);
        }
    }
}

/// Takes it back at the end of the thread.
pub fn take_back() {
    let own = OWN.replace(0);
    if own == 0 {
        return;
    }
    // SAFETY: the thread does not run on it, and does not use it any more if it was in use.
    unsafe {
        if current().ss_sp as usize == own {
            let none = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
            libc::sigaltstack(&none, std::ptr::null_mut());
        }
        libc::munmap((own - GUARD_BYTES) as *mut c_void, GUARD_BYTES + BYTES);
    }
}
