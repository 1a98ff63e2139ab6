//! Offsets of addresses that are negative, and written as numbers without a sign.
//!
//! `(char *)p + (-1) * sizeof *p` adds a number just below 2^64. Clang says of such an address that the addition does not wrap as one without a sign, so that the address would lie at the end of the address space (`getelementptr nuw`).
//! An access through it is that of the program all the same, but the number of its line, which checks compute from the address, becomes a constant. So the promise is dropped.

use crate::analysis;
use crate::llvm::{Manager, Module, Opcode};

/// Drops the promise in the instrumented functions of a module.
pub fn allow_negative(module: Module, manager: Manager) {
    for function in module.functions().into_iter().filter(|f| analysis::is_instrumented(*f)) {
        let instructions = function.blocks().into_iter().flat_map(|block| block.instructions());
        let addresses = instructions.filter(|i| i.opcode() == Opcode::LLVMGetElementPtr);
        let wrong = addresses.filter(|address| {
            address.is_free_of_unsigned_wrap()
                && address.operands().any(|index| index.int().is_some_and(|i| i < 0))
        });
        let wrong: Vec<_> = wrong.collect();
        wrong.iter().for_each(|address| address.allow_unsigned_wrap());
        if !wrong.is_empty() {
            manager.invalidate(function);
        }
    }
}
