//! Index variables of Fortran that count without wrapping. Switch: `linear`.
//!
//! The loops that flang makes of `omp do` count from 0 in 32 bits and add the lower bound without saying that the sum stays in range, so
//! an address that is computed from it is not linear as far as LLVM knows, and no check of it leaves the loop.
//!
//! Soundness. A sign extension in code of flang's widens an integer of the program: a loop variable or an expression in a subscript. Its
//! value is one that the integer's kind can represent, or the program does not conform (Fortran 2018, 10.1.5.2.4), `-fwrapv`
//! excepted, under which nothing is assumed. So where such a value goes up or down by the same amount in each iteration, modulo
//! 2^32, it does so exactly. Scalar evolution is told this before it is asked for the extended values; instructions stay as they are.

use crate::llvm::{Block, Manager, Module, Opcode, Value};
use crate::options::Options;

use super::fortran;

/// True if it may be assumed in the module.
pub fn is_assumed(module: Module, options: &Options) -> bool {
    options.enabled("linear") && !options.wrapv && fortran::is_fortran(module)
}

/// Tells scalar evolution, before it is asked for their extensions (it remembers what it found out about one), that integers which are
/// sign-extended in a function's loops do not wrap. Returns how many recurrences it did not know that of.
pub fn assume(manager: Manager, function: Value) -> u64 {
    manager.invalidate_expressions(function);
    let analyses = manager.analyses(function);
    let in_loops = function.blocks().into_iter().filter(|b| analyses.loop_of(*b).is_some());
    let extensions = in_loops.flat_map(Block::instructions).filter(|i| i.opcode() == Opcode::LLVMSExt);
    extensions.filter(|i| analyses.set_no_signed_wrap(i.operand(0))).count() as u64
}
