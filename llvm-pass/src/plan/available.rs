//! Removes a check that was made on every path since the last sync point. Switch: `available`.
//!
//! Soundness. A fact (key, [lo, hi), kind) at a point says: on every path to it, these bytes were checked with at least
//! this kind, with no sync point since. Every access generates the fact of its own bytes, whatever check it relies on; a
//! sync point kills all facts; at a join the paths' facts are intersected. By induction along the execution, an
//! access whose bytes are in a fact lies in lines that were found valid and cannot have become invalid since.
//!
//! Keys are expressions over SSA values, which change when a loop is entered again. No fact can survive such a change:
//! a fact at a point holds on *every* path from the entry, among them those that reach the point for the first
//! time; a key can be accessed only where its values are defined, so on a path that reaches a loop's header from outside
//! there is no fact of a key that varies in the loop, and the intersection at the header drops it.
//!
//! Alignment widens facts: bytes up to the access's own alignment lie in the same line.

use std::collections::HashMap;

use crate::analysis::facts::{Access, FunctionFacts, Key, Kind, What};
use crate::fault::{self, Fault};
use crate::options::Options;

use super::{Decision, FunctionPlan, Item};

type Extent = (i64, i64, Kind);

/// Facts at a point.
#[derive(Clone, PartialEq, Eq, Default)]
struct Facts(HashMap<Key, Vec<Extent>>);

/// Facts of one key that are kept; more are not worth the time.
const MAX_EXTENTS: usize = 16;

impl Facts {
    fn covers(&self, key: Key, (lo, hi, kind): Extent) -> bool {
        let found = self.0.get(&key).map_or(&[] as &[Extent], Vec::as_slice);
        found.iter().any(|&(l, h, k)| l <= lo && hi <= h && (k >= kind || fault::is(Fault::AvailableKind)))
    }

    fn add(&mut self, key: Key, extent: Extent) {
        if self.covers(key, extent) {
            return;
        }
        let extents = self.0.entry(key).or_default();
        extents.retain(|&(l, h, k)| !(extent.0 <= l && h <= extent.1 && k <= extent.2));
        if extents.len() < MAX_EXTENTS {
            extents.push(extent);
            extents.sort_unstable();
        }
    }

    fn intersect(&mut self, other: &Facts) {
        if fault::is(Fault::AvailableJoin) {
            let extents = other.0.iter().flat_map(|(key, extents)| extents.iter().map(|e| (*key, *e)));
            return extents.for_each(|(key, extent)| self.add(key, extent));
        }
        for (key, extents) in &mut self.0 {
            extents.retain_mut(|e| {
                if !other.covers(*key, *e) {
                    // Written on one path and read on the other: readable on both.
                    e.2 = Kind::Load;
                }
                other.covers(*key, *e)
            });
        }
        self.0.retain(|_, extents| !extents.is_empty());
    }

    fn step(&mut self, what: &What, line: i64) {
        match what {
            What::Sync | What::Atomic(_) => self.0.clear(),
            What::Access(access) if access.private.is_none() => self.add(access.key, extent(access, line)),
            _ => {}
        }
    }
}

fn extent(access: &Access, line: i64) -> Extent {
    let aligned = (access.align.min(line as u64)) as i64;
    (access.offset, access.offset.saturating_add((access.size as i64).max(aligned)), access.kind)
}

/// Marks the covered accesses and takes them out of `items`.
pub(crate) fn apply(
    facts: &FunctionFacts,
    items: &mut Vec<Item<'_>>,
    plan: &mut FunctionPlan,
    options: &Options,
) {
    let line = options.line_bytes() as i64;
    let at_entry = solve(facts, line);
    let mut covered = std::collections::HashSet::new();
    for (block, content) in facts.blocks.iter().enumerate() {
        let mut now = at_entry[block].clone().unwrap_or_default();
        for event in &content.events {
            if let What::Access(access) = &event.what
                && access.private.is_none()
            {
                let needed = (access.offset, access.offset.saturating_add(access.size as i64), access.kind);
                if now.covers(access.key, needed) {
                    covered.insert((event.site, access.part));
                }
            }
            now.step(&event.what, line);
        }
    }
    items.retain(|item| {
        let gone = covered.contains(&(item.site, item.access.part));
        if gone {
            plan.decide(item.site, item.access, Decision::Available);
        }
        !gone
    });
}

/// Facts at the entries of blocks; `None` stands for "everything", the start of the iteration.
fn solve(facts: &FunctionFacts, line: i64) -> Vec<Option<Facts>> {
    let count = facts.blocks.len();
    let mut at_entry: Vec<Option<Facts>> = vec![None; count];
    let mut at_exit: Vec<Option<Facts>> = vec![None; count];
    loop {
        let mut changed = false;
        for block in 0..count {
            let mut entry = (block == 0).then(Facts::default);
            for &pred in &facts.blocks[block].preds {
                if let Some(out) = &at_exit[pred] {
                    match &mut entry {
                        Some(entry) => entry.intersect(out),
                        None => entry = Some(out.clone()),
                    }
                }
            }
            let mut exit = entry.clone().unwrap_or_default();
            for event in &facts.blocks[block].events {
                exit.step(&event.what, line);
            }
            if at_exit[block].as_ref() != Some(&exit) {
                at_exit[block] = Some(exit);
                changed = true;
            }
            at_entry[block] = entry;
        }
        if !changed {
            return at_entry;
        }
    }
}
