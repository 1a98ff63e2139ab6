//! All unsafe code of the plugin: thin handles over LLVM's C API and the C++ shim.
//!
//! A handle is a pointer into the module that LLVM lent to the pass, so it is valid while the pass runs and its
//! object has not been erased. The handles are `Copy` and neither `Send` nor `Sync`; they can only be made from the
//! module handed in by LLVM, and the functions that erase an object consume its handle. Rewriting erases an
//! instruction only after its last use through this layer. Every `SAFETY` comment that says "live handle" refers
//! to this invariant; "kind checked" means that LLVM's own cast has just confirmed the object's class.

mod analyses;
mod builder;
mod copy;
mod diagnostic;
mod edit;
mod expr;
mod instruction;
mod loops;
mod module;
mod nest;
mod passes;
mod strip;
mod types;
mod value;

pub use analyses::{Analyses, Manager};
pub use builder::Builder;
pub use copy::LoopCopy;
pub use diagnostic::{RemarkKind, Severity};
pub use expr::{Expander, Expr};
pub use inkwell::llvm_sys::{
    LLVMAtomicOrdering as Ordering, LLVMAtomicRMWBinOp as RmwKind, LLVMIntPredicate as IntPredicate,
    LLVMLinkage as Linkage, LLVMOpcode as Opcode,
};
pub use instruction::AsmOperands;
pub use loops::Loop;
pub use module::{Context, Module};
pub use strip::Bounds as StripBounds;
pub use types::{Type, TypeKind};
pub use value::{Block, Value};

/// An object of the C++ shim.
type Raw = *mut std::os::raw::c_void;
/// An expression of scalar evolution.
type RawExpr = *const std::os::raw::c_void;
