//! The functions of libatomic on objects of any size and alignment; `c/atomic.c` has those with the size in their names.
//!
//! They take their operands by address, from memory that may be shared, and never touch that while they are inside the critical section of
//! the object's block.

use dsm_abi::atomic::Update;
use dsm_coherence::Order;
use dsm_threads::atomic::is_direct;

use super::{acquire_for, acquire_for_store, exclusive, load_value, poll, release_for, update};
use crate::check;

/// A copy of an operand.
///
/// # Safety
/// `at` is valid for reading `size` bytes.
unsafe fn operand(at: *const u8, size: usize) -> Vec<u8> {
    check::readable(at as usize, size);
    // SAFETY: the caller's promise, readable now.
    unsafe { std::slice::from_raw_parts(at, size) }.to_vec()
}

/// Hands a result to the program.
///
/// # Safety
/// `at` is valid for writing `bytes`.
unsafe fn result(at: *mut u8, bytes: &[u8]) {
    check::writable(at as usize, bytes.len());
    // SAFETY: the caller's promise, writable now.
    unsafe { at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
}

/// The first bytes as a number.
fn number(bytes: &[u8]) -> u128 {
    let mut wide = [0; 16];
    let len = bytes.len().min(16);
    wide[..len].copy_from_slice(&bytes[..len]);
    u128::from_le_bytes(wide)
}

/// Stores `new` if the object's bytes, which it returns, are those that are expected, if any are.
fn replace(object: *mut u8, expected: Option<&[u8]>, new: &[u8]) -> Vec<u8> {
    let size = new.len();
    if is_direct(object as usize, size) {
        let change = match expected {
            Some(expected) => Update::CompareExchange { expected: number(expected), new: number(new) },
            None => Update::store(number(new)),
        };
        return update(object, size as u32, change, Order::Ordered).to_le_bytes()[..size].to_vec();
    }
    exclusive(object as usize, size, || {
        // SAFETY: the program's object, which nobody else changes now.
        let old = unsafe { std::slice::from_raw_parts(object, size) }.to_vec();
        if expected.is_none_or(|expected| old == expected) {
            // SAFETY: as above.
            unsafe { object.copy_from_nonoverlapping(new.as_ptr(), size) };
        }
        old
    })
}

/// `__atomic_load` of libatomic.
///
/// # Safety
/// `object` and `out` are the program's, of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_library_atomic_load(size: usize, object: *mut u8, out: *mut u8, order: i32) {
    let old = if is_direct(object as usize, size) {
        load_value(object, size as u32, order as u32).to_le_bytes()[..size].to_vec()
    } else {
        // SAFETY: the program's object, which nobody else changes now.
        let bytes = || unsafe { std::slice::from_raw_parts(object, size) }.to_vec();
        let old = exclusive(object as usize, size, bytes);
        poll(object as usize, number(&old) as u64);
        acquire_for(order as u32);
        old
    };
    // SAFETY: the caller's promise.
    unsafe { result(out, &old) };
}

/// `__atomic_store` of libatomic.
///
/// # Safety
/// `object` and `value` are the program's, of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_library_atomic_store(
    size: usize,
    object: *mut u8,
    value: *const u8,
    order: i32,
) {
    // SAFETY: the caller's promise.
    let new = unsafe { operand(value, size) };
    release_for(order as u32);
    replace(object, None, &new);
    acquire_for_store(order as u32);
}

/// `__atomic_exchange` of libatomic.
///
/// # Safety
/// `object`, `value` and `out` are the program's, of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_library_atomic_exchange(
    size: usize,
    object: *mut u8,
    value: *const u8,
    out: *mut u8,
    order: i32,
) {
    // SAFETY: the caller's promise.
    let new = unsafe { operand(value, size) };
    release_for(order as u32);
    let old = replace(object, None, &new);
    // SAFETY: the caller's promise.
    unsafe { result(out, &old) };
    acquire_for(order as u32);
}

/// `__atomic_compare_exchange` of libatomic: whether the object was as `expected`, which becomes what it was if not.
///
/// # Safety
/// `object`, `expected` and `desired` are the program's, of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_library_atomic_compare_exchange(
    size: usize,
    object: *mut u8,
    expected: *mut u8,
    desired: *const u8,
    success: i32,
    failure: i32,
) -> bool {
    // SAFETY: the caller's promise.
    let (wanted, new) = unsafe { (operand(expected, size), operand(desired, size)) };
    release_for(success as u32);
    let old = replace(object, Some(&wanted), &new);
    let swapped = old == wanted;
    if !swapped {
        poll(object as usize, number(&old) as u64);
        // SAFETY: the caller's promise.
        unsafe { result(expected, &old) };
    }
    acquire_for(if swapped { success } else { failure } as u32);
    swapped
}
