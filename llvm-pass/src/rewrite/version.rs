//! Makes the two versions of a loop.
//!
//! ```text
//! preheader of the test's loop:   (count >= WORTH ?)  r = call @__dsm_load_ready(...) != 0
//! preheader of the loop:          br (all r, or @__dsm_single_process), label %loop, label %copy, !prof usual
//! ```
//! An allocation is tested by `__dsm_load_allocation_ready`, from more iterations on.
//!
//! Values are computed before any block is split, and loops are copied before any check is emitted: a site's
//! check goes in front of the instruction's copy.

use std::collections::BTreeMap;

use crate::analysis::Function;
use crate::analysis::facts::{Kind, LoopId, MAX_STRIDES, ValueId};
use crate::llvm::{Analyses, IntPredicate, LoopCopy, Module, Value};
use crate::plan::{FunctionPlan, Start, ValidityTest, Version};

use super::check::Emitter;
use super::{single, strip};

/// Iterations from which on a test in front of the loop itself pays.
const WORTH: u64 = 16;
/// The same for a test of an allocation: it has to find out first how far that reaches.
const WORTH_OF_ALLOCATION: u64 = 256;
/// Uses that are assumed where the number is not known: too few to fetch anything for.
const NO_USES: u64 = 0;

/// A test whose arguments have been computed.
struct Test {
    before: Value,
    entry: &'static str,
    arguments: Vec<Value>,
    /// Number of iterations, and from which one on the test pays.
    worth: Option<(Value, u64)>,
}

/// Tests before their calls are emitted, and what strips are computed from.
pub struct Tests {
    calls: Vec<Test>,
    bases: Bases,
}

/// Addresses in the preheaders of loops that are executed in strips, by loop and number.
type Bases = BTreeMap<(LoopId, ValueId), Value>;

/// The copies of a function's loops, the last of which has the checks: each is of the one before.
#[derive(Default)]
pub struct Copies(Vec<(LoopId, Vec<LoopCopy>)>);

impl Copies {
    /// The copy of a site's instruction in the second version of a loop.
    pub fn of(&self, over: LoopId, instruction: Value) -> Value {
        let (_, copies) =
            self.0.iter().find(|(l, _)| *l == over).expect("versions are made for all planned loops");
        last(copies, instruction).expect("a check of a version is in its loop")
    }
}

/// Computes the tests' arguments in the preheaders.
pub fn expand(emitter: &Emitter<'_>, analyses: &Analyses, facts: &Function, plan: &FunctionPlan) -> Tests {
    let bases = bases(emitter, facts, plan);
    if plan.validity_tests.is_empty() {
        return Tests { calls: vec![], bases };
    }
    let expander = analyses.expander();
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    let one = |validity: &ValidityTest| {
        let before = facts.blocks[validity.at].terminator();
        let expand = |id: u32| expander.expand(facts.exprs[id as usize], before);
        let start = match validity.start {
            Start::Expr(id) => expander.expand_address(facts.exprs[id as usize], before),
            Start::Value(id) | Start::Allocation(id) => facts.values[id as usize],
            Start::Array(array) => facts.values[array.base as usize],
        };
        let none = i64_type.constant(0);
        let strides: Vec<Value> =
            validity.strides.iter().flat_map(|s| [expand(s.step), expand(s.count)]).collect();
        let uses = validity.uses.map_or(i64_type.constant(NO_USES), expand);
        let least = match validity.start {
            Start::Allocation(_) => WORTH_OF_ALLOCATION,
            Start::Expr(_) | Start::Value(_) | Start::Array(_) => WORTH,
        };
        let worth = validity.worth.map(|count| (expand(count), least));
        builder.before(before).locate_as(before);
        if let Start::Array(array) = validity.start {
            let arguments = vec![facts.values[array.descriptor as usize], start, uses];
            return Test { before, entry: array_entry(validity.kind), arguments, worth };
        }
        if let Start::Allocation(_) = validity.start {
            return Test {
                before,
                entry: allocation_entry(validity.kind),
                arguments: vec![start, uses],
                worth,
            };
        }
        let start = builder.offset(start, i64_type.constant(validity.delta as u64));
        let mut arguments = vec![start, i64_type.constant(validity.length)];
        arguments.extend(strides.into_iter().chain(std::iter::repeat(none)).take(2 * MAX_STRIDES));
        arguments.push(uses);
        Test { before, entry: entry(validity.kind), arguments, worth }
    };
    Tests { calls: plan.validity_tests.iter().map(one).collect(), bases }
}

/// Instructions of their own, so that LLVM changes what they refer to where other loops are copied.
fn bases(emitter: &Emitter<'_>, facts: &Function, plan: &FunctionPlan) -> Bases {
    let parts = plan.versions.iter().flat_map(|v| v.strip.iter().map(move |part| (v.over, part)));
    let mut bases = Bases::new();
    for (over, part) in parts {
        let Some(base) = part.origin.base else { continue };
        let before = facts.loops[over].preheader().expect("loops in strips have one").terminator();
        emitter.builder.before(before).locate_as(before);
        let frozen = || emitter.builder.freeze(facts.values[base as usize]);
        bases.entry((over, base)).or_insert_with(frozen);
    }
    bases
}

/// Emits the tests and copies the loops. `moved` is told of terminators that others have taken the place of.
pub fn copy(
    module: Module,
    emitter: &Emitter<'_>,
    analyses: &Analyses,
    plan: &FunctionPlan,
    facts: &Function,
    tests: &Tests,
    mut moved: impl FnMut(Value, Value),
) -> Copies {
    let builder = emitter.builder;
    let results: Vec<Value> = tests.calls.iter().map(|t| call(emitter, analyses, t)).collect();
    let mut copies = Copies::default();
    for version in &plan.versions {
        let handle = facts.loops[version.over];
        let before = handle.preheader().expect("versioned loops have one").terminator();
        if !version.strip.is_empty() {
            copies.0.push((
                version.over,
                strips(module, emitter, analyses, facts, (version, &tests.bases), &mut moved),
            ));
            continue;
        }
        builder.before(before).locate_as(before);
        let all = version.tests.iter().map(|&t| results[t]).reduce(|x, y| builder.and(x, y));
        let mut condition = all.expect("a version has tests");
        if version.single {
            condition = builder.or(condition, single::needs_no_checks(module, emitter, before));
        }
        let (copy, branch) = analyses.version(handle, condition, true);
        moved(before, branch);
        copies.0.push((version.over, vec![copy]));
    }
    copies
}

/// Two versions of a loop that take turns, beside the loop itself, which is for jobs of one process.
fn strips(
    module: Module,
    emitter: &Emitter<'_>,
    analyses: &Analyses,
    facts: &Function,
    (version, bases): (&Version, &Bases),
    mut moved: impl FnMut(Value, Value),
) -> Vec<LoopCopy> {
    let mut handle = facts.loops[version.over];
    let mut copies = Vec::new();
    if version.single {
        let before = handle.preheader().expect("loops in strips have one").terminator();
        let single = single::needs_no_checks(module, emitter, before);
        let (copy, branch) = analyses.version(handle, single, false);
        let header = copy.of(handle.header().instructions()[0]).expect("it is in the loop").block();
        handle = analyses.loop_of(header).expect("the copy of a loop is one");
        moved(before, branch.block().successors()[1].terminator());
        copies.push(copy);
    }
    let front = handle.preheader().expect("loops in strips have one");
    let old = front.terminator();
    let before = analyses.begin_strips(handle);
    moved(old, front.terminator());
    let root = |id: ValueId| last(&copies, facts.values[id as usize]).expect("a root is in the loop");
    let parts = version.strip.iter().map(|part| strip::Part {
        part,
        root: part.origin.root.map(root),
        base: part.origin.base.map(|base| bases[&(version.over, base)]),
    });
    let parts: Vec<strip::Part<'_>> = parts.collect();
    let decided = strip::decide(emitter, &parts, before);
    let (copy, branch) = analyses.version(handle, decided.valid, true);
    strip::entered(emitter, &decided, branch.block().successors()[0].terminator());
    analyses.end_strips(handle, &copy, decided.left);
    copies.push(copy);
    copies
}

/// The copy of the copy of an instruction, and so on.
fn last(copies: &[LoopCopy], instruction: Value) -> Option<Value> {
    copies.iter().try_fold(instruction, |instruction, copy| copy.of(instruction))
}

/// Asks at the builder's place whether all of a variable is valid.
pub fn whole_is_ready(emitter: &Emitter<'_>, start: Value, bytes: u64, kind: Kind) -> Value {
    let builder = emitter.builder;
    let none = builder.context.i64().constant(0);
    let mut arguments = vec![start, builder.context.i64().constant(bytes)];
    arguments.extend(std::iter::repeat_n(none, 2 * MAX_STRIDES));
    arguments.push(builder.context.i64().constant(NO_USES));
    let validity = builder.call_fn(emitter.entries.get(entry(kind)), &arguments);
    builder.icmp(IntPredicate::LLVMIntNE, validity, builder.context.i32().constant(0))
}

fn entry(kind: Kind) -> &'static str {
    match kind {
        Kind::Load => "__dsm_load_ready",
        Kind::Store => "__dsm_store_ready",
    }
}

fn array_entry(kind: Kind) -> &'static str {
    match kind {
        Kind::Load => "__dsm_fortran_load_ready",
        Kind::Store => "__dsm_fortran_store_ready",
    }
}

fn allocation_entry(kind: Kind) -> &'static str {
    match kind {
        Kind::Load => "__dsm_load_allocation_ready",
        Kind::Store => "__dsm_store_allocation_ready",
    }
}

fn call(emitter: &Emitter<'_>, analyses: &Analyses, test: &Test) -> Value {
    let builder = emitter.builder;
    let entry = emitter.entries.get(test.entry);
    let zero = builder.context.i32().constant(0);
    let made = |before: Value| {
        emitter.counted(before, 0, 0, 1);
        builder.before(before).locate_as(test.before);
        let validity = builder.call_fn(entry, &test.arguments);
        builder.icmp(IntPredicate::LLVMIntNE, validity, zero)
    };
    let Some((count, least)) = test.worth else { return made(test.before) };
    builder.before(test.before).locate_as(test.before);
    let least = builder.context.i64().constant(least);
    let long = builder.icmp(IntPredicate::LLVMIntUGE, count, least);
    let head = test.before.block();
    let then = analyses.if_then(long, test.before);
    let validity = made(then);
    builder.before(test.before.block().instructions()[0]).locate_as(test.before);
    let no = builder.context.int(1).constant(0);
    builder.phi(no.ty(), &[(no, head), (validity, then.block())])
}
