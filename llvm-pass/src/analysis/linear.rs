//! Index variables that count without wrapping. Switch: `linear`.
//!
//! Compilers make OpenMP's loops count from 0 in 32 bits without a sign and add the lower bound without saying that the sum stays in range, so
//! an address that is computed from it is not linear as far as LLVM knows, and no check of it leaves the loop. Scalar evolution is told
//! before it is asked for the extended values; instructions stay as they are: the sum of a bound and a counter above 2^31 does overflow.
//!
//! Soundness, Fortran. A sign extension in code of flang's widens an integer of the program: a loop variable or an expression in a subscript. Its
//! value is one that the integer's kind can represent, or the program does not conform (Fortran 2018, 10.1.5.2.4), `-fwrapv`
//! excepted, under which nothing is assumed. So where such a value goes up or down by the same amount in each iteration, modulo
//! 2^32, it does so exactly.
//!
//! Soundness, C and C++, with `-fwrapv` or without. `(int)(u + v)` of two unsigned numbers may wrap, so nothing is assumed: it has to be proved (`cpp/expr.cpp`).
//! Let a value be `low + step * x` modulo 2^32, where x counts by one from 0 or more to `most` or less without wrapping, and let the loop
//! be entered only if `low < low + most + 1` as signed numbers. The distance of the two is `most + 1` exactly, so that with a step of 1
//! all values lie between `low` and `low + most`: none wraps. Downwards it is the same with `>`. With a larger step, `most + 1` has to be
//! `(distance + step - 1) / step`, and the entry has to tell that this sum does not wrap, unless x counts iterations that a worksharing
//! construct distributes. Of such a loop OpenMP (5.1, 2.11.3) leaves open what happens where the computation of the number of iterations
//! overflows. Where LLVM has moved the exit to the end of the loop, `most + 1` is the greater of 1 and that number, which the entry says is
//! not 0. Either x is the number of the iteration, and `most` how often the back edge is taken; or x is a counter whose last value is
//! the smaller of `most` and something else, which is how compilers bound a thread's part of a static schedule. For dynamic schedules
//! `most` is the upper bound that the program has told the runtime: parts of the loop end there or before.
//!
//! Distances. `for (k = first; k < first + length; k++)` with `first` from a loop around it: LLVM's number of iterations is the greater of two numbers, each with `first`, less `first`, which changes
//! from row to row as far as it knows, so that no check leaves the loop around. If neither sum wraps as a signed number, the loop runs as often as the greater of `length` and 1 says ([`Analyses::distance_count`]). Soundness: where one
//! of the sums is said not to wrap (`nsw`) and does, the comparison that ends each iteration has an undefined operand, and the branch behind it is undefined behaviour. Of a loop whose bound is not such a sum nothing is said.

use crate::fault::{self, Fault};
use crate::llvm::{Analyses, Block, Manager, Module, Opcode, Value};
use crate::options::Options;

use super::fortran;

/// On what grounds recurrences are said not to wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grounds {
    /// On none: the optimisation is off.
    None,
    /// The language does not allow it.
    Language,
    /// The conditions around the loop prove it.
    Proof,
}

/// What can be relied on in a module.
pub fn grounds(module: Module, options: &Options) -> Grounds {
    match (options.enabled("linear"), fortran::is_fortran(module) && !options.wrapv) {
        (false, _) => Grounds::None,
        (true, true) => Grounds::Language,
        (true, false) => Grounds::Proof,
    }
}

/// Tells scalar evolution, before it is asked for their extensions (it remembers what it found out about one), that integers which are
/// sign-extended in a function's loops do not wrap. Returns how many recurrences it did not know that of.
pub fn assume(manager: Manager, function: Value, grounds: Grounds) -> u64 {
    let exact = match grounds {
        Grounds::None => return 0,
        Grounds::Language => extended_in_loops(&manager.analyses(function), function),
        Grounds::Proof => {
            let analyses = manager.analyses(function);
            let mut exact = extended_in_loops(&analyses, function);
            exact.retain(|value| analyses.is_free_of_wrap(*value) || fault::is(Fault::LinearWrapping));
            exact
        }
    };
    if exact.is_empty() {
        return 0;
    }
    manager.invalidate_expressions(function);
    let analyses = manager.analyses(function);
    exact.into_iter().filter(|value| analyses.set_no_signed_wrap(*value)).count() as u64
}

/// The integers that are sign-extended in a function's loops.
fn extended_in_loops(analyses: &Analyses, function: Value) -> Vec<Value> {
    let in_loops = function.blocks().into_iter().filter(|b| analyses.loop_of(*b).is_some());
    let extensions = in_loops.flat_map(Block::instructions).filter(|i| i.opcode() == Opcode::LLVMSExt);
    extensions.map(|i| i.operand(0)).collect()
}
