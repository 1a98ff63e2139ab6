//! Guards that are stated once more, and comparisons that become tests for equality.

use crate::analysis::Function;
use crate::llvm::{IntPredicate, Manager};
use crate::plan::FunctionPlan;

/// Edits what is known around loops before anything is put in front of them. Scalar expressions stay what they are.
pub fn restate(manager: Manager, facts: &Function, plan: &FunctionPlan) {
    for restated in &plan.restated {
        for exit in &restated.exits {
            let equal = if exit.holds { IntPredicate::LLVMIntEQ } else { IntPredicate::LLVMIntNE };
            facts.sites[exit.compare as usize].set_predicate(equal);
        }
        let Some(preheader) = facts.loops[restated.over].preheader() else { continue };
        for guard in &restated.guards {
            manager.assume(facts.sites[guard.compare as usize], guard.holds, preheader.terminator());
        }
    }
}
