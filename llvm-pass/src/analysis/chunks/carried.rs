//! What a thread carries from one chunk to the next.
//!
//! A partial result is a value that only sums, products, bitwise operations or comparisons take further, one kind of these and with one partial result each, and that nothing else uses in the loop:
//!
//! ```text
//! s += x        s *= x        s &= x        if (x > s) s = x
//! ```
//! Of the last one, the compiler makes a selection, or a branch around a store and phis. What it stores or selects is a partial result or what was compared with one: of
//! `if (x > s) { s = x; where = i; }`, which iteration is found first depends on the threads.

use std::collections::{HashMap, HashSet};

use crate::fault::{self, Fault};
use crate::llvm::{Block, Loop, Opcode, Value};

use super::super::callee::{Callee, callee};
use super::{Region, is_local, root};

/// How partial results are combined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sum,
    Product,
    And,
    Or,
    Xor,
    Extremum,
}

/// Whether what the region's loop carries from chunk to chunk are counters and partial results of the reduction behind it.
pub fn is_only_reduced(region: &Region<'_>) -> bool {
    let loops: HashSet<Loop> =
        region.body.iter().filter_map(|i| region.loops_around(i.block()).last()).collect();
    let mut partial = HashSet::new();
    for l in &loops {
        let carried = l.header().instructions().into_iter().take_while(|i| i.opcode() == Opcode::LLVMPHI);
        for phi in carried.filter(|phi| !is_counter(region, *l, *phi) && !region.counts_chunks(*phi)) {
            if fault::is(Fault::ChunksCarried) {
                continue;
            }
            let Some(found) = Partial::of(region, phi) else { return false };
            partial.extend(found);
        }
    }
    let loads =
        region.body.iter().filter(|i| i.opcode() == Opcode::LLVMLoad && is_element(region, i.operand(0)));
    for load in loads {
        let Some(found) = Partial::of(region, *load) else { return false };
        partial.extend(found);
    }
    let known = |value: Value| partial.contains(&value) || is_from_before(region, value);
    combines_one_each(&partial)
        && stores_to_elements(region).all(|store| match region.analyses.loop_of(store.block()) {
            Some(_) => partial.contains(&store.operand(0)) || is_under_comparison(store, &partial),
            None => known(store.operand(0)),
        })
        && merges(region, &partial)
        && region
            .reduction
            .iter()
            .flat_map(|r| &r.combining)
            .flat_map(|i| i.operands())
            .all(|operand| !region.body.contains(&operand) || partial.contains(&operand))
}

fn is_element(region: &Region<'_>, address: Value) -> bool {
    region.reduction.as_ref().is_some_and(|r| r.elements.contains(&root(address)))
}

/// The stores to private copies from the loop on, up to the reduction.
fn stores_to_elements<'a>(region: &'a Region<'_>) -> impl Iterator<Item = Value> + 'a {
    let before = region.reduction.iter().flat_map(|r| &r.before);
    let all = region.body.iter().chain(before).copied();
    all.filter(|i| i.opcode() == Opcode::LLVMStore && is_element(region, i.operand(1)))
}

/// Whether a value is the same as before the loop.
fn is_from_before(region: &Region<'_>, value: Value) -> bool {
    !region.body.contains(&value) && !region.end.contains(&value)
}

/// Whether a phi at the head of a loop counts by what the runtime has set: its next value is a sum of it and of bounds.
fn is_counter(region: &Region<'_>, l: Loop, phi: Value) -> bool {
    let back = phi.incoming().into_iter().filter(|(_, block)| l.contains(*block));
    back.into_iter().all(|(next, _)| {
        let (mut work, mut seen, mut by_bounds) = (vec![next], HashSet::from([phi]), false);
        while let Some(value) = work.pop() {
            if !value.is_instruction() || !seen.insert(value) {
                continue;
            }
            let is_bound = value.opcode() == Opcode::LLVMLoad && region.bounds.contains(&value.operand(0));
            if is_bound {
                by_bounds = true;
            } else if !l.contains(value.block()) {
                by_bounds |= (0..region.bounds.len()).any(|bound| region.depends_on(value, bound));
            } else if counts(value) {
                work.extend(value.operands());
            } else {
                return false;
            }
        }
        by_bounds
    })
}

/// Whether an instruction may be part of a counter's next value.
fn counts(instruction: Value) -> bool {
    use Opcode::*;
    match instruction.opcode() {
        LLVMAdd | LLVMSub | LLVMSExt | LLVMZExt | LLVMTrunc | LLVMICmp | LLVMSelect => true,
        LLVMCall => matches!(callee(instruction), Callee::Intrinsic(name) if is_extremum_of_integers(&name)),
        _ => false,
    }
}

fn is_extremum_of_integers(intrinsic: &str) -> bool {
    ["llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax."].iter().any(|p| intrinsic.starts_with(p))
}

/// The values that a partial result becomes.
struct Partial;

impl Partial {
    /// Those of a value; `None` if it is used for something else.
    fn of(region: &Region<'_>, value: Value) -> Option<HashSet<Value>> {
        let (mut found, mut work, mut kind) = (HashSet::from([value]), vec![value], None);
        let add = |value: Value, found: &mut HashSet<Value>, work: &mut Vec<Value>| {
            if found.insert(value) {
                work.push(value);
            }
        };
        while let Some(value) = work.pop() {
            for user in value.users() {
                if !region.body.contains(&user)
                    && !region.reduction.as_ref().is_some_and(|r| r.before.contains(&user))
                {
                    continue;
                }
                let in_loop = region.body.contains(&user) && region.analyses.loop_of(user.block()).is_some();
                match user.opcode() {
                    Opcode::LLVMPHI => add(user, &mut found, &mut work),
                    Opcode::LLVMStore if is_element(region, user.operand(1)) && user.operand(0) == value => {}
                    _ if !in_loop => return None,
                    Opcode::LLVMICmp | Opcode::LLVMFCmp => {
                        if kind.replace(Kind::Extremum).is_some_and(|k| k != Kind::Extremum) {
                            return None;
                        }
                        for decided in decided_by(user)? {
                            add(decided, &mut found, &mut work);
                        }
                    }
                    Opcode::LLVMSelect => {
                        add(user, &mut found, &mut work);
                    }
                    _ if is_cast(user) => add(user, &mut found, &mut work),
                    _ => {
                        let combined = combination(user, value)?;
                        if kind.replace(combined).is_some_and(|k| k != combined) {
                            return None;
                        }
                        add(user, &mut found, &mut work);
                    }
                }
            }
        }
        Some(found)
    }
}

/// Whether an instruction has the value of its operand in another type.
fn is_cast(instruction: Value) -> bool {
    use Opcode::*;
    matches!(instruction.opcode(), LLVMSExt | LLVMZExt | LLVMTrunc | LLVMFPExt | LLVMFPTrunc | LLVMFreeze)
}

/// How an instruction combines a partial result with something.
fn combination(instruction: Value, partial: Value) -> Option<Kind> {
    use Opcode::*;
    match instruction.opcode() {
        LLVMAdd | LLVMFAdd => Some(Kind::Sum),
        LLVMSub | LLVMFSub if instruction.operand(0) == partial => Some(Kind::Sum),
        LLVMMul | LLVMFMul => Some(Kind::Product),
        LLVMAnd => Some(Kind::And),
        LLVMOr => Some(Kind::Or),
        LLVMXor => Some(Kind::Xor),
        LLVMCall => match callee(instruction) {
            Callee::Intrinsic(name) if name.starts_with("llvm.fmuladd.") || name.starts_with("llvm.fma.") => {
                (instruction.operand(2) == partial).then_some(Kind::Sum)
            }
            Callee::Intrinsic(name)
                if is_extremum_of_integers(&name)
                    || ["llvm.maxnum.", "llvm.minnum.", "llvm.maximum.", "llvm.minimum."]
                        .iter()
                        .any(|p| name.starts_with(p)) =>
            {
                Some(Kind::Extremum)
            }
            _ => None,
        },
        _ => None,
    }
}

/// The values that depend on a comparison: selections, and phis where the two ways of a branch meet that do nothing but store. `None` if anything else does.
fn decided_by(comparison: Value) -> Option<Vec<Value>> {
    let mut out = vec![];
    for user in comparison.users() {
        match user.opcode() {
            Opcode::LLVMSelect if user.operand(0) == comparison => out.push(user),
            Opcode::LLVMBr => {
                let join = join_of(user.block())?;
                out.extend(join.instructions().into_iter().take_while(|i| i.opcode() == Opcode::LLVMPHI));
            }
            _ => return None,
        }
    }
    Some(out)
}

/// Where the ways of a branch meet, if these are empty but for stores.
fn join_of(block: Block) -> Option<Block> {
    let successors = block.successors();
    let &[first, second] = &successors[..] else { return None };
    let through = |side: Block| {
        let is_side = side.single_predecessor() == Some(block) && side.successors().len() == 1;
        let is_plain =
            side.instructions().iter().all(|i| matches!(i.opcode(), Opcode::LLVMStore | Opcode::LLVMBr));
        (is_side && is_plain).then(|| side.successors()[0])
    };
    let (a, b) = (through(first), through(second));
    match () {
        () if a == Some(second) || a.is_some() && a == b => a,
        () if b == Some(first) => b,
        () => None,
    }
}

/// Whether each combination has one partial result, of which no other one is made.
fn combines_one_each(partial: &HashSet<Value>) -> bool {
    partial.iter().all(|value| match value.opcode() {
        Opcode::LLVMPHI | Opcode::LLVMSelect | Opcode::LLVMLoad => true,
        _ => value.operands().filter(|o| partial.contains(o)).count() == 1,
    })
}

/// What partial results are compared with: of a comparison that decides, the other operand.
fn compared(comparison: Value, partial: &HashSet<Value>) -> Option<Value> {
    let is_comparison =
        comparison.is_instruction() && matches!(comparison.opcode(), Opcode::LLVMICmp | Opcode::LLVMFCmp);
    if !is_comparison {
        return None;
    }
    let (a, b) = (comparison.operand(0), comparison.operand(1));
    match (partial.contains(&a), partial.contains(&b)) {
        (true, false) => Some(b),
        (false, true) => Some(a),
        _ => None,
    }
}

/// Whether a store to a private copy is made only where a comparison with a partial result says so, and stores what was compared.
fn is_under_comparison(store: Value, partial: &HashSet<Value>) -> bool {
    let Some(before) = store.block().single_predecessor() else { return false };
    before.condition().and_then(|c| compared(c, partial)) == Some(store.operand(0))
}

/// Whether phis and selections of partial results have only such, or what these were compared with, or what was there before the loop.
fn merges(region: &Region<'_>, partial: &HashSet<Value>) -> bool {
    // Which comparison decides between the values of a phi.
    let mut decisions: HashMap<Block, Value> = HashMap::new();
    let is_comparison = |u: &Value| matches!(u.opcode(), Opcode::LLVMICmp | Opcode::LLVMFCmp);
    let users = partial.iter().flat_map(|p| p.users()).filter(|u| region.body.contains(u));
    for comparison in users.filter(is_comparison) {
        if compared(comparison, partial).is_none() {
            return false;
        }
        for branch in comparison.users().into_iter().filter(|u| u.opcode() == Opcode::LLVMBr) {
            let Some(join) = join_of(branch.block()) else { return false };
            if join.predecessors().len() != 2 || decisions.insert(join, comparison).is_some() {
                return false;
            }
        }
    }
    partial.iter().all(|value| match value.opcode() {
        Opcode::LLVMPHI => {
            let other = decisions.get(&value.block()).and_then(|c| compared(*c, partial));
            let header = region.analyses.loop_of(value.block()).filter(|l| l.header() == value.block());
            let is_outside = region.analyses.loop_of(value.block()).is_none();
            value.incoming().into_iter().all(|(incoming, from)| {
                let enters = header.is_some_and(|l| l.parent().is_none() && !l.contains(from));
                partial.contains(&incoming)
                    || Some(incoming) == other
                    || incoming.is_undef()
                    || (enters || is_outside) && is_from_before(region, incoming)
            })
        }
        Opcode::LLVMSelect => {
            let other = compared(value.operand(0), partial);
            let arms = [value.operand(1), value.operand(2)];
            !partial.contains(&value.operand(0))
                && arms.iter().all(|arm| partial.contains(arm) || Some(*arm) == other)
        }
        Opcode::LLVMLoad => is_local(root(value.operand(0))),
        _ => true,
    })
}
