//! Which local variables and parameters other threads, or code that outlives the call, can reach.
//!
//! A pointer escapes if a copy of it may end up in memory, in another thread, or in code that this module cannot
//! see and that does not promise otherwise. Soundness: the walk follows every use of the pointer and of values
//! computed from it; a use that is not recognised escapes. LLVM's inferred attributes are not used for functions
//! that have a body here, nor for OpenMP entries: their inference trusts the attributes of `__kmpc_copyprivate` and its
//! like, which hold for one shared memory only. Functions of the C library may return what they got, and keep what [`libc::kept`] says. Nor are flang's, which promise of every argument that no copy is left
//! behind, but not that the procedure starts no team with it. Comparing pointers is not an escape: it copies no address.
//!
//! Parameters are solved by iteration from "nothing escapes" upwards, which ends because facts only grow.

use std::collections::{HashMap, HashSet};

use crate::fault::{self, Fault};
use crate::llvm::{Module, Opcode, Value};

use super::callee::{Callee, callee, is_exact};
use super::libc::{self, Kept};
use super::{fortran, openmp, reduction};

/// The solution for a module.
#[derive(Default)]
pub struct Escapes {
    parameters: HashSet<(Value, u32)>,
    locals: HashSet<Value>,
    /// The module is Fortran's: `captures(none)` of a procedure elsewhere says nothing about teams that it starts.
    fortran: bool,
}

impl Escapes {
    /// Solves the module. Locals that the program declares private do not count.
    pub fn solve(module: Module, declared: &HashSet<Value>) -> Escapes {
        let functions: Vec<Value> = module.functions().into_iter().filter(|f| !f.is_declaration()).collect();
        let mut out = Escapes { fortran: fortran::is_fortran(module), ..Escapes::default() };
        loop {
            let before = out.parameters.len();
            for &function in &functions {
                for index in 0..function.param_count() {
                    let parameter = function.param(index);
                    if parameter.ty().is_plain_pointer()
                        && !out.parameters.contains(&(function, index))
                        && out.escapes(parameter)
                    {
                        out.parameters.insert((function, index));
                    }
                }
            }
            if out.parameters.len() == before {
                break;
            }
        }
        for &function in &functions {
            for block in function.blocks() {
                for instruction in block.instructions() {
                    if instruction.opcode() == Opcode::LLVMAlloca
                        && !declared.contains(&instruction)
                        && out.escapes(instruction)
                    {
                        out.locals.insert(instruction);
                    }
                }
            }
        }
        out
    }

    /// True if the alloca must move to the shared stack.
    pub fn local(&self, alloca: Value) -> bool {
        self.locals.contains(&alloca) && !fault::is(Fault::Escape)
    }

    /// True if the parameter's pointer escapes from its function.
    pub fn parameter(&self, function: Value, index: u32) -> bool {
        self.parameters.contains(&(function, index))
    }

    /// True if a copy of the pointer may end up where others find it.
    pub fn value(&self, pointer: Value) -> bool {
        self.escapes(pointer)
    }

    fn escapes(&self, root: Value) -> bool {
        let mut seen = HashMap::new();
        let mut work = vec![root];
        while let Some(pointer) = work.pop() {
            if seen.insert(pointer, ()).is_some() {
                continue;
            }
            for user in pointer.users() {
                if !user.is_instruction() {
                    return true;
                }
                match self.usage(user, pointer) {
                    Usage::Harmless => {}
                    Usage::Follow => work.push(user),
                    Usage::Escape => return true,
                }
            }
        }
        false
    }

    /// True if the address lies in a list of a reduction that combines its elements where they are.
    fn stays_in_list(&self, address: Value) -> bool {
        let calls = reduction::calls_with_list_at(address);
        calls.is_some_and(|calls| calls.into_iter().all(|call| self.combines_in_place(call)))
    }

    fn combines_in_place(&self, call: Value) -> bool {
        reduction::elements(call).is_some_and(|elements| elements.into_iter().all(|e| !self.escapes(e)))
    }

    fn usage(&self, user: Value, pointer: Value) -> Usage {
        match user.opcode() {
            Opcode::LLVMLoad | Opcode::LLVMICmp => Usage::Harmless,
            Opcode::LLVMStore => {
                Usage::escape_if(user.operand(0) == pointer && !self.stays_in_list(user.operand(1)))
            }
            Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg => {
                Usage::escape_if(user.operands().skip(1).any(|v| v == pointer))
            }
            Opcode::LLVMGetElementPtr
            | Opcode::LLVMBitCast
            | Opcode::LLVMAddrSpaceCast
            | Opcode::LLVMFreeze
            | Opcode::LLVMPHI
            | Opcode::LLVMSelect
            | Opcode::LLVMExtractValue
            | Opcode::LLVMInsertValue => Usage::Follow,
            Opcode::LLVMVAArg => Usage::Harmless,
            Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr => self.call_usage(user, pointer),
            _ => Usage::Escape,
        }
    }

    fn call_usage(&self, call: Value, pointer: Value) -> Usage {
        if call.callee() == pointer {
            return Usage::Harmless;
        }
        // Operands behind the arguments are bundles and the callee.
        let arguments = call.args();
        if call.operands().skip(arguments.len()).any(|v| v == pointer) {
            return Usage::Escape;
        }
        let target = callee(call);
        let mut result = Usage::Harmless;
        for (index, argument) in arguments.iter().enumerate() {
            if *argument == pointer {
                result = result.max(self.argument_usage(call, &target, index as u32));
            }
        }
        result
    }

    fn argument_usage(&self, call: Value, target: &Callee, index: u32) -> Usage {
        if call.call_type_attribute(index, "byval").is_some() {
            return Usage::Harmless;
        }
        let of_library = |name: &str| match libc::kept(name, index) {
            Kept::Yes => Usage::Escape,
            Kept::At(place) if place < call.arg_count() && !call.operand(place).is_null_pointer() => {
                Usage::Escape
            }
            _ if call.ty().holds_pointer() => Usage::Follow,
            _ => Usage::Harmless,
        };
        match target {
            Callee::Intrinsic(name) => intrinsic_usage(name, call, index),
            Callee::OpenMp(name) if reduction::is_list(name, index) => {
                Usage::escape_if(!self.combines_in_place(call))
            }
            Callee::OpenMp(name) => match openmp::entry(name) {
                Some(entry) if index < 32 && entry.uncaptured & (1 << index) != 0 => Usage::Harmless,
                _ => Usage::Escape,
            },
            Callee::Replaced(name) => of_library(name),
            Callee::Libc(name, function) => {
                // A callback may be handed the pointer; it is a function of the program and may keep it.
                if function.calls_back || function.keeps == Some(index) {
                    Usage::Escape
                } else {
                    of_library(name)
                }
            }
            Callee::Heap(name) => match name.as_str() {
                "posix_memalign" | "strdup" | "__strdup" | "strndup" => Usage::Harmless,
                _ => Usage::Escape,
            },
            Callee::Own(function) => {
                debug_assert!(is_exact(*function));
                Usage::escape_if(index >= function.param_count() || self.parameter(*function, index))
            }
            Callee::Asm => Usage::escape_if(!call.asm_operand_in_memory(index)),
            // The thread itself destroys the object, at its end.
            Callee::Extern(name) if name == "__cxa_thread_atexit" && index == 1 => {
                let destructor = call.operand(0);
                Usage::escape_if(!destructor.is_function() || self.parameter(destructor, 0))
            }
            Callee::Extern(_) | Callee::Indirect => {
                Usage::escape_if(self.fortran || !call.call_no_capture(index))
            }
        }
    }
}

fn intrinsic_usage(name: &str, call: Value, index: u32) -> Usage {
    const ALIASING: &[&str] = &[
        "llvm.launder.invariant.group",
        "llvm.strip.invariant.group",
        "llvm.ptrmask",
        "llvm.ptr.annotation",
        "llvm.ssa.copy",
        "llvm.adjust.trampoline",
        "llvm.preserve.",
    ];
    const HARMLESS: &[&str] = &[
        "llvm.lifetime.",
        "llvm.mem",
        "llvm.va_start",
        "llvm.va_end",
        "llvm.va_copy",
        "llvm.masked.load",
        "llvm.masked.expandload",
        "llvm.prefetch",
        "llvm.invariant.",
        "llvm.assume",
        "llvm.var.annotation",
        "llvm.objectsize",
        "llvm.dbg.",
        "llvm.fake.use",
        "llvm.experimental.noalias",
    ];
    // The trampoline holds the address of the enclosing procedure's variables.
    if name.starts_with("llvm.init.trampoline") {
        return Usage::escape_if(index != 0);
    }
    if ALIASING.iter().any(|p| name.starts_with(p)) {
        return Usage::Follow;
    }
    if name.starts_with("llvm.masked.store") || name.starts_with("llvm.masked.compressstore") {
        return Usage::escape_if(index == 0);
    }
    if HARMLESS.iter().any(|p| name.starts_with(p)) || call.call_no_capture(index) {
        return Usage::Harmless;
    }
    Usage::Escape
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Usage {
    Harmless,
    Follow,
    Escape,
}

impl Usage {
    fn escape_if(condition: bool) -> Usage {
        if condition { Usage::Escape } else { Usage::Harmless }
    }
}
