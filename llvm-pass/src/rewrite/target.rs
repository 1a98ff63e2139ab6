//! Target regions, which stay on the host: there is no other device.
//!
//! Looked for before functions are inlined, by the names that clang and flang give the functions of regions:
//! `__omp_offloading_<device>_<file>_<function>_l<line>`, then perhaps what was outlined of them. With
//! debug information there is a second function for the region's text, which the first one calls.
//!
//! Where the compiler has no device to offload to, it calls the region's function. Of a `device` clause only the store of its value remains, to
//! a variable that nothing reads; a constant leaves nothing.

use crate::llvm::{Block, Builder, Module, Opcode, Severity, Value};

use super::entries::Entries;

/// What the names of regions begin with.
const PREFIX: &str = "__omp_offloading_";

/// Warns of each region, and has it tell the runtime when it is entered; true if there is one.
pub fn regions(module: Module) -> bool {
    let mut found = false;
    for function in module.functions().into_iter().filter(|f| !f.is_declaration()) {
        let name = function.name();
        let Some(rest) = name.strip_prefix(PREFIX) else { continue };
        if rest.contains('.') || rest.ends_with("_debug__") {
            continue;
        }
        let region = rest.splitn(3, '_').nth(2).unwrap_or(rest);
        let (of, line) = region.rsplit_once("_l").unwrap_or((region, "?"));
        let text = format!(
            "the `omp target` region in line {line} (`{of}`) runs on the host: offloading to devices is not supported"
        );
        function.diagnose(None, Severity::Warning, &text);
        let first =
            function.entry_block().instructions().into_iter().find(|i| i.opcode() != Opcode::LLVMAlloca);
        if let Some(first) = first {
            let builder = Builder::new(module);
            let line = module.context().i32().constant(line.parse().unwrap_or(0));
            builder.before(first).locate_as(first);
            builder.call_fn(Entries::new(module).get("__dsm_target"), &[line]);
        }
        for call in function.users().into_iter().filter(|u| u.is_call() && u.callee() == function) {
            if let Some(device) = device(module, call) {
                let builder = Builder::new(module);
                builder.before(call).locate_as(call);
                builder.call_fn(Entries::new(module).get("__dsm_target_device"), &[device]);
            }
        }
        found = true;
    }
    found
}

/// What the region that is called here has in its `device` clause: the last of the values, since the previous region, that are stored to a
/// variable of their own and never read. Other clauses' values are read.
fn device(module: Module, call: Value) -> Option<Value> {
    let mut blocks = vec![call.block()];
    while let Some(before) = blocks[blocks.len() - 1].single_predecessor() {
        if blocks.contains(&before) {
            break;
        }
        blocks.push(before);
    }
    let of_block = |b: &Block| b.instructions().into_iter().rev().collect::<Vec<_>>();
    let backwards = blocks.iter().flat_map(of_block).skip_while(|i| *i != call).skip(1);
    let mut since = backwards.take_while(|i| !(i.is_call() && is_target_region(i.callee())));
    let never_read = |i: &Value| {
        let place = if i.opcode() == Opcode::LLVMStore { i.operand(1) } else { return false };
        let ends = |u: &Value| {
            *u == *i || (u.is_intrinsic_call() && u.callee().name().starts_with("llvm.lifetime."))
        };
        !i.operand(0).is_constant()
            && i.operand(0).ty() == module.context().i32()
            && place.opcode() == Opcode::LLVMAlloca
            && place.block() == place.block().function().entry_block()
            && place.users().iter().all(ends)
    };
    since.find(never_read).map(|store| store.operand(0))
}

fn is_target_region(function: Value) -> bool {
    function.is_function() && function.name().starts_with(PREFIX)
}
