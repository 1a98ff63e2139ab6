//! What C++ programs need beyond C: static initialisation once a job, its end in process 0, streams in every process.
//!
//! The functions with names of the C++ ABI take the place of libstdc++'s, in the library itself too.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use dsm_abi::atomic::order;
use dsm_threads::backoff::Backoff;
use parking_lot::Mutex;

use crate::atomics::{__dsm_atomic_load, __dsm_atomic_store};
use crate::control::Watched;
use crate::job::child;
use crate::{check, heap, memory, sync};

unsafe extern "C" {
    /// Opens (1) or closes (0) the process's `std::cout` and its relatives, if the program has any.
    fn dsm_rt_cxx_streams(open: c_int);
    fn dsm_rt_cxx_threads();
    fn __cxa_atexit(function: *mut c_void, object: *mut c_void, library: *mut c_void) -> c_int;
}

/// A process with `main` runs the constructors that open the streams; the others do it here.
pub fn start_worker() {
    // SAFETY: before any user code of this process.
    unsafe { dsm_rt_cxx_streams(1) };
}

/// Writes out what the streams of a process without `main` hold.
pub fn end_worker() {
    // SAFETY: no user code runs in this process any more.
    unsafe { dsm_rt_cxx_streams(0) };
}

/// Lets libstdc++ count references with atomic operations although this process has one thread.
pub fn expect_threads() {
    // SAFETY: sets a flag of the C library that says whether there are other threads.
    unsafe { dsm_rt_cxx_threads() };
}

// ---- variables that are initialised when control first reaches them ----

const DONE: u8 = 1;
/// Second byte of a guard outside shared memory: somebody is initialising.
const PENDING: u32 = 1 << 8;

/// Whether the guard is the program's, and the memory that several processes see is there.
fn is_shared(guard: *mut u8) -> bool {
    memory::is_set_up() && memory::is_shared(guard as usize)
}

fn is_done(guard: *mut u8) -> bool {
    let mut value = 0;
    // SAFETY: the first byte of the compiler's guard; the result goes to a local variable.
    unsafe { __dsm_atomic_load(guard, &raw mut value, 1, order::ACQUIRE) };
    value == DONE
}

/// 1 if the caller must initialise the variable, and then call one of the two functions below.
///
/// # Safety
/// The guard is one of the compiler's: eight bytes, aligned, at first zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cxa_guard_acquire(guard: *mut u8) -> c_int {
    if is_shared(guard) {
        sync::lock(guard as u64);
        if is_done(guard) {
            sync::unlock(guard as u64);
            return 0;
        }
        return 1;
    }
    // SAFETY: the caller's promise; nobody accesses a guard in another way.
    let word = unsafe { AtomicU32::from_ptr(guard.cast()) };
    let mut backoff = Backoff::default();
    loop {
        match word.compare_exchange(0, PENDING, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return 1,
            Err(value) if value & u32::from(DONE) != 0 => return 0,
            Err(_) => backoff.pause(),
        }
    }
}

/// The variable is initialised.
///
/// # Safety
/// After [`__cxa_guard_acquire`] returned 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cxa_guard_release(guard: *mut u8) {
    if is_shared(guard) {
        let mut done = DONE;
        // SAFETY: the first byte of the guard; the operand is a local variable.
        unsafe { __dsm_atomic_store(guard, &raw mut done, 1, order::RELEASE) };
        sync::unlock(guard as u64);
    } else {
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(guard.cast()) }.store(DONE.into(), Ordering::Release);
    }
}

/// The initialisation ended with an exception; the next who comes by tries again.
///
/// # Safety
/// After [`__cxa_guard_acquire`] returned 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cxa_guard_abort(guard: *mut u8) {
    if is_shared(guard) {
        sync::unlock(guard as u64);
    } else {
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(guard.cast()) }.store(0, Ordering::Release);
    }
}

// ---- what runs at the end ----

/// Registrations that processes other than 0 may have waiting.
const ROOM: u64 = 4096;
crate::control::declare! {
    /// Number of functions that processes other than 0 registered for the end.
    static REGISTERED: Watched;
    /// These functions with their arguments.
    static EXITS: Watched, 2 * ROOM as usize;
}

/// How many process 0 has taken over.
static ADOPTED: Mutex<u64> = Mutex::new(0);

/// The two control words of registration number `index`: function, argument.
fn exit_slot(index: u64) -> [Watched; 2] {
    let first = 2 * (index % ROOM) as usize;
    [EXITS.shared(first), EXITS.shared(first + 1)]
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_cxa_atexit(function: *mut u8, object: *mut u8, library: *mut u8) -> u32 {
    if sync::rank() == 0 {
        // The others' come first, because they were made first.
        adopt_exits();
        // SAFETY: passed on as it came.
        return unsafe { __cxa_atexit(function.cast(), object.cast(), library.cast()) } as u32;
    }
    let [to, argument] = exit_slot(REGISTERED.shared(0).fetch_add(1));
    if to.load() != 0 {
        crate::job::die(&format!(
            "more than {ROOM} functions were registered for the end in one parallel region"
        ));
    }
    argument.store(object as u64);
    to.store(function as u64);
    0
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_atexit(function: *mut u8) -> u32 {
    // SAFETY: in the C convention a function may be passed an argument that it does not take.
    unsafe { __dsm_cxa_atexit(function, std::ptr::null_mut(), std::ptr::null_mut()) }
}

/// Process 0: takes over what the others registered.
pub fn adopt_exits() {
    if sync::size() == 1 {
        return;
    }
    let mut adopted = ADOPTED.lock();
    while *adopted < REGISTERED.shared(0).load() {
        let [from, argument] = exit_slot(*adopted);
        let function = from.wait(|function| function != 0);
        let object = argument.load();
        from.store(0);
        *adopted += 1;
        // SAFETY: another process registered them; images and data lie at equal addresses.
        unsafe { __cxa_atexit(function as *mut c_void, object as *mut c_void, std::ptr::null_mut()) };
    }
}

// ---- exceptions, see `c/exception.c` ----

/// Writable memory for an exception's object that has blocks of coherence of its own; null if no other process can ask for it.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_exception(bytes: usize) -> *mut u8 {
    if !memory::is_set_up() || sync::size() == 1 || child::is_child() {
        return std::ptr::null_mut();
    }
    let Some((address, _)) = heap::allocate_blocks(bytes, 16) else { return std::ptr::null_mut() };
    check::overwritten(address, bytes);
    address as *mut u8
}
