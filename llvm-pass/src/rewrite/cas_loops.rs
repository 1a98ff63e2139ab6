//! Loops that repeat a compare-and-swap until nobody has come between become the one atomic operation that they stand for: bitmaps, sums of floating-point numbers of
//! `std::atomic`, Kokkos and others, which have no instruction of the processor.
//!
//! ```text
//! loop:  %old = phi [%first, %head], [%seen, %loop]     or a load in the loop, or a field of a phi of what the operation gives
//!        %new = fadd %old, %x
//!        %pair = cmpxchg %p, %old, %new                 ->   loop:  %old = atomicrmw fadd %p, %x
//!        %seen = extractvalue %pair, 0                              br %exit
//!        br (extractvalue %pair, 1), %exit, %loop
//! ```
//! The place and the operand may be computed in the loop, from anything but the value that is found: that is then done once. A `head` in front that makes the first attempt (a loop that was rotated) leaves it to the loop. Before there are facts.
//!
//! Soundness. The operation succeeds at the first attempt, which the loop may do, too. It has the order of the compare-and-swap, and acquires if that does where it fails, or if the load in the
//! loop does: that one is gone. Loads in front of the loop whose values nobody needs any more go as well, unless they acquire and the operation does not.

use std::collections::HashSet;

use crate::analysis::is_instrumented;
use crate::analysis::order::acquires;
use crate::fault::{self, Fault};
use crate::llvm::{
    Block, Builder, IntPredicate, Manager, Module, Opcode, Ordering, RmwKind, TypeKind, Value,
};

/// Rewrites the loops of a module's functions; how many.
pub fn rewrite(module: Module, manager: Manager) -> u64 {
    let builder = Builder::new(module);
    let mut count = 0;
    for function in module.functions().into_iter().filter(|f| is_instrumented(*f)) {
        let mut changed = false;
        for block in function.blocks() {
            let Some(update) = loop_of(block) else { continue };
            let attempts = update.attempts_before();
            update.replace(&builder);
            for attempt in attempts {
                attempt.leave_out(&builder);
            }
            changed = true;
            count += 1;
        }
        if changed {
            manager.invalidate(function);
        }
    }
    count
}

/// A compare-and-swap of what an operation makes of a value.
struct Attempt {
    block: Block,
    cas: Value,
    /// Where the value was read: a load, or a phi.
    origin: Value,
    /// The operation, and its operand beside the value.
    operation: Value,
    kind: RmwKind,
    operand: Value,
}

/// An attempt that its block repeats.
struct Update {
    attempt: Attempt,
    exit: Block,
}

/// The update that a block is, if it is one and has no other effect.
fn loop_of(block: Block) -> Option<Update> {
    if !block.successors().contains(&block) {
        return None;
    }
    let instructions = block.instructions();
    let cas = only(instructions.iter().copied().filter(|i| i.opcode() == Opcode::LLVMAtomicCmpXchg))?;
    let attempt = attempt(cas)?;
    let (exit, again) = attempt.ends()?;
    let Attempt { origin, operation, operand, .. } = attempt;
    let pair = pair_of(origin).filter(|pair| is_in(*pair, block));
    let belongs = |instruction: &Value| {
        [origin, operation, cas].contains(instruction)
            || pair == Some(*instruction)
            || passes_on(*instruction)
            || has_no_effect(*instruction)
    };
    let later = depending_on(origin, block);
    let is_known = |user: &Value| user.opcode() == Opcode::LLVMExtractValue || pair == Some(*user);
    let fits = instructions.iter().all(belongs)
        && !later.contains(&cas.operand(0))
        && !later.contains(&operand)
        && repeats_with_what_is_there(&attempt)
        && cas.users().iter().all(is_known)
        && pair.is_none_or(|pair| pair.users() == [origin])
        && again == block;
    fits.then_some(Update { attempt, exit })
}

/// Where a block goes that does nothing else.
fn behind_empty(block: Block) -> Option<Block> {
    let is_empty =
        block.instructions().iter().all(|i| matches!(i.opcode(), Opcode::LLVMPHI | Opcode::LLVMBr));
    only(block.successors().into_iter()).filter(|_| is_empty)
}

fn phis(block: Block) -> impl Iterator<Item = Value> {
    block.instructions().into_iter().take_while(|i| i.opcode() == Opcode::LLVMPHI)
}

fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

fn is_in(value: Value, block: Block) -> bool {
    value.is_instruction() && value.block() == block
}

fn is_a(value: Value, opcode: Opcode) -> bool {
    value.is_instruction() && value.opcode() == opcode
}

/// The value that has the same bits.
fn without_casts(value: Value) -> Value {
    if is_a(value, Opcode::LLVMBitCast) { without_casts(value.operand(0)) } else { value }
}

/// The pair, a compare-and-swap or a phi of some, that a value is what was found of.
fn pair_of(seen: Value) -> Option<Value> {
    (is_a(seen, Opcode::LLVMExtractValue) && !is_bit(seen)).then(|| seen.operand(0))
}

/// Whether an instruction computes nothing new; the compiler's own barriers count as such.
fn passes_on(instruction: Value) -> bool {
    use Opcode::*;
    match instruction.opcode() {
        LLVMBitCast | LLVMExtractValue | LLVMICmp | LLVMBr => true,
        LLVMCall => instruction.callee().is_empty_asm(),
        _ => false,
    }
}

/// Whether an instruction computes what a loop may compute once in place of several times.
fn has_no_effect(instruction: Value) -> bool {
    use Opcode::*;
    match instruction.opcode() {
        LLVMLoad => {
            !instruction.is_volatile() && instruction.ordering() == Ordering::LLVMAtomicOrderingNotAtomic
        }
        LLVMGetElementPtr | LLVMPtrToInt | LLVMIntToPtr | LLVMZExt | LLVMSExt | LLVMTrunc | LLVMSelect => {
            true
        }
        LLVMAdd | LLVMSub | LLVMMul | LLVMShl | LLVMLShr | LLVMAShr | LLVMAnd | LLVMOr | LLVMXor => true,
        _ => false,
    }
}

/// The instructions of a block that depend on one of them, in order, that one left aside.
fn depending_on(origin: Value, block: Block) -> Vec<Value> {
    let mut found = vec![];
    for instruction in block.instructions() {
        let depends = |operand: Value| operand == origin || found.contains(&operand);
        if instruction != origin
            && instruction.opcode() != Opcode::LLVMPHI
            && instruction.operands().any(depends)
        {
            found.push(instruction);
        }
    }
    found
}

fn is_bit(value: Value) -> bool {
    value.ty().kind() == TypeKind::LLVMIntegerTypeKind && value.ty().int_width() == 1
}

/// What a compare-and-swap attempts.
fn attempt(cas: Value) -> Option<Attempt> {
    let ty = cas.operand(1).ty();
    let is_word = ty.kind() == TypeKind::LLVMIntegerTypeKind && matches!(ty.int_width(), 8 | 16 | 32 | 64);
    if !is_word || cas.is_volatile() || cas.is_single_thread() {
        return None;
    }
    let block = cas.block();
    let origin = without_casts(cas.operand(1));
    let operation = without_casts(cas.operand(2));
    if !is_in(operation, block) {
        return None;
    }
    let (kind, operand) = operation_on(origin, operation)?;
    Some(Attempt { block, cas, origin, operation, kind, operand })
}

/// The operation of an instruction on a value, and its other operand.
fn operation_on(value: Value, instruction: Value) -> Option<(RmwKind, Value)> {
    use RmwKind::*;
    let is_float =
        matches!(instruction.ty().kind(), TypeKind::LLVMFloatTypeKind | TypeKind::LLVMDoubleTypeKind);
    let (kind, commutes) = match instruction.opcode() {
        Opcode::LLVMAdd => (LLVMAtomicRMWBinOpAdd, true),
        Opcode::LLVMSub => (LLVMAtomicRMWBinOpSub, false),
        Opcode::LLVMAnd => (LLVMAtomicRMWBinOpAnd, true),
        Opcode::LLVMOr => (LLVMAtomicRMWBinOpOr, true),
        Opcode::LLVMXor => (LLVMAtomicRMWBinOpXor, true),
        Opcode::LLVMFAdd if is_float => (LLVMAtomicRMWBinOpFAdd, true),
        Opcode::LLVMFSub if is_float => (LLVMAtomicRMWBinOpFSub, false),
        _ => return None,
    };
    let (a, b) = (instruction.operand(0), instruction.operand(1));
    let is_value = |operand: Value| without_casts(operand) == value;
    match (is_value(a), is_value(b)) {
        (true, false) => Some((kind, b)),
        (false, true) if commutes => Some((kind, a)),
        _ => None,
    }
}

/// Whether a loop begins again with what is in memory: it loads it, or takes what the compare-and-swap has found.
fn repeats_with_what_is_there(attempt: &Attempt) -> bool {
    let Attempt { block, cas, origin, .. } = *attempt;
    let again =
        |phi: Value| phi.incoming().into_iter().find(|(_, from)| *from == block).map(|(value, _)| value);
    let of_phi = |phi: Value| is_in(phi, block) && phi.opcode() == Opcode::LLVMPHI;
    if let Some(pair) = pair_of(origin) {
        return is_in(origin, block) && of_phi(pair) && again(pair) == Some(cas);
    }
    if of_phi(origin) {
        return again(origin).is_some_and(|value| pair_of(without_casts(value)) == Some(cas));
    }
    is_in(origin, block)
        && origin.opcode() == Opcode::LLVMLoad
        && origin.operand(0) == cas.operand(0)
        && !origin.is_volatile()
}

impl Attempt {
    /// Where the block goes if the attempt has succeeded, and if not; `None` where that does not depend on it.
    fn ends(&self) -> Option<(Block, Block)> {
        let swapped = self.block.condition().and_then(|condition| self.says_swapped(condition))?;
        let successors = self.block.successors();
        let (first, second) = (successors[0], successors[1]);
        (first != second).then_some(if swapped { (first, second) } else { (second, first) })
    }

    /// Whether a condition holds if the attempt has succeeded, or if it has failed; `None` if it says something else. The processor has no compare-and-swap that fails with the
    /// value that it expects.
    fn says_swapped(&self, condition: Value) -> Option<bool> {
        if is_a(condition, Opcode::LLVMExtractValue) {
            return (condition.operand(0) == self.cas).then_some(true);
        }
        if !is_a(condition, Opcode::LLVMICmp) {
            return None;
        }
        let (a, b) = (condition.operand(0), condition.operand(1));
        let compares = |x: Value, y: Value| without_casts(x) == self.origin && pair_of(y) == Some(self.cas);
        match condition.predicate() {
            _ if !compares(a, b) && !compares(b, a) => None,
            IntPredicate::LLVMIntEQ => Some(true),
            IntPredicate::LLVMIntNE => Some(false),
            _ => None,
        }
    }

    /// The order of an operation that is never repeated, which stands for a load in the loop as well.
    fn order(&self) -> Ordering {
        use Ordering::*;
        let loaded = match self.origin.opcode() {
            Opcode::LLVMLoad if !fault::is(Fault::CasOrder) => self.origin.ordering(),
            _ => LLVMAtomicOrderingNotAtomic,
        };
        let (success, failure) = self.cas.cas_orderings();
        let is_acquired = acquires(failure) || acquires(loaded);
        match success {
            _ if loaded == LLVMAtomicOrderingSequentiallyConsistent => loaded,
            LLVMAtomicOrderingMonotonic if is_acquired => LLVMAtomicOrderingAcquire,
            LLVMAtomicOrderingRelease if is_acquired => LLVMAtomicOrderingAcquireRelease,
            _ => success,
        }
    }

    /// Whether nothing depends on the attempt but where its block goes, what is passed on to `exit`, and this phi.
    fn decides_edges_only(&self, exit: Block, phi: Option<Value>) -> bool {
        let is_edge = |user: Value, value: Value| match user.opcode() {
            Opcode::LLVMBr => user.block() == self.block,
            Opcode::LLVMPHI => {
                let is_from_here = |(v, from): &(Value, Block)| *v != value || *from == self.block;
                Some(user) == phi || user.block() == exit && user.incoming().iter().all(is_from_here)
            }
            _ => false,
        };
        let mut values = vec![self.cas];
        while let Some(value) = values.pop() {
            for user in value.users() {
                match user.opcode() {
                    Opcode::LLVMExtractValue | Opcode::LLVMBitCast | Opcode::LLVMICmp => values.push(user),
                    _ if is_edge(user, value) => {}
                    _ => return false,
                }
            }
        }
        true
    }

    /// Takes the attempt out of a block in front of a loop that does all of the update.
    fn leave_out(&self, builder: &Builder) {
        let Some((exit, update)) = self.ends() else { return };
        let is_acquired = acquires(self.order());
        for phi in phis(exit) {
            let others: Vec<_> = phi.incoming().into_iter().filter(|(_, from)| *from != self.block).collect();
            builder.before(phi).locate_as(phi);
            phi.replace_uses(builder.phi(phi.ty(), &others));
            phi.erase();
        }
        go_to(builder, self.block, update);
        let operands: Vec<Value> = self.cas.operands().collect();
        erase_with_users(self.cas);
        erase_unused(operands, is_acquired);
    }
}

impl Update {
    /// The attempts that blocks in front of the loop make of the same update.
    fn attempts_before(&self) -> Vec<Attempt> {
        let Attempt { block, cas, kind, operand, .. } = self.attempt;
        let ahead = block.predecessors().into_iter().filter(|before| *before != block);
        let ahead = ahead.flat_map(|before| match behind_empty(before) == Some(block) {
            true => before.predecessors(),
            false => vec![before],
        });
        let attempts = ahead.filter_map(|before| {
            let first =
                before.instructions().into_iter().rfind(|i| i.opcode() == Opcode::LLVMAtomicCmpXchg)?;
            let first = attempt(first)?;
            let (exit, update) = first.ends()?;
            let is_same = first.cas.operand(0) == cas.operand(0)
                && (first.kind, first.operand) == (kind, operand)
                && first.cas.cas_orderings() == cas.cas_orderings();
            let fits = is_same
                && (exit == self.exit || behind_empty(self.exit) == Some(exit))
                && (update == block || behind_empty(update) == Some(block))
                // What lies between would come before the update.
                && std::iter::successors(first.cas.next(), |at| at.next()).all(passes_on)
                && first.decides_edges_only(exit, self.phi())
                && phis(exit).all(|phi| self.gives_the_same(&first, phi));
            fits.then_some(first)
        });
        attempts.collect()
    }

    /// Whether a phi behind both gets from an attempt in front of the loop what it gets from the loop: the value before or behind the update, or what has nothing to do with it.
    fn gives_the_same(&self, first: &Attempt, phi: Value) -> bool {
        let from =
            |block: Block| phi.incoming().into_iter().find(|(_, b)| *b == block).map(|(value, _)| value);
        let end = if phi.block() == self.exit { self.attempt.block } else { self.exit };
        let (Some(early), Some(late)) = (from(first.block), from(end)) else { return false };
        // Loops have a block of their own behind them, with a phi for each value.
        let late = match is_a(late, Opcode::LLVMPHI) && late.block() == self.exit && late != phi {
            true => only(late.incoming().into_iter()).map_or(late, |(value, _)| value),
            false => late,
        };
        early == late || {
            let (early, late) = (without_casts(early), without_casts(late));
            early == first.origin && late == self.attempt.origin
                || early == first.operation && late == self.attempt.operation
        }
    }

    /// The phi through which the value comes back.
    fn phi(&self) -> Option<Value> {
        let origin = self.attempt.origin;
        pair_of(origin).or((origin.opcode() == Opcode::LLVMPHI).then_some(origin))
    }

    /// Makes the loop a block that does the update.
    fn replace(&self, builder: &Builder) {
        let Attempt { block, cas, origin, kind, operand, .. } = self.attempt;
        let order = self.attempt.order();
        let kind = match kind {
            RmwKind::LLVMAtomicRMWBinOpOr if fault::is(Fault::CasKind) => RmwKind::LLVMAtomicRMWBinOpXor,
            kind => kind,
        };
        // What was computed from the value in front of the attempt comes behind the operation.
        let later = depending_on(origin, block);
        let later = later.into_iter().take_while(|instruction| *instruction != cas).collect::<Vec<_>>();
        builder.before(cas).locate_as(cas);
        let old = builder.atomic_rmw(kind, cas.operand(0), operand);
        old.set_align(cas.align());
        old.set_ordering(order);
        let as_type = |value: Value| match value.ty() == old.ty() {
            true => old,
            false => builder.bitcast(old, value.ty()),
        };
        let bits = as_type(cas.operand(1));
        let found = as_type(origin);
        later.into_iter().for_each(|instruction| instruction.move_before(cas));
        let phi = self.phi();
        origin.replace_uses(found);
        for user in cas.users() {
            if user.opcode() == Opcode::LLVMExtractValue {
                let value = if is_bit(user) { user.ty().constant(1) } else { bits };
                user.replace_uses(value);
                user.erase();
            }
        }
        let first: Vec<Value> = phi.map(|phi| phi.operands().collect()).unwrap_or_default();
        let condition = go_to(builder, block, self.exit);
        origin.erase();
        if let Some(pair) = phi.filter(|phi| *phi != origin) {
            pair.erase();
        }
        let operands: Vec<Value> = cas.operands().collect();
        cas.erase();
        let unused = first.into_iter().chain(condition).chain([bits, found]).chain(operands);
        erase_unused(unused.collect(), acquires(order));
    }
}

/// Has a block go to another in any case; what it depended on.
fn go_to(builder: &Builder, block: Block, to: Block) -> Option<Value> {
    let (branch, condition) = (block.terminator(), block.condition());
    builder.before(branch).locate_as(branch);
    builder.br(to);
    branch.erase();
    condition
}

/// Erases an instruction, and those that use it.
fn erase_with_users(value: Value) {
    while let Some(user) = value.users().first() {
        erase_with_users(*user);
    }
    value.erase();
}

/// Erases instructions whose results nobody uses, and what was computed for them. `is_acquired`: an operation behind them acquires what their loads would.
fn erase_unused(mut values: Vec<Value>, is_acquired: bool) {
    let mut erased = HashSet::new();
    while let Some(value) = values.pop() {
        if erased.contains(&value) || !value.is_instruction() || !value.users().is_empty() {
            continue;
        }
        if is_removable(value, is_acquired) {
            values.extend(value.operands());
            value.erase();
            erased.insert(value);
        }
    }
}

fn is_removable(value: Value, is_acquired: bool) -> bool {
    use Opcode::*;
    match value.opcode() {
        LLVMBitCast | LLVMExtractValue | LLVMICmp | LLVMFAdd | LLVMFSub => true,
        LLVMLoad => !value.is_volatile() && (is_acquired || !acquires(value.ordering())),
        _ => has_no_effect(value),
    }
}
