//! Loops that become nests of two.

use std::os::raw::c_int;

use inkwell::llvm_sys::prelude::LLVMValueRef;

use super::{Analyses, Expr, Loop, Raw, RawExpr, Value};

unsafe extern "C" {
    fn dsm_shim_is_positive(analyses: Raw, l: Raw, value: LLVMValueRef, or_zero: c_int) -> c_int;
    fn dsm_shim_counter_start(analyses: Raw, l: Raw, value: LLVMValueRef) -> RawExpr;
    fn dsm_shim_unknown(expr: RawExpr) -> LLVMValueRef;
    fn dsm_shim_split_loop(
        analyses: Raw,
        l: Raw,
        counter: LLVMValueRef,
        divisor: LLVMValueRef,
        signed: c_int,
        rest: *mut LLVMValueRef,
    ) -> LLVMValueRef;
}

// Every call below passes live handles and objects of the same analyses (module documentation of `llvm`).
impl Analyses {
    /// True if an integer is known to be positive where a loop is entered.
    pub fn is_positive(&self, l: Loop, value: Value) -> bool {
        // SAFETY: live handles.
        unsafe { dsm_shim_is_positive(self.0, l.0, value.0, 0) != 0 }
    }

    /// True if it is known not to be negative.
    pub fn is_non_negative(&self, l: Loop, value: Value) -> bool {
        // SAFETY: live handles.
        unsafe { dsm_shim_is_positive(self.0, l.0, value.0, 1) != 0 }
    }

    /// What a value of a loop begins with that counts by one. `None` of other values, and of loops that cannot become nests.
    pub fn counter_start(&self, l: Loop, value: Value) -> Option<Expr> {
        // SAFETY: live handles.
        Expr::from_raw(unsafe { dsm_shim_counter_start(self.0, l.0, value.0) })
    }

    /// Makes a nest of a loop: the inner one runs while the quotient of `counter` and `divisor`, which does not change in the loop, is the same.
    /// Returns the quotient, which changes in the outer loop only, and the remainder, extended to 64 bits.
    pub fn split(self, l: Loop, counter: Value, divisor: Value, signed: bool) -> (Value, Value) {
        let mut rest = std::ptr::null_mut();
        // SAFETY: live handles; callers have asked `counter_start` and pass integers of at most 64 bits. The remainder is set.
        let quotient =
            unsafe { dsm_shim_split_loop(self.0, l.0, counter.0, divisor.0, signed.into(), &mut rest) };
        (Value(quotient), Value(rest))
    }
}

impl Expr {
    /// The value that the expression is, if it is one that scalar evolution takes as it is.
    pub fn as_value(self) -> Option<Value> {
        // SAFETY: live handle.
        let raw = unsafe { dsm_shim_unknown(self.0) };
        (!raw.is_null()).then_some(Value(raw))
    }
}
