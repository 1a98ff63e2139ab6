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
//! Both are sound by what the analysis asks of them ([`crate::analysis::guards`]).

use crate::analysis::facts::{Exit, FunctionFacts, Guard, LoopId};
use crate::options::Options;

use super::FunctionPlan;

/// Most conditions that are stated for a loop.
const MAX_STATED: usize = 4;

/// A loop, and what is done to keep its guards known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopAssumptions {
    /// The loop.
    pub over: LoopId,
    /// Comparisons that become tests for equality.
    pub exits: Vec<Exit>,
    /// Comparisons that are stated in the loop's preheader.
    pub guards: Vec<Guard>,
}

/// Keeps the guards of loops that something is put in front of.
pub(crate) fn apply(facts: &FunctionFacts, plan: &mut FunctionPlan, options: &Options) {
    if !options.enabled("guards") {
        return;
    }
    for over in plan.checked_loops() {
        let loop_facts = &facts.loops[over];
        let guards: Vec<Guard> = loop_facts.guards.iter().take(MAX_STATED).copied().collect();
        if !(guards.is_empty() && loop_facts.exits.is_empty()) {
            plan.assumptions.push(LoopAssumptions { over, exits: loop_facts.exits.clone(), guards });
        }
    }
}
