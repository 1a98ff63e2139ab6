//! Threads that the program makes, or a library for it (`std::thread`).
//!
//! They are threads of their process like those of teams: with a shared stack, and counted where the protocol asks who runs user code.
//! `pthread_create` stands in front of the C library's for the whole process; the runtime's own threads pass.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use parking_lot::Mutex;

use super::key;
use crate::job::library::next_function;
use crate::memory::services::{self, as_runtime_threads, without_signals};
use crate::sync::regions;
use crate::{config, crash, memory, progress, sync};

/// What a thread runs.
pub type Routine = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut c_void, *const c_void, Routine, *mut c_void) -> c_int;

unsafe extern "C" {
    fn dsm_rt_thread(start: *mut c_void) -> *mut c_void;
}

/// What `c/thread.c` takes over.
#[repr(C)]
struct Start {
    routine: Routine,
    argument: *mut c_void,
    stack: u32,
}

/// Shared stacks that threads of the program have; teams take theirs from the other end.
struct Stacks {
    free: Vec<u32>,
    made: u32,
}

static STACKS: Mutex<Stacks> = Mutex::new(Stacks { free: Vec::new(), made: 0 });

/// Stacks at the upper end that teams cannot have.
pub fn stacks() -> u32 {
    STACKS.lock().made
}

impl Stacks {
    fn take(&mut self, helpers: u32) -> Option<u32> {
        self.free.pop().or_else(|| {
            let left = config::MAX_THREADS - 1 - self.made;
            (left > helpers).then(|| {
                self.made += 1;
                left
            })
        })
    }
}

thread_local! {
    static STACK: Cell<u32> = const { Cell::new(0) };
    /// Rounds of destructors of keys that the thread has left.
    static ROUNDS: Cell<u32> = const { Cell::new(0) };
}

/// The key whose destructor ends a thread: destructors of thread-local variables come before those of keys, and the program's are user code, too. The
/// destructor asks to be called again until the last round.
fn ending() -> libc::pthread_key_t {
    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
    *KEY.get_or_init(|| key::make(Some(end_of_thread)))
}

fn await_end() {
    // SAFETY: a key of this process; any value that is not null.
    unsafe { libc::pthread_setspecific(ending(), std::ptr::dangling::<c_void>()) };
}

unsafe extern "C" fn end_of_thread(_: *mut c_void) {
    let left = ROUNDS.get();
    if left > 1 {
        ROUNDS.set(left - 1);
        return await_end();
    }
    sync::user_threads_leave();
    crash::stack::take_back();
    progress::end_thread();
    STACKS.lock().free.push(STACK.get());
}

/// Starts a thread of the runtime that runs code of the program, and lasts as long as the process. `purpose` as for [`services::spawn_service`].
pub fn spawn_worker(purpose: &str, routine: Routine) {
    let mut thread: libc::pthread_t = 0;
    let create = || {
        // SAFETY: a variable of this function, and a function that takes no argument.
        unsafe { pthread_create((&raw mut thread).cast(), std::ptr::null(), routine, std::ptr::null_mut()) }
    };
    let status = without_signals(create);
    if status != 0 {
        let error = std::io::Error::from_raw_os_error(status);
        crate::job::die(&format!("cannot start the thread for {purpose}: {error}"));
    }
}

/// Stack of a process's own thread where the system's limit is infinite, bytes: memory that is not used costs nothing.
const UNLIMITED_STACK: usize = 1 << 30;

/// Runs the process's own work in a new thread, which ends the process. The initial thread, whose stack and thread-local block lie where every process
/// has them, waits; signals go to the others.
pub fn serve_elsewhere(work: impl FnOnce() + Send + 'static) -> ! {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is written.
    unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) };
    let limit = if limit.rlim_cur == libc::RLIM_INFINITY { UNLIMITED_STACK } else { limit.rlim_cur as usize };
    let stack = limit.max(config::get().native_stack_bytes);
    let thread = std::thread::Builder::new().stack_size(stack);
    if let Err(error) = as_runtime_threads(|| thread.spawn(work)) {
        crate::job::die(&format!("cannot start the process's thread with a stack of {stack} bytes: {error}"));
    }
    // SAFETY: blocks signals for this thread; the set is initialised by the call before.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
    }
    loop {
        // SAFETY: waits.
        unsafe { libc::pause() };
    }
}

/// Called by a new thread before the program's function.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_thread_begins(stack: u32) {
    STACK.set(stack);
    progress::begin_thread();
    ROUNDS.set(key::DESTRUCTOR_ROUNDS);
    await_end();
    (regions::get().adopt_stack)(stack);
    sync::user_threads_enter();
}

/// As in POSIX; the thread can use shared memory.
///
/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut c_void,
    attributes: *const c_void,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the C library's function of this name has this type.
    let create: Create = unsafe { std::mem::transmute(next_function(c"pthread_create", None)) };
    if services::creates_runtime_threads() || !memory::is_set_up() {
        // SAFETY: passed on as it came.
        return unsafe { create(thread, attributes, routine, argument) };
    }
    let helpers = (regions::get().helpers)();
    let Some(stack) = STACKS.lock().take(helpers) else {
        eprintln!("dsm: error: pthread_create: a process has at most {} threads", config::MAX_THREADS);
        return libc::EAGAIN;
    };
    crate::check::writable(thread as usize, size_of::<libc::pthread_t>());
    // SAFETY: `Start` is what the C half reads; it frees the memory.
    unsafe {
        let start: *mut Start = libc::malloc(size_of::<Start>()).cast();
        if start.is_null() {
            STACKS.lock().free.push(stack);
            return libc::EAGAIN;
        }
        start.write(Start { routine, argument, stack });
        let status = create(thread, attributes, dsm_rt_thread, start.cast());
        if status != 0 {
            libc::free(start.cast());
            STACKS.lock().free.push(stack);
        }
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_come_from_the_upper_end_and_are_used_again() {
        let mut stacks = Stacks { free: Vec::new(), made: 0 };
        let last = config::MAX_THREADS - 1;
        assert_eq!((stacks.take(3), stacks.take(3)), (Some(last), Some(last - 1)));
        stacks.free.push(last);
        assert_eq!((stacks.take(3), stacks.take(3)), (Some(last), Some(last - 2)));
        assert_eq!(stacks.take(last), None);
    }
}
