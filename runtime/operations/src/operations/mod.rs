//! Memory-based operations of the program (`dsm.h`): atomic operations, and transfers of ranges, that are executed where the data is, after T. Matsumoto's Memory-Based
//! Communication Facilities.
//!
//! In a single process they are the processor's instructions, done at once. Over several, an operation with a result is executed like an atomic operation of
//! the program ([`crate::atomics`]). One without is *posted*: its thread keeps it ([`pending`]) until it has many, wants a result, or a release comes; then all that concern
//! a chunk of memory go to its home in one call ([`Coherence::apply`](dsm_coherence::Coherence::change)).

mod bundle;
mod handle;
pub mod queue;
mod ranges;
pub mod signal;

use std::fmt::Display;

use dsm_abi::atomic::{RmwOp, Update};
use dsm_coherence::Order;

use crate::posted::pending;
use crate::{atomics, heap, job, memory, sync};

/// Stands for compare-and-swap among the codes of operations, as in `dsm.h`.
const COMPARE_SWAP: u32 = 255;

/// Ends the job because a call cannot be carried out.
#[cold]
fn refuse(function: &str, address: usize, why: impl Display) -> ! {
    job::die(&format!("process {}: {function} of {address:#x}: {why}", sync::rank()))
}

/// What an operation of `dsm.h` is called.
fn name(code: u32) -> &'static str {
    use RmwOp::*;
    match RmwOp::from_code(code) {
        Some(Add | FAdd) => "dsm_add",
        Some(And) => "dsm_and",
        Some(Or) => "dsm_or",
        Some(Xor) => "dsm_xor",
        Some(Max | UMax | FMax) => "dsm_max",
        Some(Min | UMin | FMin) => "dsm_min",
        Some(Xchg) => "dsm_swap",
        None if code == COMPARE_SWAP => "dsm_cas",
        _ => "an unknown memory-based operation",
    }
}

/// Ends the job unless other processes can reach `bytes` bytes at an address.
fn check_place(function: &str, address: usize, bytes: usize) {
    let Some(last) = address.checked_add(bytes - 1) else {
        refuse(function, address, format_args!("{bytes} bytes are more than there are"));
    };
    if memory::shared().is_none() {
        return;
    }
    let geometry = memory::get().geometry();
    if geometry.is_in_region(address) && geometry.is_in_region(last) {
        return;
    }
    if !geometry.parts().any(|part| part.contains(&address) && part.contains(&last)) {
        refuse(
            function,
            address,
            format_args!(
                "{bytes} bytes there are not, or not all, memory that processes share; use a global variable, a local one or memory of malloc or new, but \
                 nothing that is private (DSM_PRIVATE), and no memory that a library has allocated"
            ),
        );
    }
}

/// Whether a shared address may be that of a local variable, which ends without a call: operations on it cannot be kept.
fn is_on_stack(address: usize) -> bool {
    memory::get().geometry().is_in_region(address) && heap::owner(address).is_none()
}

/// The operation of a code, on `size` bytes at an address, if it can be carried out.
fn checked(address: usize, operand: u64, expected: u64, size: u32, code: u32) -> Update {
    let bytes = size as usize;
    let is_right = matches!(size, 1 | 2 | 4 | 8);
    if !is_right {
        refuse(
            name(code),
            address,
            format_args!("an operand of {size} bytes; there are operations on 1, 2, 4 and 8"),
        );
    }
    if !address.is_multiple_of(bytes) {
        refuse(
            name(code),
            address,
            format_args!(
                "the address is not a multiple of the size of its operand, {size} bytes; align the variable (no packed structures)"
            ),
        );
    }
    check_place(name(code), address, bytes);
    let (operand, expected) = (operand.into(), expected.into());
    match RmwOp::from_code(code) {
        Some(op) if !op.is_float() || matches!(size, 4 | 8) => Update::Rmw { op, operand },
        None if code == COMPARE_SWAP => Update::CompareExchange { expected, new: operand },
        _ => refuse(
            name(code),
            address,
            format_args!(
                "operation {code} on {size} bytes does not exist; the program and its dsm.h do not fit"
            ),
        ),
    }
}

/// An operation of `dsm.h` without a result. `operand` and `expected` have the bytes of the type in front, and zeros behind them.
///
/// # Safety
/// `place` is the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_post(place: *mut u8, operand: u64, expected: u64, size: u32, code: u32) {
    let update = checked(place as usize, operand, expected, size, code);
    if bundle::take((place as usize, size as usize, update)) {
        return;
    }
    if memory::shared().is_some() && !is_on_stack(place as usize) {
        pending::post(place as usize, size as usize, update);
    } else {
        atomics::update(place, size, update, Order::Ordered);
    }
}

/// An operation of `dsm.h` with a result, which is what the bytes were. The thread's posted operations come before it.
///
/// # Safety
/// `place` is the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fetch(
    place: *mut u8,
    operand: u64,
    expected: u64,
    size: u32,
    code: u32,
) -> u64 {
    let update = checked(place as usize, operand, expected, size, code);
    bundle::assert_none(name(code));
    pending::flush();
    atomics::update(place, size, update, Order::Ordered) as u64
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_fence() {
    bundle::assert_none("dsm_fence");
    pending::order();
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_flush() {
    bundle::assert_none("dsm_flush");
    pending::flush();
    signal::wait_all();
}
