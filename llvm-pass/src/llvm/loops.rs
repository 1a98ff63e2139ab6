//! Natural loops.

use std::os::raw::c_int;

use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};

use super::{Analyses, Block, Expr, Raw, RawExpr, Value};

unsafe extern "C" {
    fn dsm_shim_loop_of(analyses: Raw, block: LLVMBasicBlockRef) -> Raw;
    fn dsm_shim_loop_parent(l: Raw) -> Raw;
    fn dsm_shim_loop_header(l: Raw) -> LLVMBasicBlockRef;
    fn dsm_shim_loop_preheader(l: Raw) -> LLVMBasicBlockRef;
    fn dsm_shim_loop_predecessor(l: Raw) -> LLVMBasicBlockRef;
    fn dsm_shim_loop_latch(l: Raw) -> LLVMBasicBlockRef;
    fn dsm_shim_loop_exiting(l: Raw) -> LLVMBasicBlockRef;
    fn dsm_shim_loop_contains(l: Raw, block: LLVMBasicBlockRef) -> c_int;
    fn dsm_shim_loop_readers(a: Raw, l: Raw, store: LLVMValueRef, out: *mut LLVMValueRef, most: u32)
    -> c_int;
    fn dsm_shim_backedge_count(analyses: Raw, l: Raw) -> RawExpr;
    fn dsm_shim_distance_count(analyses: Raw, l: Raw) -> RawExpr;
    fn dsm_shim_max_count(analyses: Raw, l: Raw) -> RawExpr;
    fn dsm_shim_expected_distance(analyses: Raw, l: Raw, step: *mut i64) -> RawExpr;
    fn dsm_shim_exit_count(analyses: Raw, l: Raw, exiting: LLVMBasicBlockRef) -> RawExpr;
}

/// A natural loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Loop(pub(super) Raw);

// Every call below passes live handles (module documentation of `llvm`), expressions of the same analyses, and
// classes that the caller has established.
impl Analyses {
    /// Innermost loop around a block.
    pub fn loop_of(&self, block: Block) -> Option<Loop> {
        // SAFETY: live handles.
        let raw = unsafe { dsm_shim_loop_of(self.0, block.0) };
        (!raw.is_null()).then_some(Loop(raw))
    }

    /// The instructions of a loop that may read, in any iteration, what a store in it stores to. `None` if there are too many, or if the loop
    /// may be left in the middle of a block.
    pub fn loop_readers(&self, l: Loop, store: Value) -> Option<Vec<Value>> {
        let mut out = [std::ptr::null_mut(); 8];
        // SAFETY: live handles; callers pass stores; `out` has the stated space, of which the first `count` are set.
        let count =
            unsafe { dsm_shim_loop_readers(self.0, l.0, store.0, out.as_mut_ptr(), out.len() as u32) };
        let count = usize::try_from(count).ok()?;
        Some(out[..count].iter().map(|&raw| Value(raw)).collect())
    }

    /// Exact number of times the loop's back edge is taken.
    pub fn backedge_count(&self, l: Loop) -> Option<Expr> {
        // SAFETY: live handles.
        Expr::from_raw(unsafe { dsm_shim_backedge_count(self.0, l.0) })
    }

    /// The same of a loop that counts by one, without overflow, up to what the program computes from the first number by an addition without overflow: an expression of what it adds.
    pub fn distance_count(&self, l: Loop) -> Option<Expr> {
        // SAFETY: live handles.
        Expr::from_raw(unsafe { dsm_shim_distance_count(self.0, l.0) })
    }

    /// An upper bound of the number of times the loop's back edge is taken.
    pub fn max_count(&self, l: Loop) -> Option<Expr> {
        // SAFETY: live handles.
        Expr::from_raw(unsafe { dsm_shim_max_count(self.0, l.0) })
    }

    /// Of a loop that loads its bound again in each iteration: the distance in 64 bits from what its exit compares first to the bound as it was loaded last in front of the loop, and
    /// the step of what is compared. What the loop stores may change the bound.
    pub fn expected_distance(&self, l: Loop) -> Option<(Expr, i64)> {
        let mut step = 0;
        // SAFETY: live handles; the step is set where there is a result.
        let distance = Expr::from_raw(unsafe { dsm_shim_expected_distance(self.0, l.0, &mut step) })?;
        Some((distance, step))
    }

    /// Exact number of times the loop's back edge is taken before the loop is left from a block.
    pub fn exit_count(&self, l: Loop, exiting: Block) -> Option<Expr> {
        // SAFETY: live handles; callers pass a block that leaves the loop.
        Expr::from_raw(unsafe { dsm_shim_exit_count(self.0, l.0, exiting.0) })
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

    /// The block outside from which alone the loop is entered.
    pub fn predecessor(self) -> Option<Block> {
        // SAFETY: live handle.
        some_block(unsafe { dsm_shim_loop_predecessor(self.0) })
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
