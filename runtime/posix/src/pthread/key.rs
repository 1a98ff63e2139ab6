//! Thread-specific data: a key is a number that all processes understand. Each process makes a key of the C library for it at its first use
//! there, with the same destructor. Numbers of deleted keys are used again, under another generation.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering;

use dsm_comm::Word;
use dsm_threads::handler::Deferred;
use parking_lot::Mutex;

use super::has_peers;
use crate::check;

type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;

/// Rounds in which the C library calls destructors of keys (`PTHREAD_DESTRUCTOR_ITERATIONS`).
pub const DESTRUCTOR_ROUNDS: u32 = 4;

/// Makes a key of this process's C library.
pub fn make(destructor: Destructor) -> libc::pthread_key_t {
    let mut key = 0;
    // SAFETY: the key is written; destructors of keys stay loaded.
    if unsafe { libc::pthread_key_create(&mut key, destructor) } != 0 {
        crate::job::die("the C library has no keys left for thread-specific data");
    }
    key
}

/// Number of keys.
const KEY_SLOTS: usize = 1024;

crate::control::declare! {
    /// Keys that were made, in process 0.
    static MADE: u64;
    /// Their destructors.
    static KEYS: u64, KEY_SLOTS;
}

/// This process's keys, by number, with the word that they were made for.
static OWN: [Mutex<Option<(u64, libc::pthread_key_t)>>; KEY_SLOTS] = [const { Mutex::new(None) }; KEY_SLOTS];

/// Set in a key's word while the key exists. Above it is the destructor's address; above that, the generation: how often the number was given out.
const EXISTS: u64 = 1;
const GENERATION_SHIFT: u32 = 48;

fn word(destructor: Destructor, generation: u64) -> u64 {
    let address = destructor.map_or(0, |d| d as usize) as u64;
    address << 1 & ((1 << GENERATION_SHIFT) - 1) | generation << GENERATION_SHIFT | EXISTS
}

fn destructor(word: u64) -> Destructor {
    let address = (word & ((1 << GENERATION_SHIFT) - 1)) >> 1;
    // SAFETY: the address of a function of the program, or 0.
    unsafe { std::mem::transmute::<usize, Destructor>(address as usize) }
}

fn slot(key: c_uint) -> Option<Word> {
    ((key as usize) < KEY_SLOTS).then(|| KEYS.shared(key as usize))
}

/// This process's key of the C library; `None` if there is no key with the number.
fn library_key(key: c_uint) -> Option<libc::pthread_key_t> {
    // A handler of the program may use the key, too.
    let _deferred = Deferred::begin();
    let word = slot(key)?.load(Ordering::Acquire);
    if word & EXISTS == 0 {
        return None;
    }
    let mut known = OWN[key as usize].lock();
    if let Some((made_for, own)) = *known {
        if made_for == word {
            return Some(own);
        }
        // Of a key that another process has deleted since.
        // SAFETY: a key of this process, which nobody can name any more.
        unsafe { libc::pthread_key_delete(own) };
    }
    let own = make(destructor(word));
    *known = Some((word, own));
    Some(own)
}

/// `pthread_key_create`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_key_create(to: *mut c_uint, destructor: Destructor) -> c_int {
    check::writable(to as usize, size_of::<c_uint>());
    if !has_peers() {
        // SAFETY: the program's arguments.
        return unsafe { libc::pthread_key_create(to, destructor) };
    }
    let first = MADE.shared(0).fetch_add(1, Ordering::AcqRel) as usize;
    let claim = |number: &usize| {
        let Some(slot) = slot(*number as c_uint) else { return false };
        let old = slot.load(Ordering::Acquire);
        let new = word(destructor, (old >> GENERATION_SHIFT) + 1);
        old & EXISTS == 0 && slot.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    let Some(number) = (first..first + KEY_SLOTS).map(|n| n % KEY_SLOTS).find(claim) else {
        return libc::EAGAIN;
    };
    let number = number as c_uint;
    // SAFETY: the program passes space for a key, writable.
    unsafe { to.write(number) };
    0
}

/// `pthread_key_delete`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_key_delete(key: c_uint) -> c_int {
    if !has_peers() {
        // SAFETY: the program's argument.
        return unsafe { libc::pthread_key_delete(key) };
    }
    let Some(slot) = slot(key) else { return libc::EINVAL };
    let old = slot.fetch_and(!EXISTS, Ordering::AcqRel);
    if old & EXISTS == 0 {
        return libc::EINVAL;
    }
    let _deferred = Deferred::begin();
    if let Some((_, own)) = OWN[key as usize].lock().take() {
        // SAFETY: this process's key for the number.
        unsafe { libc::pthread_key_delete(own) };
    }
    0
}

/// `pthread_setspecific`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_setspecific(key: c_uint, value: *const c_void) -> c_int {
    let own = if has_peers() { library_key(key) } else { Some(key) };
    // SAFETY: a key of this process, or the program's argument.
    own.map_or(libc::EINVAL, |own| unsafe { libc::pthread_setspecific(own, value) })
}

/// `pthread_getspecific`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_getspecific(key: c_uint) -> *mut c_void {
    let own = if has_peers() { library_key(key) } else { Some(key) };
    // SAFETY: as above.
    own.map_or(std::ptr::null_mut(), |own| unsafe { libc::pthread_getspecific(own) })
}
