//! What guards a loop stays known behind the checks in front of it. Switch: `guards`.
//!
//! That `do ... while (--n > 0)` behind `if (n > 0)` runs `n` times, and that `k` does not wrap in it, follows from the guard, which LLVM looks
//! for on the way up from the loop through blocks with one predecessor. A check in front of the loop is a branch that joins again. There the search
//! ends: the vectoriser needs more tests at run time than it is willing to make, and a loop whose number of iterations is not known is not unrolled.
//! So before checks are put in front of a loop,
//!
//! - the conditions that are found on this way are stated as assumptions in front of it. The vectoriser sees them; the passes after it
//!   drop them, since they follow from the branches.
//! - comparisons that end the loop become tests for equality where they can, `--n != 0`. How often the loop runs follows from them alone. (LLVM
//!   does the same itself, unless the count depends on a value from memory, as flang's do.)
//!
//! Soundness. A block with one predecessor is reached over this edge only, and a loop is entered only over the edge into its header, so the edge's
//! condition holds in all blocks that are reached through it; its operands are computed before the edge is taken and stay what they are until it is taken
//! again, and if they were undefined the branch would have had no meaning. A comparison is changed if
//! what it compares moves by exactly one in each iteration, so takes each value once before it repeats one; if the iteration in which
//! this exit is taken is known exactly; and if in that iteration the value is the bound. Then it is not the bound in any iteration before, and the
//! new comparison is true and false where the old one was. It is undefined only where the old one was, and a branch on an
//! undefined value has no meaning that could change.

use crate::options::Options;

/// Most conditions that are stated for a loop.
pub const MAX_STATED: u32 = 4;

/// True if guards are to be kept.
pub fn enabled(options: &Options) -> bool {
    options.enabled("guards")
}
