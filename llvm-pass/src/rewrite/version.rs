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

use crate::analysis::Function;
use crate::analysis::facts::{Kind, LoopId, MAX_STRIDES};
use crate::llvm::{Analyses, IntPredicate, LoopCopy, Module, Value};
use crate::plan::{FunctionPlan, Start, ValidityTest};

use super::check::Emitter;
use super::single;

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

/// Tests before their calls are emitted.
pub struct Tests(Vec<Test>);

/// The copies of a function's loops.
#[derive(Default)]
pub struct Copies(Vec<(LoopId, LoopCopy)>);

impl Copies {
    /// The copy of a site's instruction in the second version of a loop.
    pub fn of(&self, over: LoopId, instruction: Value) -> Value {
        let (_, copy) =
            self.0.iter().find(|(l, _)| *l == over).expect("versions are made for all planned loops");
        copy.of(instruction).expect("a check of a version is in its loop")
    }
}

/// Computes the tests' arguments in the preheaders.
pub fn expand(emitter: &Emitter<'_>, analyses: &Analyses, facts: &Function, plan: &FunctionPlan) -> Tests {
    if plan.validity_tests.is_empty() {
        return Tests(vec![]);
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
    Tests(plan.validity_tests.iter().map(one).collect())
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
    let results: Vec<Value> = tests.0.iter().map(|t| call(emitter, analyses, t)).collect();
    let mut copies = Copies::default();
    for version in &plan.versions {
        let handle = facts.loops[version.over];
        let before = handle.preheader().expect("versioned loops have one").terminator();
        builder.before(before).locate_as(before);
        let all = version.tests.iter().map(|&t| results[t]).reduce(|x, y| builder.and(x, y));
        let mut condition = all.expect("a version has tests");
        if version.single {
            condition = builder.or(condition, single::needs_no_checks(module, emitter, before));
        }
        let (copy, branch) = analyses.version(handle, condition, true);
        moved(before, branch);
        copies.0.push((version.over, copy));
    }
    copies
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
