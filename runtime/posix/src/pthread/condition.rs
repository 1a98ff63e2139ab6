//! Condition variables.
//!
//! In a job of several processes those in shared memory are counters in the table of locks, found by address: who waits notes the count,
//! gives the mutex back and waits for another count. So a signal wakes all who wait, which POSIX allows, in all processes. The variable's own memory
//! says by which clock it is waited for; `PTHREAD_COND_INITIALIZER`, all zero, is `CLOCK_REALTIME`. All else is the
//! C library's business. The functions stand in front of its own because libstdc++ calls them, too.

use std::ffi::{c_int, c_void};
use std::time::Duration;

use super::monitor::is_ours;
use super::{__dsm_mutex_lock, __dsm_mutex_unlock};
use crate::job::library::next_function;
use crate::{check, sync};

/// Version of the functions below in the C library; older ones are for other condition variables.
const VERSION: Option<&std::ffi::CStr> =
    if cfg!(target_arch = "x86_64") { Some(c"GLIBC_2.3.2") } else { Some(c"GLIBC_2.17") };

/// Time left until `deadline` of the clock.
pub(super) fn left(clock: c_int, deadline: &libc::timespec) -> Option<Duration> {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is written.
    unsafe { libc::clock_gettime(clock, &mut now) };
    let ns = |t: &libc::timespec| i128::from(t.tv_sec) * 1_000_000_000 + i128::from(t.tv_nsec);
    u64::try_from(ns(deadline) - ns(&now)).ok().filter(|ns| *ns > 0).map(Duration::from_nanos)
}

fn wait(condition: *mut c_void, mutex: *mut u8, deadline: Option<(c_int, libc::timespec)>) -> c_int {
    let seen = sync::condition_count(condition as u64);
    // SAFETY: the program's mutex, which the thread holds.
    unsafe { __dsm_mutex_unlock(mutex) };
    let woken = match deadline {
        None => {
            sync::condition_wait(condition as u64, seen);
            true
        }
        Some((clock, deadline)) => sync::condition_poll(condition as u64, seen, || left(clock, &deadline)),
    };
    // SAFETY: as above.
    unsafe { __dsm_mutex_lock(mutex) };
    if woken { 0 } else { libc::ETIMEDOUT }
}

/// Begins a condition variable.
unsafe fn initialise(condition: *mut c_void, attributes: *const c_void) -> c_int {
    let mut clock = libc::CLOCK_REALTIME;
    if !attributes.is_null() {
        check::readable(attributes as usize, size_of::<libc::pthread_condattr_t>());
        // SAFETY: the program's attributes, readable now.
        unsafe { libc::pthread_condattr_getclock(attributes.cast(), &mut clock) };
    }
    check::writable(condition as usize, size_of::<libc::pthread_cond_t>());
    // SAFETY: the program's condition variable, writable now.
    unsafe {
        condition.cast::<u8>().write_bytes(0, size_of::<libc::pthread_cond_t>());
        condition.cast::<c_int>().write(clock);
    }
    0
}

/// The clock that [`initialise`] has noted.
unsafe fn clock(condition: *mut c_void) -> c_int {
    check::readable(condition as usize, size_of::<c_int>());
    // SAFETY: the program's condition variable, readable now.
    unsafe { condition.cast::<c_int>().read() }
}

/// # Safety
/// `time` is the program's.
pub(super) unsafe fn deadline(clock: c_int, time: *const libc::timespec) -> Option<(c_int, libc::timespec)> {
    check::readable(time as usize, size_of::<libc::timespec>());
    // SAFETY: the caller's promise, readable now.
    Some((clock, unsafe { time.read() }))
}

macro_rules! conditions {
    ($($name:ident $version:expr, ($($arg:ident: $t:ty),*) = $body:expr;)*) => {$(
        #[doc = "As in POSIX, between the threads of all processes."]
        ///
        /// # Safety
        /// As for the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(condition: *mut c_void $(, $arg: $t)*) -> c_int {
            if is_ours(condition) {
                let body: unsafe fn(*mut c_void $(, $t)*) -> c_int = $body;
                // SAFETY: the arguments are the program's.
                return unsafe { body(condition $(, $arg)*) };
            }
            type Next = unsafe extern "C" fn(*mut c_void $(, $t)*) -> c_int;
            // SAFETY: the C library's function of this name has this type; passed on as it came.
            unsafe {
                let name = concat!(stringify!($name), "\0");
                let name = std::ffi::CStr::from_bytes_with_nul_unchecked(name.as_bytes());
                std::mem::transmute::<*mut c_void, Next>(next_function(name, $version))(condition $(, $arg)*)
            }
        }
    )*};
}

conditions! {
    // SAFETY: the program's condition variable and attributes.
    pthread_cond_init VERSION, (attributes: *const c_void) = |c, a| unsafe { initialise(c, a) };
    pthread_cond_destroy VERSION, () = |_| 0;
    pthread_cond_wait VERSION, (mutex: *mut u8) = |c, m| wait(c, m, None);
    pthread_cond_timedwait VERSION, (mutex: *mut u8, time: *const libc::timespec) =
        // SAFETY: the program's condition variable and deadline.
        |c, m, t| wait(c, m, unsafe { deadline(clock(c), t) });
    pthread_cond_clockwait None, (mutex: *mut u8, clock: c_int, time: *const libc::timespec) =
        // SAFETY: the program's deadline.
        |c, m, clock, t| wait(c, m, unsafe { deadline(clock, t) });
    pthread_cond_signal VERSION, () = |c| { sync::condition_notify(c as u64); 0 };
    pthread_cond_broadcast VERSION, () = |c| { sync::condition_notify(c as u64); 0 };
}
