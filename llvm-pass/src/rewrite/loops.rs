//! Checks in front of loops: all of a preheader's in one test.
//!
//! ```text
//! per range:  first = start >> SHIFT;  more = (start + length - 1) >> SHIFT - first
//!             w = the 8 state bytes from `first` on, shifted left so that only those of the range remain
//! together:   bad = (OR of w, loads masked to states >= READ_LIMIT) != 0, or (OR of more) > 7
//!             br bad, rare -> the range entries, one after the other
//! walk:       if the step is negative, from the last step on
//! window:     bad = start < window.start or start + length > window.end, by the signs of two differences
//! refill:     br bad, rare -> bad as without windows;  br bad -> the range entries; else the window is the lines of the range
//! unless:     the test is jumped over if all its flags are set
//! if:         no test: the range entries are called if the flag is set
//! ```
//! A range with strides has no test here: the runtime's entry for grids is called.
//!
//! ```text
//! hint:       length - MIN < MAX - MIN, without a sign -> the entry for hints
//! ```
//!
//! The 8 bytes may end behind the range: they are masked, and the table has a spare page behind its end. They are loaded
//! with one volatile load, followed by an acquire fence (no instruction on x86-64) for all ranges together.

use std::collections::BTreeMap;

use dsm_abi::layout::{WALK_WINDOW_WORDS, WINDOW_WORDS};

use crate::analysis::Function;
use crate::analysis::facts::{Condition, Kind, MAX_STRIDES};
use crate::fault::{self, Fault};
use crate::llvm::{Analyses, Builder, Expander, IntPredicate, Loop, Ordering, Value};
use crate::plan::{CheckCondition, Flag, FunctionPlan, Hint, LoopCheck, ReadRange, WORD_LINES};

use super::check::Emitter;

/// A range whose bounds have been computed.
struct Range {
    start: Value,
    length: Value,
    /// Step and count of each.
    strides: Vec<(Value, Value)>,
    runtime_steps: Option<RuntimeSteps>,
    kind: Kind,
    overwrites: Overwrites,
    flag: Option<Value>,
    /// Two addresses on the native stack.
    window: Option<Value>,
    /// Whether the states of the range are looked at, where it is not in its window, before the runtime does.
    refills: bool,
}

/// Steps that may leave lines out.
struct RuntimeSteps {
    step: Value,
    count: Value,
    /// Bytes of one.
    length: Value,
}

/// Whether a range is overwritten.
#[derive(Clone, Copy)]
enum Overwrites {
    No,
    Yes,
    /// Not if this holds.
    Unless(Value),
}

/// What the ranges of a group have in common: when they are checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Together {
    Always,
    /// Under this flag.
    If(usize),
    /// Under flags of their own.
    Unless,
    /// Not at all: they are expected to be touched.
    Hint,
}

/// Shortest range that a hint is given of: fewer lines, or bytes, are left to the checks.
const LEAST_HINT: (u64, u64) = (2, 2048);
/// Above any length that makes sense.
const MOST_HINT: u64 = 1 << 40;

/// Ranges that are tested together, before the terminator of a preheader.
pub struct Group {
    before: Value,
    together: Together,
    ranges: Vec<Range>,
}

impl Group {
    /// Puts the group, and what it works on, into a copy of where it was.
    pub fn replace(&mut self, copied: impl Fn(Value) -> Value) {
        self.before = copied(self.before);
        for range in &mut self.ranges {
            range.keep(&copied);
            let overlaps = match &mut range.overwrites {
                Overwrites::Unless(overlaps) => Some(overlaps),
                _ => None,
            };
            for value in overlaps.into_iter().chain(&mut range.flag).chain(&mut range.window) {
                *value = copied(*value);
            }
        }
    }

    /// A terminator has made way for another.
    pub fn moved(&mut self, old: Value, new: Value) {
        if self.before == old {
            self.before = new;
        }
    }
}

impl Range {
    /// The first byte, and the number of bytes up to the last one: of a walk backwards from its last step on. Addresses are small enough for their differences to have the right sign.
    fn hull(&self, builder: &Builder) -> (Value, Value) {
        let first = builder.address(self.start);
        let Some(RuntimeSteps { length, .. }) = &self.runtime_steps else { return (first, self.length) };
        if fault::is(Fault::WalkBackwards) {
            return (first, self.length);
        }
        let none = builder.context.i64().constant(0);
        let distance = builder.sub(self.length, *length);
        let backwards = builder.icmp(IntPredicate::LLVMIntSLT, distance, none);
        let bytes = builder.select(backwards, builder.sub(none, distance), distance);
        (builder.add(first, builder.select(backwards, distance, none)), builder.add(bytes, *length))
    }

    /// Replaces the values. What a loop computes is another value behind it once the loop has a copy: LLVM then changes instructions that use
    /// it, but not what is only held here.
    fn keep(&mut self, kept: impl Fn(Value) -> Value) {
        let strides = self.strides.iter_mut().flat_map(|(step, count)| [step, count]);
        let runtime_steps =
            self.runtime_steps.iter_mut().flat_map(|w| [&mut w.step, &mut w.count, &mut w.length]);
        for value in [&mut self.start, &mut self.length].into_iter().chain(strides).chain(runtime_steps) {
            *value = kept(*value);
        }
    }
}

/// Computes the bounds in the preheaders, before any block is split.
pub fn expand(
    emitter: &Emitter<'_>,
    analyses: &Analyses,
    facts: &Function,
    plan: &FunctionPlan,
) -> Vec<Group> {
    if plan.loop_checks.is_empty() && plan.hints.is_empty() {
        return vec![];
    }
    let builder = emitter.builder;
    let expander = analyses.expander();
    let copied: Vec<Loop> =
        plan.versions.iter().map(|v| v.over).chain(plan.copied_nests()).map(|l| facts.loops[l]).collect();
    let flags: Vec<Value> = plan.flags.iter().map(|f| flag(emitter, &expander, facts, f)).collect();
    let mut groups: BTreeMap<(usize, Together), Group> = BTreeMap::new();
    let keep = |range: &mut Range, before: Value| {
        builder.before(before).locate_as(before);
        range.keep(|value| {
            let changes = |l: &Loop| value.is_instruction() && l.contains(value.block());
            if copied.iter().any(changes) { builder.freeze(value) } else { value }
        });
    };
    for hint in &plan.hints {
        let before = facts.blocks[hint.preheader].terminator();
        let mut range = expected(emitter, &expander, facts, hint, before);
        keep(&mut range, before);
        let together = Together::Hint;
        let new = || Group { before, together, ranges: vec![] };
        groups.entry((hint.preheader, together)).or_insert_with(new).ranges.push(range);
    }
    for check in &plan.loop_checks {
        let before = facts.blocks[check.preheader].terminator();
        let mut range = range(emitter, &expander, facts, check, &flags, before);
        keep(&mut range, before);
        let together = match check.condition {
            CheckCondition::Always => Together::Always,
            CheckCondition::If(at) => Together::If(at),
            CheckCondition::Unless(_) => Together::Unless,
        };
        let new = || Group { before, together, ranges: vec![] };
        groups.entry((check.preheader, together)).or_insert_with(new).ranges.push(range);
    }
    groups.into_values().collect()
}

fn range(
    emitter: &Emitter<'_>,
    expander: &Expander,
    facts: &Function,
    check: &LoopCheck,
    flags: &[Value],
    before: Value,
) -> Range {
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    let start = expander.expand_address(facts.exprs[check.start as usize], before);
    let extent = expander.expand(facts.exprs[check.extent as usize], before);
    let expand = |id: u32| expander.expand(facts.exprs[id as usize], before);
    let strides: Vec<(Value, Value)> =
        check.strides.iter().map(|s| (expand(s.step), expand(s.count))).collect();
    let runtime_steps = check.runtime_steps.map(|w| (expand(w.step), expand(w.count), expand(w.extent)));
    builder.before(before).locate_as(before);
    let start = builder.offset(start, i64_type.constant(check.delta as u64));
    let runtime_steps = runtime_steps.map(|(step, count, extent)| RuntimeSteps {
        step,
        count,
        length: builder.add(extent, i64_type.constant(check.length)),
    });
    let length = builder.add(extent, i64_type.constant(check.length));
    let flag = match check.condition {
        CheckCondition::Unless(at) | CheckCondition::If(at) => Some(flags[at]),
        CheckCondition::Always => None,
    };
    let words = if runtime_steps.is_some() { WALK_WINDOW_WORDS } else { WINDOW_WORDS };
    let window = check.window.map(|at| window(emitter, facts, at, words));
    let overwrites = match &check.overwrites {
        None => Overwrites::No,
        Some(reads) if reads.is_empty() => Overwrites::Yes,
        Some(reads) => {
            let written = (start, length, strides.clone());
            let overlaps = overlaps(emitter, expander, facts, reads, written, before);
            Overwrites::Unless(overlaps)
        }
    };
    let refills = check.refills;
    Range { start, length, strides, runtime_steps, kind: check.kind, overwrites, flag, window, refills }
}

/// The range of a hint, any length of which may be undefined where the loop changes its bound.
fn expected(
    emitter: &Emitter<'_>,
    expander: &Expander,
    facts: &Function,
    hint: &Hint,
    before: Value,
) -> Range {
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    let start = expander.expand_address(facts.exprs[hint.start as usize], before);
    let extent = expander.expand(facts.exprs[hint.extent as usize], before);
    builder.before(before).locate_as(before);
    let start = builder.offset(start, i64_type.constant(hint.delta as u64));
    let length = builder.freeze(builder.add(extent, i64_type.constant(hint.length)));
    Range {
        start,
        length,
        strides: vec![],
        runtime_steps: None,
        kind: hint.kind,
        overwrites: Overwrites::No,
        flag: None,
        window: None,
        refills: false,
    }
}

/// Whether a range has bytes in common with others, or lies between their strides.
fn overlaps(
    emitter: &Emitter<'_>,
    expander: &Expander,
    facts: &Function,
    others: &[ReadRange],
    written: (Value, Value, Vec<(Value, Value)>),
    before: Value,
) -> Value {
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    let end = |first: Value, length: Value, strides: &[(Value, Value)]| {
        let end = builder.add(first, length);
        strides.iter().fold(end, |end, (step, count)| builder.add(end, builder.mul(*step, *count)))
    };
    let (start, length, strides) = written;
    let first = builder.address(start);
    let past = end(first, length, &strides);
    let overlaps = others.iter().map(|other| {
        let expand = |id: u32| expander.expand(facts.exprs[id as usize], before);
        let start = expander.expand_address(facts.exprs[other.start as usize], before);
        let extent = expand(other.extent);
        let strides: Vec<_> = other.strides.iter().map(|s| (expand(s.step), expand(s.count))).collect();
        builder.before(before).locate_as(before);
        let other_first = builder.add(builder.address(start), i64_type.constant(other.delta as u64));
        let other_past = end(other_first, builder.add(extent, i64_type.constant(other.length)), &strides);
        let behind = builder.icmp(IntPredicate::LLVMIntULT, first, other_past);
        builder.and(behind, builder.icmp(IntPredicate::LLVMIntULT, other_first, past))
    });
    overlaps.reduce(|x, y| builder.or(x, y)).expect("there are others")
}

/// A window of so many words that is emptied at the end of a preheader.
fn window(emitter: &Emitter<'_>, facts: &Function, at: usize, words: u64) -> Value {
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    builder.before_records(facts.value.entry_block().instructions()[0]);
    let window = builder.alloca(i64_type.array(words), 16, "dsm.window");
    let before = facts.blocks[at].terminator();
    builder.before(before).locate_as(before);
    builder.store(i64_type.array(words).zero(), window, 16);
    window
}

fn flag(emitter: &Emitter<'_>, expander: &Expander, facts: &Function, flag: &Flag) -> Value {
    let before = facts.blocks[flag.preheader].terminator();
    let builder = emitter.builder;
    let mut all: Option<Value> = None;
    for condition in &flag.conditions {
        let holds = match *condition {
            Condition::Guard { value, holds } => {
                let value = facts.values[value as usize];
                builder.before(before).locate_as(before);
                let wanted = builder.context.int(1).constant(holds.into());
                builder.icmp(IntPredicate::LLVMIntEQ, value, wanted)
            }
            Condition::Valid { object, kind } => {
                builder.before(before).locate_as(before);
                let start = facts.values[object.value as usize];
                super::version::whole_is_ready(emitter, start, object.bytes, kind)
            }
            Condition::Dense { step, extent, slack } => {
                let step = expander.expand(facts.exprs[step as usize], before);
                let extent = expander.expand(facts.exprs[extent as usize], before);
                builder.before(before).locate_as(before);
                let limit = builder.add(extent, builder.context.i64().constant(slack));
                builder.icmp(IntPredicate::LLVMIntULE, step, limit)
            }
        };
        // A guard's value may be poison where the branch on it is not reached; `select` keeps that out of later ones.
        all = Some(match all {
            Some(so_far) => builder.select(so_far, holds, builder.context.int(1).constant(0)),
            None => holds,
        });
    }
    let all = all.unwrap_or_else(|| builder.context.int(1).constant(1));
    builder.before(before).locate_as(before);
    builder.freeze(all)
}

/// Emits a group's test and its slow path.
pub fn emit(emitter: &Emitter<'_>, group: &Group) {
    let builder = emitter.builder;
    let mut before = group.before;
    if group.together == Together::Hint {
        return emit_hints(emitter, group);
    }
    let mut flags: Vec<Value> = group.ranges.iter().filter_map(|r| r.flag).collect();
    flags.dedup();
    if let Together::If(_) = group.together {
        return emit_called(emitter, group, flags[0]);
    }
    if !flags.is_empty() {
        builder.before(before).locate_as(before);
        let all = flags.into_iter().reduce(|x, y| builder.and(x, y)).expect("groups are not empty");
        let missing = builder.icmp(IntPredicate::LLVMIntEQ, all, builder.context.int(1).constant(0));
        let (side, tail) = emitter.branch(before, missing, "dsm.inner");
        before = builder.at_end(side).locate_as(group.before).br(tail);
    }
    let (dense, strided): (Vec<&Range>, Vec<&Range>) =
        group.ranges.iter().partition(|r| r.strides.is_empty());
    emitter.counted(before, 0, 0, group.ranges.len() as u64);
    builder.before(before).locate_as(before);
    for range in strided {
        grid(emitter, range);
    }
    if dense.is_empty() {
        return;
    }
    for range in dense.iter().filter(|r| r.window.is_none()) {
        let (first, length) = range.hull(builder);
        emitter.entered(before, builder.int_to_ptr(first), length, range.kind);
        builder.before(before).locate_as(before);
    }
    let bad = test(emitter, before, &dense);
    let (miss, tail) = emitter.branch_rare(before, bad, "dsm.miss");
    builder.at_end(miss).locate_as(before);
    if dense.iter().any(|r| r.refills) {
        let refuse = states_refuse(emitter, &dense);
        let called = builder.new_block(before.parent_function(), "dsm.call");
        let known = builder.new_block(before.parent_function(), "dsm.refill");
        builder.br_if(refuse, called, known);
        builder.at_end(known).locate_as(before);
        let end = builder.br(tail);
        dense.iter().for_each(|range| refill(emitter, range, end));
        builder.at_end(called).locate_as(before);
    }
    call_ranges(emitter, &dense);
    builder.br(tail);
}

/// The lines of a range, which are valid, become its window.
fn refill(emitter: &Emitter<'_>, range: &Range, before: Value) {
    let Some(window) = range.window else { return };
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    builder.before(before).locate_as(before);
    let in_line = i64_type.constant((1 << emitter.line_shift) - 1);
    let (first, length) = range.hull(builder);
    let start = builder.sub(first, builder.and(first, in_line));
    let one = i64_type.constant(1);
    let last = builder.or(builder.sub(builder.add(first, length), one), in_line);
    let end = builder.add(last, one);
    let end = if fault::is(Fault::RefillEnd) { builder.or(end, i64_type.constant(1 << 46)) } else { end };
    builder.store(start, window, 16);
    builder.store(end, builder.offset(window, i64_type.constant(8)), 8);
    emitter.entered(before, builder.int_to_ptr(start), builder.sub(last, start), range.kind);
}

/// Checks of whole nests are rare and long: calls without a test, under the flag.
fn emit_called(emitter: &Emitter<'_>, group: &Group, flag: Value) {
    let (side, tail) = emitter.branch(group.before, flag, "dsm.outer");
    let end = emitter.builder.at_end(side).locate_as(group.before).br(tail);
    emitter.counted(end, 0, 0, group.ranges.len() as u64);
    emitter.builder.before(end).locate_as(group.before);
    let (dense, strided): (Vec<&Range>, Vec<&Range>) =
        group.ranges.iter().partition(|r| r.strides.is_empty());
    strided.into_iter().for_each(|range| grid(emitter, range));
    call_ranges(emitter, &dense);
}

/// Calls the runtime for what is long enough.
fn emit_hints(emitter: &Emitter<'_>, group: &Group) {
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    let least = (LEAST_HINT.0 << emitter.line_shift).max(LEAST_HINT.1);
    for range in &group.ranges {
        builder.before(group.before).locate_as(group.before);
        let longer = builder.sub(range.length, i64_type.constant(least));
        let most = i64_type.constant(MOST_HINT - least);
        let worth = builder.icmp(IntPredicate::LLVMIntULT, longer, most);
        let (side, tail) = emitter.branch(group.before, worth, "dsm.hint");
        builder.at_end(side).locate_as(group.before);
        let entry = match range.kind {
            Kind::Load => "__dsm_load_hint",
            Kind::Store => "__dsm_store_hint",
        };
        emitter.call_here(entry, &[range.start, range.length]);
        builder.br(tail);
    }
}

/// Calls the runtime for each.
fn call_ranges(emitter: &Emitter<'_>, ranges: &[&Range]) {
    let builder = emitter.builder;
    for range in ranges {
        match range.window {
            _ if range.runtime_steps.is_some() => call_runtime_steps(emitter, range),
            Some(window) => {
                let entry = match range.kind {
                    Kind::Load => "__dsm_load_window",
                    Kind::Store if matches!(range.overwrites, Overwrites::Yes) => "__dsm_overwrite_window",
                    Kind::Store => "__dsm_store_window",
                };
                builder.call_fn(emitter.entries.get(entry), &[range.start, range.length, window]);
            }
            None => {
                for (overwrites, length) in parts(emitter, range, range.length) {
                    let entry = emitter.entries.get(Emitter::range_entry(range.kind, overwrites));
                    builder.call_fn(entry, &[range.start, length]);
                }
            }
        }
    }
}

/// The runtime looks at the steps.
fn call_runtime_steps(emitter: &Emitter<'_>, range: &Range) {
    let Some(RuntimeSteps { step, count, length }) = range.runtime_steps else { return };
    let Some(window) = range.window else { return call_grid(emitter, range, length, &[(step, count)]) };
    let entry = match range.kind {
        Kind::Load => "__dsm_load_walk",
        Kind::Store => "__dsm_store_walk",
    };
    emitter.builder.call_fn(emitter.entries.get(entry), &[range.start, length, step, count, window]);
}

/// A range with strides is left to the runtime.
fn grid(emitter: &Emitter<'_>, range: &Range) {
    call_grid(emitter, range, range.length, &range.strides);
}

fn call_grid(emitter: &Emitter<'_>, range: &Range, length: Value, strides: &[(Value, Value)]) {
    for (overwrites, length) in parts(emitter, range, length) {
        grid_part(emitter, range, length, strides, overwrites);
    }
}

/// How a range is asked for: with which lengths, of which one is 0, to overwrite it or not.
fn parts(emitter: &Emitter<'_>, range: &Range, length: Value) -> Vec<(bool, Value)> {
    let none = emitter.builder.context.i64().constant(0);
    match range.overwrites {
        Overwrites::No => vec![(false, length)],
        Overwrites::Yes => vec![(true, length)],
        Overwrites::Unless(overlaps) => {
            let select = |x, y| emitter.builder.select(overlaps, x, y);
            vec![(true, select(none, length)), (false, select(length, none))]
        }
    }
}

fn grid_part(
    emitter: &Emitter<'_>,
    range: &Range,
    length: Value,
    strides: &[(Value, Value)],
    overwrites: bool,
) {
    let none = emitter.builder.context.i64().constant(0);
    let mut arguments = vec![range.start, length];
    let strides = strides.iter().copied().chain(std::iter::repeat((none, none)));
    arguments.extend(strides.take(MAX_STRIDES).flat_map(|(step, count)| [step, count]));
    let entry = match range.kind {
        Kind::Load => "__dsm_load_grid",
        Kind::Store if overwrites => "__dsm_overwrite_grid",
        Kind::Store => "__dsm_store_grid",
    };
    emitter.builder.call_fn(emitter.entries.get(entry), &arguments);
}

fn test(emitter: &Emitter<'_>, before: Value, ranges: &[&Range]) -> Value {
    let builder = emitter.builder;
    builder.before(before).locate_as(before);
    let (in_windows, in_table): (Vec<&Range>, Vec<&Range>) = ranges.iter().partition(|r| r.window.is_some());
    let bad = in_windows
        .into_iter()
        .map(|r| outside(emitter, r, r.window.expect("these have one")))
        .reduce(|x, y| builder.or(x, y))
        .map(|signs| builder.icmp(IntPredicate::LLVMIntSLT, signs, builder.context.i64().constant(0)));
    let table = (!in_table.is_empty()).then(|| states_refuse(emitter, &in_table));
    bad.into_iter().chain(table).reduce(|x, y| builder.or(x, y)).expect("groups are not empty")
}

/// Negative if the range is not in its window.
fn outside(emitter: &Emitter<'_>, range: &Range, window: Value) -> Value {
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    let (first, length) = range.hull(builder);
    let past = builder.add(first, length);
    let start = builder.load(i64_type, window, 16);
    let end = builder.load(i64_type, builder.offset(window, i64_type.constant(8)), 8);
    let end = if fault::is(Fault::WindowEnd) { builder.or(end, i64_type.constant(1 << 46)) } else { end };
    builder.or(builder.sub(first, start), builder.sub(end, past))
}

/// True if the state of a line refuses, or if a range has more lines than are looked at here.
fn states_refuse(emitter: &Emitter<'_>, ranges: &[&Range]) -> Value {
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    let (mut states, mut lines): (Option<Value>, Option<Value>) = (None, None);
    let join = |so_far: Option<Value>, next| Some(so_far.map_or(next, |s| builder.or(s, next)));
    for range in ranges {
        // Longer ranges are caught by the number of lines.
        let (first, length) = range.hull(builder);
        let (state, more) = emitter.word(first, length, range.kind);
        states = join(states, state);
        lines = join(lines, more);
    }
    builder.fence(Ordering::LLVMAtomicOrderingAcquire);
    let (states, lines) = (states.expect("groups are not empty"), lines.expect("groups are not empty"));
    let bad = builder.icmp(IntPredicate::LLVMIntNE, states, i64_type.constant(0));
    let far = builder.icmp(IntPredicate::LLVMIntUGE, lines, i64_type.constant(WORD_LINES));
    builder.or(bad, far)
}
