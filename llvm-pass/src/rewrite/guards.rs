//! Guards that are stated once more, and comparisons that become tests for equality.

use crate::analysis::Function;
use crate::llvm::{IntPredicate, Manager};
use crate::plan::FunctionPlan;

/// Edits what is known around loops before anything is put in front of them. Scalar expressions stay what they are.
pub fn restate(manager: Manager, facts: &Function, plan: &FunctionPlan) {
    for assumptions in &plan.assumptions {
        for exit in &assumptions.exits {
            let equal = if exit.holds { IntPredicate::LLVMIntEQ } else { IntPredicate::LLVMIntNE };
            facts.sites[exit.compare as usize].set_predicate(equal);
        }
        let Some(preheader) = facts.loops[assumptions.over].preheader() else { continue };
        for guard in &assumptions.guards {
            manager.assume(facts.sites[guard.compare as usize], guard.holds, preheader.terminator());
        }
    }
}
