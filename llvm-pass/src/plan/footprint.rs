//! Two versions of a nest of loops that touches few lines: one without checks, for when all of these are valid. Switch: `footprint`.
//!
//! ```text
//! in front of the nest:   the states of the first and the last byte of each footprint allow, and there is no line in between ? nest : copy with checks
//! ```
//! For nests that are entered often and run for a few iterations each time, such as those that leave early: a call in front of them ([`super::version`]) would cost more than the checks. The test is two
//! loads of states for each footprint, without a call.
//!
//! Soundness. `analysis::footprints` says why all bytes that an access touches lie between both ends, under the conditions that are tested with them. A line is valid as a whole; so if both ends lie in one line or in neighbouring ones whose states
//! allow the access, all in between does. As in [`super::version`], nothing becomes invalid in a nest without a sync point. Each check in the nest, and each in front of it, has to have a footprint; what relies on another check relies
//! on one of these, or on one that is made before.
//!
//! Worth it: nests that are copied for jobs of one process anyway ([`super::single`]), with few footprints.

use std::collections::BTreeMap;

use crate::analysis::facts::{BlockId, ExprId, FunctionFacts, Kind, LoopId, What};
use crate::options::Options;

use super::{CheckCondition, FunctionPlan, Item, LoopCheck, single};

/// Most footprints of a nest that are tested.
const MAX_PARTS: usize = 4;

/// A nest with a version for when all that it touches is valid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FootprintTest {
    /// Its outermost loop.
    pub nest: LoopId,
    /// The preheader.
    pub at: BlockId,
    /// What it touches.
    pub parts: Vec<Part>,
    /// Expressions of numbers that have to be less than [`MAX_COUNT`](crate::analysis::footprints::MAX_COUNT).
    pub counts: Vec<ExprId>,
}

/// From `lo + first` to the last byte, inclusive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Read or write.
    pub kind: Kind,
    /// Expression of an address.
    pub lo: ExprId,
    /// Distance of the first byte from it.
    pub first: i64,
    /// What the last byte is computed from.
    pub end: End,
    /// Distance of the last byte from it.
    pub last: i64,
}

/// The end of a [`Part`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// Expression of an address.
    Address(ExprId),
    /// Expression of a distance from [`Part::lo`].
    Extent(ExprId),
}

/// Chooses the nests; all checks stay, for the copies.
pub(crate) fn apply(facts: &FunctionFacts, items: &[Item<'_>], plan: &mut FunctionPlan, options: &Options) {
    if !options.enabled("footprint") {
        return;
    }
    for nest in single::nests(facts, items, plan) {
        let Some(at) = facts.loops[nest].preheader else { continue };
        if let Some((parts, counts)) = footprint(facts, items, plan, nest)
            && !parts.is_empty()
            && parts.len() <= MAX_PARTS
        {
            plan.footprints.push(FootprintTest { nest, at, parts, counts });
        }
    }
}

/// All that has a check in a nest and in front of it, and the numbers that are tested with it. `None` if that is not known.
fn footprint(
    facts: &FunctionFacts,
    items: &[Item<'_>],
    plan: &FunctionPlan,
    nest: LoopId,
) -> Option<(Vec<Part>, Vec<ExprId>)> {
    let within = |inner: Option<LoopId>| inner.is_some_and(|inner| facts.within(inner, nest));
    if facts.loops[nest].syncs {
        return None;
    }
    let events = facts.blocks.iter().filter(|b| within(b.inner)).flat_map(|b| &b.events);
    if events.into_iter().any(|e| !matches!(e.what, What::Access(_) | What::Unknown(_))) {
        return None;
    }
    let (mut parts, mut counts) = (BTreeMap::new(), vec![]);
    for item in items.iter().filter(|item| within(facts.blocks[item.block].inner)) {
        let (access, footprint) = (item.access, item.access.footprints.iter().find(|f| f.over == nest)?);
        // Distances from the keys; the addresses of the first one stand for all with these keys.
        let first = footprint.lo_offset.checked_add(access.lead)?;
        let size = i64::try_from(access.size).ok()?;
        let last = footprint.hi_offset.checked_add(access.lead)?.checked_add(size - 1)?;
        let new = || {
            let end = End::Address(footprint.hi);
            let part = Part { kind: access.kind, lo: footprint.lo, first, end, last };
            (part, footprint.lo_offset, footprint.hi_offset)
        };
        let (part, ..) = parts.entry((footprint.lo_key, footprint.hi_key)).or_insert_with(new);
        part.kind = part.kind.max(access.kind);
        (part.first, part.last) = (part.first.min(first), part.last.max(last));
        counts.extend(&footprint.counts);
    }
    let of_accesses = parts.into_values().map(|(part, lo_offset, hi_offset)| Part {
        first: part.first - lo_offset,
        last: part.last - hi_offset,
        ..part
    });
    let in_nest = plan.loop_checks.iter().filter(|check| facts.within(check.over, nest));
    let of_loop_checks: Option<Vec<Part>> = in_nest.map(|check| of_loop_check(check, nest)).collect();
    counts.sort_unstable();
    counts.dedup();
    Some((of_accesses.chain(of_loop_checks?).collect(), counts))
}

/// What a check in front of a nest looks at. `None` if that is more than one range, or if it is not made always, or further inside.
fn of_loop_check(check: &LoopCheck, nest: LoopId) -> Option<Part> {
    let is_range = check.strides.is_empty() && check.runtime_steps.is_none();
    let is_made = check.over == nest && check.condition == CheckCondition::Always;
    let last = check.delta.checked_add(i64::try_from(check.length).ok()? - 1)?;
    let (kind, lo, first, end) = (check.kind, check.start, check.delta, End::Extent(check.extent));
    (is_range && is_made).then_some(Part { kind, lo, first, end, last })
}
