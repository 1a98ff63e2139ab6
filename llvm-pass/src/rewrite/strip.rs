//! Emits what decides in front of each strip of a loop which version is executed, and how often.
//!
//! ```text
//! per part:   first = origin + FIRST;  last = origin + PAST - 1;  line = first >> SHIFT          backwards: of last
//!             rest = (first | LINE - 1) - last                                                   first - (last & ~(LINE - 1))
//!             n = rest >> log2 STEP
//! together:   valid = no rest is negative, all n >= LEAST, no state of a line refuses
//!             left = valid ? least n + 1 : RETRY
//! ```
//! Anything may come of an address where an iteration does not use it: it is frozen, and no state is loaded of a line that the table does not have.

use dsm_abi::layout::ADDRESS_BITS;

use crate::analysis::facts::Kind;
use crate::fault::{self, Fault};
use crate::llvm::{Block, IntPredicate, Value};
use crate::plan::StripPart;

use super::check::Emitter;

/// Iterations, without the first, from which on a strip without checks pays.
const LEAST: u64 = 3;
/// Iterations with checks before it is looked again.
const RETRY: u64 = 16;

/// A part with the values that it is computed from.
pub struct Part<'a> {
    /// The part.
    pub part: &'a StripPart,
    /// A phi of the loop's header.
    pub root: Option<Value>,
    /// An address in front of the loop.
    pub base: Option<Value>,
}

/// What was decided.
pub struct Decided {
    /// Whether the strip is one without checks.
    pub valid: Value,
    /// Number of iterations.
    pub left: Value,
    /// First bytes of the lines, for who verifies.
    lines: Vec<(Kind, Value)>,
}

/// Decides before the terminator of the block in front of the strips.
pub fn decide(emitter: &Emitter<'_>, parts: &[Part<'_>], before: Value) -> Decided {
    let front = before.block();
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    emitter.counted(before, 0, 0, 1);
    builder.before(before).locate_as(before);
    let (mut signs, mut least): (Option<Value>, Option<Value>) = (None, None);
    let mut states: Vec<(Kind, Value)> = Vec::new();
    let mut lines = Vec::new();
    for Part { part, root, base } in parts {
        let origin = origin(emitter, part, (*root, *base), front);
        let first = builder.add(origin, i64_type.constant(part.first as u64));
        let last = builder.add(origin, i64_type.constant((part.past - 1) as u64));
        let in_line = i64_type.constant((1 << emitter.line_shift) - 1);
        let from = if part.backwards { last } else { first };
        let known = i64_type.constant((1 << (ADDRESS_BITS - emitter.line_shift)) - 1);
        states.push((part.kind, emitter.state(builder.and(emitter.line(from), known))));
        lines.push((part.kind, from));
        let rest = match part.backwards {
            false => builder.sub(builder.or(first, in_line), last),
            true => builder.sub(first, builder.sub(last, builder.and(last, in_line))),
        };
        signs = Some(signs.map_or(rest, |signs| builder.or(signs, rest)));
        if part.step == 0 {
            continue;
        }
        let iterations = builder.lshr(rest, i64_type.constant(part.step.ilog2().into()));
        least = Some(least.map_or(iterations, |least| {
            let fewer = builder.icmp(IntPredicate::LLVMIntULT, iterations, least);
            builder.select(fewer, iterations, least)
        }));
    }
    let (signs, least) = (signs.expect("a strip has parts"), least.expect("a strip has steps"));
    let refuses = [Kind::Load, Kind::Store].into_iter().filter_map(|kind| {
        let states = states.iter().filter(|state| state.0 == kind).map(|state| state.1);
        Some(emitter.refuses(states.reduce(|x, y| builder.or(x, y))?, kind))
    });
    let outside = builder.icmp(IntPredicate::LLVMIntSLT, signs, i64_type.constant(0));
    let few = builder.icmp(IntPredicate::LLVMIntULT, least, i64_type.constant(LEAST));
    let bad = refuses.chain([outside, few]).reduce(|x, y| builder.or(x, y)).expect("there are several");
    let none = builder.context.int(1).constant(0);
    let valid = builder.icmp(IntPredicate::LLVMIntEQ, bad, none);
    let least = if fault::is(Fault::StripLength) { builder.add(least, least) } else { least };
    let left = builder.add(least, i64_type.constant(1));
    let left = builder.select(valid, left, i64_type.constant(RETRY));
    Decided { valid, left, lines }
}

/// Enters what the decision has looked at, in builds that verify, at the end of a block that runs if the strip has no checks.
pub fn entered(emitter: &Emitter<'_>, decided: &Decided, before: Value) {
    for (kind, address) in decided.lines.iter().filter(|_| emitter.verify) {
        emitter.builder.before(before).locate_as(before);
        let one = emitter.builder.context.i64().constant(1);
        emitter.entered(before, emitter.builder.int_to_ptr(*address), one, *kind);
    }
}

/// The address that a part is relative to, in the block in front of the strips.
fn origin(
    emitter: &Emitter<'_>,
    part: &StripPart,
    (root, base): (Option<Value>, Option<Value>),
    front: Block,
) -> Value {
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    let root = root.map(|root| {
        let found = root.incoming().into_iter().find(|(_, block)| *block == front);
        builder.freeze(found.expect("each phi has a value there").0)
    });
    let base = base.map(|base| builder.address(base));
    let scaled = root.map(|root| match base {
        None => builder.address(root),
        Some(_) => {
            let wide = match part.origin.extended {
                Some(signed) => builder.int_cast(root, i64_type, signed),
                None => root,
            };
            builder.mul(wide, i64_type.constant(part.origin.scale as u64))
        }
    });
    [base, scaled].into_iter().flatten().reduce(|x, y| builder.add(x, y)).expect("an origin is something")
}
