//! Range checks that stay inside of a loop remember what is valid around them: rows of a sparse matrix, short inner loops whose bounds
//! are loaded from memory. Switch: `window`.
//!
//! ```text
//! in front of the outermost loop without sync points:   start = end = 0
//! in front of the inner loop:                           first < start or past > end, rare -> the runtime checks the range and makes the
//!                                                       window [start, end) around it as large as it finds memory valid
//! ```
//! Ranges of few lines need no call where these are valid (switch: `refill`): eight states are looked at inline, and the lines of the range become the window. That is for nests that are entered often and whose rows
//! are short, as each begins with an empty window, and for rows here and there in memory.
//!
//! If the range lies in a global variable, the outer preheader also asks whether all of it is valid. A flag remembers that, and the check
//! is jumped over where it holds.
//!
//! Soundness. Every line in the window was found valid (writable, for stores) by the runtime after the outer loop was entered, and the
//! loop has no sync point: the thread has not acquired since. That is what any check made earlier says, and a range inside the
//! window needs no other. A window belongs to one check, is private to the function's frame, and is emptied in the preheader
//! of the outer loop, which dominates the check. The same is true of a whole variable that was found valid: an address that is computed from
//! it lies in it.

use std::collections::BTreeMap;

use crate::analysis::facts::{BlockId, Condition, FunctionFacts, Kind, Object};
use crate::options::Options;

use super::version::outermost_quiet;
use super::{CheckCondition, Flag, FunctionPlan, LoopCheck, number_flag};

/// Most ranges that are tested together and look at states inline. Rows of many arrays are walked by loops that do more, as of stencils, and take more instructions to look at than the call does.
const MOST_REFILLED: usize = 4;

/// Gives windows to the dense checks inside of loops.
pub(crate) fn apply(facts: &FunctionFacts, plan: &mut FunctionPlan, options: &Options) {
    let FunctionPlan { loop_checks, flags, .. } = plan;
    for check in loop_checks.iter_mut() {
        let outer = outermost_quiet(facts, check.over);
        // What is checked under a flag is checked further out than the loop needs, hence rarely.
        let often = check.strides.is_empty() && !matches!(check.condition, CheckCondition::If(_));
        let Some(preheader) = facts.loops[outer].preheader.filter(|_| often && outer != check.over) else {
            continue;
        };
        check.window = Some(preheader);
        // What is compared would have to be compared each time.
        check.overwrites.take_if(|reads| !reads.is_empty());
        if let (CheckCondition::Always, Some(object)) = (check.condition, check.object) {
            check.condition =
                CheckCondition::Unless(number_flag(flags, valid(preheader, object, check.kind)));
        }
    }
    if options.enabled("refill") {
        refill(loop_checks);
    }
}

/// Chooses the checks that look at states inline: those of which few are tested together.
fn refill(checks: &mut [LoopCheck]) {
    let together =
        |check: &LoopCheck| (check.preheader, matches!(check.condition, CheckCondition::Unless(_)));
    let mut numbers: BTreeMap<(BlockId, bool), usize> = BTreeMap::new();
    let tested = |c: &&LoopCheck| c.strides.is_empty() && !matches!(c.condition, CheckCondition::If(_));
    for check in checks.iter().filter(tested) {
        *numbers.entry(together(check)).or_default() += 1;
    }
    for check in checks.iter_mut().filter(|check| check.window.is_some()) {
        check.refills = numbers[&together(check)] <= MOST_REFILLED;
    }
}

fn valid(preheader: BlockId, object: Object, kind: Kind) -> Flag {
    Flag { preheader, conditions: vec![Condition::Valid { object, kind }] }
}
