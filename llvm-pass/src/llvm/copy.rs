//! Copies of loops and functions.

use std::os::raw::{c_int, c_uint};

use inkwell::llvm_sys::prelude::LLVMValueRef;

use super::{Analyses, Loop, Raw, Value};

unsafe extern "C" {
    fn dsm_shim_loop_copy_cost(l: Raw) -> c_uint;
    fn dsm_shim_if_then(analyses: Raw, condition: LLVMValueRef, before: LLVMValueRef) -> LLVMValueRef;
    fn dsm_shim_version_loop(
        analyses: Raw,
        l: Raw,
        condition: LLVMValueRef,
        rare: c_int,
        branch: *mut LLVMValueRef,
    ) -> Raw;
    fn dsm_shim_version_copy(map: Raw, value: LLVMValueRef) -> LLVMValueRef;
    fn dsm_shim_version_free(map: Raw);
    fn dsm_shim_function_copy_cost(f: LLVMValueRef) -> c_uint;
    fn dsm_shim_copy_function(f: LLVMValueRef, name: *const u8, len: usize) -> LLVMValueRef;
}

/// From the instructions of a loop to those of its copy.
pub struct LoopCopy(pub(super) Raw);

impl Drop for LoopCopy {
    fn drop(&mut self) {
        // SAFETY: made by `dsm_shim_version_loop`, freed once.
        unsafe { dsm_shim_version_free(self.0) }
    }
}

impl LoopCopy {
    /// The copy of an instruction of the loop; `None` for any other.
    pub fn of(&self, instruction: Value) -> Option<Value> {
        // SAFETY: live handles.
        let raw = unsafe { dsm_shim_version_copy(self.0, instruction.0) };
        (!raw.is_null()).then_some(Value(raw))
    }
}

// Every call below passes live handles and objects of the same analyses (module documentation of `llvm`).
impl Analyses {
    /// Puts a block before an instruction that runs if the condition holds; returns the block's terminator.
    pub fn if_then(&self, condition: Value, before: Value) -> Value {
        // SAFETY: live handles; `before` is an instruction that is no phi.
        Value(unsafe { dsm_shim_if_then(self.0, condition.0, before.0) })
    }

    /// Copies a loop and those in it; the loop is entered if the condition holds and the copy if not. Returns the copy and the
    /// branch, which takes the place of the preheader's terminator. A rare copy is not transformed further.
    pub fn version(&self, l: Loop, condition: Value, rare: bool) -> (LoopCopy, Value) {
        let mut branch = std::ptr::null_mut();
        // SAFETY: live handles; callers have asked for the copy's cost. The branch is set.
        let map = unsafe { dsm_shim_version_loop(self.0, l.0, condition.0, rare.into(), &mut branch) };
        (LoopCopy(map), Value(branch))
    }
}

impl Loop {
    /// Instructions of the loop and those in it if it can be copied; else 0.
    pub fn copy_cost(self) -> u32 {
        // SAFETY: live handle.
        unsafe { dsm_shim_loop_copy_cost(self.0) }
    }
}

impl Value {
    /// Instructions of a function with a body if it can be copied, else 0.
    pub fn function_copy_cost(self) -> u32 {
        // SAFETY: callers pass functions.
        unsafe { dsm_shim_function_copy_cost(self.0) }
    }

    /// A copy of a function with a body, which only this module can use.
    pub fn internal_copy(self, name: &str) -> Value {
        // SAFETY: callers have asked for the copy's cost; {pointer, length} string.
        Value(unsafe { dsm_shim_copy_function(self.0, name.as_ptr(), name.len()) })
    }
}
