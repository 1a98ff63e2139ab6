//! The plan: for every access, what is done about it and why. Pure data made from facts, without LLVM.

pub mod available;
pub mod hoist;
pub mod merge;
pub mod print;
pub mod stack;

use std::collections::BTreeMap;

use crate::analysis::facts::{
    Access, BlockId, Condition, ExprId, FunctionFacts, Kind, LoopId, Masked, Private, Range, Site, What,
};
use crate::options::Options;

/// How the state of `[address, address + length)` is tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// The bytes lie in one line: one state byte.
    Line,
    /// The bytes lie in at most two lines: the states of both ends.
    Ends,
    /// Any length: both ends, and the runtime's range entry if there are lines in between.
    Range,
}

/// A check before an instruction, at `delta` bytes from the address it uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Instruction that the check is put before, and whose operand it starts from.
    pub site: Site,
    /// Operand with the address.
    pub operand: u32,
    /// Distance from that address, bytes.
    pub delta: i64,
    /// Bytes checked.
    pub length: u64,
    /// Read or write.
    pub kind: Kind,
    /// How.
    pub test: Test,
    /// Number of accesses that rely on it.
    pub covers: u32,
}

/// A check in a loop's preheader, of `[start + delta, start + delta + extent + length)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopCheck {
    /// The loop.
    pub over: LoopId,
    /// Its preheader.
    pub preheader: BlockId,
    /// Read or write.
    pub kind: Kind,
    /// Address expression.
    pub start: ExprId,
    /// Distance from it, bytes.
    pub delta: i64,
    /// Length expression.
    pub extent: ExprId,
    /// Further bytes.
    pub length: u64,
    /// When it is made.
    pub guarded: Guarded,
    /// Number of accesses that rely on it.
    pub covers: u32,
}

/// Condition of a loop's check; the numbers index [`FunctionPlan::flags`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Guarded {
    /// Always made.
    Always,
    /// Made if the flag is set.
    If(usize),
    /// Made unless the flag is set.
    Unless(usize),
}

/// Run-time conditions, evaluated together in a preheader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flag {
    /// Where.
    pub preheader: BlockId,
    /// All must hold.
    pub conditions: Vec<Condition>,
}

/// What became of an access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Decision {
    /// Needs no check.
    Private(Private),
    /// A check of its own.
    Checked,
    /// Relies on the check of an earlier access in the block.
    Merged(Site),
    /// Relies on a check that was made on every path to it.
    Available,
    /// Relies on the check in the preheader of a loop.
    Hoisted(LoopId),
}

/// Severity of a note to the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// The result may be wrong: a warning.
    Unsupported,
    /// The user may have to do something: a remark.
    Remark,
}

/// Everything that is done to a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionPlan {
    /// Name.
    pub name: String,
    /// Every access with what became of it.
    pub decisions: BTreeMap<Site, (Kind, u64, Decision)>,
    /// Checks before instructions.
    pub checks: Vec<Check>,
    /// Checks in preheaders.
    pub loop_checks: Vec<LoopCheck>,
    /// Conditions of checks in preheaders.
    pub flags: Vec<Flag>,
    /// Accesses under masks.
    pub masked: Vec<(Site, Masked)>,
    /// Memory touched by calls.
    pub ranges: Vec<(Site, Range)>,
    /// Atomics that become runtime calls.
    pub atomics: Vec<Site>,
    /// The shared stack frame.
    pub stack: stack::StackPlan,
    /// Messages.
    pub notes: Vec<(Site, Note, String)>,
}

/// Totals over the module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Fixed accesses seen.
    pub accesses: u64,
    /// Not checked, by reason.
    pub private: BTreeMap<Private, u64>,
    /// With a check of their own.
    pub checked: u64,
    /// Of these, in a loop.
    pub in_loops: u64,
    /// Merged into the check of a neighbour.
    pub merged: u64,
    /// Covered by an earlier check.
    pub available: u64,
    /// Covered by a check before a loop.
    pub hoisted: u64,
    /// Checks before loops.
    pub loop_checks: u64,
    /// Atomics turned into runtime calls.
    pub atomics: u64,
    /// Range checks before calls.
    pub ranges: u64,
    /// Variables on the shared stack.
    pub stack_slots: u64,
}

/// An access as the optimisations see it.
#[derive(Clone, Debug)]
pub(crate) struct Item<'a> {
    pub site: Site,
    pub block: BlockId,
    pub access: &'a Access,
}

/// Plans a function.
pub fn plan(facts: &FunctionFacts, options: &Options) -> FunctionPlan {
    let mut plan = FunctionPlan { name: facts.name.clone(), ..FunctionPlan::default() };
    let mut items = Vec::new();
    for (block, content) in facts.blocks.iter().enumerate() {
        for event in &content.events {
            let site = event.site;
            match &event.what {
                What::Access(access) => match access.private {
                    Some(why) => plan.decide(site, access, Decision::Private(why)),
                    None => items.push(Item { site, block, access }),
                },
                What::Masked(masked) if masked.private.is_none() => plan.masked.push((site, masked.clone())),
                What::Atomic(None) => plan.atomics.push(site),
                What::Ranges(ranges) => {
                    let shared = ranges.iter().filter(|r| r.private.is_none());
                    plan.ranges.extend(shared.map(|r| (site, r.clone())));
                }
                What::Unsupported(text) => plan.notes.push((site, Note::Unsupported, text.clone())),
                What::Remark(text) => plan.notes.push((site, Note::Remark, text.clone())),
                What::Masked(_) | What::Atomic(Some(_)) | What::Sync => {}
            }
        }
    }
    if options.enabled("hoist") {
        hoist::apply(facts, &mut items, &mut plan, options);
    }
    if options.enabled("available") {
        available::apply(facts, &mut items, &mut plan, options);
    }
    merge::apply(facts, &items, &mut plan, options);
    plan.stack = stack::layout(&facts.stack);
    plan
}

impl FunctionPlan {
    fn decide(&mut self, site: Site, access: &Access, decision: Decision) {
        self.decisions.insert(site, (access.kind, access.size, decision));
    }

    /// Adds this function to the totals.
    pub fn count(&self, facts: &FunctionFacts, totals: &mut Counters) {
        let in_loop: std::collections::HashSet<Site> = facts
            .blocks
            .iter()
            .filter(|b| b.inner.is_some())
            .flat_map(|b| b.events.iter().map(|e| e.site))
            .collect();
        for (site, (_, _, decision)) in &self.decisions {
            totals.accesses += 1;
            match decision {
                Decision::Private(why) => *totals.private.entry(*why).or_default() += 1,
                Decision::Checked => {
                    totals.checked += 1;
                    totals.in_loops += u64::from(in_loop.contains(site));
                }
                Decision::Merged(_) => totals.merged += 1,
                Decision::Available => totals.available += 1,
                Decision::Hoisted(_) => totals.hoisted += 1,
            }
        }
        totals.loop_checks += self.loop_checks.len() as u64;
        totals.atomics += self.atomics.len() as u64;
        totals.ranges += self.ranges.len() as u64;
        totals.stack_slots += (self.stack.slots.len() + self.stack.dynamic.len()) as u64;
    }

    /// True if the function stays as it is.
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty()
            && self.loop_checks.is_empty()
            && self.masked.is_empty()
            && self.ranges.is_empty()
            && self.atomics.is_empty()
            && self.stack.is_empty()
    }
}
