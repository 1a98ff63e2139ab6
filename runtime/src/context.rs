//! Native stacks of the program's contexts (`makecontext`), see `c/context.c`.
//!
//! A context's native stack must be private: code accesses it without checks. The memory that the program provides is not, as a rule; it
//! tells contexts apart. Where a new context gets the same memory, or a part of it, the old one is over, and its native stack is used again or given
//! back.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

use parking_lot::Mutex;

use crate::memory;
use crate::memory::geometry::PAGE;

/// What the runtime needs on a stack beside the program, bytes: a miss runs on it.
const RUNTIME_BYTES: usize = 256 << 10;

struct Stack {
    /// Bytes of the program's memory.
    given: usize,
    /// First byte above the guard page.
    base: usize,
}

/// By the address of the program's memory.
static STACKS: Mutex<BTreeMap<usize, Stack>> = Mutex::new(BTreeMap::new());

/// Usable bytes of the native stack for a context with a stack of so many.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_context_bytes(given: usize) -> usize {
    given.next_multiple_of(PAGE) + RUNTIME_BYTES
}

/// The native stack for a context whose stack is at an address.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_context_stack(at: usize, given: usize) -> usize {
    let mut stacks = STACKS.lock();
    if let Some(stack) = stacks.get(&at).filter(|stack| stack.given == given) {
        return stack.base;
    }
    let overlap = |from: &usize, stack: &Stack| *from < at + given && at < from + stack.given;
    let over: Vec<usize> =
        stacks.iter().filter(|(from, stack)| overlap(from, stack)).map(|(from, _)| *from).collect();
    for from in over {
        if let Some(stack) = stacks.remove(&from) {
            // SAFETY: the mapping made below, on which nothing runs any more.
            unsafe {
                libc::munmap((stack.base - PAGE) as *mut c_void, PAGE + dsm_rt_context_bytes(stack.given))
            };
        }
    }
    let base = map(dsm_rt_context_bytes(given));
    stacks.insert(at, Stack { given, base });
    base
}

/// New private memory above a guard page.
fn map(bytes: usize) -> usize {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
    // SAFETY: new memory, of which the first page becomes the guard.
    unsafe {
        let at =
            libc::mmap(std::ptr::null_mut(), PAGE + bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if at == libc::MAP_FAILED {
            crate::job::die(&format!("makecontext: no memory for a stack of {bytes} bytes"));
        }
        libc::mprotect(at, PAGE, libc::PROT_NONE);
        at as usize + PAGE
    }
}

/// Whether an address is in the memory that the program's processes share, as far as it is set up.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_is_shared(address: *const c_void) -> c_int {
    c_int::from(memory::is_set_up() && memory::is_shared(address as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_used_again_for_the_same_memory() {
        let at = 0x10_0000;
        let first = dsm_rt_context_stack(at, 0x4000);
        assert_eq!(dsm_rt_context_stack(at, 0x4000), first);
        let beside = dsm_rt_context_stack(at + 0x4000, 0x4000);
        assert_ne!(beside, first);
        dsm_rt_context_stack(at + 0x2000, 0x4000);
        assert_eq!(STACKS.lock().keys().copied().collect::<Vec<_>>(), [at + 0x2000]);
    }
}
