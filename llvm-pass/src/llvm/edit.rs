//! Edits that LLVM's C API lacks.

use std::os::raw::c_int;

use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMModuleRef, LLVMValueRef};

use super::{Block, IntPredicate, Manager, Module, Raw, Value};

unsafe extern "C" {
    fn dsm_shim_split_before(instruction: LLVMValueRef) -> LLVMBasicBlockRef;
    fn dsm_shim_set_predicate(compare: LLVMValueRef, predicate: IntPredicate);
    fn dsm_shim_assume(manager: Raw, compare: LLVMValueRef, holds: c_int, before: LLVMValueRef);
    fn dsm_shim_global_attribute(g: LLVMValueRef, key: *const u8, klen: usize, value: *const u8, vlen: usize);
    fn dsm_shim_move_before(instruction: LLVMValueRef, other: LLVMValueRef);
    fn dsm_shim_thread_local_by_intrinsic(g: LLVMValueRef);
    fn dsm_shim_keep(m: LLVMModuleRef, g: LLVMValueRef);
    fn dsm_shim_keep_linked(m: LLVMModuleRef, g: LLVMValueRef);
    fn dsm_shim_keep_integers(function: LLVMValueRef, distances: c_int) -> u64;
}

impl Value {
    /// Splits the instruction's block before it; the new block starts with it.
    pub fn split_before(self) -> Block {
        // SAFETY: callers pass instructions that are not phis.
        Block(unsafe { dsm_shim_split_before(self.0) })
    }

    /// Keeps pointers that the loops of the function advance as integers in phis of integers; returns how many. `distances`: with the distances of
    /// `getelementptr`, which only a seeded fault leaves out.
    pub fn keep_integers(self, distances: bool) -> u64 {
        // SAFETY: callers pass functions that have code, and have dropped their analyses.
        unsafe { dsm_shim_keep_integers(self.0, distances.into()) }
    }

    /// Moves an instruction in front of another.
    pub fn move_before(self, other: Value) {
        // SAFETY: callers pass two instructions of one function.
        unsafe { dsm_shim_move_before(self.0, other.0) }
    }

    /// Changes what a comparison of integers asks for.
    pub fn set_predicate(self, predicate: IntPredicate) {
        // SAFETY: callers pass comparisons of integers.
        unsafe { dsm_shim_set_predicate(self.0, predicate) }
    }

    /// Lets instructions have a thread-local variable's address from the intrinsic only.
    pub fn thread_local_by_intrinsic(self) {
        // SAFETY: callers pass thread-local variables.
        unsafe { dsm_shim_thread_local_by_intrinsic(self.0) }
    }

    /// Sets a global variable's string attribute.
    pub fn set_global_attribute(self, key: &str, value: &str) {
        // SAFETY: callers pass global variables; {pointer, length} strings.
        unsafe { dsm_shim_global_attribute(self.0, key.as_ptr(), key.len(), value.as_ptr(), value.len()) }
    }
}

impl Block {}

impl Manager {
    /// States in front of an instruction that a comparison holds, or that it does not.
    pub fn assume(self, compare: Value, holds: bool, before: Value) {
        // SAFETY: live handles; callers pass a comparison of integers that dominates the instruction.
        unsafe { dsm_shim_assume(self.0, compare.0, holds.into(), before.0) }
    }
}

impl Module {
    /// Keeps the compiler from dropping a global.
    pub fn keep(self, global: Value) {
        // SAFETY: live handles.
        unsafe { dsm_shim_keep(self.0, global.0) }
    }

    /// Keeps the linker, too, from dropping or changing a global.
    pub fn keep_linked(self, global: Value) {
        // SAFETY: live handles.
        unsafe { dsm_shim_keep_linked(self.0, global.0) }
    }
}
