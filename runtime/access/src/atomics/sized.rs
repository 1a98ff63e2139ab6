//! The operations that programs make millions of, as functions whose kind and size are constants: they have nothing to decide any more, and nothing that goes through memory.
//!
//! They are not inlined, as LLVM would make one code of several, which decides at each step.

use dsm_abi::atomic::{RmwOp, Update};
use dsm_abi::state::WRITABLE;
use dsm_coherence::{Block, Order};

use super::update_at_once;
use crate::memory::{self, Shared, fabric::run_sync};

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

/// The operation of an instance.
const fn adding<const OP: u32>(operand: u64) -> Update {
    let op = if OP == FADD { RmwOp::FAdd } else { RmwOp::Add };
    Update::Rmw { op, operand: operand as u128 }
}

/// Adds to a variable whose home is here, by the code of an operation, if that is an addition and there is nothing to wait for; `false`: nothing was done.
#[inline(always)]
pub fn add_here(address: usize, size: u32, op: u32, operand: impl Fn() -> u64) -> bool {
    addition!(op, size, add_local(address, operand()), false)
}

#[inline(never)]
fn add_local<const OP: u32, const SIZE: usize>(address: usize, operand: u64) -> bool {
    let memory = memory::get();
    if !address.is_multiple_of(SIZE) || memory.table().get(address) != WRITABLE {
        return false;
    }
    let Some(shared) = memory.shared() else { return false };
    let Some((block, offset)) = memory.geometry().locate_shared(address) else { return false };
    run_sync(
        #[inline(always)]
        || shared.coherence.update_local_sync(block, offset, SIZE, adding::<OP>(operand)),
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

/// As [`update_at_once`], of an operation by its code.
#[inline(always)]
pub fn rmw_at_once(
    address: *mut u8,
    size: u32,
    op: u32,
    operand: impl Fn() -> u64,
    order: u32,
) -> Option<u64> {
    let other = || {
        let op = RmwOp::from_code(op).filter(|op| !op.is_float() || matches!(size, 4 | 8))?;
        let update = Update::Rmw { op, operand: operand().into() };
        update_any_at_once(address, size, update, order)
    };
    addition!(op, size, add_at_once(address, order, operand()), other())
}

/// As [`update_at_once`], of a compare-and-swap.
#[inline(always)]
pub fn compare_exchange_at_once(
    address: *mut u8,
    size: u32,
    expected: u64,
    new: u64,
    order: u32,
) -> Option<u64> {
    let update = Update::CompareExchange { expected: expected.into(), new: new.into() };
    match size {
        4 => compare_exchange_sized_at_once::<4>(address, expected, new, order),
        8 => compare_exchange_sized_at_once::<8>(address, expected, new, order),
        _ => update_any_at_once(address, size, update, order),
    }
}

#[inline(never)]
fn add_at_once<const OP: u32, const SIZE: u32>(address: *mut u8, order: u32, operand: u64) -> Option<u64> {
    update_at_once(address, SIZE, adding::<OP>(operand), order)
}

#[inline(never)]
fn compare_exchange_sized_at_once<const SIZE: u32>(
    address: *mut u8,
    expected: u64,
    new: u64,
    order: u32,
) -> Option<u64> {
    let update = Update::CompareExchange { expected: expected.into(), new: new.into() };
    update_at_once(address, SIZE, update, order)
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
