//! Thread-local variables whose address other threads may have.
//!
//! In a job of several processes such a variable lives in shared memory, a block for each thread and variable: the pass has compiled accesses to
//! go there, through a pointer that each module keeps for each thread. The variable's place in the thread's own thread-local storage
//! holds the initial value and tells the modules' pointers to one variable apart from those to another. Blocks begin with blocks of
//! coherence, so that what only its own thread uses is never fetched. They are given back when the thread ends.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::OnceLock;

use crate::pthread::key::{DESTRUCTOR_ROUNDS, make};
use crate::{check, heap, memory, sync};
use dsm_threads::handler::Deferred;

/// A thread's blocks, by the variables' own places.
#[derive(Default)]
struct Blocks {
    shared: HashMap<usize, usize>,
    rounds: u32,
}

/// The key under which a thread has its blocks.
fn key() -> libc::pthread_key_t {
    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
    *KEY.get_or_init(|| make(Some(end_of_thread)))
}

unsafe extern "C" fn end_of_thread(blocks: *mut c_void) {
    // SAFETY: what `blocks_of_thread` has leaked, of this thread, which is at its end.
    let mut blocks = unsafe { Box::from_raw(blocks.cast::<Blocks>()) };
    blocks.rounds += 1;
    // The program's destructors may use the variables in each round.
    if blocks.rounds < DESTRUCTOR_ROUNDS {
        // SAFETY: the next round gets it back.
        unsafe { libc::pthread_setspecific(key(), Box::into_raw(blocks).cast()) };
        return;
    }
    blocks.shared.values().for_each(|block| heap::free(*block));
}

/// The thread's blocks, which nobody else uses as long as no handler of the program interrupts the thread.
fn blocks_of_thread() -> *mut Blocks {
    // SAFETY: the value is null, or a box that was stored here.
    unsafe {
        let mut blocks: *mut Blocks = libc::pthread_getspecific(key()).cast();
        if blocks.is_null() {
            blocks = Box::into_raw(Box::default());
            libc::pthread_setspecific(key(), blocks.cast());
        }
        blocks
    }
}

/// See [`dsm_abi::entries`].
///
/// # Safety
/// As the pass compiles it: `own_place` is a variable of this thread, `slot` a word of it, `size` null or a constant.
#[unsafe(no_mangle)]
#[cold]
pub unsafe extern "C" fn __dsm_thread_local(
    own_place: *mut u8,
    slot: *mut u8,
    bytes: u64,
    align: u64,
    escapes: *mut u8,
    size: *mut u8,
) -> *mut u8 {
    if !memory::is_set_up() {
        return own_place;
    }
    // A handler of the program may use such a variable for the first time, too.
    let _deferred = Deferred::begin();
    // SAFETY: the caller's promise.
    let bytes = match unsafe { size.cast::<u64>().as_ref() } {
        Some(size) if bytes == 0 => *size,
        _ => bytes,
    } as usize;
    let private = sync::size() == 1 || escapes.is_null() || bytes == 0;
    let place = if private {
        own_place
    } else {
        // SAFETY: the variable has so many bytes.
        let make = || unsafe { make_block(own_place, bytes, align as usize) };
        // SAFETY: a box of this thread, which no handler interrupts here.
        let blocks = unsafe { &mut *blocks_of_thread() };
        *blocks.shared.entry(own_place as usize).or_insert_with(make) as *mut u8
    };
    // SAFETY: the caller's promise.
    unsafe { slot.cast::<*mut u8>().write(place) };
    place
}

/// A block with the initial value.
///
/// # Safety
/// The thread's own place has so many bytes.
unsafe fn make_block(own_place: *mut u8, bytes: usize, align: usize) -> usize {
    let Some((address, _)) = heap::allocate_blocks(bytes, align) else {
        crate::job::die("no shared memory for thread-local variables; set DSM_HEAP to a larger size")
    };
    check::overwritten(address, bytes);
    // SAFETY: a new object of at least so many bytes, made writable.
    unsafe { (address as *mut u8).copy_from_nonoverlapping(own_place, bytes) };
    address
}
