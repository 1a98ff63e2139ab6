//! Slow paths that get the value of a store, or return that of a load: the runtime may execute it where the home of the block is, in place of making the block valid here. Switch: `value`.
//!
//! For loops that store a number, or a structure of two fields, to memory at random behind an atomic operation that orders memory (`neighbours[fetch_and_add(&next[v], 1)] = u`): a block that comes here is published
//! with a single store, and most likely leaves again before the next one. And for those that load from memory on which other processes operate (`if (depth[v] == -1 && compare_and_swap(&depth[v], -1, next))`): a copy would be invalid again soon.
//!
//! Soundness. The block may be invalid behind such a check, so nothing else may rely on it: the check is of this access and no other, and no access of the function with the same key
//! is available ([`super::available`]). The store itself is executed here as well, to memory of which a miss brings a version that contains it. The load is executed here only if the check passes.

use std::collections::HashSet;

use crate::analysis::facts::{Access, BlockId, FunctionFacts, Key, Kind, Site, What};
use crate::fault::{self, Fault};
use crate::options::Options;

use super::{Decision, FunctionPlan, Test};

/// Marks the checks.
pub(crate) fn apply(facts: &FunctionFacts, plan: &mut FunctionPlan, options: &Options) {
    if !is_enabled(options) {
        return;
    }
    let relied = available_keys(facts, plan);
    let bytes_of = |site: Site, kind: Kind| {
        let (block, access) = access_at(facts, site, kind)?;
        (is_beside_atomics(facts, block) && !relied.contains(&access.key)).then_some(access.size)
    };
    for check in &mut plan.checks {
        check.value = matches!(check.test, Test::Line | Test::Ends)
            && check.delta == 0
            && check.version.is_none()
            && (check.covers == 1 || fault::is(Fault::ValueRelied))
            && is_single(check.length)
            && bytes_of(check.site, check.kind) == Some(check.length);
    }
}

/// Builds that verify assert that the block is valid.
fn is_enabled(options: &Options) -> bool {
    options.enabled("value") && !options.verify
}

/// Whether a store of so many bytes can be one operation at a home.
fn is_single(bytes: u64) -> bool {
    matches!(bytes, 1 | 2 | 4 | 8)
}

/// Whether the block's innermost loop has atomic operations.
fn is_beside_atomics(facts: &FunctionFacts, block: BlockId) -> bool {
    facts.blocks[block].inner.is_some_and(|inner| {
        let mut blocks = facts.blocks.iter().filter(|b| b.inner == Some(inner));
        blocks.any(|b| b.events.iter().any(|e| matches!(e.what, What::Atomic(_))))
    })
}

/// Whether two accesses of a block, which one check would do for, are better off with checks of their own, whose slow paths get their values: the stores of a structure of two fields.
pub(super) fn keeps_apart(
    facts: &FunctionFacts,
    plan: &FunctionPlan,
    block: BlockId,
    accesses: [&Access; 2],
    options: &Options,
) -> bool {
    let is_store =
        |access: &&Access| access.kind == Kind::Store && !access.of_callee && is_single(access.size);
    is_enabled(options)
        && accesses.iter().all(is_store)
        && is_beside_atomics(facts, block)
        && !available_keys(facts, plan).contains(&accesses[0].key)
}

/// The load or store that an instruction is, if that is all it accesses.
fn access_at(facts: &FunctionFacts, site: Site, kind: Kind) -> Option<(BlockId, &Access)> {
    facts.blocks.iter().enumerate().find_map(|(block, content)| {
        let mut events = content.events.iter().filter(|event| event.site == site);
        match (&events.next()?.what, events.next()) {
            (What::Access(access), None) if access.kind == kind && !access.of_callee => Some((block, access)),
            _ => None,
        }
    })
}

/// Keys of the accesses that rely on checks of others on their ways.
fn available_keys(facts: &FunctionFacts, plan: &FunctionPlan) -> HashSet<Key> {
    let events = facts.blocks.iter().flat_map(|block| &block.events);
    let available = events.filter_map(|event| match &event.what {
        What::Access(access) => {
            let decided = plan.decisions.get(&(event.site, access.part));
            decided.is_some_and(|(.., decision)| *decision == Decision::Available).then_some(access.key)
        }
        _ => None,
    });
    available.filter(|_| !fault::is(Fault::ValueRelied)).collect()
}
