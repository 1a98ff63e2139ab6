//! Natural loops.

use std::os::raw::{c_int, c_uint};

use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};

use super::{Analyses, Block, Expr, Manager, Raw, RawExpr, Value};

unsafe extern "C" {
    fn dsm_shim_loop_of(analyses: Raw, block: LLVMBasicBlockRef) -> Raw;
    fn dsm_shim_loop_parent(l: Raw) -> Raw;
    fn dsm_shim_loop_header(l: Raw) -> LLVMBasicBlockRef;
    fn dsm_shim_loop_preheader(l: Raw) -> LLVMBasicBlockRef;
    fn dsm_shim_loop_latch(l: Raw) -> LLVMBasicBlockRef;
    fn dsm_shim_loop_exiting(l: Raw) -> LLVMBasicBlockRef;
    fn dsm_shim_loop_contains(l: Raw, block: LLVMBasicBlockRef) -> c_int;
    fn dsm_shim_loop_readers(a: Raw, l: Raw, store: LLVMValueRef, out: *mut LLVMValueRef, most: u32)
    -> c_int;
    fn dsm_shim_exact_exits(analyses: Raw, l: Raw) -> c_uint;
    fn dsm_shim_state_guards(manager: Raw, l: Raw, most: c_uint) -> c_uint;
    fn dsm_shim_backedge_count(analyses: Raw, l: Raw) -> RawExpr;
}

/// A natural loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Loop(pub(super) Raw);

impl Manager {
    /// States the conditions under which a loop is entered, at most `most` of them, as assumptions in its preheader; returns how many.
    pub fn state_guards(self, l: Loop, most: u32) -> u64 {
        // SAFETY: live handles.
        unsafe { dsm_shim_state_guards(self.0, l.0, most) }.into()
    }
}

// Every call below passes live handles (module documentation of `llvm`), expressions of the same analyses, and
// classes that the caller has established.
impl Analyses {
    /// Innermost loop around a block.
    pub fn loop_of(&self, block: Block) -> Option<Loop> {
        // SAFETY: live handles.
        let raw = unsafe { dsm_shim_loop_of(self.0, block.0) };
        (!raw.is_null()).then_some(Loop(raw))
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

    /// Makes the comparisons that end the loop ask for equality, where what counts by one reaches its bound exactly when the loop ends;
    /// returns how many it has changed. What the analyses know stays true.
    pub fn exact_exits(&self, l: Loop) -> u64 {
        // SAFETY: live handles.
        unsafe { dsm_shim_exact_exits(self.0, l.0) }.into()
    }

    /// Exact number of times the loop's back edge is taken.
    pub fn backedge_count(&self, l: Loop) -> Option<Expr> {
        // SAFETY: live handles.
        Expr::from_raw(unsafe { dsm_shim_backedge_count(self.0, l.0) })
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

fn some_block(raw: LLVMBasicBlockRef) -> Option<Block> {
    (!raw.is_null()).then_some(Block(raw))
}
