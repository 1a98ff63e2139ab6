//! Loops that are left by what they find, executed in strips of so many iterations as surely stay in lines that are known to be valid. Switch: `strip`.
//!
//! ```text
//! in front of each strip:   n = iterations until an address may leave the line that it is in
//!                           n >= LEAST and these lines allow ? the loop, n times : the copy with checks, a few times;  then again
//! ```
//! For walks of which neither the length nor where they go is known: merging of sorted lists, searches, strings. What is known is how far an address advances in an iteration at most
//! (`dsm_shim_strip_bounds`): a pointer or a subscript is what it was in the iteration before, plus nothing or a constant, on each way through the loop.
//!
//! Soundness. A line is valid as a whole. In front of a strip the first and the last byte that an iteration from there can touch lie in one line, whose state allows, and so do those of all further iterations of the strip, as
//! the most that each advances is taken off the rest of the line. The loop has no sync point, so nothing becomes invalid in it. What relies on a check of an earlier
//! iteration relies on what one of these lines, or a check of the copy, allows. All accesses of the loop that have a check of their own have bounds; if one has not, there are no strips.
//!
//! Worth it: innermost loops that are copied for jobs of one process anyway ([`super::single`]), with few walks in steps that are short compared to a line; jobs of one process have the loop as it was. Nests of which there are
//! footprints are left to these: a nest that touches little has one look. Loops that are left by their count stay whole, as they may be vectorised.

use std::collections::BTreeMap;

use crate::analysis::facts::{FunctionFacts, LoopId, StripOrigin};
use crate::options::Options;

use super::{FunctionPlan, Item, StripPart, Version, merge, single, version};

/// Most walks of a loop.
const MAX_PARTS: usize = 4;
/// Least number of iterations in a line.
const LEAST_IN_LINE: u64 = 32;
/// Most instructions of a loop.
const MAX_COST: u32 = 400;

/// Chooses the loops; the items stay, their checks are made in the copies.
pub(crate) fn apply(facts: &FunctionFacts, items: &[Item<'_>], plan: &mut FunctionPlan, options: &Options) {
    if !options.enabled("strip") {
        return;
    }
    for nest in single::nests(facts, items, plan) {
        if plan.footprints.iter().any(|footprint| footprint.nest == nest) {
            continue;
        }
        let mut by_loop: BTreeMap<LoopId, Vec<&Item<'_>>> = BTreeMap::new();
        for item in items {
            if let Some(inner) = facts.blocks[item.block].inner.filter(|&inner| facts.within(inner, nest)) {
                by_loop.entry(inner).or_default().push(item);
            }
        }
        let strips: Option<Vec<(LoopId, Vec<StripPart>)>> = by_loop
            .iter()
            .map(|(&over, items)| parts(facts, over, items, options.line_bytes()).map(|parts| (over, parts)))
            .collect();
        let Some(strips) = strips else { continue };
        let single = plan.single.contains(&nest);
        plan.single.retain(|&other| other != nest);
        let version = |(over, strip)| Version { over, tests: vec![], single, strip };
        plan.versions.extend(strips.into_iter().map(version));
    }
}

/// What has to lie in lines that allow, if that is known of all accesses.
fn parts(facts: &FunctionFacts, over: LoopId, items: &[&Item<'_>], line: u64) -> Option<Vec<StripPart>> {
    let l = &facts.loops[over];
    let is_nest = facts.loops.iter().any(|inner| inner.parent == Some(over));
    let copied = l.preheader.is_some() && (1..=MAX_COST).contains(&l.copy_cost);
    if l.syncs || is_nest || !copied || l.count.is_some() || version::has_other_checks(facts, over) {
        return None;
    }
    let mut parts: BTreeMap<StripOrigin, StripPart> = BTreeMap::new();
    for item in items {
        let access = item.access;
        let bounds = access.strip.as_deref().filter(|_| !merge::is_long(access, line as i64))?;
        let (least, most) = bounds.step;
        let step = least.unsigned_abs().max(most.unsigned_abs());
        let step = if step == 0 { 0 } else { step.checked_next_power_of_two()? };
        if least < 0 && most > 0 || step.checked_mul(LEAST_IN_LINE)? > line {
            return None;
        }
        let first = bounds.distance.0.checked_add(access.lead)?;
        let past =
            bounds.distance.1.checked_add(access.lead)?.checked_add(i64::try_from(access.size).ok()?)?;
        let new =
            StripPart { kind: access.kind, origin: bounds.origin, first, past, step, backwards: least < 0 };
        let part = parts.entry(bounds.origin).or_insert(new);
        part.kind = part.kind.max(access.kind);
        (part.first, part.past) = (part.first.min(first), part.past.max(past));
    }
    let is_short = |part: &StripPart| part.past.abs_diff(part.first) <= line / 8;
    let worth = parts.values().any(|part| part.step > 0) && parts.values().all(is_short);
    (worth && parts.len() <= MAX_PARTS).then(|| parts.into_values().collect())
}
