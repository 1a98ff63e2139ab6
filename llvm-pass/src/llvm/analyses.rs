//! Analyses of a function, from LLVM's manager.

use std::os::raw::c_int;

use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};

use super::{Block, Raw, Value};

unsafe extern "C" {
    fn dsm_shim_analyses(manager: Raw, function: LLVMValueRef) -> Raw;
    fn dsm_shim_analyses_free(analyses: Raw);
    fn dsm_shim_invalidate(manager: Raw, function: LLVMValueRef);
    fn dsm_shim_invalidate_scev(manager: Raw, function: LLVMValueRef);
    fn dsm_shim_dominates(analyses: Raw, x: LLVMBasicBlockRef, y: LLVMBasicBlockRef) -> c_int;
}

/// LLVM's module analysis manager.
#[derive(Clone, Copy)]
pub struct Manager(pub(super) Raw);

/// Dominators, loops and scalar evolution of one function, valid until [`Manager::invalidate`].
pub struct Analyses(pub(super) Raw);

impl Manager {
    /// Analyses of a function with a body.
    pub fn analyses(self, function: Value) -> Analyses {
        // SAFETY: the manager is the one that LLVM handed to the running pass.
        Analyses(unsafe { dsm_shim_analyses(self.0, function.0) })
    }

    /// Drops what LLVM has cached about a function that was changed.
    pub fn invalidate(self, function: Value) {
        // SAFETY: as above; callers have dropped the function's `Analyses`.
        unsafe { dsm_shim_invalidate(self.0, function.0) }
    }

    /// Drops what scalar evolution has found out about a function.
    pub fn invalidate_expressions(self, function: Value) {
        // SAFETY: as above.
        unsafe { dsm_shim_invalidate_scev(self.0, function.0) }
    }
}

impl Drop for Analyses {
    fn drop(&mut self) {
        // SAFETY: made by `dsm_shim_analyses`, freed once.
        unsafe { dsm_shim_analyses_free(self.0) }
    }
}

// Every call below passes live handles (module documentation of `llvm`), expressions of the same analyses, and
// classes that the caller has established.
impl Analyses {
    /// True if all paths to `y` lead through `x`.
    pub fn dominates(&self, x: Block, y: Block) -> bool {
        // SAFETY: live handles.
        unsafe { dsm_shim_dominates(self.0, x.0, y.0) != 0 }
    }
}
