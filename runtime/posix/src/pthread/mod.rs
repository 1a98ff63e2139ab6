//! POSIX threads: mutual exclusion between the threads of all processes, [`condition`] variables, other [`objects`], and [`thread`]s.
//!
//! In a job of several processes a mutex is a lock of the runtime whose name is the mutex's address; the memory of the mutex only
//! says of which kind it is. A single process uses the C library's.

pub mod condition;
pub mod key;
mod monitor;
pub mod objects;
pub mod thread;

use std::ffi::c_int;

use crate::sync::nest;
use crate::{check, sync};

fn has_peers() -> bool {
    sync::size() > 1
}

/// Whether a thread may lock the mutex again that it holds.
fn is_recursive(mutex: *mut u8) -> bool {
    // Where glibc keeps the kind on 64-bit machines.
    const KIND: usize = 16;
    check::readable(mutex as usize + KIND, size_of::<c_int>());
    // SAFETY: inside the program's mutex, made readable. The low bits are the type, the others how it is shared.
    let kind = unsafe { mutex.add(KIND).cast::<c_int>().read_volatile() };
    kind & 3 == libc::PTHREAD_MUTEX_RECURSIVE
}

fn status(held: bool) -> u32 {
    if held { 0 } else { libc::EBUSY as u32 }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_mutex_lock(mutex: *mut u8) -> u32 {
    if !has_peers() {
        // SAFETY: the program's mutex.
        return unsafe { libc::pthread_mutex_lock(mutex.cast()) } as u32;
    }
    if is_recursive(mutex) {
        nest::set(mutex as u64);
    } else {
        sync::lock(mutex as u64);
    }
    0
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_mutex_trylock(mutex: *mut u8) -> u32 {
    if !has_peers() {
        // SAFETY: the program's mutex.
        return unsafe { libc::pthread_mutex_trylock(mutex.cast()) } as u32;
    }
    let name = mutex as u64;
    status(if is_recursive(mutex) { nest::test(name) > 0 } else { sync::try_lock(name) })
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_mutex_unlock(mutex: *mut u8) -> u32 {
    if !has_peers() {
        // SAFETY: the program's mutex.
        return unsafe { libc::pthread_mutex_unlock(mutex.cast()) } as u32;
    }
    if is_recursive(mutex) {
        nest::unset(mutex as u64);
    } else {
        sync::unlock(mutex as u64);
    }
    0
}
