//! One check for accesses of a block that lie within a line's length, or close to each other within `MAX_GROUP_BYTES` bytes. Switch: `merge`.
//!
//! Soundness. The members of a group are in one block, have the same address key (so fixed distances) and no sync
//! point between the first and the last; their enclosing range `[lo, hi)` is at most one line long, so it lies in at most two
//! lines, and these are the lines of its first and its last byte: both are tested, in front of the first
//! member. The group's check is a store check if any member stores; a store check covers loads. A check holds until
//! the thread's next acquire, so it holds at the last member. If control leaves the block between members, a check was
//! made too much, which harms nothing: the address is within a line of one that is accessed.
//!
//! Short lines: a group may be longer than a line, up to `MAX_GROUP_BYTES` bytes, if no two neighbours in it are a line or more apart. Then each line
//! of its range is touched, and the states of all of them, at most eight, are tested with one load.
//!
//! If alignment proves the range to lie in one line, one state byte is enough: a member at offset `o` with alignment `a`
//! means that the key plus `o` is a multiple of `a`; a range inside one `a`-aligned piece (a <= line) is in one line.

use std::collections::BTreeMap;

use crate::analysis::facts::{Access, BlockId, FunctionFacts, Key, Kind, Length, LoopId, Range, Site, What};
use crate::options::Options;

use super::{Check, Decision, FunctionPlan, Item, Test, WORD_LINES, value};

/// Longest group of several lines, bytes: what is loaded with it and what is stored are asked for alike, so it must not be long.
const MAX_GROUP_BYTES: i64 = 512;

struct Group<'a> {
    lo: i64,
    hi: i64,
    kind: Kind,
    members: Vec<&'a Item<'a>>,
}

impl<'a> Group<'a> {
    fn of(item: &'a Item<'a>) -> Group<'a> {
        let (lo, hi) = extent(item);
        Group { lo, hi, kind: item.access.kind, members: vec![item] }
    }

    /// Its members, each by itself.
    fn apart(self) -> impl Iterator<Item = Group<'a>> {
        self.members.into_iter().map(Group::of)
    }
}

/// Bytes of an access, at distances from its key.
fn extent(item: &Item<'_>) -> (i64, i64) {
    (item.access.offset, item.access.offset.saturating_add(item.access.size as i64))
}

/// Turns the remaining accesses into checks.
pub(crate) fn apply(facts: &FunctionFacts, items: &[Item<'_>], plan: &mut FunctionPlan, options: &Options) {
    let line = options.line_bytes() as i64;
    let mut by_block: BTreeMap<BlockId, Vec<&Item<'_>>> = BTreeMap::new();
    let (items, long): (Vec<_>, Vec<_>) = items.iter().partition(|i| !is_long(i.access, line));
    for item in items {
        by_block.entry(item.block).or_default().push(item);
    }
    for item in long {
        plan.decide(item.site, item.access, Decision::Checked);
        plan.ranges.push((item.site, whole(item.access, options)));
    }
    for (block, items) in by_block {
        let mut groups: Vec<Group<'_>> = Vec::new();
        let mut open: BTreeMap<Key, usize> = BTreeMap::new();
        let mut syncs = sync_sites(facts, block).into_iter().peekable();
        for item in items {
            while syncs.next_if(|s| *s < item.site).is_some() {
                open.clear();
            }
            let (lo, hi) = extent(item);
            if options.enabled("merge")
                && let Some(&at) = open.get(&item.access.key)
            {
                let group = &mut groups[at];
                let range = (group.lo.min(lo), group.hi.max(hi));
                let length = range.1.saturating_sub(range.0);
                let gap = lo.saturating_sub(group.hi).max(group.lo.saturating_sub(hi));
                if length <= line || gap < line && length <= longest_group(line) {
                    (group.lo, group.hi) = range;
                    group.kind = group.kind.max(item.access.kind);
                    group.members.push(item);
                    continue;
                }
            }
            open.insert(item.access.key, groups.len());
            groups.push(Group::of(item));
        }
        for group in groups {
            let version = facts.blocks[block].inner.filter(|l| plan.versions.iter().any(|v| v.over == *l));
            let apart = match group.members[..] {
                [first, second] if version.is_none() => {
                    value::keeps_apart(facts, plan, block, [first.access, second.access], options)
                }
                _ => false,
            };
            match apart {
                true => group.apart().for_each(|part| emit(&part, plan, line as u64, version)),
                false => emit(&group, plan, line as u64, version),
            }
        }
    }
    plan.checks.sort_by_key(|c| c.site);
}

/// Longest extent that one check in straight-line code is made for.
pub(super) fn longest(line: i64) -> i64 {
    line.max(longest_group(line))
}

/// True of calls that copy or set more than a check in straight-line code is made for.
pub(super) fn is_long(access: &Access, line: i64) -> bool {
    access.size > longest(line) as u64
}

/// A long access as a range of its own.
fn whole(access: &Access, options: &Options) -> Range {
    Range {
        kind: access.kind,
        argument: access.operand,
        length: Length::Bytes(access.size),
        fills: access.kind == Kind::Store && options.enabled("overwrite"),
        private: None,
    }
}

/// Longest group for this line size: unaligned, it has at most [`WORD_LINES`] lines.
fn longest_group(line: i64) -> i64 {
    MAX_GROUP_BYTES.min((WORD_LINES as i64 - 1) * line)
}

fn sync_sites(facts: &FunctionFacts, block: BlockId) -> Vec<Site> {
    let events = facts.blocks[block].events.iter();
    events.filter(|e| matches!(e.what, What::Sync | What::Atomic(_))).map(|e| e.site).collect()
}

fn emit(group: &Group<'_>, plan: &mut FunctionPlan, line: u64, version: Option<LoopId>) {
    let first = group.members[0];
    for member in &group.members {
        let decision = match version {
            Some(l) => Decision::Versioned(l),
            None if member.site == first.site => Decision::Checked,
            None => Decision::Merged(first.site),
        };
        plan.decide(member.site, member.access, decision);
    }
    let length = (group.hi - group.lo) as u64;
    plan.checks.push(Check {
        site: first.site,
        operand: first.access.operand,
        delta: group.lo - (first.access.offset - first.access.lead),
        length,
        kind: group.kind,
        test: test(group, length, line),
        covers: group.members.len() as u32,
        version,
        value: false,
    });
}

fn test(group: &Group<'_>, length: u64, line: u64) -> Test {
    let one_line = group.members.iter().any(|m| {
        let align = m.access.align.min(line);
        let into = (group.lo - m.access.offset).rem_euclid(align as i64) as u64;
        into + length <= align
    });
    match (one_line, length <= line) {
        (true, _) => Test::Line,
        (false, true) => Test::Ends,
        (false, false) if length as i64 <= longest_group(line as i64) => Test::Word,
        (false, false) => Test::Range,
    }
}
