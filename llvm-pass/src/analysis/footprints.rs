//! The bytes between the lowest and the highest address that an access can have while a nest of loops runs.
//!
//! Soundness. Level by level, outwards, an address that is an affine recurrence with a constant step is replaced by its values in the first and in the last iteration that the
//! loop can have, by SCEV's upper bound of its back edge count. An address in between lies between these two, executed or not, as long as nothing wraps. Addresses and counts are exact modulo 2^64.
//! The numbers of iterations of all levels, as integers, are tested to be below [`MAX_COUNT`] where the footprint is used, steps are below [`MAX_STEP`], and there are at most [`MAX_LEVELS`] levels. An address that the program
//! really accesses is below 2^47; all others of the nest then differ from it by less than 2^64, so that both ends, taken modulo 2^64, lie in the same line or in neighbouring ones only if
//! they really do.
//!
//! The number of an inner loop's iterations may be a recurrence of the outer loop, in a triangular nest: both of its ends are tested. Where the inner loop is not entered it may be one less than none, which
//! stands for 2^64 iterations otherwise: the condition under which the loop is entered has to exclude these.

use crate::llvm::{Analyses, Context, Expander, Expr, IntPredicate, Loop, Value};

use super::Function;
use super::facts::{Footprint, LoopId};
use super::guards;
use super::loops::number;

/// Above the number of iterations of a loop that a footprint is right for.
pub const MAX_COUNT: u64 = 1 << 31;
/// Above the steps, bytes.
const MAX_STEP: u64 = 1 << 31;
/// Loops of a nest.
const MAX_LEVELS: usize = 3;
/// Numbers of iterations to be tested.
const MAX_COUNTS: usize = 6;
/// Instructions of a nest: larger ones are not copied.
pub const MAX_COST: u32 = 600;

/// Looks at the accesses of one function.
pub struct Footprints<'a> {
    /// The function's analyses.
    pub analyses: &'a Analyses,
    /// Its context.
    pub context: Context,
    /// Asked whether expressions can be computed.
    pub expander: &'a Expander,
    /// Loops by number.
    pub loops: &'a [Loop],
}

/// Of an access over the levels so far.
struct Bounds {
    lo: Expr,
    hi: Expr,
    counts: Vec<Count>,
}

/// A number of iterations without the first, as it is tested.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Count {
    /// The number itself, and the loop.
    Of(Expr, Loop),
    /// One more, of a loop that is entered with less than 2^64 iterations only.
    Next(Expr),
}

impl Count {
    fn expr(self) -> Expr {
        let (Count::Of(expr, _) | Count::Next(expr)) = self;
        expr
    }
}

impl Footprints<'_> {
    /// Footprints over the loops around an access, innermost first.
    pub fn of(&self, out: &mut Function, inner: LoopId, pointer: Value) -> Vec<Footprint> {
        let mut found = Vec::new();
        let Some(address) = self.analyses.address(pointer) else { return found };
        let mut bounds = Bounds { lo: address, hi: address, counts: vec![] };
        let mut at = Some(inner);
        while let Some(level) = at
            && found.len() < MAX_LEVELS
        {
            let facts = &out.facts.loops[level];
            if facts.syncs || !(1..=MAX_COST).contains(&facts.copy_cost) {
                break;
            }
            at = facts.parent;
            let l = self.loops[level];
            let Some(preheader) = l.preheader() else { break };
            let Some(wider) = self.widen(l, bounds) else { break };
            bounds = wider;
            let end = preheader.terminator();
            let all =
                [bounds.lo, bounds.hi].into_iter().chain(bounds.counts.iter().map(|count| count.expr()));
            if !all.into_iter().all(|expr| self.expander.is_safe(expr, end)) {
                break;
            }
            found.push(self.footprint(out, level, &bounds));
        }
        found
    }

    fn footprint(&self, out: &mut Function, over: LoopId, bounds: &Bounds) -> Footprint {
        let mut end = |address: Expr| {
            let (key, offset) = self.analyses.split_constant(address);
            (number(&mut out.exprs, key), offset, number(&mut out.exprs, address))
        };
        let (lo_key, lo_offset, lo) = end(bounds.lo);
        let (hi_key, hi_offset, hi) = end(bounds.hi);
        let counts = bounds.counts.iter().map(|count| number(&mut out.exprs, count.expr())).collect();
        Footprint { over, lo_key, lo_offset, lo, hi_key, hi_offset, hi, counts }
    }

    /// The bounds over one more loop.
    fn widen(&self, l: Loop, bounds: Bounds) -> Option<Bounds> {
        let Bounds { lo, hi, counts } = bounds;
        let fixed = |expr: Expr| self.analyses.invariant(expr, l);
        if fixed(lo) && fixed(hi) && counts.iter().all(|count| fixed(count.expr())) {
            return Some(Bounds { lo, hi, counts });
        }
        let most = self.analyses.zext64(self.analyses.max_count(l)?)?;
        let mut wider = vec![Count::Of(most, l)];
        for count in counts {
            let next = match count {
                _ if fixed(count.expr()) => {
                    wider.push(count);
                    continue;
                }
                Count::Of(expr, inner) if self.is_less_than_all(expr, inner) => self.next(expr),
                Count::Of(..) => return None,
                Count::Next(expr) => expr,
            };
            let (low, high) = self.ends(next, most, l)?;
            wider.extend([Count::Next(low), Count::Next(high)]);
        }
        let is_small = |count: &Count| {
            let constant = self.analyses.constant(count.expr());
            constant.is_some_and(|c| u64::try_from(c).is_ok_and(|c| c < MAX_COUNT))
        };
        wider.retain(|count| !is_small(count));
        let (low, high) = (self.ends(lo, most, l)?, self.ends(hi, most, l)?);
        let is_known = wider.iter().all(|count| self.analyses.constant(count.expr()).is_none());
        (is_known && wider.len() <= MAX_COUNTS).then_some(Bounds { lo: low.0, hi: high.1, counts: wider })
    }

    fn next(&self, expr: Expr) -> Expr {
        self.analyses.add(expr, self.analyses.int(self.context, 1))
    }

    /// Whether the loop is entered under the condition that two values differ whose distance is one more than its number of iterations without the first.
    fn is_less_than_all(&self, count: Expr, l: Loop) -> bool {
        let Some(front) = l.preheader() else { return false };
        let iterations = self.next(count);
        let minus = |x: Expr, y: Expr| {
            let negative = self.analyses.mul(y, self.analyses.int(self.context, -1));
            self.analyses.add(x, negative)
        };
        guards::guards(self.analyses, front).into_iter().any(|(compare, holds)| {
            let wide = compare.operand(0).ty() == self.context.i64();
            let sides = [0, 1].map(|side| self.analyses.expr(compare.operand(side)));
            let [Some(x), Some(y)] = sides else { return false };
            wide && differ(compare.predicate(), holds)
                && (minus(x, y) == iterations || minus(y, x) == iterations)
        })
    }

    /// The lowest and the highest value of an expression while a loop runs.
    fn ends(&self, expr: Expr, most: Expr, l: Loop) -> Option<(Expr, Expr)> {
        if self.analyses.invariant(expr, l) {
            return Some((expr, expr));
        }
        let (first, step) = self.analyses.recurrence(expr, l)?;
        let constant = self.analyses.constant(step)?;
        if constant.unsigned_abs() >= MAX_STEP {
            return None;
        }
        let distance = self.analyses.mul(most, self.analyses.int(self.context, constant));
        let last = self.analyses.add(first, distance);
        Some(if constant >= 0 { (first, last) } else { (last, first) })
    }
}

/// Whether the sides of a comparison differ that holds, or does not.
fn differ(predicate: IntPredicate, holds: bool) -> bool {
    use IntPredicate::{
        LLVMIntEQ, LLVMIntNE, LLVMIntSGE, LLVMIntSGT, LLVMIntSLE, LLVMIntSLT, LLVMIntUGE, LLVMIntUGT,
        LLVMIntULE, LLVMIntULT,
    };
    match predicate {
        LLVMIntNE | LLVMIntULT | LLVMIntUGT | LLVMIntSLT | LLVMIntSGT => holds,
        LLVMIntEQ | LLVMIntULE | LLVMIntUGE | LLVMIntSLE | LLVMIntSGE => !holds,
    }
}
