//! Which objects a pointer may point to, and whether all of them are private. Switch: `private`.
//!
//! Soundness. A pointer is private if everything that it can have been computed from is: locals that do not escape (see `escape`),
//! constants, thread-locals, what the program declares private. A parameter is if its function is local to the module, is only called
//! directly, and gets a private pointer from every call; the callee runs on the caller's thread, so what is private to the one is to
//! the other. Parameters are solved by iteration from "none is", and each one that is found follows from those found before.

use std::collections::HashSet;

use crate::fault::{self, Fault};
use crate::llvm::{Linkage, Module, Opcode, Value};

use super::annotated;
use super::escape::Escapes;
use super::facts::Private;
use super::openmp;

/// Facts about a module that decide privacy.
pub struct Privacy {
    /// Escaping locals and parameters.
    pub escapes: Escapes,
    /// Allocas of run-time size that move along with an escaping one of their function.
    pub moved: HashSet<Value>,
    microtasks: HashSet<Value>,
    /// Parameters that get private pointers only.
    parameters: HashSet<Value>,
    /// Variables that the program declares private.
    pub declared: HashSet<Value>,
}

impl Privacy {
    /// Analyses the module.
    pub fn new(module: Module) -> Privacy {
        let declared = annotated::variables(module);
        Privacy {
            escapes: Escapes::solve(module, &declared),
            moved: HashSet::new(),
            microtasks: microtasks(module),
            parameters: HashSet::new(),
            declared,
        }
    }

    /// Finds the parameters that get private pointers only; what moves to the shared stack must be known.
    pub fn solve_parameters(&mut self, module: Module) {
        let local = |f: &Value| {
            matches!(f.linkage(), Linkage::LLVMInternalLinkage | Linkage::LLVMPrivateLinkage)
                && !f.is_declaration()
                && !f.value_type().is_variadic()
        };
        let functions: Vec<(Value, Vec<Value>)> = module
            .functions()
            .into_iter()
            .filter(local)
            .filter_map(|f| direct_calls(f).map(|calls| (f, calls)))
            .collect();
        loop {
            let before = self.parameters.len();
            for (function, calls) in &functions {
                for index in 0..function.param_count() {
                    let parameter = function.param(index);
                    let private = |call: &Value| {
                        fault::is(Fault::PrivateArgument)
                            || self.in_function(call.parent_function(), call.operand(index)).is_some()
                    };
                    if parameter.ty().is_plain_pointer() && calls.iter().all(private) {
                        self.parameters.insert(parameter);
                    }
                }
            }
            if self.parameters.len() == before {
                return;
            }
        }
    }

    /// Why no other process can share the memory behind the pointer; `None` if it may be shared.
    pub fn of(&self, pointer: Value) -> Option<Private> {
        let ty = pointer.ty();
        if !ty.is_plain_pointer() {
            return (ty.kind() == crate::llvm::TypeKind::LLVMPointerTypeKind)
                .then_some(Private::OtherAddressSpace);
        }
        let mut seen = HashSet::new();
        let mut work = vec![pointer];
        let mut reason = Private::Undefined;
        while let Some(value) = work.pop() {
            if !seen.insert(value) {
                continue;
            }
            // Long chains are given up on: the access is checked then.
            if seen.len() > 64 {
                return None;
            }
            match self.object(value) {
                Object::Derived(from) => work.extend(from),
                Object::Private(Private::Undefined) => {}
                Object::Private(why) => reason = why,
                Object::Shared => return None,
            }
        }
        Some(reason)
    }

    fn object(&self, value: Value) -> Object {
        if value.is_null_pointer() || value.is_undef() {
            return Object::Private(Private::Undefined);
        }
        if self.declared.contains(&value) {
            return Object::Private(Private::Declared);
        }
        if value.is_global_variable() {
            return match (value.is_global_constant(), value.is_thread_local()) {
                (_, true) => Object::Private(Private::ThreadLocal),
                (true, _) => Object::Private(Private::Constant),
                _ if fault::is(Fault::PrivateGlobal) => Object::Private(Private::Constant),
                _ => Object::Shared,
            };
        }
        if value.is_function() {
            return Object::Private(Private::Constant);
        }
        if value.is_constant_expr() {
            return match value.const_opcode() {
                Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast => Object::Derived(vec![value.operand(0)]),
                _ => Object::Shared,
            };
        }
        if value.is_argument() {
            return self.parameter(value);
        }
        if value.is_instruction() { self.instruction(value) } else { Object::Shared }
    }

    fn instruction(&self, value: Value) -> Object {
        match value.opcode() {
            Opcode::LLVMAlloca
                if (self.escapes.local(value) || self.moved.contains(&value))
                    && !fault::is(Fault::PrivateLocal) =>
            {
                Object::Shared
            }
            Opcode::LLVMAlloca => Object::Private(Private::Local),
            Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast | Opcode::LLVMFreeze => {
                Object::Derived(vec![value.operand(0)])
            }
            Opcode::LLVMPHI => Object::Derived(value.incoming().into_iter().map(|(v, _)| v).collect()),
            Opcode::LLVMSelect => Object::Derived(vec![value.operand(1), value.operand(2)]),
            Opcode::LLVMCall if value.called_function().is_some_and(|f| f.name() == annotated::POINTER) => {
                Object::Private(Private::Declared)
            }
            Opcode::LLVMCall
                if fault::is(Fault::PrivateHeap)
                    && value.called_function().is_some_and(|f| f.name() == "malloc") =>
            {
                Object::Private(Private::ThreadLocal)
            }
            Opcode::LLVMCall if value.is_intrinsic_call() => {
                let name = value.callee().name();
                if name.starts_with("llvm.threadlocal.address") {
                    Object::Private(Private::ThreadLocal)
                } else if name.starts_with("llvm.ptrmask") || name.contains(".invariant.group") {
                    Object::Derived(vec![value.operand(0)])
                } else {
                    Object::Shared
                }
            }
            _ => Object::Shared,
        }
    }

    fn parameter(&self, value: Value) -> Object {
        if self.parameters.contains(&value) {
            return Object::Private(Private::Argument);
        }
        // The handle of a parameter names no function, so its functions are found through the entry table.
        for function in &self.microtasks {
            for index in 0..function.param_count().min(2) {
                if function.param(index) == value {
                    return Object::Private(Private::ThreadNumber);
                }
            }
        }
        Object::Shared
    }

    /// As [`Privacy::of`], for code that knows the function: copies made for the callee are its own.
    pub fn in_function(&self, function: Value, pointer: Value) -> Option<Private> {
        if let Some(why) = self.of(pointer) {
            return Some(why);
        }
        let base = strip(pointer);
        let index = (0..function.param_count()).find(|&i| function.param(i) == base)?;
        if fault::is(Fault::PrivateNoalias) && function.has_param_attribute(index, "noalias") {
            return Some(Private::Argument);
        }
        let own_copy = function.param_type_attribute(index, "byval").is_some();
        (own_copy && !self.escapes.parameter(function, index)).then_some(Private::ByvalCopy)
    }
}

enum Object {
    Private(Private),
    Derived(Vec<Value>),
    Shared,
}

/// The pointer that a chain of address computations starts from.
pub(crate) fn strip(mut pointer: Value) -> Value {
    while pointer.is_instruction() && pointer.opcode() == Opcode::LLVMGetElementPtr {
        pointer = pointer.operand(0);
    }
    pointer
}

/// The calls of a function, if it has some and no other uses.
fn direct_calls(function: Value) -> Option<Vec<Value>> {
    let calls = function.users();
    let direct = |call: &Value| {
        call.is_call()
            && call.callee() == function
            && call.arg_count() == function.param_count()
            && !call.args().contains(&function)
    };
    (!calls.is_empty() && calls.iter().all(direct)).then_some(calls)
}

/// Functions that only the OpenMP runtime calls, with the addresses of two thread numbers in front.
fn microtasks(module: Module) -> HashSet<Value> {
    let mut out = HashSet::new();
    for function in module.functions() {
        let Some((argument, _)) = openmp::microtask_argument(&function.name()) else { continue };
        for call in function.users() {
            if call.is_call() && call.arg_count() > argument && call.operand(argument).is_function() {
                out.insert(call.operand(argument));
            }
        }
    }
    // A body with other uses may get other pointers.
    out.retain(|f| f.users().iter().all(|u| u.is_call() && is_fork(*u)));
    out
}

fn is_fork(call: Value) -> bool {
    call.called_function().is_some_and(|f| openmp::microtask_argument(&f.name()).is_some())
}
