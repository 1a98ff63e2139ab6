//! Barriers for the compiler beside ordered atomics, from the start of the pipeline on.
//!
//! LLVM's analysis of globals takes an atomic for an access to its own variable alone. A function with a lock's atomics, called around
//! updates of a global whose address is not taken, then seems to leave that global as it is, which stays in a register across the calls. On one
//! machine this rarely shows; here other processes' updates would be lost each time. Empty assembly that may touch any memory behind what
//! acquires, and in front of what releases, says what atomics do. It is no instruction.

use crate::analysis::is_instrumented;
use crate::analysis::order::is_relaxed;
use crate::llvm::{Block, Builder, Module, Opcode, Value};

/// Adds the barriers; true if there are any.
pub fn add(module: Module) -> bool {
    let builder = Builder::new(module);
    let functions = module.functions().into_iter().filter(|f| is_instrumented(*f));
    let atomics: Vec<Value> =
        functions.flat_map(Value::blocks).flat_map(Block::instructions).filter(|i| is_ordered(*i)).collect();
    for &atomic in &atomics {
        builder.before(atomic).locate_as(atomic);
        builder.compiler_barrier();
        let next = atomic.next().expect("an atomic ends no block");
        builder.before(next).locate_as(atomic);
        builder.compiler_barrier();
    }
    !atomics.is_empty()
}

fn is_ordered(instruction: Value) -> bool {
    let ordered = match instruction.opcode() {
        Opcode::LLVMFence => true,
        Opcode::LLVMLoad | Opcode::LLVMStore | Opcode::LLVMAtomicRMW => !is_relaxed(instruction.ordering()),
        Opcode::LLVMAtomicCmpXchg => !is_relaxed(instruction.cas_orderings().0),
        _ => return false,
    };
    ordered && !instruction.is_single_thread()
}
