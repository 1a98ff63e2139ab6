//! Atomic and volatile accesses that acquire and release whatever order the program gives them, as they do on x86 (Owens, Sarkar, Sewell, "A better x86 memory model: x86-TSO",
//! 2009): programs that were tried nowhere else may count on it. Before there are facts.

use crate::analysis::is_instrumented;
use crate::llvm::{Module, Opcode, Ordering, Type, TypeKind, Value};

/// Strengthens the accesses of a module's functions; how many.
pub fn strengthen(module: Module) -> u64 {
    let functions = module.functions().into_iter().filter(|f| is_instrumented(*f));
    let instructions = functions.flat_map(|f| f.blocks()).flat_map(|b| b.instructions());
    instructions.filter(|i| strengthened(module, *i)).count() as u64
}

/// Sets the orders of one instruction; false if it has them, or has none.
fn strengthened(module: Module, instruction: Value) -> bool {
    use Ordering::*;
    let wanted = match instruction.opcode() {
        Opcode::LLVMLoad => LLVMAtomicOrderingAcquire,
        Opcode::LLVMStore => LLVMAtomicOrderingRelease,
        Opcode::LLVMAtomicRMW => LLVMAtomicOrderingAcquireRelease,
        Opcode::LLVMAtomicCmpXchg => return strengthened_cas(instruction),
        _ => return false,
    };
    let is_weak = match instruction.ordering() {
        LLVMAtomicOrderingNotAtomic => instruction.is_volatile() && may_be_atomic(module, instruction),
        LLVMAtomicOrderingSequentiallyConsistent => false,
        order => order != wanted,
    };
    if is_weak {
        instruction.set_ordering(wanted);
    }
    is_weak
}

fn strengthened_cas(cas: Value) -> bool {
    use Ordering::*;
    let (success, failure) = cas.cas_orderings();
    let is_weak =
        !matches!(success, LLVMAtomicOrderingAcquireRelease | LLVMAtomicOrderingSequentiallyConsistent);
    let fails_weakly = failure == LLVMAtomicOrderingMonotonic;
    if is_weak || fails_weakly {
        let success = if is_weak { LLVMAtomicOrderingAcquireRelease } else { success };
        let failure = if fails_weakly { LLVMAtomicOrderingAcquire } else { failure };
        cas.set_cas_orderings(success, failure);
    }
    is_weak || fails_weakly
}

/// Whether a volatile load or store is one that the processor executes as a whole.
fn may_be_atomic(module: Module, access: Value) -> bool {
    use TypeKind::*;
    let ty = match access.opcode() {
        Opcode::LLVMStore => access.operand(0).ty(),
        _ => access.ty(),
    };
    let is_scalar = matches!(
        ty.kind(),
        LLVMIntegerTypeKind | LLVMPointerTypeKind | LLVMFloatTypeKind | LLVMDoubleTypeKind
    );
    let size = module.store_size(ty);
    is_scalar && matches!(size, 1 | 2 | 4 | 8) && u64::from(access.align()) >= size && is_whole(ty, size)
}

/// Atomic accesses are of whole bytes.
fn is_whole(ty: Type, bytes: u64) -> bool {
    ty.kind() != TypeKind::LLVMIntegerTypeKind || u64::from(ty.int_width()) == 8 * bytes
}
