//! Copies of functions, and what is no longer true of functions whose callers check for them.

use dsm_abi::layout::COPY_SUFFIX;

use crate::analysis::graph::Calls;
use crate::llvm::{Manager, Value};
use crate::plan::interprocedural::Clone;

/// Makes copies and has calls use them; returns them and the functions that changed.
pub fn copies(manager: Manager, calls: &Calls, clones: &[Clone]) -> Vec<Value> {
    let mut changed = Vec::new();
    for clone in clones {
        let function = calls.functions[clone.function];
        let copy = function.internal_copy(&format!("{}{COPY_SUFFIX}", function.name()));
        changed.push(copy);
        for &call in &clone.calls {
            let call = calls.calls[call];
            call.set_operand(call.operand_count() - 1, copy);
            let caller = call.parent_function();
            manager.invalidate(caller);
            if !changed.contains(&caller) {
                changed.push(caller);
            }
        }
    }
    changed
}

/// A function that reads what its callers made valid must stay behind their checks, and one that synchronises changes any memory: the contents of
/// whatever other processes have written. So nothing may be known of what they leave alone, whatever LLVM has found out from their bodies.
pub fn forget_effects(function: Value) {
    for name in ["memory", "speculatable", "nosync"] {
        function.remove_function_attribute(name);
        for call in function.users().into_iter().filter(|u| u.is_call() && u.callee() == function) {
            call.remove_call_attribute(name);
        }
    }
}
