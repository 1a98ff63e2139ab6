//! What the program declares private (`DSM_PRIVATE` and `dsm_private` of `dsm.h`).
//!
//! Soundness is the program's: a variable that it marks is its process's own. A marked global stays where the linker puts it, so
//! each process has one; a marked local stays on the native stack whoever learns its address; what a marked pointer points to is not
//! checked. A translation unit that does not see the mark checks its accesses, which pass: private memory has state 0.

use std::collections::HashSet;

use crate::llvm::{Module, Value};

/// What `annotate` says of a private variable.
const TEXT: &str = "dsm_private";

/// The function that marks a pointer, see `dsm.h`; its calls stand for their arguments.
pub const POINTER: &str = "__dsm_private";

/// Marked globals and locals.
pub fn variables(module: Module) -> HashSet<Value> {
    let mut out = HashSet::new();
    let says_so = |text: Value| {
        text.is_global_variable() && text.initializer().and_then(Value::const_string).as_deref() == Some(TEXT)
    };
    if let Some(list) = module.global("llvm.global.annotations").and_then(Value::initializer) {
        let marked = list.operands().filter(|entry| entry.operand_count() >= 2 && says_so(entry.operand(1)));
        out.extend(marked.map(|entry| entry.operand(0)).filter(|v| v.is_global_variable()));
    }
    let annotations = module.functions().into_iter().filter(|f| f.name().starts_with("llvm.var.annotation"));
    for call in annotations.flat_map(Value::users).filter(|u| u.is_call() && says_so(u.operand(1))) {
        out.insert(call.operand(0));
    }
    out
}
