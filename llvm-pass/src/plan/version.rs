//! Two versions of an innermost loop: one without checks, for when everything that it can touch is valid, and one with a check an
//! access. Switch: `version`.
//!
//! ```text
//! in front of the outermost loop around it without sync points:   ready = all spans, globals and allocations are valid
//! in front of the loop:                                           ready ? loop : copy with checks
//! ```
//! In a job of one process, where no state refuses, it is always ready ([`super::single`]).
//!
//! For accesses that cannot be hoisted: indirect ones (`p[index[k]]`), those under a condition, those of loops that leave early.
//!
//! Soundness. A version without checks is entered only if every access of it that needs one lies in memory that was found valid
//! (writable, if it stores) when `ready` was computed; `analysis::spans` says why the tested memory holds all that the access can
//! touch. Between that moment and the loop's end the thread meets no sync point, so nothing of it can have become invalid.
//! If the test fails, or is not made because the loop is too short to pay for it, the copy checks every access as it would
//! without this optimisation, and fetches what is missing. The test itself may fetch all of a global or an allocation when the loop is going to
//! read it at least as often as it has blocks, twice over; reading what the program does not read is harmless.
//!
//! Worth it: a loop gets two versions only if the first is then free of checks, if it is not large, and if the test is made
//! outside of an enclosing loop or the loop runs often enough.

use std::collections::BTreeMap;

use crate::analysis::facts::{
    Allocation, Array, FunctionFacts, Key, Kind, LoopId, Object, Stride, ValueId, What,
};
use crate::options::Options;

use super::{FunctionPlan, Item, Start, ValidityTest, Version, merge};

/// Most instructions of a loop that is copied.
const MAX_COST: u32 = 400;
/// Most tests for a loop, in front of it and in front of one around it.
const MAX_TESTS: usize = 6;
const MAX_OUTER_TESTS: usize = 16;

/// What can be tested together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Span(LoopId, Key, Vec<Stride>),
    Object(LoopId, ValueId),
    Array(LoopId, Array),
    Allocation(LoopId, ValueId),
}

impl Place {
    /// The loop that it is tested in front of.
    fn tested_before(&self) -> LoopId {
        let (Place::Span(at, ..) | Place::Object(at, _) | Place::Array(at, _) | Place::Allocation(at, _)) =
            self;
        *at
    }
}

struct Part {
    lo: i64,
    hi: i64,
    kind: Kind,
    start: Start,
    origin: i64,
}

/// Chooses the loops; the items stay, their checks are made in the copies.
pub(crate) fn apply(facts: &FunctionFacts, items: &[Item<'_>], plan: &mut FunctionPlan, options: &Options) {
    let mut by_loop: BTreeMap<LoopId, Vec<&Item<'_>>> = BTreeMap::new();
    for item in items {
        if let Some(inner) = facts.blocks[item.block].inner {
            by_loop.entry(inner).or_default().push(item);
        }
    }
    for (over, items) in by_loop {
        let l = &facts.loops[over];
        let is_nest = facts.loops.iter().any(|inner| inner.parent == Some(over));
        if l.syncs || is_nest || l.copy_cost == 0 || l.copy_cost > MAX_COST || has_other_checks(facts, over) {
            continue;
        }
        if items.iter().any(|i| merge::is_long(i.access, options.line_bytes() as i64)) {
            continue;
        }
        let Some(tests) = tests(facts, over, &items) else { continue };
        let first = plan.validity_tests.len();
        plan.validity_tests.extend(tests);
        let tests = (first..plan.validity_tests.len()).collect();
        plan.versions.push(Version { over, tests, single: false, strip: vec![] });
    }
}

/// True if the switch is on.
pub(crate) fn enabled(options: &Options) -> bool {
    options.enabled("version")
}

/// Calls, long copies and masked accesses keep their checks in both versions.
pub(super) fn has_other_checks(facts: &FunctionFacts, over: LoopId) -> bool {
    let blocks = facts.blocks.iter().filter(|b| b.inner == Some(over));
    blocks.flat_map(|b| &b.events).any(|e| !matches!(e.what, What::Access(_)))
}

fn tests(facts: &FunctionFacts, over: LoopId, items: &[&Item<'_>]) -> Option<Vec<ValidityTest>> {
    let outermost = outermost_quiet(facts, over);
    let mut parts: BTreeMap<(Place, Kind), Part> = BTreeMap::new();
    for item in items {
        let access = item.access;
        let (place, part) = match (&access.span, access.object) {
            (Some(span), object)
                if span.over != over || facts.loops[over].count.is_some() || object.is_none() =>
            {
                let place = Place::Span(span.over, span.start_key, span.strides.clone());
                let lo = span.start_offset.checked_add(access.lead)?;
                let hi = lo.checked_add(i64::try_from(access.size).ok()?)?;
                let origin = span.start_offset;
                (place, Part { lo, hi, kind: access.kind, start: Start::Expr(span.start), origin })
            }
            (_, Some(Object { value, bytes })) => {
                let hi = i64::try_from(bytes).ok()?;
                let start = Start::Value(value);
                (Place::Object(outermost, value), Part { lo: 0, hi, kind: access.kind, start, origin: 0 })
            }
            (_, None) => {
                let (place, start) = match access.array {
                    Some(array) => (Place::Array(outermost, array), Start::Array(array)),
                    None => {
                        let Allocation { address, over } = access.allocation?;
                        (Place::Allocation(over, address), Start::Allocation(address))
                    }
                };
                (place, Part { lo: 0, hi: 0, kind: access.kind, start, origin: 0 })
            }
        };
        let known = parts.entry((place, part.kind)).or_insert(part);
        // The map keeps the first part of a place; the others widen it.
        if matches!(known.start, Start::Expr(_)) {
            widen(known, item);
        }
    }
    absorb_loads(&mut parts);
    let often = |place: &Place| place.tested_before() == over;
    if parts.len() > MAX_OUTER_TESTS || parts.keys().filter(|(place, _)| often(place)).count() > MAX_TESTS {
        return None;
    }
    parts.into_iter().map(|((place, _), part)| validity_test(facts, over, &place, &part)).collect()
}

fn widen(part: &mut Part, item: &Item<'_>) {
    if let Some(span) = &item.access.span {
        let lo = span.start_offset.saturating_add(item.access.lead);
        part.lo = part.lo.min(lo);
        part.hi = part.hi.max(lo.saturating_add(item.access.size as i64));
    }
}

/// What is writable is readable.
fn absorb_loads(parts: &mut BTreeMap<(Place, Kind), Part>) {
    let stores: Vec<(Place, i64, i64)> = parts
        .iter()
        .filter(|((_, kind), _)| *kind == Kind::Store)
        .map(|((place, _), part)| (place.clone(), part.lo, part.hi))
        .collect();
    parts.retain(|(place, kind), part| {
        *kind == Kind::Store
            || !stores.iter().any(|(p, lo, hi)| p == place && *lo <= part.lo && part.hi <= *hi)
    });
}

fn validity_test(facts: &FunctionFacts, over: LoopId, place: &Place, part: &Part) -> Option<ValidityTest> {
    let (at, strides, whole) = match place {
        Place::Span(at, _, strides) => (*at, strides.clone(), false),
        _ => (place.tested_before(), vec![], true),
    };
    let count = facts.loops[at].count;
    Some(ValidityTest {
        at: facts.loops[at].preheader?,
        kind: part.kind,
        start: part.start,
        delta: part.lo - part.origin,
        length: (part.hi - part.lo) as u64,
        strides,
        uses: count.filter(|_| whole && part.kind == Kind::Load),
        // In front of the loop itself a test has to pay each time, and one of an allocation anywhere: loops of sorting methods around others of a few iterations run often.
        worth: if at == over || matches!(place, Place::Allocation(..)) { Some(count?) } else { None },
    })
}

/// The outermost loop around this one that has no sync point.
pub(super) fn outermost_quiet(facts: &FunctionFacts, over: LoopId) -> LoopId {
    let mut at = over;
    while let Some(parent) = facts.loops[at].parent
        && !facts.loops[parent].syncs
        && facts.loops[parent].preheader.is_some()
    {
        at = parent;
    }
    at
}
