//! Ranges that a loop is expected to touch are fetched in front of it. Switch: `hint`.
//!
//! ```text
//! preheader:   (MIN <= length < MAX ?)  call @__dsm_load_hint(start, length)
//! ```
//! For loops that load their bound again in each iteration, since what they store may change it ([`crate::analysis::expected`]): no check leaves them, so each block would be a miss of its own, one after the
//! other. The call makes what is missing of the range valid, all together.
//!
//! Soundness. A hint is no check: every access keeps the one that it has without, and the runtime's entry makes memory valid, which it may do at any time. A range that makes no sense, because the bound does not stay, is
//! refused, or fetched to no avail; the runtime bounds it.
//!
//! Worth it: for one look at a length in front of the loop. Ranges that are shorter than a few lines are left to the checks.

use std::collections::BTreeMap;

use crate::analysis::facts::{ExpectedRange, ExprId, FunctionFacts, Kind, LoopId};
use crate::fault::{self, Fault};
use crate::options::Options;

use super::{Decision, FunctionPlan, Hint, Item};

/// Ranges that can be compared: same loop, same start up to a constant, same extent.
type Family = (LoopId, ExprId, ExprId);

struct Member {
    lo: i64,
    hi: i64,
    kind: Kind,
    covers: u32,
    expected: ExpectedRange,
}

/// Adds the hints of accesses that have a check of their own.
pub(crate) fn apply(
    facts: &FunctionFacts,
    items: &mut Vec<Item<'_>>,
    plan: &mut FunctionPlan,
    options: &Options,
) {
    let mut families: BTreeMap<Family, Vec<Member>> = BTreeMap::new();
    items.retain(|item| {
        let expected = item.access.expected.filter(|e| !facts.loops[e.over].syncs);
        let Some(expected) = expected else { return true };
        let lo = expected.start_offset.saturating_add(item.access.lead);
        let hi = lo.saturating_add(item.access.size as i64);
        let member = Member { lo, hi, kind: item.access.kind, covers: 1, expected };
        families.entry((expected.over, expected.start_key, expected.extent)).or_default().push(member);
        if fault::is(Fault::HintRelied) {
            plan.decide(item.site, item.access, Decision::Hoisted(expected.over));
        }
        !fault::is(Fault::HintRelied)
    });
    for (_, mut members) in families {
        members.sort_by_key(|m| (m.lo, m.hi, m.kind));
        for Member { lo, hi, kind, covers, expected } in unite(members, options.line_bytes() as i64) {
            let Some(preheader) = facts.loops[expected.over].preheader else { continue };
            plan.hints.push(Hint {
                over: expected.over,
                preheader,
                kind,
                start: expected.start,
                delta: lo - expected.start_offset,
                extent: expected.extent,
                length: (hi - lo) as u64,
                covers,
            });
        }
    }
}

/// One range for members closer than a line: for stores if one of them stores.
fn unite(members: Vec<Member>, line: i64) -> Vec<Member> {
    let mut out: Vec<Member> = Vec::new();
    for member in members {
        match out.last_mut() {
            Some(last) if member.lo <= last.hi.saturating_add(line - 1) => {
                last.hi = last.hi.max(member.hi);
                last.kind = last.kind.max(member.kind);
                last.covers += member.covers;
            }
            _ => out.push(member),
        }
    }
    out
}
