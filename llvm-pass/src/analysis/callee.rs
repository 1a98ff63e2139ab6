//! One place that says what a call does, by who is called: intrinsic, OpenMP, C library, own function, unknown.

use crate::llvm::Value;

use super::libc;
use super::openmp;

/// Who is called.
pub enum Callee {
    /// An LLVM intrinsic, by name.
    Intrinsic(String),
    /// An OpenMP entry point (listed or not).
    OpenMp(String),
    /// A function of the C library table.
    Libc(String, libc::Function),
    /// A heap entry that is redirected to the shared heap.
    Heap(String),
    /// A function with a body in this module that the linker cannot replace.
    Own(Value),
    /// Inline assembly.
    Asm,
    /// A function of another module, by name.
    Extern(String),
    /// A function pointer.
    Indirect,
}

/// Library functions that become entries of the shared heap: (name, entry, number of arguments kept).
#[rustfmt::skip]
pub const HEAP: &[(&str, &str, u32)] = &[
    ("malloc", "__dsm_malloc", 1), ("calloc", "__dsm_calloc", 2), ("realloc", "__dsm_realloc", 2), ("free", "__dsm_free", 1),
    ("aligned_alloc", "__dsm_aligned_alloc", 2), ("memalign", "__dsm_aligned_alloc", 2),
    ("posix_memalign", "__dsm_posix_memalign", 3), ("malloc_usable_size", "__dsm_malloc_usable_size", 1),
    ("strdup", "__dsm_strdup", 1), ("__strdup", "__dsm_strdup", 1), ("strndup", "__dsm_strndup", 2),
    ("cfree", "__dsm_free", 1),
    ("_Znwm", "__dsm_new", 1), ("_Znam", "__dsm_new", 1),
    ("_ZnwmRKSt9nothrow_t", "__dsm_malloc", 1), ("_ZnamRKSt9nothrow_t", "__dsm_malloc", 1),
    ("_ZnwmSt11align_val_t", "__dsm_new_aligned", 2), ("_ZnamSt11align_val_t", "__dsm_new_aligned", 2),
    ("_ZdlPv", "__dsm_free", 1), ("_ZdaPv", "__dsm_free", 1), ("_ZdlPvm", "__dsm_free", 1), ("_ZdaPvm", "__dsm_free", 1),
    ("_ZdlPvSt11align_val_t", "__dsm_free", 1), ("_ZdaPvSt11align_val_t", "__dsm_free", 1),
    ("_ZdlPvmSt11align_val_t", "__dsm_free", 1), ("_ZdaPvmSt11align_val_t", "__dsm_free", 1),
    ("_ZdlPvRKSt9nothrow_t", "__dsm_free", 1), ("_ZdaPvRKSt9nothrow_t", "__dsm_free", 1),
];

/// The shared heap's entry for a library function.
pub fn heap_entry(name: &str) -> Option<(&'static str, u32)> {
    HEAP.iter().find(|(from, ..)| *from == name).map(|&(_, to, args)| (to, args))
}

/// Looks through aliases of casts at the callee.
pub fn callee(call: Value) -> Callee {
    let target = call.callee();
    if target.is_inline_asm() {
        return Callee::Asm;
    }
    if !target.is_function() {
        return Callee::Indirect;
    }
    let name = target.name();
    if call.is_intrinsic_call() {
        return Callee::Intrinsic(name);
    }
    if !target.is_declaration() {
        return if is_exact(target) { Callee::Own(target) } else { Callee::Extern(name) };
    }
    if openmp::is_openmp(&name) {
        return Callee::OpenMp(name);
    }
    if heap_entry(&name).is_some() {
        return Callee::Heap(name);
    }
    match libc::function(&name) {
        Some(function) => Callee::Libc(name, function),
        None => Callee::Extern(name),
    }
}

/// True if the body seen here is the one that will run: facts about other bodies may not be inferred from it.
pub fn is_exact(function: Value) -> bool {
    use crate::llvm::Linkage::*;
    matches!(function.linkage(), LLVMExternalLinkage | LLVMInternalLinkage | LLVMPrivateLinkage)
}
