//! Pointers that loops advance as integers count as integers. Switch: `walk`.
//!
//! ```text
//! %p = phi ptr [ %a, %entry ], [ %next, %loop ]         %i = phi i64 [ %begin, %entry ], [ %sum, %loop ]
//! %x = load double, ptr %p                              %p = inttoptr i64 %i to ptr
//! %taken = ptrtoint ptr %p to i64                 ->    %x = load double, ptr %p
//! %sum = add i64 %taken, %stride                        %sum = add i64 %i, %stride
//! %next = inttoptr i64 %sum to ptr
//! ```
//! Programs write `p = (double *)((uintptr_t)p + stride)` to step by bytes. Scalar evolution does not look through the conversions, so that the address is no linear function of the iteration as far as anybody
//! knows, and no check of it leaves the loop. Of a sum of integers that counts in the loop it is one. A pointer that is walked with between the conversions (`p++` in an inner loop, whose last value is converted) stays a pointer, whose steps the
//! vectoriser knows, and has an integer beside it that tells where it ends.
//!
//! Soundness. A pointer that becomes an integer and then a pointer again has the same address, and may point to whatever has been converted: what LLVM knows of such a pointer is less, not more. Sums do not wrap otherwise than the
//! program's; distances of `getelementptr` are computed without its promises.

use crate::analysis;
use crate::fault::{self, Fault};
use crate::llvm::{Manager, Module};
use crate::options::Options;

/// True if pointers may become integers.
pub fn enabled(options: &Options) -> bool {
    options.enabled("walk")
}

/// Makes integers of the pointers of a module that loops advance as such; returns how many.
pub fn integers(module: Module, manager: Manager) -> u64 {
    let functions = module.functions().into_iter().filter(|f| analysis::is_instrumented(*f));
    functions
        .map(|function| {
            let count = function.keep_integers(!fault::is(Fault::WalkDistance));
            if count > 0 {
                manager.invalidate(function);
            }
            count
        })
        .sum()
}
