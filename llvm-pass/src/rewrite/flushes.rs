//! The flushes that compilers put behind atomic constructs with an order.
//!
//! Behind `omp atomic write seq_cst` and its relatives is a call of `__kmpc_flush`, as OpenMP defines them to flush, and a native processor's instruction may do less. The
//! runtime's atomic operation does it all: it releases before and acquires behind; a store where the thread has loaded something since it last acquired, as it has nothing to acquire else.
//! Between the operation and the flush the thread has accessed nothing, so
//! a second release has nothing to publish but what the operation did, which is done at the home, and the second acquire would come right behind the first.
//!
//! The flush of a directive of its own is the same call, and is one in both directions whatever the order of the atomic operation in front of it. So it is left out
//! only where the operation is a release and an acquire. A load, which never is a release, keeps its flush, and leaves the acquire to it. A store that releases
//! keeps its flush.

use crate::analysis::order::acquires;
use crate::fault::{self, Fault};
use crate::llvm::{Block, Opcode, Ordering, Value};

/// Takes out what an atomic operation that becomes a call of the runtime and the flush behind it would do twice; returns the number of places.
pub fn join(atomic: Value) -> u64 {
    if atomic.opcode() == Opcode::LLVMLoad {
        let acquires = acquires(atomic.ordering());
        if fault::is(Fault::FlushOrder) {
            return drop_all(flush_behind(atomic));
        }
        if acquires && flush_behind(atomic).is_some() {
            atomic.set_ordering(Ordering::LLVMAtomicOrderingMonotonic);
            return 1;
        }
        return 0;
    }
    if !is_flush(atomic) {
        return 0;
    }
    match flush_behind(atomic) {
        Some(flush) => drop_all([flush]),
        // A compare-and-swap that is repeated has the flush behind the loop.
        None => drop_all(only_behind(atomic).into_iter().filter_map(|b| flush_from(b.instructions()))),
    }
}

fn drop_all(flushes: impl IntoIterator<Item = Value>) -> u64 {
    flushes.into_iter().map(Value::erase).count() as u64
}

/// Whether an operation releases before and acquires behind, however it ends.
fn is_flush(atomic: Value) -> bool {
    use Ordering::*;
    let both = |o| matches!(o, LLVMAtomicOrderingAcquireRelease | LLVMAtomicOrderingSequentiallyConsistent);
    match atomic.opcode() {
        Opcode::LLVMAtomicCmpXchg => {
            let (success, failure) = atomic.cas_orderings();
            both(success) && acquires(failure)
        }
        _ => both(atomic.ordering()),
    }
}

/// The blocks behind that of an instruction which are come to from there alone, if nothing between it and its block's end counts.
fn only_behind(instruction: Value) -> Vec<Block> {
    let block = instruction.block();
    let end = block.terminator();
    let mut between = behind(instruction).take_while(|i| *i != end);
    if !matches!(end.opcode(), Opcode::LLVMBr) || between.any(counts) {
        return vec![];
    }
    block.successors().into_iter().filter(|b| b.single_predecessor() == Some(block)).collect()
}

fn behind(instruction: Value) -> impl Iterator<Item = Value> {
    std::iter::successors(instruction.next(), |i| i.next())
}

/// The flush behind an instruction in its block.
fn flush_behind(instruction: Value) -> Option<Value> {
    flush_from(behind(instruction))
}

/// The first of these that counts, if it is a flush.
fn flush_from(instructions: impl IntoIterator<Item = Value>) -> Option<Value> {
    instructions.into_iter().find(|i| counts(*i)).filter(|i| {
        i.opcode() == Opcode::LLVMCall && i.called_function().is_some_and(|f| f.name() == "__kmpc_flush")
    })
}

/// Whether it accesses memory, calls something, or ends a block. Barriers for the compiler and notes for it are no calls.
pub(super) fn counts(instruction: Value) -> bool {
    match instruction.opcode() {
        Opcode::LLVMCall => {
            let called = instruction.callee();
            let notes = ["llvm.dbg.", "llvm.lifetime."];
            !(called.is_empty_asm()
                || instruction.is_intrinsic_call() && notes.iter().any(|n| called.name().starts_with(n)))
        }
        Opcode::LLVMGetElementPtr
        | Opcode::LLVMPHI
        | Opcode::LLVMICmp
        | Opcode::LLVMFCmp
        | Opcode::LLVMSelect
        | Opcode::LLVMFreeze
        | Opcode::LLVMBitCast
        | Opcode::LLVMTrunc
        | Opcode::LLVMZExt
        | Opcode::LLVMSExt
        | Opcode::LLVMSIToFP
        | Opcode::LLVMUIToFP
        | Opcode::LLVMFPExt
        | Opcode::LLVMFPTrunc
        | Opcode::LLVMExtractValue
        | Opcode::LLVMInsertValue
        | Opcode::LLVMAdd
        | Opcode::LLVMSub
        | Opcode::LLVMMul
        | Opcode::LLVMAnd
        | Opcode::LLVMOr
        | Opcode::LLVMXor
        | Opcode::LLVMShl
        | Opcode::LLVMLShr
        | Opcode::LLVMAShr
        | Opcode::LLVMFAdd
        | Opcode::LLVMFSub
        | Opcode::LLVMFMul
        | Opcode::LLVMFDiv => false,
        _ => true,
    }
}
