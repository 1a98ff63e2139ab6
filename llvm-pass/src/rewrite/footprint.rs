//! Emits the tests of footprints in front of nests.
//!
//! ```text
//! per footprint:   first = (lo + FIRST) >> SHIFT;  last = (end + LAST) >> SHIFT
//!                  near = last - first <= 1, last < LINES
//! together:        (not in a job of one process, all near and all numbers of iterations < MAX ?)  valid = no state of a first or last line refuses
//! ```
//! Anything may come of addresses and numbers where the nest does not use them: they are frozen, and no state is loaded of a line that the table does not have.

use dsm_abi::layout::ADDRESS_BITS;

use crate::analysis::Function;
use crate::analysis::facts::{Kind, LoopId};
use crate::analysis::footprints::MAX_COUNT;
use crate::fault::{self, Fault};
use crate::llvm::{Analyses, IntPredicate, Value};
use crate::plan::FunctionPlan;
use crate::plan::footprint::{End, FootprintTest, Part};

use super::check::Emitter;

/// A test whose operands have been computed.
pub struct Test {
    /// The outermost loop of the nest.
    pub nest: LoopId,
    parts: Vec<Bytes>,
    counts: Vec<Value>,
}

/// From the first to the last byte, as integers.
struct Bytes {
    kind: Kind,
    first: Value,
    last: Value,
}

/// Computes the operands in the preheaders, before any block is split.
pub fn expand(
    emitter: &Emitter<'_>,
    analyses: &Analyses,
    facts: &Function,
    plan: &FunctionPlan,
) -> Vec<Test> {
    if plan.footprints.is_empty() {
        return vec![];
    }
    let builder = emitter.builder;
    let expander = analyses.expander();
    let test = |footprint: &FootprintTest| {
        let before = facts.blocks[footprint.at].terminator();
        let address = |id: u32, distance: i64| {
            let address = expander.expand_address(facts.exprs[id as usize], before);
            builder.before(before).locate_as(before);
            let address = builder.freeze(builder.address(address));
            builder.add(address, builder.context.i64().constant(distance as u64))
        };
        let bytes = |part: &Part| {
            let first = address(part.lo, part.first);
            let last = match part.end {
                _ if fault::is(Fault::FootprintEnd) => first,
                End::Address(hi) => address(hi, part.last),
                End::Extent(extent) => {
                    let extent = expander.expand(facts.exprs[extent as usize], before);
                    builder.before(before).locate_as(before);
                    let behind = builder.context.i64().constant((part.last - part.first) as u64);
                    builder.add(builder.add(first, builder.freeze(extent)), behind)
                }
            };
            Bytes { kind: part.kind, first, last }
        };
        let parts = footprint.parts.iter().map(bytes).collect();
        let count = |id: &u32| {
            let count = expander.expand(facts.exprs[*id as usize], before);
            builder.before(before).locate_as(before);
            builder.freeze(count)
        };
        Test { nest: footprint.nest, parts, counts: footprint.counts.iter().map(count).collect() }
    };
    plan.footprints.iter().map(test).collect()
}

/// Whether all that the nest touches is valid, or `without` holds, in which case that is not looked at.
pub fn holds(
    emitter: &Emitter<'_>,
    analyses: &Analyses,
    test: &Test,
    before: Value,
    without: Option<Value>,
) -> Value {
    let Some(without) = without else { return is_valid(emitter, analyses, test, before) };
    let builder = emitter.builder;
    builder.before(before).locate_as(before);
    let looks = builder.icmp(IntPredicate::LLVMIntEQ, without, no(emitter));
    let head = before.block();
    let then = analyses.if_then(looks, before);
    let valid = is_valid(emitter, analyses, test, then);
    builder.before(before.block().instructions()[0]).locate_as(before);
    builder.phi(without.ty(), &[(without, head), (valid, then.block())])
}

fn is_valid(emitter: &Emitter<'_>, analyses: &Analyses, test: &Test, before: Value) -> Value {
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    builder.before(before).locate_as(before);
    let below =
        |value: Value, limit: u64| builder.icmp(IntPredicate::LLVMIntULT, value, i64_type.constant(limit));
    let lines: Vec<(Kind, Value, Value)> = test
        .parts
        .iter()
        .map(|part| (part.kind, emitter.line(part.first), emitter.line(part.last)))
        .collect();
    let near = lines.iter().flat_map(|&(_, first, last)| {
        [below(builder.sub(last, first), 2), below(last, 1 << (ADDRESS_BITS - emitter.line_shift))]
    });
    let small = test.counts.iter().map(|count| below(*count, MAX_COUNT));
    let looks = near.chain(small).reduce(|x, y| builder.and(x, y)).expect("a test has parts");
    let head = before.block();
    let then = analyses.if_then(looks, before);
    emitter.counted(then, 0, 0, 1);
    builder.before(then).locate_as(before);
    let refuses = [Kind::Load, Kind::Store].into_iter().filter_map(|kind| {
        let ends = lines.iter().filter(|line| line.0 == kind).flat_map(|&(_, first, last)| [first, last]);
        let states = ends.map(|line| emitter.state(line)).reduce(|x, y| builder.or(x, y))?;
        Some(emitter.refuses(states, kind))
    });
    let refuses = refuses.reduce(|x, y| builder.or(x, y)).expect("a test has parts");
    let valid = builder.icmp(IntPredicate::LLVMIntEQ, refuses, no(emitter));
    if emitter.verify {
        let inside = analyses.if_then(valid, then);
        for part in &test.parts {
            builder.before(inside).locate_as(before);
            let length = builder.add(builder.sub(part.last, part.first), i64_type.constant(1));
            emitter.entered(inside, builder.int_to_ptr(part.first), length, part.kind);
        }
    }
    builder.before(before.block().instructions()[0]).locate_as(before);
    builder.phi(valid.ty(), &[(no(emitter), head), (valid, then.block())])
}

fn no(emitter: &Emitter<'_>) -> Value {
    emitter.builder.context.int(1).constant(0)
}
