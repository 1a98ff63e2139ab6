//! What the orders of atomic accesses keep in place.

use crate::llvm::Ordering;

/// Whether an access with this order keeps later ones behind it.
pub fn acquires(order: Ordering) -> bool {
    use Ordering::*;
    matches!(
        order,
        LLVMAtomicOrderingAcquire
            | LLVMAtomicOrderingAcquireRelease
            | LLVMAtomicOrderingSequentiallyConsistent
    )
}

/// Whether an access with this order, or of no atomic, orders no others.
pub fn is_relaxed(order: Ordering) -> bool {
    use Ordering::*;
    matches!(order, LLVMAtomicOrderingNotAtomic | LLVMAtomicOrderingUnordered | LLVMAtomicOrderingMonotonic)
}
