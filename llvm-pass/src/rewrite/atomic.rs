//! Atomics on memory that may be shared become runtime calls; operands travel through private allocas.

use dsm_abi::atomic::{RmwOp, order};

use crate::llvm::{Builder, IntPredicate, Opcode, Ordering, RmwKind, Severity, Type, Value};

use super::check::Emitter;

/// Replaces the instruction.
pub fn emit(module: crate::llvm::Module, emitter: &Emitter<'_>, instruction: Value) {
    let builder = emitter.builder;
    let i32_type = builder.context.i32();
    let number = |n: u32| i32_type.constant(n.into());
    if instruction.opcode() == Opcode::LLVMFence {
        emitter.call(instruction, "__dsm_atomic_fence", &[number(order_code(instruction.ordering()))]);
        instruction.erase();
        return;
    }
    let ty = match instruction.opcode() {
        Opcode::LLVMLoad => instruction.ty(),
        Opcode::LLVMStore => instruction.operand(0).ty(),
        _ => instruction.operand(1).ty(),
    };
    let size = module.store_size(ty);
    if !matches!(size, 1 | 2 | 4 | 8 | 16) {
        let text = format!("atomic access of {size} bytes to memory that may be shared is not supported");
        instruction.parent_function().diagnose(Some(instruction), Severity::Error, &text);
        return;
    }
    let size = number(size as u32);
    let slot = |name: &str| entry_alloca(builder, instruction, ty, name);
    match instruction.opcode() {
        Opcode::LLVMLoad => {
            let out = slot("dsm.out");
            let order = number(order_code(instruction.ordering()));
            emitter.call(instruction, "__dsm_atomic_load", &[instruction.operand(0), out, size, order]);
            let value = builder.load(ty, out, 16);
            replace(instruction, value);
        }
        Opcode::LLVMStore => {
            let value = slot("dsm.value");
            builder.before(instruction).locate_as(instruction);
            builder.store(instruction.operand(0), value, 16);
            let order = number(order_code(instruction.ordering()));
            emitter.call(instruction, "__dsm_atomic_store", &[instruction.operand(1), value, size, order]);
            instruction.erase();
        }
        Opcode::LLVMAtomicRMW => {
            let (value, old) = (slot("dsm.value"), slot("dsm.old"));
            builder.before(instruction).locate_as(instruction);
            builder.store(instruction.operand(1), value, 16);
            let op = number(rmw_code(instruction.rmw_kind()) as u32);
            let order = number(order_code(instruction.ordering()));
            let args = [instruction.operand(0), value, old, size, op, order];
            emitter.call(instruction, "__dsm_atomic_rmw", &args);
            let value = builder.load(ty, old, 16);
            replace(instruction, value);
        }
        _ => compare_and_swap(builder, emitter, instruction, ty, size),
    }
}

fn compare_and_swap(builder: &Builder, emitter: &Emitter<'_>, instruction: Value, ty: Type, size: Value) {
    let i32_type = builder.context.i32();
    let expected = entry_alloca(builder, instruction, ty, "dsm.expected");
    let desired = entry_alloca(builder, instruction, ty, "dsm.desired");
    builder.before(instruction).locate_as(instruction);
    builder.store(instruction.operand(1), expected, 16);
    builder.store(instruction.operand(2), desired, 16);
    let (success, failure) = instruction.cas_orderings();
    let code = |o| i32_type.constant(order_code(o).into());
    let args = [instruction.operand(0), expected, desired, size, code(success), code(failure)];
    let swapped = builder.call_fn(emitter.entries.get("__dsm_atomic_cas"), &args);
    let old = builder.load(ty, expected, 16);
    let swapped = builder.icmp(IntPredicate::LLVMIntNE, swapped, i32_type.constant(0));
    let pair = builder.insert_value(builder.poison(instruction.ty()), old, 0);
    replace(instruction, builder.insert_value(pair, swapped, 1));
}

fn replace(instruction: Value, value: Value) {
    instruction.replace_uses(value);
    instruction.erase();
}

/// Private memory for an operand; 16-byte alignment suits all sizes.
fn entry_alloca(builder: &Builder, instruction: Value, ty: Type, name: &str) -> Value {
    let first = instruction.parent_function().entry_block().instructions()[0];
    builder.before_records(first);
    builder.alloca(ty, 16, name)
}

fn order_code(ordering: Ordering) -> u32 {
    match ordering {
        Ordering::LLVMAtomicOrderingAcquire => order::ACQUIRE,
        Ordering::LLVMAtomicOrderingRelease => order::RELEASE,
        Ordering::LLVMAtomicOrderingAcquireRelease => order::ACQ_REL,
        Ordering::LLVMAtomicOrderingSequentiallyConsistent => order::SEQ_CST,
        _ => order::RELAXED,
    }
}

fn rmw_code(kind: RmwKind) -> RmwOp {
    use RmwKind::*;
    match kind {
        LLVMAtomicRMWBinOpXchg => RmwOp::Xchg,
        LLVMAtomicRMWBinOpAdd => RmwOp::Add,
        LLVMAtomicRMWBinOpSub => RmwOp::Sub,
        LLVMAtomicRMWBinOpAnd => RmwOp::And,
        LLVMAtomicRMWBinOpNand => RmwOp::Nand,
        LLVMAtomicRMWBinOpOr => RmwOp::Or,
        LLVMAtomicRMWBinOpXor => RmwOp::Xor,
        LLVMAtomicRMWBinOpMax => RmwOp::Max,
        LLVMAtomicRMWBinOpMin => RmwOp::Min,
        LLVMAtomicRMWBinOpUMax => RmwOp::UMax,
        LLVMAtomicRMWBinOpUMin => RmwOp::UMin,
        LLVMAtomicRMWBinOpFAdd => RmwOp::FAdd,
        LLVMAtomicRMWBinOpFSub => RmwOp::FSub,
        LLVMAtomicRMWBinOpFMax => RmwOp::FMax,
        LLVMAtomicRMWBinOpFMin => RmwOp::FMin,
        LLVMAtomicRMWBinOpUIncWrap => RmwOp::UIncWrap,
        LLVMAtomicRMWBinOpUDecWrap => RmwOp::UDecWrap,
        LLVMAtomicRMWBinOpUSubCond => RmwOp::USubCond,
        LLVMAtomicRMWBinOpUSubSat => RmwOp::USubSat,
        LLVMAtomicRMWBinOpFMaximum => RmwOp::FMaximum,
        LLVMAtomicRMWBinOpFMinimum => RmwOp::FMinimum,
    }
}
