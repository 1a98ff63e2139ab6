//! Which calls may acquire, after which checks made earlier no longer hold.
//!
//! Soundness: an acquire happens only inside the runtime, which is entered through OpenMP entries, atomics, fences and
//! the heap. A call that is not known to stay out of these is a sync point. For functions with a body here the answer
//! is computed from the body, not from LLVM's `nosync` (its inference believes the attributes of OpenMP entries).

use std::collections::HashSet;

use crate::fault::{self, Fault};
use crate::llvm::{Module, Opcode, Value};

use super::callee::{Callee, callee};
use super::openmp;

/// Functions of the runtime that may call functions of the program: an allocator of its own, handlers of `pthread_atfork`, destructors of
/// exceptions, the functions of a stream of `fopencookie`.
#[rustfmt::skip]
const CALLING_BACK: [&str; 26] = [
    "getline", "getdelim", "__getdelim", "asprintf", "vasprintf", "__asprintf_chk", "__vasprintf_chk", "realpath", "__realpath_chk", "getcwd",
    "__getcwd_chk", "get_current_dir_name", "canonicalize_file_name", "wcsdup", "regcomp", "regfree", "globfree", "globfree64", "open_memstream",
    "fork", "__cxa_throw", "__cxa_rethrow", "__cxa_demangle", "fclose", "fflush", "fflush_unlocked",
];

/// Whether a function of this name that the runtime replaces may call functions of the program.
pub fn calls_back(name: &str) -> bool {
    CALLING_BACK.contains(&name)
}

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
        self.acquires(instruction) && !is_forgotten(instruction)
    }

    fn acquires(&self, instruction: Value) -> bool {
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
            // What runs until it returns for the second time may synchronise.
            Callee::Intrinsic(name) => name == "llvm.eh.sjlj.setjmp",
            Callee::Asm => false,
            Callee::Replaced(name) => calls_back(&name),
            Callee::OpenMp(name) => openmp::entry(&name).is_none_or(|e| e.syncs),
            Callee::Libc(_, function) => function.syncs,
            Callee::Heap(_) | Callee::Indirect => true,
            Callee::Own(function) => self.functions.contains(&function),
            Callee::Extern(_) => !call.call_no_sync(),
        }
    }
}

/// True if a seeded fault makes the pass forget the instruction.
fn is_forgotten(instruction: Value) -> bool {
    let called = || instruction.is_call().then(|| callee(instruction));
    let openmp = |prefixes: &[&str]| matches!(called(), Some(Callee::OpenMp(name)) if prefixes.iter().any(|p| name.starts_with(p)));
    fault::is(Fault::SyncBarrier) && openmp(&["__kmpc_barrier"])
        || fault::is(Fault::SyncCritical) && openmp(&["__kmpc_critical", "__kmpc_end_critical"])
        || fault::is(Fault::SyncTasks) && openmp(&["__kmpc_omp_task", "__kmpc_end_taskgroup"])
        || fault::is(Fault::SyncFlush) && openmp(&["__kmpc_flush"])
        || fault::is(Fault::SyncLock) && openmp(&["omp_set_lock", "omp_unset_lock"])
        || fault::is(Fault::SyncFork) && openmp(&["__kmpc_fork_call"])
        || fault::is(Fault::SyncMutex)
            && matches!(called(), Some(Callee::Heap(name)) if name.starts_with("pthread_mutex_"))
        || fault::is(Fault::SyncOwn) && matches!(called(), Some(Callee::Own(_)))
        || fault::is(Fault::SyncExtern) && matches!(called(), Some(Callee::Extern(_)))
        || fault::is(Fault::SyncIndirect) && matches!(called(), Some(Callee::Indirect))
}
