//! Loops, and the extents that accesses cover while a loop runs.
//!
//! A loop range is recorded only where it is exact if its conditions hold: the loop leaves only from its latch after a count that is known before it
//! starts, and the access is executed in every iteration (given the guards), so each address of the recurrence is really accessed (count + 1
//! times in all). Overflow cannot make the loop range wrong: every point of `start + i * step` is the address of an executed access, hence a user
//! address, and with |step| below 2^31 two such points cannot lie on both sides of the address space's unusable upper half; so the exact sum
//! equals the one modulo 2^64.
//!
//! A loop whose step is longer than the bytes of one iteration and a line leaves lines out. It becomes a *stride* of the
//! loop range: the set of bytes is the sum of the dense part and of the strides' multiples, in any order of the loops around each
//! other, as long as counts and steps do not change in the outer ones.
//!
//! A loop whose step is known at run time only gives its range *runtime steps*: if the step turns out to be short enough, forwards or backwards, the
//! loop range is one range; if not, the runtime looks at the bytes of each step. In loops further out, a short step is a condition.

use std::collections::HashMap;

use crate::fault::{self, Fault};
use crate::llvm::{Analyses, Block, Context, Expander, Expr, Loop, Module, Opcode, Value};

use super::facts::{
    Access, BlockId, Condition, ExprId, Fills, HoistObstacle, Kind, LoopFacts, LoopId, LoopRange,
    MAX_STRIDES, RuntimeSteps, Site, Stride, StripBounds, StripOrigin, What,
};
use super::footprints::Footprints;
use super::linear::Grounds;
use super::overwrite::readers;
use super::spans::Spanner;
use super::{Collector, Function};

/// Largest step, bytes.
const MAX_STEP: u64 = 1 << 31;

/// Deepest nest that is followed outwards.
const MAX_LEVELS: usize = 6;

/// Most blocks that are followed up from a loop to the block that its enclosing loop always executes.
const MAX_GUARDS: usize = 8;

struct Walker<'a> {
    analyses: &'a Analyses,
    context: Context,
    expander: Expander,
    loops: Vec<Loop>,
    line_bytes: u64,
    /// By loop: the number of times its back edge is taken, if loop ranges over it are exact.
    counts: Vec<Option<Expr>>,
}

/// How often the back edge of a loop is taken.
struct Count {
    exact: Expr,
    /// See [`LoopFacts::by_distance`].
    by_distance: bool,
}

/// Adds loops and loop ranges to the facts.
pub fn collect(analyses: &Analyses, context: Context, out: &mut Function, collector: &mut Collector<'_>) {
    let ids: HashMap<Block, BlockId> = out.blocks.iter().copied().zip(0..).collect();
    let mut loops: Vec<Loop> = Vec::new();
    for (id, &block) in out.blocks.iter().enumerate() {
        let Some(inner) = analyses.loop_of(block) else { continue };
        // Reverse postorder meets an outer loop's header first, so parents are already there.
        if !loops.contains(&inner) {
            loops.push(inner);
            out.facts.loops.push(LoopFacts {
                parent: inner.parent().and_then(|p| loops.iter().position(|l| *l == p)),
                header: ids[&inner.header()],
                preheader: inner.preheader().map(|b| ids[&b]),
                copy_cost: inner.copy_cost(),
                ..LoopFacts::default()
            });
        }
        out.facts.blocks[id].inner = loops.iter().position(|l| *l == inner);
    }
    mark_syncs(out);
    let expander = analyses.expander();
    let mut walker =
        Walker { analyses, context, expander, loops, line_bytes: collector.line_bytes(), counts: vec![] };
    for (id, &l) in walker.loops.iter().enumerate() {
        let count = walker.exact_count(l, collector.grounds());
        out.facts.loops[id].by_distance = count.as_ref().is_some_and(|count| count.by_distance);
        walker.counts.push(count.map(|count| count.exact));
    }
    out.loops = walker.loops.clone();
    walker.number_counts(out);
    for id in 0..out.blocks.len() {
        let Some(inner) = out.facts.blocks[id].inner else { continue };
        let mut events = std::mem::take(&mut out.facts.blocks[id].events);
        for event in &mut events {
            if let What::Access(access) = &mut event.what
                && access.private.is_none()
            {
                let instruction = out.sites[event.site as usize];
                let pointer = instruction.operand(access.operand);
                (access.loop_ranges, access.hoist_obstacle) =
                    walker.loop_ranges(out, collector, id, inner, instruction, access);
                let spanner = walker.spanner(collector.module());
                spanner.look(out, inner, pointer, access);
                if access.loop_ranges.is_empty() {
                    access.footprints = walker.footprints().of(out, inner, pointer);
                    access.expected = spanner.expected(out, (id, inner), pointer, access.size);
                    access.strip = walker.strip_bounds(out, inner, pointer).map(Box::new);
                }
            }
        }
        out.facts.blocks[id].events = events;
    }
}

fn mark_syncs(out: &mut Function) {
    for id in 0..out.facts.blocks.len() {
        if out.facts.blocks[id]
            .events
            .iter()
            .any(|e| e.what == What::Sync || matches!(e.what, What::Atomic(_)))
        {
            let mut at = out.facts.blocks[id].inner;
            while let Some(l) = at {
                out.facts.loops[l].syncs = true;
                at = out.facts.loops[l].parent;
            }
        }
    }
}

/// Bounds of one level while walking outwards.
struct Bounds {
    start: Expr,
    extent: Expr,
    strides: Vec<(Expr, Expr)>,
    /// Of the last loop only: to the loops around it, its steps are a condition.
    runtime_steps: Option<RuntimeSteps>,
    conditions: Vec<Condition>,
    /// Block that is executed once in each iteration of the next loop for which the guards hold.
    executed: Block,
    /// See [`LoopRange::fills`].
    fills: Option<Fills>,
}

impl Walker<'_> {
    fn exact_count(&self, l: Loop, grounds: Grounds) -> Option<Count> {
        l.preheader()?;
        if l.latch()? != l.exiting()? {
            return None;
        }
        let known = self.analyses.backedge_count(l);
        let distance = match l.parent() {
            Some(outer) if grounds != Grounds::None => {
                let is_invariant = |count: &Expr| self.analyses.invariant(*count, outer);
                let distance = || self.analyses.distance_count(l).filter(is_invariant);
                if known.as_ref().is_some_and(is_invariant) { None } else { distance() }
            }
            _ => None,
        };
        let exact = self.analyses.zext64(distance.or(known)?)?;
        let is_short = distance.is_some() && fault::is(Fault::DistanceShort);
        let exact = if is_short { self.analyses.int(self.context, 0) } else { exact };
        Some(Count { exact, by_distance: distance.is_some() })
    }

    /// Tells the planner how often loops run.
    fn number_counts(&self, out: &mut Function) {
        for (id, (&l, count)) in self.loops.iter().zip(&self.counts).enumerate() {
            let Some((count, preheader)) = count.zip(l.preheader()) else { continue };
            if self.expander.is_safe(count, preheader.terminator()) {
                out.facts.loops[id].count = Some(number(&mut out.exprs, count));
            }
        }
    }

    /// What bounds an address in an iteration of an innermost loop without sync points.
    fn strip_bounds(&self, out: &mut Function, inner: LoopId, pointer: Value) -> Option<StripBounds> {
        let l = self.loops[inner];
        if out.facts.loops[inner].syncs || self.loops.iter().any(|other| other.parent() == Some(l)) {
            return None;
        }
        let bounds = self.analyses.strip_bounds(l, pointer)?;
        let mut value = |value: Option<Value>| value.map(|value| number(&mut out.values, value));
        let origin = StripOrigin {
            root: value(bounds.root),
            base: value(bounds.base),
            scale: bounds.scale,
            extended: bounds.extended,
        };
        Some(StripBounds { origin, distance: bounds.distance, step: bounds.step })
    }

    fn footprints(&self) -> Footprints<'_> {
        let Walker { analyses, context, expander, loops, .. } = self;
        Footprints { analyses, context: *context, expander, loops }
    }

    fn spanner(&self, module: Module) -> Spanner<'_> {
        let Walker { analyses, context, expander, loops, line_bytes, .. } = self;
        Spanner { module, analyses, context: *context, expander, loops, line_bytes: *line_bytes }
    }

    fn loop_ranges(
        &self,
        out: &mut Function,
        collector: &mut Collector<'_>,
        block: BlockId,
        inner: LoopId,
        instruction: Value,
        access: &Access,
    ) -> (Vec<LoopRange>, Option<HoistObstacle>) {
        let mut loop_ranges = Vec::new();
        let Some(start) = self.analyses.address(instruction.operand(access.operand)) else {
            return (loop_ranges, Some(HoistObstacle::Irregular));
        };
        let extent = self.analyses.int(self.context, 0);
        let executed = out.blocks[block];
        let fills = (access.kind == Kind::Store && !access.of_callee).then(Fills::default);
        let mut bounds = Bounds {
            start,
            extent,
            strides: vec![],
            runtime_steps: None,
            conditions: vec![],
            executed,
            fills,
        };
        let mut at = Some(inner);
        while let Some(level) = at
            && loop_ranges.len() < MAX_LEVELS
        {
            bounds = match self.widen(out, level, bounds, access.size) {
                Ok(next) => next,
                Err(why) => return (loop_ranges, Some(why)),
            };
            let found = bounds
                .fills
                .is_some()
                .then(|| readers(self.analyses, collector.module(), self.loops[level], instruction));
            bounds.fills = bounds.fills.take().zip(found.flatten()).map(|(fills, readers)| {
                let site = |r| out.sites.iter().position(|s| *s == r).expect("reachable code") as Site;
                Fills { readers: readers.into_iter().map(site).collect(), ..fills }
            });
            if !self.expandable(out, &bounds) {
                return (loop_ranges, Some(HoistObstacle::Bounds));
            }
            let strides = bounds.strides.iter();
            let strides = strides
                .map(|&(step, count)| Stride {
                    step: number(&mut out.exprs, step),
                    count: number(&mut out.exprs, count),
                })
                .collect();
            let (start_key, start_offset) = self.start_key(collector, bounds.start);
            loop_ranges.push(LoopRange {
                over: level,
                start_key,
                start_offset,
                start: number(&mut out.exprs, bounds.start),
                extent: number(&mut out.exprs, bounds.extent),
                bytes: self.constant_length(&bounds),
                strides,
                runtime_steps: bounds.runtime_steps,
                conditions: if bounds.runtime_steps.is_some() { vec![] } else { bounds.conditions.clone() },
                fills: bounds.fills.clone(),
            });
            at = out.facts.loops[level].parent;
        }
        (loop_ranges, None)
    }

    fn constant_length(&self, bounds: &Bounds) -> Option<i64> {
        let dense =
            bounds.strides.is_empty() && bounds.runtime_steps.is_none() && bounds.conditions.is_empty();
        dense.then(|| self.analyses.constant(bounds.extent)).flatten()
    }

    fn start_key(&self, collector: &mut Collector<'_>, start: Expr) -> (u32, i64) {
        let (key, offset) = self.analyses.split_constant(start);
        (collector.expr_key(key), offset)
    }

    /// True if everything can be computed at the end of the preheader, where `executed` has arrived.
    fn expandable(&self, out: &Function, bounds: &Bounds) -> bool {
        let end = bounds.executed.terminator();
        let safe = |id: ExprId| self.expander.is_safe(out.exprs[id as usize], end);
        self.expander.is_safe(bounds.start, end)
            && self.expander.is_safe(bounds.extent, end)
            && bounds.strides.iter().all(|&(_, count)| self.expander.is_safe(count, end))
            && bounds.runtime_steps.is_none_or(|w| safe(w.count))
            && bounds.conditions.iter().all(|c| match *c {
                Condition::Guard { .. } | Condition::Valid { .. } => true,
                Condition::Dense { step, extent, .. } => safe(step) && safe(extent),
            })
    }

    /// The bounds over one more loop; afterwards `executed` is its preheader.
    fn widen(
        &self,
        out: &mut Function,
        level: LoopId,
        bounds: Bounds,
        size: u64,
    ) -> Result<Bounds, HoistObstacle> {
        let l = self.loops[level];
        let count = self.counts[level].ok_or(HoistObstacle::NoCount)?;
        let Bounds { start, extent, mut strides, mut conditions, executed, fills, .. } = bounds;
        if !self.analyses.invariant(extent, l)
            || !self.invariant_conditions(out, &conditions, l)
            || !strides.iter().all(|&(_, repeats)| self.analyses.invariant(repeats, l))
        {
            return Err(HoistObstacle::Bounds);
        }
        self.guards(out, &mut conditions, executed, l).ok_or(HoistObstacle::Conditional)?;
        let executed = l.preheader().ok_or(HoistObstacle::NoCount)?;
        if self.analyses.invariant(start, l) {
            return Ok(Bounds { start, extent, strides, runtime_steps: None, conditions, executed, fills });
        }
        let (first, step) = self.analyses.recurrence(start, l).ok_or(HoistObstacle::Irregular)?;
        let slack = size + self.line_bytes - 1;
        let Some(constant) = self.analyses.constant(step) else {
            // Upwards only: a negative step fails the unsigned comparison.
            if !self.analyses.invariant(step, l) {
                return Err(HoistObstacle::Irregular);
            }
            let (step_id, extent_id) = (number(&mut out.exprs, step), number(&mut out.exprs, extent));
            let runtime_steps = (conditions.is_empty() && strides.is_empty()).then(|| RuntimeSteps {
                step: step_id,
                count: number(&mut out.exprs, count),
                extent: extent_id,
            });
            conditions.push(Condition::Dense { step: step_id, extent: extent_id, slack });
            let extent = self.analyses.add(extent, self.analyses.mul(count, step));
            return Ok(Bounds {
                start: first,
                extent,
                strides,
                runtime_steps,
                conditions,
                executed,
                fills: None,
            });
        };
        let width = constant.unsigned_abs();
        if width >= MAX_STEP {
            return Err(HoistObstacle::Bounds);
        }
        let start = if constant >= 0 || fault::is(Fault::StrideSign) {
            first
        } else {
            let back = self.analyses.int(self.context, constant);
            self.analyses.add(first, self.analyses.mul(count, back))
        };
        let magnitude = self.analyses.int(self.context, width as i64);
        let longer = |covered: u64| {
            let least = width.saturating_sub(covered);
            fills.clone().map(|f| Fills { least: f.least.max(least), ..f })
        };
        let fills = match self.analyses.constant(extent).map(|known| known.max(0) as u64) {
            Some(known) if width <= slack.saturating_add(known) => longer(known),
            _ if width <= slack => longer(0),
            // Where the length is known at run time only, the runtime finds out whether the rows touch each other.
            _ if strides.len() < MAX_STRIDES => {
                strides.push((magnitude, count));
                return Ok(Bounds {
                    start,
                    extent,
                    strides,
                    runtime_steps: None,
                    conditions,
                    executed,
                    fills,
                });
            }
            Some(_) => return Err(HoistObstacle::Bounds),
            None => {
                let (step, extent) = (number(&mut out.exprs, magnitude), number(&mut out.exprs, extent));
                conditions.push(Condition::Dense { step, extent, slack });
                None
            }
        };
        let extent = self.analyses.add(extent, self.analyses.mul(count, magnitude));
        Ok(Bounds { start, extent, strides, runtime_steps: None, conditions, executed, fills })
    }

    fn invariant_conditions(&self, out: &Function, conditions: &[Condition], l: Loop) -> bool {
        let fixed = |id: ExprId| self.analyses.invariant(out.exprs[id as usize], l);
        conditions.iter().all(|c| match *c {
            Condition::Valid { .. } => true,
            Condition::Guard { value, .. } => self.outside(out.values[value as usize], l),
            Condition::Dense { step, extent, .. } => fixed(step) && fixed(extent),
        })
    }

    /// True if the value is computed before the loop.
    fn outside(&self, value: Value, l: Loop) -> bool {
        !value.is_instruction() || !l.contains(value.block())
    }

    /// Follows the branches around inner loops from `executed` up to a block of every iteration of the loop.
    fn guards(
        &self,
        out: &mut Function,
        conditions: &mut Vec<Condition>,
        mut executed: Block,
        l: Loop,
    ) -> Option<()> {
        let latch = l.latch()?;
        for _ in 0..MAX_GUARDS {
            if self.analyses.dominates(executed, latch) {
                return Some(());
            }
            let id = out.blocks.iter().position(|b| *b == executed)?;
            let [pred] = out.facts.blocks[id].preds[..] else { return None };
            let branch = out.blocks[pred].terminator();
            let successors = out.blocks[pred].successors();
            if branch.opcode() != Opcode::LLVMBr || !l.contains(out.blocks[pred]) {
                return None;
            }
            if successors.len() == 2 && successors[0] != successors[1] {
                let value = branch.operand(0);
                if !self.outside(value, l) {
                    return None;
                }
                let value = number(&mut out.values, value);
                let condition = Condition::Guard { value, holds: successors[0] == executed };
                if !conditions.contains(&condition) {
                    conditions.push(condition);
                }
            }
            executed = out.blocks[pred];
        }
        None
    }
}

/// Number of an element, which is added if it is new.
pub(super) fn number<T: PartialEq>(list: &mut Vec<T>, element: T) -> u32 {
    let at = list.iter().position(|e| *e == element).unwrap_or_else(|| {
        list.push(element);
        list.len() - 1
    });
    at as u32
}
