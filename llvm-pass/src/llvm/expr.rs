//! Expressions of scalar evolution: opaque and uniqued.

use std::os::raw::c_int;

use inkwell::llvm_sys::prelude::{LLVMContextRef, LLVMValueRef};

use super::{Analyses, Context, Loop, Raw, RawExpr, Value};

unsafe extern "C" {
    fn dsm_shim_address_key(analyses: Raw, pointer: LLVMValueRef, offset: *mut i64) -> RawExpr;
    fn dsm_shim_split_constant(analyses: Raw, s: RawExpr, offset: *mut i64) -> RawExpr;
    fn dsm_shim_scev(analyses: Raw, value: LLVMValueRef) -> RawExpr;
    fn dsm_shim_address_scev(analyses: Raw, pointer: LLVMValueRef) -> RawExpr;
    fn dsm_shim_plain_scev(analyses: Raw, value: LLVMValueRef) -> RawExpr;
    fn dsm_shim_pointer_base(analyses: Raw, pointer: LLVMValueRef) -> LLVMValueRef;
    fn dsm_shim_at_iteration(a: Raw, s: RawExpr, count: RawExpr) -> RawExpr;
    fn dsm_shim_is_free_of_wrap(a: Raw, value: LLVMValueRef) -> c_int;
    fn dsm_shim_set_no_signed_wrap(a: Raw, value: LLVMValueRef) -> c_int;
    fn dsm_shim_recurrence(a: Raw, s: RawExpr, l: Raw, start: *mut RawExpr, step: *mut RawExpr) -> c_int;
    fn dsm_shim_invariant(a: Raw, s: RawExpr, l: Raw) -> c_int;
    fn dsm_shim_constant(s: RawExpr, out: *mut i64) -> c_int;
    fn dsm_shim_scev_constant(a: Raw, context: LLVMContextRef, value: i64) -> RawExpr;
    fn dsm_shim_scev_add(a: Raw, x: RawExpr, y: RawExpr) -> RawExpr;
    fn dsm_shim_scev_mul(a: Raw, x: RawExpr, y: RawExpr) -> RawExpr;
    fn dsm_shim_scev_zext64(a: Raw, s: RawExpr) -> RawExpr;
    fn dsm_shim_expander(a: Raw) -> Raw;
    fn dsm_shim_expander_free(e: Raw);
    fn dsm_shim_safe_to_expand(e: Raw, s: RawExpr, at: LLVMValueRef) -> c_int;
    fn dsm_shim_expand_address(e: Raw, s: RawExpr, at: LLVMValueRef) -> LLVMValueRef;
    fn dsm_shim_expand(e: Raw, s: RawExpr, at: LLVMValueRef) -> LLVMValueRef;
    fn dsm_shim_scev_text(s: RawExpr, out: *mut u8, size: usize) -> usize;
}

/// A uniqued scalar expression: equal handles mean equal expressions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Expr(pub(super) RawExpr);

/// Turns expressions into instructions.
pub struct Expander(Raw);

impl Drop for Expander {
    fn drop(&mut self) {
        // SAFETY: made by `dsm_shim_expander`, freed once.
        unsafe { dsm_shim_expander_free(self.0) }
    }
}

// Every call below passes live handles (module documentation of `llvm`), expressions of the same analyses, and
// classes that the caller has established.
impl Analyses {
    /// A key that is equal for pointers at a constant distance, and the offset of this one.
    pub fn address_key(&self, pointer: Value) -> Option<(Expr, i64)> {
        let mut offset = 0;
        // SAFETY: live handles.
        let key = unsafe { dsm_shim_address_key(self.0, pointer.0, &mut offset) };
        Expr::from_raw(key).map(|k| (k, offset))
    }

    /// The key of an address expression, and its offset.
    pub fn split_constant(&self, expr: Expr) -> (Expr, i64) {
        let mut offset = 0;
        // SAFETY: live handles.
        let key = unsafe { dsm_shim_split_constant(self.0, expr.0, &mut offset) };
        (Expr(key), offset)
    }

    /// Expression of an integer or pointer value, over quotients that the program computes.
    pub fn expr(&self, value: Value) -> Option<Expr> {
        // SAFETY: live handles.
        Expr::from_raw(unsafe { dsm_shim_scev(self.0, value.0) })
    }

    /// The same of a pointer: an integer if the program computes the address as one. [`Expander::expand_address`] makes a pointer of it again.
    pub fn address(&self, pointer: Value) -> Option<Expr> {
        // SAFETY: live handles.
        Expr::from_raw(unsafe { dsm_shim_address_scev(self.0, pointer.0) })
    }

    /// The same with all quotients taken apart, as LLVM's own passes see it.
    pub fn plain_expr(&self, value: Value) -> Option<Expr> {
        // SAFETY: live handles.
        Expr::from_raw(unsafe { dsm_shim_plain_scev(self.0, value.0) })
    }

    /// The pointer that an address is computed from.
    pub fn pointer_base(&self, pointer: Value) -> Option<Value> {
        // SAFETY: live handles.
        let raw = unsafe { dsm_shim_pointer_base(self.0, pointer.0) };
        (!raw.is_null()).then_some(Value(raw))
    }

    /// Start and step if the expression is an affine recurrence of exactly this loop.
    pub fn recurrence(&self, expr: Expr, l: Loop) -> Option<(Expr, Expr)> {
        let (mut start, mut step) = (std::ptr::null(), std::ptr::null());
        // SAFETY: live handles; both results are set when 1 is returned.
        let found = unsafe { dsm_shim_recurrence(self.0, expr.0, l.0, &mut start, &mut step) };
        (found != 0).then_some((Expr(start), Expr(step)))
    }

    /// Value of an affine recurrence after `count` iterations; `None` if the types differ.
    pub fn at_iteration(&self, recurrence: Expr, count: Expr) -> Option<Expr> {
        // SAFETY: live handles; callers have asked `recurrence`.
        Expr::from_raw(unsafe { dsm_shim_at_iteration(self.0, recurrence.0, count.0) })
    }

    /// True if a value is an affine recurrence of which scalar evolution does not know that it does not wrap as a signed integer, and of
    /// which that is proved by the conditions under which its loop is entered and left ([`crate::analysis::linear`]).
    pub fn is_free_of_wrap(&self, value: Value) -> bool {
        // SAFETY: live handles.
        unsafe { dsm_shim_is_free_of_wrap(self.0, value.0) != 0 }
    }

    /// Tells scalar evolution that a value does not wrap as a signed integer; false if it is no affine recurrence, or that was known.
    pub fn set_no_signed_wrap(&self, value: Value) -> bool {
        // SAFETY: live handles.
        unsafe { dsm_shim_set_no_signed_wrap(self.0, value.0) != 0 }
    }

    /// True if the expression does not change in the loop.
    pub fn invariant(&self, expr: Expr, l: Loop) -> bool {
        // SAFETY: live handles.
        unsafe { dsm_shim_invariant(self.0, expr.0, l.0) != 0 }
    }

    /// Value of a constant expression.
    pub fn constant(&self, expr: Expr) -> Option<i64> {
        let mut out = 0;
        // SAFETY: live handles.
        (unsafe { dsm_shim_constant(expr.0, &mut out) } != 0).then_some(out)
    }

    /// A constant of type i64.
    pub fn int(&self, context: Context, value: i64) -> Expr {
        // SAFETY: live handles.
        Expr(unsafe { dsm_shim_scev_constant(self.0, context.0, value) })
    }

    /// Sum.
    pub fn add(&self, x: Expr, y: Expr) -> Expr {
        // SAFETY: live handles of one type (a pointer plus an integer is a pointer).
        Expr(unsafe { dsm_shim_scev_add(self.0, x.0, y.0) })
    }

    /// Product.
    pub fn mul(&self, x: Expr, y: Expr) -> Expr {
        // SAFETY: live handles of one integer type.
        Expr(unsafe { dsm_shim_scev_mul(self.0, x.0, y.0) })
    }

    /// An unsigned value of at most 64 bits as i64.
    pub fn zext64(&self, expr: Expr) -> Option<Expr> {
        // SAFETY: live handles.
        Expr::from_raw(unsafe { dsm_shim_scev_zext64(self.0, expr.0) })
    }

    /// An expander for the function.
    pub fn expander(&self) -> Expander {
        // SAFETY: live handles.
        Expander(unsafe { dsm_shim_expander(self.0) })
    }
}

impl Expr {
    pub(super) fn from_raw(raw: RawExpr) -> Option<Expr> {
        (!raw.is_null()).then_some(Expr(raw))
    }

    /// The expression as LLVM prints it, cut at 200 bytes.
    pub fn text(self) -> String {
        let mut buffer = [0; 200];
        // SAFETY: the buffer has the stated size and the result is at most that.
        let n = unsafe { dsm_shim_scev_text(self.0, buffer.as_mut_ptr(), buffer.len()) };
        String::from_utf8_lossy(&buffer[..n]).into_owned()
    }
}

impl Expander {
    /// True if the expression can be computed at the instruction without new traps.
    pub fn is_safe(&self, expr: Expr, at: Value) -> bool {
        // SAFETY: live handles.
        unsafe { dsm_shim_safe_to_expand(self.0, expr.0, at.0) != 0 }
    }

    /// Emits the expression of an address before the instruction, as a pointer.
    pub fn expand_address(&self, expr: Expr, at: Value) -> Value {
        // SAFETY: as `expand`; the expression is a pointer, or an integer of the same size.
        Value(unsafe { dsm_shim_expand_address(self.0, expr.0, at.0) })
    }

    /// Emits the expression before the instruction.
    pub fn expand(&self, expr: Expr, at: Value) -> Value {
        // SAFETY: live handles; callers have asked `is_safe`.
        Value(unsafe { dsm_shim_expand(self.0, expr.0, at.0) })
    }
}
