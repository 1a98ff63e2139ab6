//! One range check in front of a loop for an access that walks through memory. Switches: `hoist`; `nest` for
//! going beyond what is known at compile time; `stride` for walks in steps longer than a line.
//!
//! Soundness. The analysis records a loop range only where it is exact under its conditions (see `analysis::loops`): each
//! of its lines is really accessed if the loop is entered, and the preheader leads into the loop only. A loop with
//! a sync point gets no check, nor does any loop around it; so nothing can become invalid between the preheader and the
//! last iteration. A loop range without conditions is checked in its preheader, and the access needs nothing else.
//!
//! A loop range with conditions (the inner loop is not skipped, rows lie next to each other) is checked in the preheader of
//! the outer loop if they hold there, which a flag remembers; where they do not hold, the flag sends control to
//! the check in the preheader of the inner loop, whose loop range needs no conditions. The flag is computed in a block that
//! dominates the inner one and its conditions do not change in the outer loop.
//!
//! A loop range with runtime steps is tested as if its steps left no line out. That is more than enough where they go forwards: every line between the
//! first and the last is found valid. Where they go backwards the test fails by the sign of the step. What a failed test calls looks at
//! the step first, and then at the lines that are really accessed.
//!
//! Loop ranges of one loop with equal extents and strides whose starts are closer than a line are checked together: between them lies no line that is
//! not touched. A check for stores covers loads inside its bytes. It says that they overwrite all of it if each of the stores overwrites, and no
//! byte lies between theirs (see `analysis::overwrite`), unless it turns out to meet what the loop's loads read. Switch: `overwrite`.

use std::collections::{BTreeMap, HashMap};

use crate::analysis::facts::{
    Access, Condition, ExprId, Fills, FunctionFacts, Key, Kind, LoopId, LoopRange, Object, RuntimeSteps,
    Site, Stride, What,
};
use crate::options::Options;

use super::{CheckCondition, Decision, Flag, FunctionPlan, Item, LoopCheck, ReadRange, number_flag};

/// Loop ranges that can be compared: same loop, same start up to a constant, same extent and strides.
type Family = (LoopId, Key, ExprId, Vec<Stride>, Option<RuntimeSteps>, Vec<Condition>);

struct Member<'a> {
    lo: i64,
    hi: i64,
    kind: Kind,
    covers: u32,
    /// Offset of the loop ranges' own starts.
    origin: i64,
    object: Option<Object>,
    sure: &'a LoopRange,
    wide: Option<&'a LoopRange>,
    fills: Both,
}

/// [`LoopRange::fills`] of the two loop ranges.
#[derive(Default)]
struct Both {
    sure: Option<Fills>,
    wide: Option<Fills>,
}

impl Both {
    /// Of two stores' bytes together.
    fn with(self, other: Both) -> Both {
        let both = |a: Option<Fills>, b: Option<Fills>| {
            let (mut a, b) = a.zip(b)?;
            a.least = a.least.max(b.least);
            a.readers.extend(b.readers);
            Some(a)
        };
        Both { sure: both(self.sure, other.sure), wide: both(self.wide, other.wide) }
    }
}

/// Most ranges that an overwritten one is compared with.
const MAX_APART: usize = 4;

/// What a range of `length` bytes in each iteration has to be apart from to be overwritten; `None` if it is not, or if that is not known before
/// the loop.
fn conflicting_reads(
    loads: &Loads<'_>,
    loop_range: &LoopRange,
    fills: &Fills,
    length: u64,
) -> Option<Vec<ReadRange>> {
    if fills.least > length {
        return None;
    }
    let mut places: BTreeMap<(Key, ExprId, &[Stride]), (i64, ReadRange)> = BTreeMap::new();
    for site in &fills.readers {
        let access = loads.get(site)?;
        if access.private.is_some() {
            // Where that is so, the range is private, too.
            continue;
        }
        let read = access.loop_ranges.iter().find(|h| h.over == loop_range.over)?;
        let known =
            read.runtime_steps.is_none() && read.conditions.iter().all(|c| loop_range.conditions.contains(c));
        // Most likely the same array.
        if !known || read.start_key == loop_range.start_key {
            return None;
        }
        let new = || {
            let (start, extent, strides) = (read.start, read.extent, read.strides.clone());
            (read.start_offset, ReadRange { start, delta: 0, extent, length: access.size, strides })
        };
        let place = (read.start_key, read.extent, &read.strides[..]);
        let (origin, part) = places.entry(place).or_insert_with(new);
        let lo = part.delta.min(read.start_offset - *origin);
        let end = |delta: i64, length: u64| delta + length as i64;
        let hi = end(part.delta, part.length).max(end(read.start_offset - *origin, access.size));
        (part.delta, part.length) = (lo, (hi - lo) as u64);
    }
    (places.len() <= MAX_APART).then(|| places.into_values().map(|(_, part)| part).collect())
}

/// Loads by their instructions.
type Loads<'a> = HashMap<Site, &'a Access>;

fn loads(facts: &FunctionFacts) -> Loads<'_> {
    let events = facts.blocks.iter().flat_map(|b| &b.events);
    let found = events.filter_map(|event| match &event.what {
        What::Access(access) if access.kind == Kind::Load => Some((event.site, access)),
        _ => None,
    });
    found.collect()
}

/// Marks hoisted accesses, takes them out of `items` and adds the loops' checks.
pub(crate) fn apply(
    facts: &FunctionFacts,
    items: &mut Vec<Item<'_>>,
    plan: &mut FunctionPlan,
    options: &Options,
) {
    let mut families: BTreeMap<(Family, Option<Family>), Vec<Member<'_>>> = BTreeMap::new();
    items.retain(|item| {
        let Some((sure, wide)) = choose(facts, &item.access.loop_ranges, options) else { return true };
        let outermost = wide.unwrap_or(sure);
        let lo = sure.start_offset.saturating_add(item.access.lead);
        plan.decide(item.site, item.access, Decision::Hoisted(outermost.over));
        let member = Member {
            lo,
            hi: lo.saturating_add(item.access.size as i64),
            kind: item.access.kind,
            covers: 1,
            origin: sure.start_offset,
            object: item.access.object,
            sure,
            wide,
            fills: match options.enabled("overwrite") {
                true => Both { sure: sure.fills.clone(), wide: wide.and_then(|w| w.fills.clone()) },
                false => Both::default(),
            },
        };
        families.entry((family(sure), wide.map(family))).or_default().push(member);
        false
    });
    let loads = loads(facts);
    for (_, mut members) in families {
        members.sort_by_key(|m| (m.lo, m.hi, m.kind));
        for member in unite(members, options.line_bytes() as i64) {
            emit(facts, &loads, plan, &member);
        }
    }
}

fn family(loop_range: &LoopRange) -> Family {
    (
        loop_range.over,
        loop_range.start_key,
        loop_range.extent,
        loop_range.strides.clone(),
        loop_range.runtime_steps,
        loop_range.conditions.clone(),
    )
}

/// The outermost loop range that needs no conditions, and the outermost one that does.
fn choose<'h>(
    facts: &FunctionFacts,
    loop_ranges: &'h [LoopRange],
    options: &Options,
) -> Option<(&'h LoopRange, Option<&'h LoopRange>)> {
    let strides = options.enabled("stride");
    let quiet = || {
        let simple = |h: &LoopRange| h.strides.is_empty() && h.runtime_steps.is_none();
        let fits = move |h: &&LoopRange| !facts.loops[h.over].syncs && (strides || simple(h));
        loop_ranges.iter().take_while(fits)
    };
    let sure = quiet().take_while(|h| h.conditions.is_empty()).last()?;
    let wide = quiet().last().filter(|h| h.over != sure.over && options.enabled("nest"));
    Some((sure, wide))
}

fn emit(facts: &FunctionFacts, loads: &Loads<'_>, plan: &mut FunctionPlan, member: &Member<'_>) {
    let flag = member.wide.map(|wide| {
        let flag = Flag { preheader: preheader(facts, wide), conditions: wide.conditions.clone() };
        (wide, number_flag(&mut plan.flags, flag))
    });
    let length = (member.hi - member.lo) as u64;
    let check = |loop_range: &LoopRange, fills: &Option<Fills>, condition| LoopCheck {
        over: loop_range.over,
        preheader: preheader(facts, loop_range),
        kind: member.kind,
        start: loop_range.start,
        delta: member.lo - member.origin,
        extent: loop_range.extent,
        strides: loop_range.strides.clone(),
        runtime_steps: loop_range.runtime_steps,
        length,
        condition,
        object: member.object,
        window: None,
        refills: false,
        covers: member.covers,
        overwrites: fills.as_ref().and_then(|fills| conflicting_reads(loads, loop_range, fills, length)),
    };
    if let Some((wide, at)) = flag {
        plan.loop_checks.push(check(wide, &member.fills.wide, CheckCondition::If(at)));
    }
    let condition = flag.map_or(CheckCondition::Always, |(_, at)| CheckCondition::Unless(at));
    plan.loop_checks.push(check(member.sure, &member.fills.sure, condition));
}

fn preheader(facts: &FunctionFacts, loop_range: &LoopRange) -> usize {
    facts.loops[loop_range.over].preheader.expect("loop ranges are over loops with a preheader")
}

/// Unites members by kind, then lets stores absorb the loads inside them.
fn unite(members: Vec<Member<'_>>, line: i64) -> Vec<Member<'_>> {
    let (mut stores, mut loads): (Vec<Member<'_>>, Vec<Member<'_>>) = (Vec::new(), Vec::new());
    for member in members {
        let list = if member.kind == Kind::Store { &mut stores } else { &mut loads };
        match list.last_mut() {
            Some(last) if member.lo <= last.hi.saturating_add(line - 1) => {
                let fills = std::mem::take(&mut last.fills);
                last.fills = if member.lo <= last.hi { fills.with(member.fills) } else { Both::default() };
                last.hi = last.hi.max(member.hi);
                last.covers += member.covers;
                last.object = last.object.filter(|_| last.object == member.object);
            }
            _ => list.push(member),
        }
    }
    loads.retain(|load| match stores.iter_mut().find(|s| s.lo <= load.lo && load.hi <= s.hi) {
        Some(store) => {
            store.covers += load.covers;
            store.object = store.object.filter(|_| store.object == load.object);
            false
        }
        None => true,
    });
    stores.append(&mut loads);
    stores
}
