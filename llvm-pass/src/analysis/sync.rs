//! Which calls may acquire, after which checks made earlier no longer hold.
//!
//! Soundness: an acquire happens only inside the runtime, which is entered through OpenMP entries, atomics, fences and
//! the heap. A call that is not known to stay out of these is a sync point. For functions with a body here the answer
//! is computed from the body, not from LLVM's `nosync` (its inference believes the attributes of OpenMP entries).

use std::collections::HashSet;

use crate::llvm::{Module, Opcode, Value};

use super::callee::{Callee, callee};
use super::openmp;

/// Functions of the module that may acquire.
pub struct Syncs {
    functions: HashSet<Value>,
}

impl Syncs {
    /// Solves the module: from "nothing synchronises" upwards.
    pub fn solve(module: Module) -> Syncs {
        let functions: Vec<Value> = module.functions().into_iter().filter(|f| !f.is_declaration()).collect();
        let mut out = Syncs { functions: HashSet::new() };
        loop {
            let before = out.functions.len();
            for &function in &functions {
                if !out.functions.contains(&function)
                    && function.blocks().iter().any(|b| b.instructions().iter().any(|&i| out.instruction(i)))
                {
                    out.functions.insert(function);
                }
            }
            if out.functions.len() == before {
                return out;
            }
        }
    }

    /// True if the function may acquire.
    pub fn function(&self, function: Value) -> bool {
        self.functions.contains(&function)
    }

    /// True if the instruction may acquire.
    pub fn instruction(&self, instruction: Value) -> bool {
        match instruction.opcode() {
            Opcode::LLVMFence | Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg => true,
            Opcode::LLVMLoad | Opcode::LLVMStore => {
                instruction.ordering() != crate::llvm::Ordering::LLVMAtomicOrderingNotAtomic
            }
            Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr => self.call(instruction),
            _ => false,
        }
    }

    fn call(&self, call: Value) -> bool {
        match callee(call) {
            Callee::Intrinsic(_) | Callee::Asm | Callee::Replaced(_) => false,
            Callee::OpenMp(name) => openmp::entry(&name).is_none_or(|e| e.syncs),
            Callee::Libc(_, function) => function.syncs,
            Callee::Heap(_) | Callee::Indirect => true,
            Callee::Own(function) => self.functions.contains(&function),
            Callee::Extern(_) => !call.call_no_sync(),
        }
    }
}
