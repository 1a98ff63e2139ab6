//! Resolvers of indirect functions (`ifunc`, `target_clones`, `target_version`), which the loader calls before anything of the runtime
//! exists: no state table, no shared memory, not even relocated addresses.
//!
//! Each resolver becomes a copy without checks, and so does what it calls in this module; the addresses of functions that it returns stay
//! those of the checked ones. What the copies store to globals is in the process's own image when the runtime replaces this by
//! the shared mapping, whose first contents are those of process 0. The other processes' resolvers change memory that nobody will read.
//!
//! Soundness: a copy runs before the runtime's start only, when each process has plain memory of its own. (The driver has programs and
//! libraries with indirect functions bound when they are loaded, so that no resolver runs at a function's first call.)

use std::collections::HashMap;

use dsm_abi::layout::COPY_SUFFIX;

use crate::analysis::callee::{Callee, callee};
use crate::analysis::{UNCHECKED, is_instrumented};
use crate::llvm::{Block, Linkage, Module, Severity, Value};

/// Functions outside of the module that are ready when resolvers run, besides those of the C library's table.
const EARLY: &[&str] = &[
    "__cpu_indicator_init",
    "__init_cpu_features_resolver",
    "__init_cpu_features",
    "getauxval",
    "__getauxval",
    "getenv",
    "secure_getenv",
    "sysconf",
    "syscall",
    "abort",
];

/// Gives each indirect function a resolver without checks; true if there is one.
pub fn separate(module: Module) -> bool {
    let mut copies = Copies { module, made: HashMap::new(), work: Vec::new() };
    let indirect = module.indirect_functions();
    for &function in &indirect {
        let resolver = function.resolver();
        if resolver.is_function() && is_instrumented(resolver) {
            function.set_resolver(copies.of(resolver));
        }
    }
    while let Some(copy) = copies.work.pop() {
        copies.calls(copy);
    }
    !indirect.is_empty()
}

struct Copies {
    module: Module,
    made: HashMap<Value, Value>,
    /// Copies whose calls still lead to the checked functions.
    work: Vec<Value>,
}

impl Copies {
    fn of(&mut self, function: Value) -> Value {
        if let Some(&copy) = self.made.get(&function) {
            return copy;
        }
        let copy = function.internal_copy(&format!("{}{COPY_SUFFIX}", function.name()));
        copy.add_function_text(UNCHECKED);
        self.made.insert(function, copy);
        self.work.push(copy);
        copy
    }

    fn calls(&mut self, copy: Value) {
        let instructions = copy.blocks().into_iter().flat_map(Block::instructions);
        for call in instructions.filter(|i| i.is_call() && !i.is_intrinsic_call()) {
            let name = || call.callee().name();
            let problem = match callee(call) {
                Callee::Intrinsic(_) | Callee::Asm => continue,
                Callee::Heap(_) | Callee::Replaced(_) | Callee::Libc(..) => {
                    self.keep_library(call);
                    continue;
                }
                Callee::Own(_) | Callee::Extern(_) if self.has_body(call.callee()) => {
                    let target = self.of(call.callee());
                    call.set_operand(call.operand_count() - 1, target);
                    continue;
                }
                Callee::Extern(_) if EARLY.contains(&name().as_str()) => continue,
                Callee::Own(_) | Callee::Extern(_) => {
                    format!("calls `{}`, whose code is not in this file", name())
                }
                Callee::OpenMp(_) => format!("calls `{}`", name()),
                Callee::Indirect => "calls through a pointer".to_owned(),
            };
            let text = format!(
                "the resolver of an indirect function {problem}: it runs before the program starts, when code compiled by dsm-cc cannot"
            );
            copy.diagnose(Some(call), Severity::Warning, &text);
        }
    }

    fn has_body(&self, function: Value) -> bool {
        !function.is_declaration()
            && !function.has_function_attribute("naked")
            && function.linkage() != Linkage::LLVMWeakAnyLinkage
    }

    /// Calls of the C library stay calls of the C library: what begins with this byte is a symbol's name to the letter, and in no table.
    fn keep_library(&self, call: Value) {
        let (function, name) = (call.callee(), format!("\u{1}{}", call.callee().name()));
        let literal = self
            .module
            .function(&name)
            .unwrap_or_else(|| self.module.add_function(&name, function.value_type()));
        call.set_operand(call.operand_count() - 1, literal);
    }
}
