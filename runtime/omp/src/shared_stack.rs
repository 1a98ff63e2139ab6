//! The calling thread's shared stack, where instrumented code has the local variables that others can reach.

use crate::{crash, memory};

unsafe extern "C" {
    fn dsm_rt_set_shared_sp(top: *mut u8);
    safe fn dsm_rt_shared_sp() -> usize;
}

/// Bytes of the stack of [`adopt_early`].
const EARLY_BYTES: usize = 1 << 20;

/// Gives the calling thread memory of its own for these variables, before there is a shared stack.
pub fn adopt_early() {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: maps new memory, and sets a thread-local word of this thread, before it runs user code.
    unsafe {
        let lowest = libc::mmap(std::ptr::null_mut(), EARLY_BYTES, protection, flags, -1, 0);
        if lowest != libc::MAP_FAILED {
            dsm_rt_set_shared_sp(lowest.cast::<u8>().add(EARLY_BYTES));
        }
    }
}

/// Gives the calling thread the shared stack number `index` of this process, and one for signals.
pub fn adopt(index: u32) {
    crash::stack::give();
    // SAFETY: sets a thread-local word of this thread, before it runs user code.
    unsafe { dsm_rt_set_shared_sp(memory::stack_top(index) as *mut u8) };
}

/// Runs `region` with the variables of its functions in other blocks than those of their callers. What the thread stores to them would take the block with the variables that the region shares away from
/// the threads of other processes.
pub fn apart<T>(region: impl FnOnce() -> T) -> T {
    let top = dsm_rt_shared_sp();
    let offset = memory::get().geometry().locate_shared(top).map_or(0, |(_, offset)| offset);
    let lowest = top - offset;
    // SAFETY: sets a thread-local word of this thread, which has nothing below it; instrumented functions restore what they found.
    unsafe { dsm_rt_set_shared_sp(lowest as *mut u8) };
    let result = region();
    // SAFETY: as above.
    unsafe { dsm_rt_set_shared_sp(top as *mut u8) };
    result
}
