//! Target regions, which stay on the host: there is no other device.
//!
//! Looked for before functions are inlined, by the names that clang and flang give the functions of regions:
//! `__omp_offloading_<device>_<file>_<function>_l<line>`, then perhaps what was outlined of them. With
//! debug information there is a second function for the region's text, which the first one calls.

use crate::llvm::{Builder, Module, Opcode, Severity};

use super::entries::Entries;

/// Warns of each region, and has it tell the runtime when it is entered; true if there is one.
pub fn regions(module: Module) -> bool {
    let mut found = false;
    for function in module.functions().into_iter().filter(|f| !f.is_declaration()) {
        let name = function.name();
        let Some(rest) = name.strip_prefix("__omp_offloading_") else { continue };
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
        found = true;
    }
    found
}
