//! Thread-specific data: a key is a number that all processes understand. Each process makes a key of the C library for it at its first use
//! there, with the same destructor. Numbers are not used again.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use super::spread;
use crate::sync::layout::{KEY_SLOTS, KEYS, KEYS_MADE};
use crate::{check, sync};

type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;

/// This process's keys, by number.
static OWN: [OnceLock<libc::pthread_key_t>; KEY_SLOTS] = [const { OnceLock::new() }; KEY_SLOTS];

fn slot(key: c_uint) -> Option<&'static std::sync::atomic::AtomicU64> {
    ((key as usize) < KEY_SLOTS).then(|| sync::control_area_word(0, KEYS + 8 * key as usize))
}

/// The key here; `None` if there is none with the number.
fn own(key: c_uint) -> Option<libc::pthread_key_t> {
    let word = slot(key)?.load(Ordering::Acquire);
    let made = || {
        let mut own = 0;
        // SAFETY: the word is the destructor's address, as the program gave it, above a bit that says that the key exists.
        let status = unsafe {
            let destructor = std::mem::transmute::<usize, Destructor>((word >> 1) as usize);
            libc::pthread_key_create(&mut own, destructor)
        };
        if status != 0 {
            crate::start::die("the C library has no keys left for thread-specific data");
        }
        own
    };
    (word & 1 != 0).then(|| *OWN[key as usize].get_or_init(made))
}

/// `pthread_key_create`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_key_create(to: *mut c_uint, destructor: Destructor) -> c_int {
    check::writable(to as usize, size_of::<c_uint>());
    if !spread() {
        // SAFETY: the program's arguments.
        return unsafe { libc::pthread_key_create(to, destructor) };
    }
    let number = sync::control_area_word(0, KEYS_MADE).fetch_add(1, Ordering::AcqRel) as c_uint;
    let Some(word) = slot(number) else { return libc::EAGAIN };
    word.store((destructor.map_or(0, |d| d as usize) as u64) << 1 | 1, Ordering::Release);
    // SAFETY: the program passes room for a key, writable.
    unsafe { to.write(number) };
    0
}

/// `pthread_key_delete`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_key_delete(key: c_uint) -> c_int {
    if !spread() {
        // SAFETY: the program's argument.
        return unsafe { libc::pthread_key_delete(key) };
    }
    let Some(own) = own(key) else { return libc::EINVAL };
    if let Some(word) = slot(key) {
        word.store(0, Ordering::Release);
    }
    // SAFETY: this process's key for the number, which is not used again.
    unsafe { libc::pthread_key_delete(own) }
}

/// `pthread_setspecific`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_setspecific(key: c_uint, value: *const c_void) -> c_int {
    let own = if spread() { own(key) } else { Some(key) };
    // SAFETY: a key of this process, or the program's argument.
    own.map_or(libc::EINVAL, |own| unsafe { libc::pthread_setspecific(own, value) })
}

/// `pthread_getspecific`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_getspecific(key: c_uint) -> *mut c_void {
    let own = if spread() { own(key) } else { Some(key) };
    // SAFETY: as above.
    own.map_or(std::ptr::null_mut(), |own| unsafe { libc::pthread_getspecific(own) })
}
