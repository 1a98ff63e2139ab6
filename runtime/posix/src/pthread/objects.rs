//! Semaphores, barriers, read-write locks, spin locks, mutexes with a deadline and `pthread_once` between the threads of all processes.
//! Objects in memory that is not shared, and all in a single process, are the C library's.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::__dsm_mutex_trylock;
use super::condition::{deadline, left};
use super::monitor::{self, Deadline, Step, Words, is_ours};
use crate::job::library::{next_function, set_errno};
use crate::{check, sync};

macro_rules! objects {
    ($($entry:ident = $posix:literal ($($arg:ident: $t:ty),*) $body:expr;)*) => {$(
        #[doc = concat!("`", $posix, "` of POSIX.")]
        ///
        /// # Safety
        /// As for the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $entry(object: *mut c_void $(, $arg: $t)*) -> c_int {
            if is_ours(object) {
                // SAFETY: the arguments are the program's.
                #[allow(unused_unsafe, reason = "some bodies are safe")]
                return unsafe { $body(object) };
            }
            type Next = unsafe extern "C" fn(*mut c_void $(, $t)*) -> c_int;
            // SAFETY: the C library's function of this name has this type; a program may have one of its own with the name.
            unsafe {
                let name = concat!($posix, "\0");
                let name = std::ffi::CStr::from_bytes_with_nul_unchecked(name.as_bytes());
                std::mem::transmute::<*mut c_void, Next>(next_function(name, None))(object $(, $arg)*)
            }
        }
    )*};
}

fn fail(error: c_int) -> c_int {
    set_errno(error);
    -1
}

fn take([value, ..]: &mut Words) -> Step<()> {
    if *value == 0 {
        return Step::Wait;
    }
    *value -= 1;
    Step::Done(())
}

/// 0, or -1 with `errno`, as semaphores have it.
unsafe fn take_until(object: *mut c_void, deadline: Deadline) -> c_int {
    // SAFETY: the caller passes a semaphore.
    unsafe { monitor::attempt(object, deadline, take) }.map_or_else(|| fail(libc::ETIMEDOUT), |()| 0)
}

fn read([readers, writer, _]: &mut Words) -> Step<()> {
    if *writer != 0 {
        return Step::Wait;
    }
    *readers += 1;
    Step::Done(())
}

fn write([readers, writer, _]: &mut Words) -> Step<()> {
    if *readers + *writer != 0 {
        return Step::Wait;
    }
    *writer = 1;
    Step::Done(())
}

/// Status of an attempt to lock.
unsafe fn lock(object: *mut c_void, deadline: Deadline, step: fn(&mut Words) -> Step<()>) -> c_int {
    // SAFETY: the caller passes a read-write lock.
    unsafe { monitor::attempt(object, deadline, step) }.map_or(libc::ETIMEDOUT, |()| 0)
}

unsafe fn try_lock(object: *mut c_void, step: fn(&mut Words) -> Step<()>) -> c_int {
    // SAFETY: the caller passes a read-write lock.
    unsafe { monitor::attempt_once(object, step) }.map_or(libc::EBUSY, |()| 0)
}

/// Looks again and again: the locks of the runtime are given in the order of arrival, so nobody can leave the queue.
unsafe fn mutex_until(mutex: *mut c_void, deadline: Deadline) -> c_int {
    const PAUSE: Duration = Duration::from_micros(50);
    // SAFETY: the program's mutex.
    while unsafe { __dsm_mutex_trylock(mutex.cast()) } != 0 {
        let Some(left) = deadline.and_then(|(clock, time)| left(clock, &time)) else {
            return libc::ETIMEDOUT;
        };
        std::thread::sleep(left.min(PAUSE));
    }
    0
}

const REALTIME: c_int = libc::CLOCK_REALTIME;

objects! {
    __dsm_sem_init = "sem_init" (shared: c_int, value: c_uint) |object| {
        let _ = shared;
        monitor::set(object, [value, 0, 0]);
        0
    };
    __dsm_sem_destroy = "sem_destroy" () monitor::end;
    __dsm_sem_wait = "sem_wait" () |object| take_until(object, None);
    __dsm_sem_timedwait = "sem_timedwait" (time: *const libc::timespec) |object| take_until(object, deadline(REALTIME, time));
    __dsm_sem_clockwait = "sem_clockwait" (clock: c_int, time: *const libc::timespec)
        |object| take_until(object, deadline(clock, time));
    __dsm_sem_trywait = "sem_trywait" ()
        |object| monitor::attempt_once(object, take).map_or_else(|| fail(libc::EAGAIN), |()| 0);
    __dsm_sem_post = "sem_post" () |object| {
        let added = monitor::attempt(object, None, |[value, ..]| {
            *value += 1;
            Step::Wake(0)
        });
        added.unwrap_or(0)
    };
    __dsm_sem_getvalue = "sem_getvalue" (to: *mut c_int) |object| {
        let value = monitor::attempt_once(object, |[value, ..]| Step::Done(*value)).unwrap_or(0);
        check::writable(to as usize, size_of::<c_int>());
        to.write(value as c_int);
        0
    };
    __dsm_barrier_init = "pthread_barrier_init" (attributes: *const c_void, count: c_uint) |object| {
        let _ = attributes;
        if count == 0 {
            return libc::EINVAL;
        }
        monitor::set(object, [count, 0, first_round()]);
        0
    };
    // Threads that leave the last round take the lock once more, to know of what its last thread has written: it stays, as long as its place is not needed.
    __dsm_barrier_destroy = "pthread_barrier_destroy" () |_| 0;
    __dsm_barrier_wait = "pthread_barrier_wait" () |object| barrier(object);
    __dsm_rwlock_init = "pthread_rwlock_init" (attributes: *const c_void) |object| {
        let _ = attributes;
        monitor::set(object, [0; 3]);
        0
    };
    __dsm_rwlock_destroy = "pthread_rwlock_destroy" () monitor::end;
    __dsm_rwlock_rdlock = "pthread_rwlock_rdlock" () |object| lock(object, None, read);
    __dsm_rwlock_wrlock = "pthread_rwlock_wrlock" () |object| lock(object, None, write);
    __dsm_rwlock_tryrdlock = "pthread_rwlock_tryrdlock" () |object| try_lock(object, read);
    __dsm_rwlock_trywrlock = "pthread_rwlock_trywrlock" () |object| try_lock(object, write);
    __dsm_rwlock_timedrdlock = "pthread_rwlock_timedrdlock" (time: *const libc::timespec)
        |object| lock(object, deadline(REALTIME, time), read);
    __dsm_rwlock_timedwrlock = "pthread_rwlock_timedwrlock" (time: *const libc::timespec)
        |object| lock(object, deadline(REALTIME, time), write);
    __dsm_rwlock_clockrdlock = "pthread_rwlock_clockrdlock" (clock: c_int, time: *const libc::timespec)
        |object| lock(object, deadline(clock, time), read);
    __dsm_rwlock_clockwrlock = "pthread_rwlock_clockwrlock" (clock: c_int, time: *const libc::timespec)
        |object| lock(object, deadline(clock, time), write);
    __dsm_rwlock_unlock = "pthread_rwlock_unlock" () |object| {
        let unlocked = monitor::attempt(object, None, |[readers, writer, _]| {
            if *writer != 0 { *writer = 0 } else { *readers = readers.saturating_sub(1) }
            if *readers == 0 { Step::Wake(0) } else { Step::Done(0) }
        });
        unlocked.unwrap_or(0)
    };
    __dsm_spin_init = "pthread_spin_init" (shared: c_int) |object: *mut c_void| {
        let _ = shared;
        sync::begin_lock(object as u64);
        0
    };
    __dsm_spin_destroy = "pthread_spin_destroy" () monitor::end;
    __dsm_spin_lock = "pthread_spin_lock" () |object: *mut c_void| {
        sync::lock(object as u64);
        0
    };
    __dsm_spin_trylock = "pthread_spin_trylock" ()
        |object: *mut c_void| if sync::try_lock(object as u64) { 0 } else { libc::EBUSY };
    __dsm_spin_unlock = "pthread_spin_unlock" () |object: *mut c_void| {
        sync::unlock(object as u64);
        0
    };
    __dsm_mutex_init = "pthread_mutex_init" (attributes: *const libc::pthread_mutexattr_t) |object: *mut c_void| {
        sync::begin_lock(object as u64);
        check::writable(object as usize, size_of::<libc::pthread_mutex_t>());
        if !attributes.is_null() {
            check::readable(attributes as usize, size_of::<libc::pthread_mutexattr_t>());
        }
        libc::pthread_mutex_init(object.cast(), attributes)
    };
    __dsm_mutex_destroy = "pthread_mutex_destroy" () monitor::end;
    __dsm_mutex_timedlock = "pthread_mutex_timedlock" (time: *const libc::timespec)
        |object| mutex_until(object, deadline(REALTIME, time));
    __dsm_mutex_clocklock = "pthread_mutex_clocklock" (clock: c_int, time: *const libc::timespec)
        |object| mutex_until(object, deadline(clock, time));
}

/// The number of a new barrier's first round. A thread that the last round of a barrier has let go may look at its words when another barrier has begun at the
/// same address: it must not take that one's round for its own.
fn first_round() -> u32 {
    /// 2^32 by the golden ratio: products with successive numbers are far apart.
    const DISTANCE: u32 = 0x9e37_79b9;
    static BARRIERS: AtomicU32 = AtomicU32::new(0);
    let count = BARRIERS.fetch_add(1, Ordering::Relaxed);
    (count.wrapping_mul(sync::size()) + sync::rank()).wrapping_mul(DISTANCE)
}

/// The last to come lets the others go; what each did before is visible to all. The words are how many take part, how many have come, and
/// the number of the round.
unsafe fn barrier(object: *mut c_void) -> c_int {
    // SAFETY: the caller passes a barrier.
    let seen = unsafe {
        monitor::attempt(object, None, |[count, arrived, generation]| {
            *arrived += 1;
            if *arrived < *count {
                return Step::Done(Some(*generation));
            }
            *arrived = 0;
            *generation = generation.wrapping_add(1);
            Step::Wake(None)
        })
    };
    let Some(Some(seen)) = seen else { return libc::PTHREAD_BARRIER_SERIAL_THREAD };
    // SAFETY: as above.
    unsafe {
        monitor::attempt(
            object,
            None,
            |[.., generation]| {
                if *generation == seen { Step::Wait } else { Step::Done(()) }
            },
        );
    }
    0
}

/// What glibc puts into a `pthread_once_t` that has run.
const HAS_RUN: c_int = 2;

/// For `c/once.c`: 0 if the object is the C library's, 1 if the routine is to be called now, 2 if it was called.
#[unsafe(no_mangle)]
unsafe extern "C" fn dsm_rt_once_begin(object: *mut c_int) -> c_int {
    if !is_ours(object.cast()) {
        return 0;
    }
    sync::lock(object as u64);
    check::readable(object as usize, size_of::<c_int>());
    // SAFETY: the program's object, readable.
    if unsafe { object.read() } != HAS_RUN {
        return 1;
    }
    sync::unlock(object as u64);
    2
}

/// The routine has returned, or thrown.
#[unsafe(no_mangle)]
unsafe extern "C" fn dsm_rt_once_end(object: *mut c_int, done: c_int) {
    if done != 0 {
        check::writable(object as usize, size_of::<c_int>());
        // SAFETY: the program's object, writable.
        unsafe { object.write(HAS_RUN) };
    }
    sync::unlock(object as u64);
}
