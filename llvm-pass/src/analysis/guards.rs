//! What is known around loops: the conditions under which they are entered, and the comparisons that end them and could ask for
//! equality. The plan ([`crate::plan::guards`]) says which of them are stated or changed, and why that is worth it.
//!
//! Soundness of the guards. A block with one predecessor is reached over this edge only, and a loop is entered only over the edge into its
//! header, so the edge's condition holds in all blocks that are reached through it; its operands are computed before the edge is taken and stay
//! what they are until it is taken again, and if they were undefined the branch would have had no meaning.
//!
//! Soundness of the exits. A comparison is found if what it compares moves by exactly one in each iteration, so takes each value once
//! before it repeats one; if the iteration in which this exit is taken is known exactly; and if in that iteration the value is the bound. Then
//! it is not the bound in any iteration before, and a test for equality is true and false where the comparison was. It is undefined only where
//! the comparison was, and a branch on an undefined value has no meaning that could change.

use std::collections::HashMap;

use crate::llvm::{Analyses, Block, IntPredicate, Loop, Opcode, TypeKind, Value};

use super::Function;
use super::facts::{Exit, Guard, Site};

/// Most branches that are followed up from a loop.
const MAX_BRANCHES: usize = 16;

/// Adds guards and exits to the facts about loops. Asks scalar evolution after all others, whose answers do not depend on these.
pub fn collect(analyses: &Analyses, out: &mut Function, sites: &HashMap<Value, Site>) {
    for (facts, &l) in out.facts.loops.iter_mut().zip(&out.loops) {
        let guards = l.preheader().map_or(vec![], |front| guards(analyses, front));
        facts.guards = guards.into_iter().map(|(c, holds)| Guard { compare: sites[&c], holds }).collect();
    }
    for id in 0..out.blocks.len() {
        let block = out.blocks[id];
        let mut at = out.facts.blocks[id].inner;
        while let Some(l) = at {
            let handle = out.loops[l];
            if block.successors().into_iter().all(|next| handle.contains(next)) {
                break;
            }
            if let Some((compare, holds)) = exit(analyses, handle, block) {
                out.facts.loops[l].exits.push(Exit { compare: sites[&compare], holds });
            }
            at = out.facts.loops[l].parent;
        }
    }
}

/// The comparison of integers that decides where a block goes on.
fn comparison(block: Block) -> Option<Value> {
    let compare = block.condition().filter(|c| c.is_instruction() && c.opcode() == Opcode::LLVMICmp)?;
    (compare.operand(0).ty().kind() == TypeKind::LLVMIntegerTypeKind).then_some(compare)
}

/// Comparisons that hold, or do not, whenever `front` is reached, the nearest first: from blocks with one predecessor the way leads up to
/// that, from others to where the loop around them is entered.
pub(super) fn guards(analyses: &Analyses, front: Block) -> Vec<(Value, bool)> {
    let mut out = Vec::new();
    let mut at = front;
    for _ in 0..MAX_BRANCHES {
        let mut up = at.single_predecessor();
        if let (None, Some(around)) = (up, analyses.loop_of(at)) {
            at = around.header();
            up = around.predecessor();
        }
        let Some(up) = up else { break };
        // What ends a loop that is passed says little about the next.
        let passes = analyses.loop_of(up).is_some_and(|passed| !passed.contains(front));
        // Where both edges lead here, none of them tells.
        if let Some(compare) = comparison(up).filter(|_| !passes)
            && let [then, other] = up.successors()[..]
            && then != other
        {
            out.push((compare, then == at));
        }
        at = up;
    }
    out
}

/// The comparison that ends the loop at the end of a block, if what counts in it by one reaches its bound exactly then; and whether the loop is
/// left where they are equal and the comparison holds (or does not).
fn exit(analyses: &Analyses, l: Loop, block: Block) -> Option<(Value, bool)> {
    let compare = comparison(block)?;
    let equality = [IntPredicate::LLVMIntEQ, IntPredicate::LLVMIntNE].contains(&compare.predicate());
    if equality || compare.users().len() != 1 {
        return None;
    }
    let (left, right) = (analyses.plain_expr(compare.operand(0))?, analyses.plain_expr(compare.operand(1))?);
    let (counter, step, bound) = match analyses.recurrence(left, l) {
        Some((_, step)) => (left, step, right),
        None => (right, analyses.recurrence(right, l)?.1, left),
    };
    if !analyses.invariant(bound, l) || !matches!(analyses.constant(step), Some(1 | -1)) {
        return None;
    }
    let last = analyses.at_iteration(counter, analyses.exit_count(l, block)?)?;
    (last == bound).then(|| (compare, !l.contains(block.successors()[0])))
}
