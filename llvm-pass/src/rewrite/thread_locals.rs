//! Lets accesses to thread-local variables that may be shared go to the thread's block in shared memory.
//!
//! ```text
//! head:  %slot = @llvm.threadlocal.address(@__dsm_thread_local.x)    thread-local, at first null
//!        %p = load ptr, %slot
//!        br (%p == null), label %first, label %tail, !prof rare
//! first: %own = @llvm.threadlocal.address(@x)                        holds the initial value
//!        %q = @__dsm_thread_local(%own, %slot, size, align, ...)
//!        br label %tail
//! tail:  %address = phi [%p, %head], [%q, %first]
//! ```
//! While facts are collected, a call of a function without effects stands in its place.

use crate::analysis::thread_locals::ThreadLocal;
use crate::llvm::{Builder, IntPredicate, Linkage, Module, Value};

use super::check::Emitter;

/// Names of what belongs to a variable begin with these, and end with the variable's.
const SLOT: &str = "__dsm_thread_local.";
const ESCAPES: &str = "__dsm_thread_local_escapes.";
const SIZE: &str = "__dsm_thread_local_size.";
const ADDRESS: &str = "__dsm_thread_local_address.";

/// A variable whose addresses have been marked.
pub struct Marked {
    variable: ThreadLocal,
    function: Value,
}

/// Puts calls in the place of the variables' addresses that the analysis knows nothing about.
pub fn mark(module: Module, builder: &Builder, variables: Vec<ThreadLocal>) -> Vec<Marked> {
    let address = module.context().ptr().function(&[], false);
    let mark = |variable: ThreadLocal| {
        let function = module.add_function(&format!("{ADDRESS}{}", variable.variable.name()), address);
        for attribute in ["nounwind", "willreturn", "nosync", "memory"] {
            function.add_function_attribute(attribute);
        }
        for call in &variable.addresses {
            builder.before(*call).locate_as(*call);
            let marker = builder.call_fn(function, &[]);
            call.replace_uses(marker);
            call.erase();
        }
        Marked { variable, function }
    };
    variables.into_iter().map(mark).collect()
}

/// Puts the code above in the place of the calls.
pub fn expand(module: Module, emitter: &Emitter<'_>, marked: &[Marked]) {
    for Marked { variable, function } in marked {
        let calls: Vec<Value> = function.users().into_iter().filter(|u| u.is_call()).collect();
        if !calls.is_empty() || variable.is_defined() {
            let record = Record::new(module, variable);
            for call in calls {
                record.emit(module, emitter, call);
            }
        }
        function.delete_function();
    }
}

/// What the runtime has to know of a variable.
struct Record {
    variable: Value,
    slot: Value,
    bytes: u64,
    align: u64,
    /// Not null if the address escapes in some module; null here: in this one.
    escapes: Option<Value>,
    /// The size, if another module has it.
    size: Option<Value>,
}

impl Record {
    fn new(module: Module, of: &ThreadLocal) -> Record {
        let context = module.context();
        let variable = of.variable;
        let name = variable.name();
        let slot = module.add_global(&format!("{SLOT}{name}"), context.ptr());
        slot.set_initializer(context.ptr().zero());
        slot.set_linkage(Linkage::LLVMInternalLinkage);
        slot.set_thread_local_as(variable);
        let constant = |prefix: &str, value: Value| {
            let global = module.add_global(&format!("{prefix}{name}"), value.ty());
            global.set_initializer(value);
            global.set_global_constant();
            global.set_linkage(Linkage::LLVMWeakODRLinkage);
            global.set_visibility_as(variable);
            module.keep(global);
        };
        let elsewhere = |prefix: &str| {
            let global = module.add_global(&format!("{prefix}{name}"), context.i8());
            global.set_linkage(Linkage::LLVMExternalWeakLinkage);
            global.set_visibility_as(variable);
            global
        };
        let bytes = if of.is_defined() { module.alloc_size(variable.value_type()) } else { 0 };
        let align = u64::from(variable.align()).max(module.abi_align(variable.value_type()).into());
        let mut record = Record { variable, slot, bytes, align, escapes: None, size: None };
        if of.is_local() {
            return record;
        }
        match of.escapes {
            true => constant(ESCAPES, context.i8().constant(1)),
            false => record.escapes = Some(elsewhere(ESCAPES)),
        }
        match of.is_defined() {
            true => constant(SIZE, context.i64().constant(bytes)),
            false => record.size = Some(elsewhere(SIZE)),
        }
        record
    }

    fn emit(&self, module: Module, emitter: &Emitter<'_>, call: Value) {
        let builder = emitter.builder;
        let (ptr, i64_type) = (builder.context.ptr(), builder.context.i64());
        let address = |of| builder.intrinsic(module, "llvm.threadlocal.address", &[ptr], &[of]);
        builder.before(call).locate_as(call);
        let slot = address(self.slot);
        let known = builder.load(ptr, slot, 8);
        let first = builder.icmp(IntPredicate::LLVMIntEQ, known, ptr.zero());
        let head = call.block();
        let (side, tail) = emitter.branch_rare(call, first, "dsm.first");
        builder.at_end(side).locate_as(call);
        let own = address(self.variable);
        let arguments = [
            own,
            slot,
            i64_type.constant(self.bytes),
            i64_type.constant(self.align),
            self.escapes.unwrap_or(own),
            self.size.unwrap_or(ptr.zero()),
        ];
        let found = builder.call_fn(emitter.entries.get("__dsm_thread_local"), &arguments);
        builder.br(tail);
        builder.before(call).locate_as(call);
        let value = builder.phi(ptr, &[(known, head), (found, side)]);
        call.replace_uses(value);
        call.erase();
    }
}
