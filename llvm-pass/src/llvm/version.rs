//! Copies of loops for versioning.

use std::os::raw::c_uint;

use inkwell::llvm_sys::prelude::LLVMValueRef;

use super::{Analyses, Expr, Loop, Raw, RawExpr, Value};

unsafe extern "C" {
    fn dsm_shim_max_count(analyses: Raw, l: Raw) -> RawExpr;
    fn dsm_shim_pointer_base(analyses: Raw, pointer: LLVMValueRef) -> LLVMValueRef;
    fn dsm_shim_loop_copy_cost(l: Raw) -> c_uint;
    fn dsm_shim_if_then(analyses: Raw, condition: LLVMValueRef, before: LLVMValueRef) -> LLVMValueRef;
    fn dsm_shim_version_loop(
        analyses: Raw,
        l: Raw,
        condition: LLVMValueRef,
        branch: *mut LLVMValueRef,
    ) -> Raw;
    fn dsm_shim_version_copy(map: Raw, value: LLVMValueRef) -> LLVMValueRef;
    fn dsm_shim_version_free(map: Raw);
    fn dsm_shim_loop_remark(l: Raw, name: *const u8, name_len: usize, text: *const u8, len: usize);
}

/// From the instructions of a loop to those of its copy.
pub struct LoopCopy(Raw);

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
    /// An upper bound of the number of times the loop's back edge is taken.
    pub fn max_count(&self, l: Loop) -> Option<Expr> {
        // SAFETY: live handles.
        Expr::from_raw(unsafe { dsm_shim_max_count(self.0, l.0) })
    }

    /// The pointer that an address is computed from.
    pub fn pointer_base(&self, pointer: Value) -> Option<Value> {
        // SAFETY: live handles.
        let raw = unsafe { dsm_shim_pointer_base(self.0, pointer.0) };
        (!raw.is_null()).then_some(Value(raw))
    }

    /// Puts a block before an instruction that runs if the condition holds; returns the block's terminator.
    pub fn if_then(&self, condition: Value, before: Value) -> Value {
        // SAFETY: live handles; `before` is an instruction that is no phi.
        Value(unsafe { dsm_shim_if_then(self.0, condition.0, before.0) })
    }

    /// Copies an innermost loop; the loop is entered if the condition holds and the copy if not. Returns the copy and the
    /// branch, which takes the place of the preheader's terminator.
    pub fn version(&self, l: Loop, condition: Value) -> (LoopCopy, Value) {
        let mut branch = std::ptr::null_mut();
        // SAFETY: live handles; callers have asked for the copy's cost. The branch is set.
        let map = unsafe { dsm_shim_version_loop(self.0, l.0, condition.0, &mut branch) };
        (LoopCopy(map), Value(branch))
    }
}

impl Loop {
    /// An optimisation remark of pass "dsm" at the loop.
    pub fn remark(self, name: &str, text: &str) {
        // SAFETY: live handle; {pointer, length} strings.
        unsafe {
            dsm_shim_loop_remark(self.0, name.as_ptr(), name.len(), text.as_ptr(), text.len());
        }
    }

    /// Instructions of the loop if it is innermost and can be copied; else 0.
    pub fn copy_cost(self) -> u32 {
        // SAFETY: live handle.
        unsafe { dsm_shim_loop_copy_cost(self.0) }
    }
}
