//! The operations that programs make millions of, as functions whose kind and size are constants: they have nothing to decide any more, and nothing that goes through memory.
//!
//! They are not inlined, as LLVM would make one code of several, which decides at each step.

use dsm_abi::atomic::{RmwOp, Update, order};
use dsm_abi::state::WRITABLE;
use dsm_coherence::{Block, Fabric as _, Order};

use super::{get, is_worth_keeping, poll, put, update_at_once};
use crate::memory::{self, Shared, fabric::run_sync};
use crate::posted::deferred;
use crate::profile;

const ADD: u32 = RmwOp::Add as u32;
const FADD: u32 = RmwOp::FAdd as u32;

/// Calls the instance of a function for an addition to a number of 4 or 8 bytes, by the operation's code; `$other` of any other operation.
macro_rules! addition {
    ($op:expr, $bytes:expr, $function:ident($($argument:expr),*), $other:expr) => {
        match ($op, $bytes) {
            (ADD, 4) => $function::<ADD, 4>($($argument),*),
            (ADD, 8) => $function::<ADD, 8>($($argument),*),
            (FADD, 4) => $function::<FADD, 4>($($argument),*),
            (FADD, 8) => $function::<FADD, 8>($($argument),*),
            _ => $other,
        }
    };
}

/// The addition of a code.
const fn op_of(code: u32) -> RmwOp {
    if code == FADD { RmwOp::FAdd } else { RmwOp::Add }
}

/// The operation of an instance.
const fn adding<const OP: u32>(operand: u64) -> Update {
    Update::Rmw { op: op_of(OP), operand: operand as u128 }
}

/// Whether an operation by its code is an addition that has an instance.
#[inline(always)]
pub fn is_addition(op: u32, size: u32) -> bool {
    matches!((op, size), (ADD | FADD, 4 | 8))
}

/// Executes the program's operation of a code, or keeps it, if that is an addition to a number of 4 or 8 bytes, and there is nothing to wait for; `false`: neither.
///
/// # Safety
/// As for [`__dsm_atomic_rmw`](super::__dsm_atomic_rmw).
#[inline(always)]
pub unsafe fn add_at_once(
    address: *mut u8,
    value: *const u8,
    old: *mut u8,
    size: u32,
    op: u32,
    order: u32,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe { addition!(op, size, add_sized(address, value, old, order), false) }
}

/// # Safety
/// As for [`add_at_once`], of a size and an operation.
#[inline(never)]
unsafe fn add_sized<const OP: u32, const SIZE: u32>(
    address: *mut u8,
    value: *const u8,
    old: *mut u8,
    order: u32,
) -> bool {
    // SAFETY: the caller's operand has so many bytes.
    let operand = unsafe { get(value, SIZE) } as u64;
    if old.is_null() && order == order::RELAXED {
        return match SIZE {
            4 => add_relaxed::<OP, 4>(address as usize, operand),
            _ => add_relaxed::<OP, 8>(address as usize, operand),
        };
    }
    let Some(before_value) = update_at_once(address, SIZE, adding::<OP>(operand), order) else {
        return false;
    };
    if !old.is_null() {
        // SAFETY: as above.
        unsafe { put(old, SIZE, before_value.into()) };
    }
    true
}

/// Adds to a variable whose home is here, or was found with open records, if there is nothing to wait for, or keeps the addition; `false`: neither.
#[inline(never)]
fn add_relaxed<const OP: u32, const SIZE: usize>(address: usize, operand: u64) -> bool {
    let memory = memory::get();
    if !address.is_multiple_of(SIZE) {
        return false;
    }
    let Some(shared) = memory.shared() else { return false };
    let Some((here, offset)) = shared.coherence.fabric().own_handle_at(address) else { return false };
    let coherence = &shared.coherence;
    let (_, block) = coherence.fabric().target_of(here);
    let is_here = memory.table().get(address) == WRITABLE;
    if !is_here
        && is_worth_keeping(address)
        && deferred::post(address, (block, offset), SIZE as u32, op_of(OP), operand.into())
    {
        return true;
    }
    let update = adding::<OP>(operand);
    run_sync(
        #[inline(always)]
        || match is_here {
            true => coherence.update_here_sync(here, offset, SIZE, update),
            false if profile::is_on() || deferred::is_kept(block.chunk()) => None,
            false => coherence.update_at_open_home_sync(here, offset, SIZE, update, Order::Relaxed),
        },
    )
    .is_some()
}

/// Executes an operation where the home of the block is, if that is mapped and there is nothing to wait for.
#[inline(always)]
pub fn update_mapped(
    shared: &Shared,
    (block, offset): (Block, usize),
    bytes: usize,
    update: Update,
    order: Order,
) -> Option<u64> {
    let any = || run_sync(|| shared.coherence.update_mapped_sync(block, offset, bytes, update, order));
    match update {
        Update::Rmw { op, operand } => {
            addition!(op as u32, bytes, add_mapped(shared, (block, offset), operand as u64, order), any())
        }
        Update::CompareExchange { .. } => any(),
    }
}

#[inline(never)]
fn add_mapped<const OP: u32, const SIZE: usize>(
    shared: &Shared,
    (block, offset): (Block, usize),
    operand: u64,
    order: Order,
) -> Option<u64> {
    run_sync(
        #[inline(always)]
        || shared.coherence.update_mapped_sync(block, offset, SIZE, adding::<OP>(operand), order),
    )
}

/// As [`update_at_once`], of an operation by its code that [`add_at_once`] does not execute.
#[inline(always)]
pub fn rmw_at_once(
    address: *mut u8,
    size: u32,
    op: u32,
    operand: impl Fn() -> u64,
    order: u32,
) -> Option<u64> {
    if is_addition(op, size) {
        return None;
    }
    let op = RmwOp::from_code(op).filter(|op| !op.is_float() || matches!(size, 4 | 8))?;
    update_any_at_once(address, size, Update::Rmw { op, operand: operand().into() }, order)
}

/// Executes the program's compare-and-swap as [`update_at_once`] does; whether it has swapped.
///
/// # Safety
/// As for [`__dsm_atomic_cas`](super::__dsm_atomic_cas).
#[inline(always)]
pub unsafe fn compare_exchange_at_once(
    address: *mut u8,
    expected: *mut u8,
    desired: *const u8,
    size: u32,
    order: u32,
) -> Option<bool> {
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            4 => compare_exchange_sized::<4>(address, expected, desired, order),
            8 => compare_exchange_sized::<8>(address, expected, desired, order),
            _ => compare_exchange(address, expected, desired, (size, order), update_any_at_once),
        }
    }
}

/// # Safety
/// As for [`compare_exchange_at_once`], of a size.
#[inline(never)]
unsafe fn compare_exchange_sized<const SIZE: u32>(
    address: *mut u8,
    expected: *mut u8,
    desired: *const u8,
    order: u32,
) -> Option<bool> {
    // SAFETY: the caller's promise.
    unsafe { compare_exchange(address, expected, desired, (SIZE, order), update_at_once) }
}

/// # Safety
/// As for [`compare_exchange_at_once`].
#[inline(always)]
unsafe fn compare_exchange(
    address: *mut u8,
    expected: *mut u8,
    desired: *const u8,
    (size, order): (u32, u32),
    execute: impl Fn(*mut u8, u32, Update, u32) -> Option<u64>,
) -> Option<bool> {
    // SAFETY: the caller's operands have so many bytes.
    let (wanted, new) = unsafe { (get(expected, size), get(desired, size)) };
    let old = execute(address, size, Update::CompareExchange { expected: wanted, new }, order)?.into();
    // SAFETY: as above.
    unsafe { put(expected, size, old) };
    if old != wanted {
        poll(address as usize, old as u64);
    }
    Some(old == wanted)
}

#[inline(never)]
fn update_any_at_once(address: *mut u8, size: u32, update: Update, order: u32) -> Option<u64> {
    update_at_once(address, size, update, order)
}

/// Loads from a mapped home, if that is possible.
#[inline(always)]
pub fn load_mapped(shared: &Shared, block: Block, offset: usize, bytes: usize) -> Option<u64> {
    match bytes {
        4 => load_sized::<4>(shared, block, offset),
        8 => load_sized::<8>(shared, block, offset),
        _ => run_sync(|| shared.coherence.load_mapped_sync(block, offset, bytes)),
    }
}

#[inline(never)]
fn load_sized<const SIZE: usize>(shared: &Shared, block: Block, offset: usize) -> Option<u64> {
    run_sync(
        #[inline(always)]
        || shared.coherence.load_mapped_sync(block, offset, SIZE),
    )
}

/// Reads an atomic variable at a mapped home, if that is possible.
#[inline(always)]
pub fn read_mapped(shared: &Shared, block: Block, offset: usize, bytes: usize) -> Option<u64> {
    match bytes {
        4 => read_sized::<4>(shared, block, offset),
        8 => read_sized::<8>(shared, block, offset),
        _ => run_sync(|| shared.coherence.read_mapped_sync(block, offset, bytes)),
    }
}

#[inline(never)]
fn read_sized<const SIZE: usize>(shared: &Shared, block: Block, offset: usize) -> Option<u64> {
    run_sync(
        #[inline(always)]
        || shared.coherence.read_mapped_sync(block, offset, SIZE),
    )
}

/// Stores to a mapped home, if that is possible; whether it was done.
#[inline(always)]
pub fn store_mapped(shared: &Shared, block: Block, offset: usize, bytes: usize, value: u64) -> bool {
    match bytes {
        4 => store_sized::<4>(shared, block, offset, value),
        8 => store_sized::<8>(shared, block, offset, value),
        _ => run_sync(|| shared.coherence.store_mapped_sync(block, offset, bytes, value)),
    }
}

#[inline(never)]
fn store_sized<const SIZE: usize>(shared: &Shared, block: Block, offset: usize, value: u64) -> bool {
    run_sync(
        #[inline(always)]
        || shared.coherence.store_mapped_sync(block, offset, SIZE, value),
    )
}
