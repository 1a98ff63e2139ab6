//! Loops whose number of iterations is still known when checks stand between them and what guards them. Switch: `exits`.
//!
//! flang counts down, `do ... while (n-- > 1)` behind `if (n > 0)`. That this loop runs `n` times follows from the guard, which LLVM looks for
//! on the way up from the loop through blocks that have one predecessor. A check in front of the loop is a branch that joins again,
//! where the search ends, and the loop is no longer unrolled. While the guard can be seen the comparison is made to ask for equality,
//! `n-- != 1`, which says how often the loop runs without it. (LLVM does the same itself, unless the count depends on a value from memory.)
//!
//! Soundness. A comparison is changed if what it compares moves by exactly one in each iteration, so takes each value once before it
//! repeats one; if the iteration in which this exit is taken is known exactly; and if in that iteration the value is the bound. Then it is not the
//! bound in any iteration before, and the new comparison is true and false where the old one was. It is undefined only where
//! the old one was, and a branch on an undefined value has no meaning that could change.

use crate::llvm::{Analyses, Loop};
use crate::options::Options;

/// Makes the exits of these loops exact where they can be; returns their number.
pub fn make_exact(analyses: &Analyses, loops: &[Loop], options: &Options) -> u64 {
    if !options.enabled("exits") {
        return 0;
    }
    loops.iter().map(|&l| analyses.exact_exits(l)).sum()
}
