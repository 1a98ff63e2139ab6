//! Code that a program puts on its stack: the trampolines through which Fortran passes internal procedures as arguments.
//!
//! The linker marks such a program (PT_GNU_STACK with the executable flag). A trampoline's address escapes, so it lies on
//! the shared stack, which then has to be executable as well. The pass checks the code before it is called.

use std::ffi::c_int;
use std::ops::Range;
use std::sync::atomic::{AtomicI32, Ordering};

use libc::{PF_X, PROT_EXEC, PROT_READ, PROT_WRITE, PT_GNU_STACK};

/// `PROT_EXEC` if shared memory is executable, else 0.
static PROTECTION: AtomicI32 = AtomicI32::new(0);

/// What has to be added to a protection of shared memory that can be read.
pub fn protection() -> c_int {
    PROTECTION.load(Ordering::Relaxed)
}

/// Makes the range executable if the program's stack is.
pub fn like_the_stack(range: &Range<usize>) {
    if stack_is_executable() {
        PROTECTION.store(PROT_EXEC, Ordering::Relaxed);
        // SAFETY: the range was mapped for reading and writing; this only adds a right. Where the system refuses it,
        // calling a trampoline ends the program, as before.
        unsafe {
            libc::mprotect(range.start as *mut libc::c_void, range.len(), PROT_READ | PROT_WRITE | PROT_EXEC)
        };
    }
}

fn stack_is_executable() -> bool {
    // SAFETY: the kernel hands every process the address and number of its program headers, which stay mapped.
    let headers = unsafe {
        let first = libc::getauxval(libc::AT_PHDR) as *const libc::Elf64_Phdr;
        if first.is_null() {
            return false;
        }
        std::slice::from_raw_parts(first, libc::getauxval(libc::AT_PHNUM) as usize)
    };
    headers.iter().any(|h| h.p_type == PT_GNU_STACK && h.p_flags & PF_X != 0)
}
