//! Threads of the runtime. Those that serve other processes' requests start once the system places private memory where it belongs.

use std::cell::Cell;
use std::mem::MaybeUninit;

use parking_lot::Mutex;

type Serve = Box<dyn FnOnce() + Send>;

/// Threads that wait for [`start`]; `None` behind it.
static KEPT: Mutex<Option<Vec<(String, Serve)>>> = Mutex::new(Some(Vec::new()));

/// Starts a thread, as soon as there may be one.
pub fn spawn(name: &str, serve: Serve) {
    match &mut *KEPT.lock() {
        Some(kept) => kept.push((name.into(), serve)),
        None => spawn_now(name, serve),
    }
}

/// [`super::private_range::init`] is done: there may be threads.
pub fn start() {
    for (name, serve) in KEPT.lock().take().into_iter().flatten() {
        spawn_now(&name, serve);
    }
}

fn spawn_now(name: &str, serve: Serve) {
    spawn_service(name, "requests of other processes", serve);
}

thread_local! {
    static CREATES_RUNTIME_THREADS: Cell<bool> = const { Cell::new(false) };
}

/// Whether a thread that the calling one makes is the runtime's ([`as_runtime_threads`]).
pub fn creates_runtime_threads() -> bool {
    CREATES_RUNTIME_THREADS.get()
}

/// Stack of a thread of the runtime, bytes.
const SERVICE_STACK: usize = 1 << 20;
/// Runs `make`, which makes a thread that never runs user code or cares for itself.
pub fn as_runtime_threads<T>(make: impl FnOnce() -> T) -> T {
    let outer = CREATES_RUNTIME_THREADS.replace(true);
    let made = make();
    CREATES_RUNTIME_THREADS.set(outer);
    made
}

/// Starts a thread of the runtime that serves other processes as long as this one lives. Ends the job if there can be none; `purpose` says in the
/// message what it is for.
pub fn spawn_service(name: &str, purpose: &str, serve: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().name(name.into()).stack_size(SERVICE_STACK);
    let thread = as_services(|| thread.spawn(serve));
    if let Err(error) = thread {
        crate::job::die(&format!("cannot start the thread for {purpose}: {error}"));
    }
}

/// Runs `make`, which starts threads that never run user code: they get no signals.
pub fn as_services<T>(make: impl FnOnce() -> T) -> T {
    without_signals(|| as_runtime_threads(make))
}

/// Runs `make`, which makes a thread, and has it block all signals: these are for the program's threads.
pub fn without_signals<T>(make: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: plain signal sets on the stack; the mask is put back below.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let made = make();
    // SAFETY: the set was filled in above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    made
}
