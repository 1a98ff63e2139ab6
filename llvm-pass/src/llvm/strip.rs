//! Loops that are executed in strips.

use std::os::raw::c_int;

use inkwell::llvm_sys::prelude::LLVMValueRef;

use super::{Analyses, Loop, LoopCopy, Raw, Value};

unsafe extern "C" {
    fn dsm_shim_strip_bounds(
        analyses: Raw,
        l: Raw,
        pointer: LLVMValueRef,
        root: *mut LLVMValueRef,
        base: *mut LLVMValueRef,
        numbers: *mut i64,
    ) -> c_int;
    fn dsm_shim_strip_begin(analyses: Raw, l: Raw) -> LLVMValueRef;
    fn dsm_shim_strip_end(analyses: Raw, l: Raw, map: Raw, iterations: LLVMValueRef);
}

/// What bounds an address in an iteration of a loop: `base + scale * root`, and something between the two distances.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// A phi of the header; without it the address does not change.
    pub root: Option<Value>,
    /// An address that does not change; without it the root is one.
    pub base: Option<Value>,
    /// What the root is multiplied with.
    pub scale: i64,
    /// How the root is extended to 64 bits, if it is shorter: whether with its sign.
    pub extended: Option<bool>,
    /// Least and greatest distance, bytes.
    pub distance: (i64, i64),
    /// The least and the most that an iteration advances, bytes.
    pub step: (i64, i64),
}

// Every call below passes live handles and objects of the same analyses (module documentation of `llvm`).
impl Analyses {
    /// What bounds an address of an innermost loop, if it is known.
    pub fn strip_bounds(&self, l: Loop, pointer: Value) -> Option<Bounds> {
        let (mut root, mut base, mut numbers) = (std::ptr::null_mut(), std::ptr::null_mut(), [0; 6]);
        // SAFETY: live handles; `numbers` has the space that is written.
        let known = unsafe {
            dsm_shim_strip_bounds(self.0, l.0, pointer.0, &mut root, &mut base, numbers.as_mut_ptr())
        };
        let value = |raw: LLVMValueRef| (!raw.is_null()).then_some(Value(raw));
        let [scale, extended, lo, hi, least, most] = numbers;
        (known != 0).then_some(Bounds {
            root: value(root),
            base: value(base),
            scale,
            extended: (extended != 0).then_some(extended == 1),
            distance: (lo, hi),
            step: (least, most),
        })
    }

    /// Puts a block in front of a loop in which each phi of its header has a value of its own, which the phi then begins with; returns the block's terminator.
    pub fn begin_strips(&self, l: Loop) -> Value {
        // SAFETY: live handles; callers have asked for the loop's cost as a copy, so it has a preheader.
        Value(unsafe { dsm_shim_strip_begin(self.0, l.0) })
    }

    /// Has a loop and its copy, one of which that block chooses, go back to it after so many iterations.
    pub fn end_strips(&self, l: Loop, copy: &LoopCopy, iterations: Value) {
        // SAFETY: live handles; the copy is of this loop, made since its strips were begun.
        unsafe { dsm_shim_strip_end(self.0, l.0, copy.0, iterations.0) }
    }
}
