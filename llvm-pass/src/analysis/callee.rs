//! One place that says what a call does, by who is called: intrinsic, OpenMP, C library, own function, unknown.

use std::collections::HashMap;
use std::sync::LazyLock;

use dsm_abi::entries::libatomic;
use dsm_abi::entries::replaced::{Arguments, GROUPS};

use crate::llvm::{Type, TypeKind, Value};

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
    /// A library function that is redirected to the runtime and may synchronise there: of the heap, of libatomic, a mutex.
    Heap(String),
    /// A library function that is redirected to the runtime, which keeps none of its pointers and does not synchronise.
    Replaced(String),
    /// A function with a body in this module that the linker cannot replace.
    Own(Value),
    /// Inline assembly.
    Asm,
    /// A function of another module, by name.
    Extern(String),
    /// A function pointer.
    Indirect,
}

/// A library function that a function of the runtime takes the place of.
pub struct Replaced {
    /// Which takes its place.
    pub entry: &'static str,
    /// What of a call goes on to it.
    pub arguments: Arguments,
    /// Whether it may synchronise.
    pub synchronises: bool,
}

static REPLACED: LazyLock<HashMap<&str, Replaced>> = LazyLock::new(|| {
    let rows = GROUPS.iter().flat_map(|group| group.functions.iter().map(|row| (row, group.synchronise)));
    rows.map(|(&(name, entry, arguments), synchronises)| (name, Replaced { entry, arguments, synchronises }))
        .collect()
});

/// The replacement of a library function, if it has one and is of the type that is replaced.
pub fn replaced(function: Value) -> Option<&'static Replaced> {
    REPLACED.get(&*function.name()).filter(|replaced| match replaced.arguments {
        Arguments::First(parameters) => begins_with(function, parameters),
        Arguments::All(signature) => has_signature(function, signature),
    })
}

/// Whether the first parameters of the function are of the kinds that a list describes: addresses, and integers of whatever size, as sources declare them in more than one way.
fn begins_with(function: Value, parameters: &str) -> bool {
    let ty = function.value_type();
    let given = ty.params();
    let is_kind = |(ty, letter): (&Type, char)| match letter {
        'p' | 'k' => ty.kind() == TypeKind::LLVMPointerTypeKind,
        _ => ty.kind() == TypeKind::LLVMIntegerTypeKind,
    };
    has_no_prototype(ty)
        || given.len() >= parameters.len() && given.iter().zip(parameters.chars()).all(is_kind)
}

/// Whether a function of this type has whatever arguments a call passes.
fn has_no_prototype(ty: Type) -> bool {
    ty.params().is_empty() && ty.is_variadic()
}

/// Whether a library function of this name that is replaced keeps the address at an argument.
pub fn replaced_keeps(name: &str, argument: u32) -> bool {
    REPLACED.get(name).is_some_and(|replaced| replaced.arguments.keeps(argument))
}

/// Whether the function is of the type that the signature of a list describes.
fn has_signature(function: Value, signature: &str) -> bool {
    let letter = |ty: Type| match ty.kind() {
        TypeKind::LLVMPointerTypeKind => 'p',
        TypeKind::LLVMVoidTypeKind => 'v',
        TypeKind::LLVMDoubleTypeKind => 'd',
        TypeKind::LLVMIntegerTypeKind if ty.int_width() == 32 => 'i',
        TypeKind::LLVMIntegerTypeKind if ty.int_width() == 64 => 'l',
        _ => '?',
    };
    let ty = function.value_type();
    let Some((result, params)) = signature.split_once(':') else { return false };
    let more = if ty.is_variadic() { "." } else { "" };
    let given: String = ty.params().into_iter().map(letter).collect();
    letter(ty.result()).to_string() == result
        && (has_no_prototype(ty) || format!("{given}{more}") == params.replace('k', "p"))
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
    declared(target)
}

/// What a call of a function that is only declared here does.
pub fn declared(target: Value) -> Callee {
    let name = target.name();
    if openmp::is_openmp(&name) {
        return Callee::OpenMp(name);
    }
    let replaced = replaced(target);
    if replaced.is_some_and(|r| r.synchronises) || libatomic::in_library(&name) {
        return Callee::Heap(name);
    }
    if replaced.is_some() || name == super::annotated::POINTER {
        return Callee::Replaced(name);
    }
    if let Some(function) = libc::function(&name) {
        return Callee::Libc(name, function);
    }
    match behind_wrapper(&name).and_then(|base| Some((base, libc::function(base)?))) {
        Some((base, function)) => Callee::Libc(base.to_owned(), function),
        None => Callee::Extern(name),
    }
}

/// The function that a wrapper calls: the linker's option `--wrap=NAME` makes NAME of `__real_NAME`. Where the runtime takes its place, this name leads there.
fn behind_wrapper(name: &str) -> Option<&str> {
    name.strip_prefix("__real_").filter(|base| !REPLACED.contains_key(base))
}

/// True if the body seen here is the one that will run: facts about other bodies may not be inferred from it.
pub fn is_exact(function: Value) -> bool {
    use crate::llvm::Linkage::*;
    matches!(function.linkage(), LLVMExternalLinkage | LLVMInternalLinkage | LLVMPrivateLinkage)
        && !function.is_interposable()
}
