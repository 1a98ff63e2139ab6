//! The plan: for every access, what is done about it and why. Pure data made from facts, without LLVM.

pub mod available;
pub mod guards;
pub mod hoist;
pub mod interprocedural;
pub mod merge;
pub mod print;
pub mod stack;
pub mod version;
pub mod window;

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::facts::{
    Access, Array, BlockId, Condition, ExprId, FormatCall, FunctionFacts, Kind, LoopId, Masked, Object,
    Private, Range, Site, Stay, Stride, ValueId, Walk, What,
};
use crate::options::Options;

/// Lines whose states one load of the table tests.
pub const WORD_LINES: u64 = 8;

/// How the state of `[address, address + length)` is tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// The bytes lie in one line: one state byte.
    Line,
    /// The bytes lie in at most two lines: the states of both ends.
    Ends,
    /// The bytes lie in at most [`WORD_LINES`] lines: one word of the state table.
    Word,
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
    /// Set if it is made in the second version of the loop only.
    pub version: Option<LoopId>,
}

/// A test whether memory is valid, in a preheader. It fetches nothing that is not used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ready {
    /// The preheader.
    pub at: BlockId,
    /// Read or write.
    pub kind: Kind,
    /// First byte, up to `delta`.
    pub start: Start,
    /// Distance from it, bytes.
    pub delta: i64,
    /// Bytes.
    pub length: u64,
    /// Where they are repeated.
    pub strides: Vec<Stride>,
    /// Expression of a number of reads that are going to happen in it: enough of them make fetching it pay.
    pub uses: Option<ExprId>,
    /// Expression of the number of iterations that the test has to be worth, if it is not certain to be.
    pub worth: Option<ExprId>,
}

/// An address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// An expression.
    Expr(ExprId),
    /// A global.
    Value(ValueId),
    /// All of an array of Fortran; length and strides do not count.
    Array(Array),
}

/// A loop with two versions, with and without checks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version {
    /// The loop.
    pub over: LoopId,
    /// Indices into [`FunctionPlan::readies`]; all must hold for the version without checks.
    pub tests: Vec<usize>,
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
    /// Where the range is repeated.
    pub strides: Vec<Stride>,
    /// Steps known at run time only: the range is what they cover if they leave no line out.
    pub walk: Option<Walk>,
    /// Further bytes.
    pub length: u64,
    /// When it is made.
    pub guarded: Guarded,
    /// The variable that all of it lies in, if it is known.
    pub object: Option<Object>,
    /// Preheader in which the window is emptied that the check remembers what is valid in, if it has one.
    pub window: Option<BlockId>,
    /// Number of accesses that rely on it.
    pub covers: u32,
    /// Set if all of it is stored to, and not read before unless it meets one of these.
    pub overwrites: Option<Vec<Apart>>,
}

/// `[start + delta, start + delta + extent + length)`, repeated at the strides: what a load reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Apart {
    /// Address expression.
    pub start: ExprId,
    /// Distance from it, bytes.
    pub delta: i64,
    /// Length expression.
    pub extent: ExprId,
    /// Further bytes.
    pub length: u64,
    /// Where the range is repeated.
    pub strides: Vec<Stride>,
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

/// Number of a flag, which is added if it is new.
pub(crate) fn number_flag(flags: &mut Vec<Flag>, flag: Flag) -> usize {
    flags.iter().position(|f| *f == flag).unwrap_or_else(|| {
        flags.push(flag);
        flags.len() - 1
    })
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
    /// Relies on the checks of all callers.
    Callers,
    /// Relies on the check in the preheader of a loop.
    Hoisted(LoopId),
    /// Checked in the second version of a loop, free in the first.
    Versioned(LoopId),
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
    /// Every access, by its instruction and its number there, with what became of it.
    pub decisions: BTreeMap<(Site, u32), (Kind, u64, Decision)>,
    /// Checks before instructions.
    pub checks: Vec<Check>,
    /// Checks in preheaders.
    pub loop_checks: Vec<LoopCheck>,
    /// Conditions of checks in preheaders.
    pub flags: Vec<Flag>,
    /// Tests for versions.
    pub readies: Vec<Ready>,
    /// Loops with two versions.
    pub versions: Vec<Version>,
    /// What is done to keep the guards of loops known.
    pub restated: Vec<guards::Restated>,
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

/// Totals over the module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Fixed accesses seen.
    pub accesses: u64,
    /// Loads and stores that were taken out of loops before the accesses were looked at.
    pub invariant: u64,
    /// Recurrences that were found not to wrap, by the language.
    pub linear: u64,
    /// Conditions under which loops are entered, stated once more as assumptions.
    pub guards: u64,
    /// Comparisons that end a loop and became tests for equality.
    pub exits: u64,
    /// Not checked, by reason.
    pub private: BTreeMap<Private, u64>,
    /// With a check of their own.
    pub checked: u64,
    /// Of these, in a loop, by reason.
    pub in_loops: BTreeMap<Stay, u64>,
    /// Merged into the check of a neighbour.
    pub merged: u64,
    /// Covered by an earlier check.
    pub available: u64,
    /// Covered by a check before a loop.
    pub hoisted: u64,
    /// Checks before loops.
    pub loop_checks: u64,
    /// Of these, with a window.
    pub windows: u64,
    /// Of these, before stores that overwrite all of it.
    pub overwrites: u64,
    /// Covered by checks of all callers.
    pub callers: u64,
    /// Accesses that calls make and that are checked for them.
    pub of_callees: u64,
    /// Functions whose callers check for them.
    pub given: u64,
    /// Copies of functions.
    pub clones: u64,
    /// Free in one of two versions of a loop.
    pub versioned: u64,
    /// Loops with two versions.
    pub versions: u64,
    /// Atomics turned into runtime calls.
    pub atomics: u64,
    /// Range checks before calls.
    pub ranges: u64,
    /// Of these, before calls that overwrite all of it.
    pub filled: u64,
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

/// True if an access to private memory has no check. Without the optimisation it has one, which passes; where there is no plain address
/// to check, never.
fn unchecked(why: Private, options: &Options) -> bool {
    options.enabled("private") || matches!(why, Private::OtherAddressSpace | Private::Undefined)
}

/// Plans a function.
pub fn plan(facts: &FunctionFacts, options: &Options) -> FunctionPlan {
    let mut plan = FunctionPlan { name: facts.name.clone(), ..FunctionPlan::default() };
    let mut items = Vec::new();
    for (block, content) in facts.blocks.iter().enumerate() {
        for event in &content.events {
            let site = event.site;
            match &event.what {
                What::Access(access) => match access.private.filter(|why| unchecked(*why, options)) {
                    Some(why) => plan.decide(site, access, Decision::Private(why)),
                    None => items.push(Item { site, block, access }),
                },
                What::Masked(masked) if masked.private.is_none() => plan.masked.push((site, masked.clone())),
                What::Atomic(None) => plan.atomics.push(site),
                What::Ranges(ranges) => {
                    let shared = ranges.iter().filter(|r| r.private.is_none());
                    let fills = |r: &Range| r.fills && options.enabled("overwrite");
                    plan.ranges.extend(shared.map(|r| (site, Range { fills: fills(r), ..r.clone() })));
                }
                What::Format(format) => plan.formats.push((site, *format)),
                What::Unsupported(text) => plan.notes.push((site, Note::Unsupported, text.clone())),
                What::Remark(text) => plan.notes.push((site, Note::Remark, text.clone())),
                What::Masked(_) | What::Atomic(Some(_)) | What::Sync => {}
            }
        }
    }
    interprocedural::apply(facts, &mut items, &mut plan);
    if options.enabled("hoist") {
        hoist::apply(facts, &mut items, &mut plan, options);
        if options.enabled("window") {
            window::apply(facts, &mut plan);
        }
    }
    if options.enabled("available") {
        available::apply(facts, &mut items, &mut plan, options);
    }
    if version::enabled(options) {
        version::apply(facts, &items, &mut plan, options);
    }
    merge::apply(facts, &items, &mut plan, options);
    guards::apply(facts, &mut plan, options);
    plan.stack = stack::layout(&facts.stack);
    plan
}

impl FunctionPlan {
    fn decide(&mut self, site: Site, access: &Access, decision: Decision) {
        self.decisions.insert((site, access.part), (access.kind, access.size, decision));
    }

    /// Accesses that are checked in every iteration of a loop, and why.
    pub fn left_in_loops(&self, facts: &FunctionFacts) -> Vec<(Site, Stay)> {
        let mut out = Vec::new();
        for block in &facts.blocks {
            let Some(inner) = block.inner else { continue };
            for event in &block.events {
                let What::Access(access) = &event.what else { continue };
                let decision = self.decisions.get(&(event.site, access.part));
                if let Some((_, _, Decision::Checked)) = decision {
                    let quiet = access.stay.unwrap_or(Stay::Bounds);
                    out.push((event.site, if facts.loops[inner].syncs { Stay::Sync } else { quiet }));
                }
            }
        }
        out
    }

    /// Adds this function to the totals.
    pub fn count(&self, facts: &FunctionFacts, totals: &mut Counters) {
        for (_, stay) in self.left_in_loops(facts) {
            *totals.in_loops.entry(stay).or_default() += 1;
        }
        let accesses = facts.blocks.iter().flat_map(|b| &b.events).filter_map(|event| match &event.what {
            What::Access(access) => Some((access, self.decisions.get(&(event.site, access.part))?.2)),
            _ => None,
        });
        for (access, decision) in accesses {
            if access.of_callee {
                totals.of_callees += u64::from(access.private.is_none());
                continue;
            }
            totals.accesses += 1;
            match decision {
                Decision::Callers => totals.callers += 1,
                Decision::Private(why) => *totals.private.entry(why).or_default() += 1,
                Decision::Checked => totals.checked += 1,
                Decision::Merged(_) => totals.merged += 1,
                Decision::Available => totals.available += 1,
                Decision::Hoisted(_) => totals.hoisted += 1,
                Decision::Versioned(_) => totals.versioned += 1,
            }
        }
        totals.loop_checks += self.loop_checks.len() as u64;
        totals.windows += self.loop_checks.iter().filter(|c| c.window.is_some()).count() as u64;
        totals.overwrites += self.loop_checks.iter().filter(|c| c.overwrites.is_some()).count() as u64;
        totals.versions += self.versions.len() as u64;
        totals.guards += self.restated.iter().map(|r| r.guards.len() as u64).sum::<u64>();
        totals.exits += self.restated.iter().map(|r| r.exits.len() as u64).sum::<u64>();
        totals.atomics += self.atomics.len() as u64;
        totals.filled += self.ranges.iter().filter(|(_, r)| r.fills).count() as u64;
        totals.ranges += (self.ranges.len() + self.formats.len()) as u64;
        totals.stack_slots += (self.stack.slots.len() + self.stack.dynamic.len()) as u64;
    }

    /// The loops that something is put in front of.
    pub fn checked_loops(&self) -> BTreeSet<LoopId> {
        self.loop_checks.iter().map(|c| c.over).chain(self.versions.iter().map(|v| v.over)).collect()
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
