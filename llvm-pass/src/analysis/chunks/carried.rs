//! What a thread carries from one chunk to the next.
//!
//! A partial sum is a value that only additions of something else take further, and that nothing else uses in the loop; it goes to one private copy of the reduction behind the loop, which is a number, and which the code that
//! combines adds as well. Sums only: of the other operations, few programs make reductions in such loops, and what a minimum is depends on more than the operation.

use std::collections::{HashMap, HashSet};

use crate::fault::{self, Fault};
use crate::llvm::{Loop, Opcode, RmwKind, TypeKind, Value};

use super::super::callee::{Callee, callee};
use super::{LOWER, Region, STRIDE, UPPER};

/// Whether what the region's loop carries from chunk to chunk are counters and partial sums of the reduction behind it.
pub fn is_only_summed(region: &Region<'_>) -> bool {
    let loops: HashSet<Loop> =
        region.body.iter().filter_map(|i| region.loops_around(i.block()).last()).collect();
    let heads = loops.iter().flat_map(|l| {
        let phis = l.header().instructions().into_iter().take_while(|i| i.opcode() == Opcode::LLVMPHI);
        phis.filter(|phi| !is_counter(region, *l, *phi) && !region.counts_chunks(*phi))
    });
    let heads = heads.filter(|_| !fault::is(Fault::ChunksCarried));
    let loads = region.body.iter().copied().filter(|i| is_load_of_copy(region, *i));
    // The values of each private copy.
    let mut sums: HashMap<Value, HashSet<Value>> = HashMap::new();
    for seed in heads.chain(loads) {
        let Some((copy, values)) = sum(region, seed) else { return false };
        sums.entry(copy).or_default().extend(values);
    }
    let none = HashSet::new();
    let of = |copy: Value| sums.get(&copy).unwrap_or(&none);
    let all: HashSet<Value> = sums.values().flatten().copied().collect();
    all.len() == sums.values().map(HashSet::len).sum::<usize>()
        && sums.values().all(|values| combines_one_each(values) && merges(region, values))
        && region.reduction.iter().flat_map(|r| &r.elements).all(|copy| is_added(region, *copy, of(*copy)))
        && stores_to_copies(region).all(|store| {
            let (value, copy) = (store.operand(0), store.operand(1));
            let in_loop = region.analyses.loop_of(store.block()).is_some();
            of(copy).contains(&value) || !in_loop && is_from_before(region, value)
        })
        && region
            .reduction
            .iter()
            .flat_map(|r| &r.combining)
            .flat_map(|i| i.operands())
            .all(|operand| !region.body.contains(&operand) || all.contains(&operand))
}

/// Whether an address is that of a private copy as a whole.
fn is_copy(region: &Region<'_>, address: Value) -> bool {
    region.reduction.as_ref().is_some_and(|r| r.elements.contains(&address))
}

fn is_load_of_copy(region: &Region<'_>, instruction: Value) -> bool {
    instruction.opcode() == Opcode::LLVMLoad && is_copy(region, instruction.operand(0))
}

/// Whether a private copy, a local variable, is a number, of which no part has an address of its own.
pub fn is_number(copy: Value) -> bool {
    let kind = copy.allocated_type().kind();
    matches!(kind, TypeKind::LLVMIntegerTypeKind | TypeKind::LLVMFloatTypeKind | TypeKind::LLVMDoubleTypeKind)
        && copy.users().into_iter().all(|user| user.opcode() != Opcode::LLVMGetElementPtr)
}

/// The stores to private copies from the loop on, up to the reduction.
fn stores_to_copies<'a>(region: &'a Region<'_>) -> impl Iterator<Item = Value> + 'a {
    let before = region.reduction.iter().flat_map(|r| &r.before);
    let all = region.body.iter().chain(before).copied();
    all.filter(|i| i.opcode() == Opcode::LLVMStore && is_copy(region, i.operand(1)))
}

/// Whether a value is the same as before the loop.
fn is_from_before(region: &Region<'_>, value: Value) -> bool {
    !region.body.contains(&value) && !region.end.contains(&value)
}

/// Whether a phi at the head of a loop counts by what the runtime has set: its next value is a sum of it and of the stride, and the end of the loop at most.
fn is_counter(region: &Region<'_>, l: Loop, phi: Value) -> bool {
    let back = phi.incoming().into_iter().filter(|(_, block)| l.contains(*block));
    back.into_iter().all(|(next, _)| {
        let (mut work, mut seen, mut by_stride) = (vec![next], HashSet::new(), false);
        while let Some(value) = work.pop() {
            if !value.is_instruction() || !seen.insert(value) || value == phi {
                continue;
            }
            if !l.contains(value.block()) {
                if region.depends_on(value, LOWER) || region.depends_on(value, UPPER) {
                    return false;
                }
                by_stride |= region.depends_on(value, STRIDE);
            } else if region.is_bound(value, STRIDE) {
                by_stride = true;
            } else if counts(value) {
                work.extend(value.operands());
            } else {
                return false;
            }
        }
        by_stride && seen.contains(&phi)
    })
}

/// Whether an instruction may be part of a counter's next value.
fn counts(instruction: Value) -> bool {
    use Opcode::*;
    match instruction.opcode() {
        LLVMAdd | LLVMSub | LLVMSExt | LLVMZExt | LLVMTrunc | LLVMICmp | LLVMSelect => true,
        LLVMCall => matches!(callee(instruction), Callee::Intrinsic(name)
            if ["llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax."].iter().any(|p| name.starts_with(p))),
        _ => false,
    }
}

/// The values that a partial sum becomes, and the private copy that they are stored to; `None` if it is used for anything else.
fn sum(region: &Region<'_>, seed: Value) -> Option<(Value, HashSet<Value>)> {
    let mut copy = is_load_of_copy(region, seed).then(|| seed.operand(0));
    let (mut found, mut work) = (HashSet::from([seed]), vec![seed]);
    while let Some(value) = work.pop() {
        for user in value.users() {
            let is_before = region.reduction.as_ref().is_some_and(|r| r.before.contains(&user));
            if !region.body.contains(&user) && !is_before {
                continue;
            }
            let in_loop = region.body.contains(&user) && region.analyses.loop_of(user.block()).is_some();
            match user.opcode() {
                Opcode::LLVMStore if is_copy(region, user.operand(1)) && user.operand(0) == value => {
                    if copy.replace(user.operand(1)).is_some_and(|known| known != user.operand(1)) {
                        return None;
                    }
                    continue;
                }
                Opcode::LLVMPHI => {}
                _ if !in_loop => return None,
                Opcode::LLVMSelect if user.operand(0) != value => {}
                _ if is_cast(user) || adds(user, value) => {}
                _ => return None,
            }
            if found.insert(user) {
                work.push(user);
            }
        }
    }
    Some((copy?, found))
}

/// Whether an instruction has the value of its operand in another type.
fn is_cast(instruction: Value) -> bool {
    use Opcode::*;
    matches!(instruction.opcode(), LLVMSExt | LLVMZExt | LLVMTrunc | LLVMFPExt | LLVMFPTrunc | LLVMFreeze)
}

/// Whether an instruction adds something to a partial sum.
fn adds(instruction: Value, partial: Value) -> bool {
    use Opcode::*;
    match instruction.opcode() {
        LLVMAdd | LLVMFAdd => true,
        LLVMSub | LLVMFSub => instruction.operand(0) == partial,
        LLVMCall => {
            matches!(callee(instruction), Callee::Intrinsic(name)
                if name.starts_with("llvm.fmuladd.") || name.starts_with("llvm.fma."))
                && instruction.operand(2) == partial
        }
        _ => false,
    }
}

/// Whether each addition has one partial sum, of which no other one is made.
fn combines_one_each(sums: &HashSet<Value>) -> bool {
    sums.iter().all(|value| match value.opcode() {
        Opcode::LLVMPHI | Opcode::LLVMSelect | Opcode::LLVMLoad => true,
        _ => value.operands().filter(|o| sums.contains(o)).count() == 1,
    })
}

/// Whether phis and selections of partial sums have only such, or what was there before the loop.
fn merges(region: &Region<'_>, sums: &HashSet<Value>) -> bool {
    sums.iter().all(|value| match value.opcode() {
        Opcode::LLVMPHI => {
            let around = region.analyses.loop_of(value.block());
            value.incoming().into_iter().all(|(incoming, from)| {
                let enters = around
                    .is_none_or(|l| l.header() == value.block() && l.parent().is_none() && !l.contains(from));
                sums.contains(&incoming) || incoming.is_undef() || enters && is_from_before(region, incoming)
            })
        }
        Opcode::LLVMSelect => sums.contains(&value.operand(1)) && sums.contains(&value.operand(2)),
        _ => true,
    })
}

/// Whether the code that combines adds a private copy, and does nothing else with it.
fn is_added(region: &Region<'_>, copy: Value, sums: &HashSet<Value>) -> bool {
    let Some(reduction) = &region.reduction else { return false };
    let combines = |i: &Value| reduction.combining.contains(i);
    let loads = reduction.combining.iter().filter(|i| i.opcode() == Opcode::LLVMLoad && i.operand(0) == copy);
    let users: Vec<Value> = loads.chain(sums).flat_map(|value| value.users()).filter(combines).collect();
    !users.is_empty()
        && users.into_iter().all(|user| match user.opcode() {
            Opcode::LLVMAdd | Opcode::LLVMFAdd => true,
            Opcode::LLVMAtomicRMW => {
                matches!(user.rmw_kind(), RmwKind::LLVMAtomicRMWBinOpAdd | RmwKind::LLVMAtomicRMWBinOpFAdd)
            }
            _ => false,
        })
}
