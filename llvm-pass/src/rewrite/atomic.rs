//! Atomics on memory that may be shared become runtime calls; operands travel through private allocas. In a job of one process, which the runtime says in a
//! variable, those that nobody waits by are the instructions that they were:
//!
//! ```text
//! head:    %single = load i32, ptr @__dsm_single_process
//!          br (%single != 0), %direct, %call
//! direct:  %a = atomicrmw add ptr %p, ...           br %tail; a compare-and-swap that fails goes on to %call, as does a thread that polls by it
//! call:    %b = call @__dsm_atomic_rmw(%p, ...)     br %tail
//! tail:    phi [%a, %direct], [%b, %call]
//! ```
//!
//! Threads wait by loads, too. Of these the runtime gets to know some, from which it sees whether one does nothing else; in a job of several processes, all:
//!
//! ```text
//! head:    %left = load i32, ptr @__dsm_loads_left    thread-local
//!          br (%left != 0), %direct, %call
//! direct:  store %left - 1, ptr @__dsm_loads_left
//!          %a = load atomic i32, ptr %p, ...         br %tail
//! ```

use dsm_abi::atomic::{RmwOp, order};
use dsm_abi::layout::LOADS_LEFT;

use crate::llvm::{Builder, IntPredicate, Module, Opcode, Ordering, RmwKind, Severity, Type, Value};

use super::check::Emitter;
use super::single;

/// Replaces the instruction.
pub fn emit(module: Module, emitter: &Emitter<'_>, instruction: Value) {
    let builder = emitter.builder;
    if instruction.opcode() == Opcode::LLVMFence {
        let order = builder.context.i32().constant(order_code(instruction.ordering()).into());
        emitter.call(instruction, "__dsm_atomic_fence", &[order]);
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
    // What verifies asserts that accesses have checks, which these need not have.
    if !emitter.verify && may_be_direct(instruction, size) {
        return direct_or_call(module, emitter, instruction, ty, size);
    }
    if let Some(value) = call(emitter, instruction, instruction, ty, size) {
        instruction.replace_uses(value);
    }
    instruction.erase();
}

/// True of an instruction that a version of a loop for jobs of one process keeps: threads do not wait by it, not even where it fails.
pub fn is_kept_in_one_process(module: Module, instruction: Value) -> bool {
    let ty = match instruction.opcode() {
        Opcode::LLVMStore => instruction.operand(0).ty(),
        Opcode::LLVMAtomicRMW => instruction.operand(1).ty(),
        _ => return false,
    };
    may_be_direct(instruction, module.store_size(ty))
}

/// Whether the processor does it by itself, and the runtime need not know of each time: threads that wait by repeating it let go of their core there.
fn may_be_direct(instruction: Value, size: u64) -> bool {
    let never_polls = match instruction.opcode() {
        Opcode::LLVMStore | Opcode::LLVMAtomicCmpXchg | Opcode::LLVMLoad => true,
        Opcode::LLVMAtomicRMW => instruction.rmw_kind() != RmwKind::LLVMAtomicRMWBinOpXchg,
        _ => false,
    };
    never_polls && size <= 8 && u64::from(instruction.align()) >= size
}

/// The number of atomic loads that the thread may execute by itself, before an instruction.
fn loads_left(module: Module, emitter: &Emitter<'_>, before: Value) -> (Value, Value) {
    let builder = emitter.builder;
    let i32_type = builder.context.i32();
    let left = module.global(LOADS_LEFT).unwrap_or_else(|| {
        let global = module.add_global(LOADS_LEFT, i32_type);
        global.set_initial_exec();
        global
    });
    builder.before(before).locate_as(before);
    let place = builder.intrinsic(module, "llvm.threadlocal.address", &[builder.context.ptr()], &[left]);
    (place, builder.load(i32_type, place, 4))
}

/// The instruction itself in a job of one process, else the call.
fn direct_or_call(module: Module, emitter: &Emitter<'_>, instruction: Value, ty: Type, size: u64) {
    let builder = emitter.builder;
    let left = (instruction.opcode() == Opcode::LLVMLoad).then(|| loads_left(module, emitter, instruction));
    let is_direct = match left {
        Some((_, left)) => builder.icmp(IntPredicate::LLVMIntNE, left, left.ty().zero()),
        None => single::is_single(module, emitter, instruction),
    };
    let (direct, remote) = emitter.branch(instruction, is_direct, "dsm.direct");
    let tail = instruction.next().expect("an atomic ends no block").split_before();
    builder.at_end(direct).locate_as(instruction);
    let end = builder.br(tail);
    instruction.move_before(end);
    if let Some((place, left)) = left {
        builder.before(instruction).locate_as(instruction);
        builder.store(builder.sub(left, left.ty().constant(1)), place, 4);
    }
    if instruction.opcode() == Opcode::LLVMAtomicCmpXchg {
        builder.before(end).locate_as(instruction);
        let swapped = builder.extract_value(instruction, 1);
        builder.br_if(swapped, tail, remote);
        end.erase();
    }
    let at = remote.terminator();
    let Some(value) = call(emitter, at, instruction, ty, size) else { return };
    builder.before(tail.first_insertion_point()).locate_as(instruction);
    // Uses of the instruction become those of the result first, which is one itself.
    let result = builder.phi(value.ty(), &[(builder.poison(value.ty()), direct), (value, remote)]);
    instruction.replace_uses(result);
    result.set_operand(0, instruction);
    if instruction.opcode() == Opcode::LLVMAtomicCmpXchg {
        let swapped = direct.instructions().into_iter().find(|i| i.opcode() == Opcode::LLVMExtractValue);
        swapped.expect("it was put there").set_operand(0, instruction);
    }
}

/// Puts the call that does what an instruction does before `at`. Returns the result, if it has one.
fn call(emitter: &Emitter<'_>, at: Value, instruction: Value, ty: Type, size: u64) -> Option<Value> {
    let builder = emitter.builder;
    let number = |n: u32| builder.context.i32().constant(n.into());
    let size = number(size as u32);
    let slot = |name: &str| entry_alloca(builder, instruction, ty, name);
    let begin = || builder.before(at).locate_as(instruction);
    match instruction.opcode() {
        Opcode::LLVMLoad => {
            let out = slot("dsm.out");
            let order = number(order_code(instruction.ordering()));
            begin();
            emitter.call_here("__dsm_atomic_load", &[instruction.operand(0), out, size, order]);
            Some(builder.load(ty, out, 16))
        }
        Opcode::LLVMStore => {
            let value = slot("dsm.value");
            begin();
            builder.store(instruction.operand(0), value, 16);
            let order = number(order_code(instruction.ordering()));
            emitter.call_here("__dsm_atomic_store", &[instruction.operand(1), value, size, order]);
            None
        }
        Opcode::LLVMAtomicRMW => {
            let value = slot("dsm.value");
            let is_wanted = !instruction.users().is_empty();
            let old = if is_wanted { slot("dsm.old") } else { builder.context.ptr().zero() };
            begin();
            let (op, operand) =
                as_addition(builder, rmw_code(instruction.rmw_kind()), instruction.operand(1));
            builder.store(operand, value, 16);
            let op = number(op as u32);
            let order = number(order_code(instruction.ordering()));
            let args = [instruction.operand(0), value, old, size, op, order];
            emitter.call_here("__dsm_atomic_rmw", &args);
            Some(if is_wanted { builder.load(ty, old, 16) } else { builder.poison(ty) })
        }
        _ => {
            let (expected, desired) = (slot("dsm.expected"), slot("dsm.desired"));
            begin();
            builder.store(instruction.operand(1), expected, 16);
            builder.store(instruction.operand(2), desired, 16);
            let (success, failure) = instruction.cas_orderings();
            let code = |o| number(order_code(o));
            let args = [instruction.operand(0), expected, desired, size, code(success), code(failure)];
            let swapped = emitter.call_here("__dsm_atomic_cas", &args);
            let old = builder.load(ty, expected, 16);
            let swapped = builder.icmp(IntPredicate::LLVMIntNE, swapped, number(0));
            let pair = builder.insert_value(builder.poison(instruction.ty()), old, 0);
            Some(builder.insert_value(pair, swapped, 1))
        }
    }
}

/// An operation and its operand as the runtime gets them: it has fast ways for additions, and a subtraction is the addition of the negative number, by the rules of two's
/// complement and of IEEE 754.
fn as_addition(builder: &Builder, op: RmwOp, operand: Value) -> (RmwOp, Value) {
    match op {
        RmwOp::Sub => (RmwOp::Add, builder.sub(operand.ty().zero(), operand)),
        RmwOp::FSub => (RmwOp::FAdd, builder.fneg(operand)),
        _ => (op, operand),
    }
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
