//! Two versions of a loop, or of a nest of loops, that has checks in it: one without any, for jobs of one process, and the one that it has anyway.
//! Switch: `single`.
//!
//! ```text
//! in front of the loop:   __dsm_single_process ? loop : copy with checks
//! ```
//! A loop that has two versions already ([`super::version`]) is not copied again: a job of one process takes the one without checks.
//!
//! For what no test of memory in front of a loop can decide: elements of objects whose size is not known, loops that synchronise.
//!
//! Soundness. In a job of one process no state ever refuses: there is nobody else whose stores a check would fetch. How many processes a job has is
//! known before any code of the program runs, and does not change. Atomic operations by which threads of the process may wait are what they are outside.
//!
//! Worth it: a nest has two versions only if it is small, and if elements are checked in it. Ranges in front of inner loops, and of calls such as
//! `memcpy`, cost too little.

use crate::analysis::facts::{FunctionFacts, LoopId, What};
use crate::analysis::footprints::MAX_COST;
use crate::options::Options;

use super::{FunctionPlan, Item, Start, Version};

/// Chooses the nests, and has jobs of one process take the versions without checks that loops have anyway.
pub(crate) fn apply(facts: &FunctionFacts, items: &[Item<'_>], plan: &mut FunctionPlan, options: &Options) {
    // Builds that count or verify are about the checks of several processes.
    if !options.enabled("single") || options.count || options.verify {
        return;
    }
    plan.versions.iter_mut().for_each(|version| version.single = true);
    plan.single = nests(facts, items, plan);
}

/// The nests, outer ones first, of which there can be a version without checks, and there is none yet.
pub(super) fn nests(facts: &FunctionFacts, items: &[Item<'_>], plan: &FunctionPlan) -> Vec<LoopId> {
    let mut nests: Vec<LoopId> = Vec::new();
    for (nest, l) in facts.loops.iter().enumerate() {
        let inside = nests.iter().any(|&outer| facts.within(nest, outer));
        let copied = l.preheader.is_some() && l.copy_cost > 0 && l.copy_cost <= MAX_COST;
        // Nests around loops that test allocations are copied, too: the checks in front of their inner loops add up.
        let tests_allocation = |version: &Version| {
            let starts = version.tests.iter().map(|&test| plan.validity_tests[test].start);
            starts.into_iter().any(|start| matches!(start, Start::Allocation(_)))
        };
        let mut inside_nest = plan.versions.iter().filter(|v| facts.within(v.over, nest));
        let versioned = inside_nest.any(|v| v.over == nest || !tests_allocation(v));
        if !inside && copied && !versioned && has_checks(facts, items, nest) {
            nests.push(nest);
        }
    }
    nests
}

fn has_checks(facts: &FunctionFacts, items: &[Item<'_>], nest: LoopId) -> bool {
    let within = |inner: Option<LoopId>| inner.is_some_and(|inner| facts.within(inner, nest));
    let mut blocks = facts.blocks.iter().filter(|b| within(b.inner));
    let is_masked = |what: &What| matches!(what, What::Masked(masked) if masked.private.is_none());
    items.iter().any(|item| within(facts.blocks[item.block].inner))
        || blocks.any(|b| b.events.iter().any(|e| is_masked(&e.what)))
}
