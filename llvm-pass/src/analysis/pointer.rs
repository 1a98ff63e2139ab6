//! Which objects a pointer may point to, and whether all of them are private.

use std::collections::HashSet;

use crate::llvm::{Module, Opcode, Value};

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
            declared,
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
            Opcode::LLVMAlloca if self.escapes.local(value) || self.moved.contains(&value) => Object::Shared,
            Opcode::LLVMAlloca => Object::Private(Private::Local),
            Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast | Opcode::LLVMFreeze => {
                Object::Derived(vec![value.operand(0)])
            }
            Opcode::LLVMPHI => Object::Derived(value.incoming().into_iter().map(|(v, _)| v).collect()),
            Opcode::LLVMSelect => Object::Derived(vec![value.operand(1), value.operand(2)]),
            Opcode::LLVMCall if value.called_function().is_some_and(|f| f.name() == annotated::POINTER) => {
                Object::Private(Private::Declared)
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
fn strip(mut pointer: Value) -> Value {
    while pointer.is_instruction() && pointer.opcode() == Opcode::LLVMGetElementPtr {
        pointer = pointer.operand(0);
    }
    pointer
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
