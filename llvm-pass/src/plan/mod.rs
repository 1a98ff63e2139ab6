//! The plan: for every access, what is done about it and why. Pure data made from facts, without LLVM.

pub mod available;
mod checks;
mod counters;
pub mod footprint;
pub mod guards;
pub mod hint;
pub mod hoist;
pub mod interprocedural;
pub mod merge;
pub mod print;
pub mod reasons;
pub mod single;
pub mod stack;
pub mod strip;
pub mod value;
pub mod version;
pub mod window;

pub(crate) use checks::number_flag;
pub use checks::{
    Check, CheckCondition, Flag, Hint, LoopCheck, ReadRange, Start, StripPart, Test, ValidityTest, Version,
    WORD_LINES,
};
pub use counters::Counters;

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::facts::{
    Access, BlockId, FormatCall, FunctionFacts, Kind, LoopId, Masked, Private, Range, Site, What,
};
use crate::options::Options;
use dsm_abi::note::Checking;

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
    /// Relies on the checks of all callers.
    Callers,
    /// Relies on the check in the preheader of a loop.
    Hoisted(LoopId),
    /// Checked in the second version of a loop, free in the first.
    Versioned(LoopId),
    /// Relies on the protection of its page.
    Protected,
}

/// Severity of a note to the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// The result may be wrong: a warning.
    Unsupported,
    /// A call of the function that the text names hands it memory that may be shared: the link warns unless the function has checks.
    Unknown,
}

/// Everything that is done to a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionPlan {
    /// Name.
    pub name: String,
    /// Every access, by its instruction and its number there, with what became of it.
    pub decisions: BTreeMap<(Site, u32), (Kind, u64, Decision)>,
    /// Checks before instructions.
    pub checks: Vec<Check>,
    /// Checks in preheaders.
    pub loop_checks: Vec<LoopCheck>,
    /// Conditions of checks in preheaders.
    pub flags: Vec<Flag>,
    /// Tests for versions.
    pub validity_tests: Vec<ValidityTest>,
    /// Loops with two versions.
    pub versions: Vec<Version>,
    /// Ranges that are fetched in preheaders.
    pub hints: Vec<Hint>,
    /// Nests with a version for jobs of one process.
    pub single: Vec<LoopId>,
    /// Nests with a version for when all that they touch is valid.
    pub footprints: Vec<footprint::FootprintTest>,
    /// What is done to keep the guards of loops known.
    pub assumptions: Vec<guards::LoopAssumptions>,
    /// Accesses under masks.
    pub masked: Vec<(Site, Masked)>,
    /// Memory touched by calls.
    pub ranges: Vec<(Site, Range)>,
    /// Formats that are read at run time.
    pub formats: Vec<(Site, FormatCall)>,
    /// Atomics that become runtime calls.
    pub atomics: Vec<Site>,
    /// The shared stack frame.
    pub stack: stack::StackPlan,
    /// Messages.
    pub notes: Vec<(Site, Note, String)>,
}

/// An access as the optimisations see it.
#[derive(Clone, Debug)]
pub(crate) struct Item<'a> {
    pub site: Site,
    pub block: BlockId,
    pub access: &'a Access,
}

/// True if an access to private memory has no check. Without the optimisation it has one, which passes.
fn unchecked(why: Private, options: &Options) -> bool {
    options.enabled("private") || is_always_private(why)
}

/// True if there is no plain address to check.
fn is_always_private(why: Private) -> bool {
    matches!(why, Private::OtherAddressSpace | Private::Undefined)
}

/// Plans a function.
pub fn plan(facts: &FunctionFacts, options: &Options) -> FunctionPlan {
    let mut plan = FunctionPlan { name: facts.name.clone(), ..FunctionPlan::default() };
    let mut items = Vec::new();
    let protected = options.checking == Checking::Mprotect;
    for (block, content) in facts.blocks.iter().enumerate() {
        for event in &content.events {
            let site = event.site;
            match &event.what {
                What::Access(access) => match access.private.filter(|why| unchecked(*why, options)) {
                    Some(why) => plan.decide(site, access, Decision::Private(why)),
                    None if protected && !access.of_callee => plan.decide(site, access, Decision::Protected),
                    None => items.push(Item { site, block, access }),
                },
                What::Masked(masked) if masked.private.is_none() && !protected => {
                    plan.masked.push((site, masked.clone()))
                }
                What::Atomic(None) => plan.atomics.push(site),
                What::Ranges(ranges) => {
                    let shared = ranges.iter().filter(|r| r.private.is_none());
                    let fills = |r: &Range| r.fills && options.enabled("overwrite");
                    plan.ranges.extend(shared.map(|r| (site, Range { fills: fills(r), ..r.clone() })));
                }
                What::Format(format) => plan.formats.push((site, *format)),
                What::Unsupported(text) => plan.notes.push((site, Note::Unsupported, text.clone())),
                What::Unknown(name) => plan.notes.push((site, Note::Unknown, name.clone())),
                What::Masked(_) | What::Atomic(Some(_)) | What::Sync => {}
            }
        }
    }
    interprocedural::apply(facts, &mut items, &mut plan);
    if options.enabled("hoist") {
        hoist::apply(facts, &mut items, &mut plan, options);
        if options.enabled("window") {
            window::apply(facts, &mut plan, options);
        }
    }
    if options.enabled("available") {
        available::apply(facts, &mut items, &mut plan, options);
    }
    if version::enabled(options) {
        version::apply(facts, &items, &mut plan, options);
    }
    if options.enabled("hint") {
        hint::apply(facts, &mut items, &mut plan, options);
    }
    single::apply(facts, &items, &mut plan, options);
    footprint::apply(facts, &items, &mut plan, options);
    strip::apply(facts, &items, &mut plan, options);
    merge::apply(facts, &items, &mut plan, options);
    value::apply(facts, &mut plan, options);
    guards::apply(facts, &mut plan, options);
    plan.stack = stack::layout(&facts.stack);
    plan
}

impl FunctionPlan {
    fn decide(&mut self, site: Site, access: &Access, decision: Decision) {
        self.decisions.insert((site, access.part), (access.kind, access.size, decision));
    }

    /// The loops that something is put in front of.
    pub fn checked_loops(&self) -> BTreeSet<LoopId> {
        self.loop_checks
            .iter()
            .map(|c| c.over)
            .chain(self.versions.iter().map(|v| v.over))
            .chain(self.hints.iter().map(|h| h.over))
            .chain(self.copied_nests())
            .collect()
    }

    /// The nests that are copied whole, with all checks in them and in front of them.
    pub fn copied_nests(&self) -> BTreeSet<LoopId> {
        self.single.iter().copied().chain(self.footprints.iter().map(|f| f.nest)).collect()
    }

    /// True if the function stays as it is.
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty()
            && self.loop_checks.is_empty()
            && self.masked.is_empty()
            && self.ranges.is_empty()
            && self.formats.is_empty()
            && self.atomics.is_empty()
            && self.stack.is_empty()
    }
}
