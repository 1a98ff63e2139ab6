//! The C++ shim's functions, wrapped.

use std::os::raw::{c_int, c_uint, c_void};

use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMContextRef, LLVMModuleRef, LLVMValueRef};

use super::{Block, Context, Module, Value};

type Raw = *mut c_void;
type RawExpr = *const c_void;

unsafe extern "C" {
    pub(super) fn dsm_shim_register(builder: Raw);
    fn dsm_shim_analyses(manager: Raw, function: LLVMValueRef) -> Raw;
    fn dsm_shim_analyses_free(analyses: Raw);
    fn dsm_shim_linear(manager: Raw, function: LLVMValueRef) -> c_uint;
    fn dsm_shim_invalidate(manager: Raw, function: LLVMValueRef);
    fn dsm_shim_address_key(analyses: Raw, pointer: LLVMValueRef, offset: *mut i64) -> RawExpr;
    fn dsm_shim_split_constant(analyses: Raw, s: RawExpr, offset: *mut i64) -> RawExpr;
    fn dsm_shim_loop_of(analyses: Raw, block: LLVMBasicBlockRef) -> Raw;
    fn dsm_shim_loop_parent(l: Raw) -> Raw;
    fn dsm_shim_loop_header(l: Raw) -> LLVMBasicBlockRef;
    fn dsm_shim_loop_preheader(l: Raw) -> LLVMBasicBlockRef;
    fn dsm_shim_loop_latch(l: Raw) -> LLVMBasicBlockRef;
    fn dsm_shim_loop_exiting(l: Raw) -> LLVMBasicBlockRef;
    fn dsm_shim_loop_contains(l: Raw, block: LLVMBasicBlockRef) -> c_int;
    fn dsm_shim_dominates(analyses: Raw, x: LLVMBasicBlockRef, y: LLVMBasicBlockRef) -> c_int;
    fn dsm_shim_loop_readers(a: Raw, l: Raw, store: LLVMValueRef, out: *mut LLVMValueRef, most: u32)
    -> c_int;
    fn dsm_shim_scev(analyses: Raw, value: LLVMValueRef) -> RawExpr;
    fn dsm_shim_backedge_count(analyses: Raw, l: Raw) -> RawExpr;
    fn dsm_shim_recurrence(a: Raw, s: RawExpr, l: Raw, start: *mut RawExpr, step: *mut RawExpr) -> c_int;
    fn dsm_shim_no_wrap(s: RawExpr) -> c_int;
    fn dsm_shim_invariant(a: Raw, s: RawExpr, l: Raw) -> c_int;
    fn dsm_shim_constant(s: RawExpr, out: *mut i64) -> c_int;
    fn dsm_shim_scev_constant(a: Raw, context: LLVMContextRef, value: i64) -> RawExpr;
    fn dsm_shim_scev_add(a: Raw, x: RawExpr, y: RawExpr) -> RawExpr;
    fn dsm_shim_scev_mul(a: Raw, x: RawExpr, y: RawExpr) -> RawExpr;
    fn dsm_shim_scev_zext64(a: Raw, s: RawExpr) -> RawExpr;
    fn dsm_shim_expander(a: Raw) -> Raw;
    fn dsm_shim_expander_free(e: Raw);
    fn dsm_shim_safe_to_expand(e: Raw, s: RawExpr, at: LLVMValueRef) -> c_int;
    fn dsm_shim_expand(e: Raw, s: RawExpr, at: LLVMValueRef) -> LLVMValueRef;
    fn dsm_shim_scev_text(s: RawExpr, out: *mut u8, size: usize) -> usize;
    fn dsm_shim_split_before(instruction: LLVMValueRef) -> LLVMBasicBlockRef;
    fn dsm_shim_split_edge(from: LLVMBasicBlockRef, to: LLVMBasicBlockRef) -> LLVMBasicBlockRef;
    fn dsm_shim_global_attribute(g: LLVMValueRef, key: *const u8, klen: usize, value: *const u8, vlen: usize);
    fn dsm_shim_move_before(instruction: LLVMValueRef, other: LLVMValueRef);
    fn dsm_shim_keep(m: LLVMModuleRef, g: LLVMValueRef);
    fn dsm_shim_keep_linked(m: LLVMModuleRef, g: LLVMValueRef);
    fn dsm_shim_call_touches_memory(i: LLVMValueRef) -> c_int;
    fn dsm_shim_call_no_sync(i: LLVMValueRef) -> c_int;
    fn dsm_shim_call_no_capture(i: LLVMValueRef, argument: u32) -> c_int;
    fn dsm_shim_call_returns_twice(i: LLVMValueRef) -> c_int;
    fn dsm_shim_call_must_tail(i: LLVMValueRef) -> c_int;
    fn dsm_shim_may_write(i: LLVMValueRef) -> c_int;
    fn dsm_shim_static_alloca(i: LLVMValueRef) -> c_int;
    fn dsm_shim_alloca_special(i: LLVMValueRef) -> c_int;
    fn dsm_shim_single_thread_scope(i: LLVMValueRef) -> c_int;
    fn dsm_shim_asm_operands(i: LLVMValueRef) -> c_int;
    fn dsm_shim_asm_operand_in_memory(i: LLVMValueRef, index: u32) -> c_int;
    fn dsm_shim_pointer_align(v: LLVMValueRef, m: LLVMModuleRef) -> u64;
    fn dsm_shim_diagnose(f: LLVMValueRef, i: LLVMValueRef, severity: c_int, text: *const u8, len: usize);
    fn dsm_shim_module_diagnose(m: LLVMModuleRef, severity: c_int, text: *const u8, len: usize);
    fn dsm_shim_remark(
        i: LLVMValueRef,
        missed: c_int,
        name: *const u8,
        name_len: usize,
        text: *const u8,
        len: usize,
    );
}

/// Strength of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// Ends the compilation.
    Error = 0,
    /// A warning.
    Warning = 1,
}

/// LLVM's module analysis manager.
#[derive(Clone, Copy)]
pub struct Manager(pub(super) Raw);

/// Dominators, loops and scalar evolution of one function, valid until [`Manager::invalidate`].
pub struct Analyses(Raw);

impl Analyses {
    pub(super) fn raw(&self) -> Raw {
        self.0
    }
}

impl Expr {
    pub(super) fn from_raw(raw: RawExpr) -> Option<Expr> {
        some_expr(raw)
    }
}

impl Loop {
    pub(super) fn raw(self) -> Raw {
        self.0
    }
}

/// A natural loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Loop(Raw);

/// A uniqued scalar expression: equal handles mean equal expressions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Expr(RawExpr);

/// Turns expressions into instructions.
pub struct Expander(Raw);

impl Manager {
    /// Analyses of a function with a body.
    pub fn analyses(self, function: Value) -> Analyses {
        // SAFETY: the manager is the one that LLVM handed to the running pass.
        Analyses(unsafe { dsm_shim_analyses(self.0, function.0) })
    }

    /// Tells scalar evolution that integers which are sign-extended in the function's loops do not wrap; returns how
    /// many recurrences it did not know of.
    pub fn extended_values_are_linear(self, function: Value) -> u64 {
        // SAFETY: as above; there are no `Analyses` of the function yet, for scalar evolution starts anew.
        unsafe { dsm_shim_linear(self.0, function.0) }.into()
    }

    /// Drops what LLVM has cached about a function that was changed.
    pub fn invalidate(self, function: Value) {
        // SAFETY: as above; callers have dropped the function's `Analyses`.
        unsafe { dsm_shim_invalidate(self.0, function.0) }
    }
}

impl Drop for Analyses {
    fn drop(&mut self) {
        // SAFETY: made by `dsm_shim_analyses`, freed once.
        unsafe { dsm_shim_analyses_free(self.0) }
    }
}

impl Drop for Expander {
    fn drop(&mut self) {
        // SAFETY: made by `dsm_shim_expander`, freed once.
        unsafe { dsm_shim_expander_free(self.0) }
    }
}

fn some_expr(raw: RawExpr) -> Option<Expr> {
    (!raw.is_null()).then_some(Expr(raw))
}

fn some_block(raw: LLVMBasicBlockRef) -> Option<Block> {
    (!raw.is_null()).then_some(Block(raw))
}

// Every call below passes live handles (module documentation of `llvm`), expressions of the same analyses, and
// classes that the caller has established.
impl Analyses {
    /// A key that is equal for pointers at a constant distance, and the offset of this one.
    pub fn address_key(&self, pointer: Value) -> Option<(Expr, i64)> {
        let mut offset = 0;
        // SAFETY: live handles.
        let key = unsafe { dsm_shim_address_key(self.0, pointer.0, &mut offset) };
        some_expr(key).map(|k| (k, offset))
    }

    /// The key of an address expression, and its offset.
    pub fn split_constant(&self, expr: Expr) -> (Expr, i64) {
        let mut offset = 0;
        // SAFETY: live handles.
        let key = unsafe { dsm_shim_split_constant(self.0, expr.0, &mut offset) };
        (Expr(key), offset)
    }

    /// Innermost loop around a block.
    pub fn loop_of(&self, block: Block) -> Option<Loop> {
        // SAFETY: live handles.
        let raw = unsafe { dsm_shim_loop_of(self.0, block.0) };
        (!raw.is_null()).then_some(Loop(raw))
    }

    /// True if all paths to `y` lead through `x`.
    pub fn dominates(&self, x: Block, y: Block) -> bool {
        // SAFETY: live handles.
        unsafe { dsm_shim_dominates(self.0, x.0, y.0) != 0 }
    }

    /// The instructions of a loop that may read, in any iteration, what a store in it stores to. `None` if there are too many, or if the loop may be left
    /// in the middle of a block.
    pub fn loop_readers(&self, l: Loop, store: Value) -> Option<Vec<Value>> {
        let mut out = [std::ptr::null_mut(); 8];
        // SAFETY: live handles; callers pass stores; `out` has the stated room, of which the first `count` are set.
        let count =
            unsafe { dsm_shim_loop_readers(self.0, l.0, store.0, out.as_mut_ptr(), out.len() as u32) };
        let count = usize::try_from(count).ok()?;
        Some(out[..count].iter().map(|&raw| Value(raw)).collect())
    }

    /// Expression of an integer or pointer value.
    pub fn expr(&self, value: Value) -> Option<Expr> {
        // SAFETY: live handles.
        some_expr(unsafe { dsm_shim_scev(self.0, value.0) })
    }

    /// Exact number of times the loop's back edge is taken.
    pub fn backedge_count(&self, l: Loop) -> Option<Expr> {
        // SAFETY: live handles.
        some_expr(unsafe { dsm_shim_backedge_count(self.0, l.0) })
    }

    /// Start and step if the expression is an affine recurrence of exactly this loop.
    pub fn recurrence(&self, expr: Expr, l: Loop) -> Option<(Expr, Expr)> {
        let (mut start, mut step) = (std::ptr::null(), std::ptr::null());
        // SAFETY: live handles; both results are set when 1 is returned.
        let found = unsafe { dsm_shim_recurrence(self.0, expr.0, l.0, &mut start, &mut step) };
        (found != 0).then_some((Expr(start), Expr(step)))
    }

    /// True if the recurrence never passes its own start again by wrapping.
    pub fn no_wrap(&self, expr: Expr) -> bool {
        // SAFETY: live handles.
        unsafe { dsm_shim_no_wrap(expr.0) != 0 }
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
        some_expr(unsafe { dsm_shim_scev_zext64(self.0, expr.0) })
    }

    /// An expander for the function.
    pub fn expander(&self) -> Expander {
        // SAFETY: live handles.
        Expander(unsafe { dsm_shim_expander(self.0) })
    }
}

impl Expr {
    /// The expression as LLVM prints it, cut at 200 bytes.
    pub fn text(self) -> String {
        let mut buffer = [0; 200];
        // SAFETY: the buffer has the stated size and the result is at most that.
        let n = unsafe { dsm_shim_scev_text(self.0, buffer.as_mut_ptr(), buffer.len()) };
        String::from_utf8_lossy(&buffer[..n]).into_owned()
    }
}

impl Loop {
    /// The loop around this one.
    pub fn parent(self) -> Option<Loop> {
        // SAFETY: live handle.
        let raw = unsafe { dsm_shim_loop_parent(self.0) };
        (!raw.is_null()).then_some(Loop(raw))
    }

    /// The header.
    pub fn header(self) -> Block {
        // SAFETY: live handle.
        Block(unsafe { dsm_shim_loop_header(self.0) })
    }

    /// The block outside from which alone the loop is entered, and which leads nowhere else.
    pub fn preheader(self) -> Option<Block> {
        // SAFETY: live handle.
        some_block(unsafe { dsm_shim_loop_preheader(self.0) })
    }

    /// The only block with a back edge.
    pub fn latch(self) -> Option<Block> {
        // SAFETY: live handle.
        some_block(unsafe { dsm_shim_loop_latch(self.0) })
    }

    /// The only block that leaves the loop.
    pub fn exiting(self) -> Option<Block> {
        // SAFETY: live handle.
        some_block(unsafe { dsm_shim_loop_exiting(self.0) })
    }

    /// True if the block belongs to the loop.
    pub fn contains(self, block: Block) -> bool {
        // SAFETY: live handles.
        unsafe { dsm_shim_loop_contains(self.0, block.0) != 0 }
    }
}

impl Expander {
    /// True if the expression can be computed at the instruction without new traps.
    pub fn is_safe(&self, expr: Expr, at: Value) -> bool {
        // SAFETY: live handles.
        unsafe { dsm_shim_safe_to_expand(self.0, expr.0, at.0) != 0 }
    }

    /// Emits the expression before the instruction.
    pub fn expand(&self, expr: Expr, at: Value) -> Value {
        // SAFETY: live handles; callers have asked `is_safe`.
        Value(unsafe { dsm_shim_expand(self.0, expr.0, at.0) })
    }
}

/// Operands of inline assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsmOperands {
    /// It has no instructions: a barrier for the compiler.
    None,
    /// In registers, or none.
    Registers,
    /// At least one in memory.
    Memory,
}

impl Value {
    /// Splits the instruction's block before it; the new block starts with it.
    pub fn split_before(self) -> Block {
        // SAFETY: callers pass instructions that are not phis.
        Block(unsafe { dsm_shim_split_before(self.0) })
    }

    /// Moves an instruction in front of another.
    pub fn move_before(self, other: Value) {
        // SAFETY: callers pass two instructions of one function.
        unsafe { dsm_shim_move_before(self.0, other.0) }
    }

    /// Sets a global variable's string attribute.
    pub fn set_global_attribute(self, key: &str, value: &str) {
        // SAFETY: callers pass global variables; {pointer, length} strings.
        unsafe { dsm_shim_global_attribute(self.0, key.as_ptr(), key.len(), value.as_ptr(), value.len()) }
    }

    /// True if a call may read or write memory.
    pub fn call_touches_memory(self) -> bool {
        // SAFETY: callers pass calls.
        unsafe { dsm_shim_call_touches_memory(self.0) != 0 }
    }

    /// True if a call is marked as never synchronising.
    pub fn call_no_sync(self) -> bool {
        // SAFETY: callers pass calls.
        unsafe { dsm_shim_call_no_sync(self.0) != 0 }
    }

    /// True if a call is marked as not capturing the argument.
    pub fn call_no_capture(self, argument: u32) -> bool {
        // SAFETY: callers pass calls and an argument in range.
        unsafe { dsm_shim_call_no_capture(self.0, argument) != 0 }
    }

    /// True if a call may return twice.
    pub fn call_returns_twice(self) -> bool {
        // SAFETY: callers pass calls.
        unsafe { dsm_shim_call_returns_twice(self.0) != 0 }
    }

    /// True of a `musttail` call.
    pub fn call_must_tail(self) -> bool {
        // SAFETY: callers pass instructions.
        unsafe { dsm_shim_call_must_tail(self.0) != 0 }
    }

    /// True if an instruction may write memory.
    pub fn may_write(self) -> bool {
        // SAFETY: callers pass instructions.
        unsafe { dsm_shim_may_write(self.0) != 0 }
    }

    /// True of an alloca of constant size in the entry block.
    pub fn is_static_alloca(self) -> bool {
        // SAFETY: callers pass allocas.
        unsafe { dsm_shim_static_alloca(self.0) != 0 }
    }

    /// True of an `inalloca` alloca.
    pub fn is_inalloca(self) -> bool {
        // SAFETY: callers pass allocas.
        unsafe { dsm_shim_alloca_special(self.0) == 1 }
    }

    /// True of a `swifterror` alloca.
    pub fn is_swift_error(self) -> bool {
        // SAFETY: callers pass allocas.
        unsafe { dsm_shim_alloca_special(self.0) == 2 }
    }

    /// True of an atomic that orders only against signal handlers of its own thread.
    pub fn is_single_thread(self) -> bool {
        // SAFETY: callers pass atomic instructions.
        unsafe { dsm_shim_single_thread_scope(self.0) != 0 }
    }

    /// Whether an argument of inline assembly is where an operand lies, and not an operand itself.
    pub fn asm_operand_in_memory(self, index: u32) -> bool {
        // SAFETY: callers pass calls.
        unsafe { dsm_shim_asm_operand_in_memory(self.0, index) != 0 }
    }

    /// Where inline assembly has its operands.
    pub fn asm_operands(self) -> AsmOperands {
        // SAFETY: callers pass calls.
        match unsafe { dsm_shim_asm_operands(self.0) } {
            0 => AsmOperands::None,
            1 => AsmOperands::Registers,
            _ => AsmOperands::Memory,
        }
    }

    /// Alignment that is known of a pointer.
    pub fn pointer_align(self, module: Module) -> u64 {
        // SAFETY: callers pass pointers.
        unsafe { dsm_shim_pointer_align(self.0, module.0) }
    }

    /// Reports at a function, and an instruction's place in it.
    pub fn diagnose(self, at: Option<Value>, severity: Severity, text: &str) {
        let at = at.map_or(std::ptr::null_mut(), |v| v.0);
        // SAFETY: `self` is a function; {pointer, length} string.
        unsafe { dsm_shim_diagnose(self.0, at, severity as c_int, text.as_ptr(), text.len()) }
    }

    /// An optimisation remark of pass "dsm" at the instruction.
    pub fn remark(self, missed: bool, name: &str, text: &str) {
        // SAFETY: `self` is an instruction; {pointer, length} strings.
        unsafe {
            dsm_shim_remark(self.0, missed.into(), name.as_ptr(), name.len(), text.as_ptr(), text.len());
        }
    }
}

impl Block {
    /// A new block on the edge to a successor.
    pub fn split_edge(self, to: Block) -> Block {
        // SAFETY: callers pass an edge of the function.
        Block(unsafe { dsm_shim_split_edge(self.0, to.0) })
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

    /// Reports about the whole module.
    pub fn diagnose(self, severity: Severity, text: &str) {
        // SAFETY: {pointer, length} string.
        unsafe { dsm_shim_module_diagnose(self.0, severity as c_int, text.as_ptr(), text.len()) }
    }
}
