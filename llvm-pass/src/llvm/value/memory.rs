//! Loads, stores, atomics, allocas.

use inkwell::llvm_sys::core;

use crate::llvm::{Ordering, RmwKind, Type, Value};

impl Value {
    /// Alignment of a load, store, alloca, global or atomic, bytes; 0 for none.
    pub fn align(self) -> u32 {
        // SAFETY: callers ask this of the classes named.
        unsafe { core::LLVMGetAlignment(self.0) }
    }

    /// Sets what [`Value::align`] returns.
    pub fn set_align(self, bytes: u32) {
        // SAFETY: as above.
        unsafe { core::LLVMSetAlignment(self.0, bytes) }
    }

    /// Atomic ordering of a load, store, fence or rmw.
    pub fn ordering(self) -> Ordering {
        // SAFETY: callers ask this of the classes named.
        unsafe { core::LLVMGetOrdering(self.0) }
    }

    /// Orderings of a compare and swap.
    pub fn cas_orderings(self) -> (Ordering, Ordering) {
        // SAFETY: callers ask this of cmpxchg only.
        unsafe { (core::LLVMGetCmpXchgSuccessOrdering(self.0), core::LLVMGetCmpXchgFailureOrdering(self.0)) }
    }

    /// Sets what [`Value::cas_orderings`] returns.
    pub fn set_cas_orderings(self, success: Ordering, failure: Ordering) {
        // SAFETY: as above.
        unsafe {
            core::LLVMSetCmpXchgSuccessOrdering(self.0, success);
            core::LLVMSetCmpXchgFailureOrdering(self.0, failure);
        }
    }

    /// Operation of an rmw.
    pub fn rmw_kind(self) -> RmwKind {
        // SAFETY: callers ask this of rmw instructions only.
        unsafe { core::LLVMGetAtomicRMWBinOp(self.0) }
    }

    /// True of a volatile load or store.
    pub fn is_volatile(self) -> bool {
        // SAFETY: callers ask this of loads and stores only.
        unsafe { core::LLVMGetVolatile(self.0) != 0 }
    }

    /// True of an integer comparison for equality or inequality.
    pub fn is_equality(self) -> bool {
        use inkwell::llvm_sys::LLVMIntPredicate::{LLVMIntEQ, LLVMIntNE};
        // SAFETY: callers ask this of integer comparisons only.
        matches!(unsafe { core::LLVMGetICmpPredicate(self.0) }, LLVMIntEQ | LLVMIntNE)
    }

    /// Sets the ordering of an rmw, or of a load or store, which becomes atomic.
    pub fn set_ordering(self, ordering: Ordering) {
        // SAFETY: callers pass these.
        unsafe { core::LLVMSetOrdering(self.0, ordering) }
    }

    /// Type that an alloca reserves.
    pub fn allocated_type(self) -> Type {
        // SAFETY: callers ask this of allocas only.
        Type(unsafe { core::LLVMGetAllocatedType(self.0) })
    }
}
