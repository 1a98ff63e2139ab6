//! All unsafe code of the plugin: thin handles over LLVM's C API and the C++ shim.
//!
//! A handle is a pointer into the module that LLVM lent to the pass, so it is valid while the pass runs and its
//! object has not been erased. The handles are `Copy` and neither `Send` nor `Sync`; they can only be made from the
//! module handed in by LLVM, and the functions that erase an object consume its handle. Rewriting erases an
//! instruction only after its last use through this layer. Every `SAFETY` comment that says "live handle" refers
//! to this invariant; "kind checked" means that LLVM's own cast has just confirmed the object's class.

mod builder;
mod module;
mod passes;
mod shim;
mod types;
mod value;
mod version;

pub use builder::Builder;
pub use inkwell::llvm_sys::{
    LLVMAtomicOrdering as Ordering, LLVMAtomicRMWBinOp as RmwKind, LLVMIntPredicate as IntPredicate,
    LLVMLinkage as Linkage, LLVMOpcode as Opcode,
};
pub use module::{Context, Module};
pub use shim::{Analyses, AsmOperands, Expander, Expr, Loop, Manager, Severity};
pub use types::{Type, TypeKind};
pub use value::{Block, Value};
pub use version::LoopCopy;
