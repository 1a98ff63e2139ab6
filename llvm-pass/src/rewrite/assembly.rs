//! Inline assembly that is one atomic operation becomes LLVM's instruction for it, before there are facts: as such it is executed on shared memory. On a local variable it stays assembly, as in fences that are older
//! than `mfence`.

use crate::analysis::assembly::{self, Atomic, Input, Operation, Output};
use crate::llvm::{Builder, Module, Opcode, Ordering, RmwKind, Type, TypeKind, Value};

/// Rewrites the calls of a module's functions.
pub fn atomics(module: Module) {
    let builder = Builder::new(module);
    for function in module.functions().into_iter().filter(|f| crate::analysis::is_instrumented(*f)) {
        for call in function.blocks().into_iter().flat_map(|block| block.instructions()) {
            if call.opcode() == Opcode::LLVMCall && call.callee().is_inline_asm() {
                rewrite(module, &builder, call);
            }
        }
    }
}

fn rewrite(module: Module, builder: &Builder, call: Value) {
    let Some((text, constraints)) = call.callee().asm_text() else { return };
    let Some(atomic) = assembly::parse(&text, &constraints, call.arg_count()) else { return };
    let Some((ty, results)) = types(module, builder, &atomic, call) else { return };
    builder.before(call).locate_as(call);
    let input = |input: Input| match input {
        Input::Argument(argument) => builder.int_cast(call.operand(argument), ty, false),
        Input::Constant(constant) => ty.constant(constant as u64 & u64::MAX >> (64 - ty.int_width())),
    };
    let (place, operand) = (call.operand(atomic.place), input(atomic.operand));
    let rmw = |kind| (builder.atomic_rmw(kind, place, operand), None);
    let (old, swapped) = match atomic.operation {
        Operation::Exchange => rmw(RmwKind::LLVMAtomicRMWBinOpXchg),
        Operation::Add => rmw(RmwKind::LLVMAtomicRMWBinOpAdd),
        Operation::Sub => rmw(RmwKind::LLVMAtomicRMWBinOpSub),
        Operation::And => rmw(RmwKind::LLVMAtomicRMWBinOpAnd),
        Operation::Or => rmw(RmwKind::LLVMAtomicRMWBinOpOr),
        Operation::Xor => rmw(RmwKind::LLVMAtomicRMWBinOpXor),
        Operation::CompareExchange => {
            let expected = input(atomic.expected.expect("a compare-and-swap compares"));
            let pair = builder.atomic_cas(place, expected, operand);
            (builder.extract_value(pair, 0), Some(builder.extract_value(pair, 1)))
        }
    };
    let values: Vec<Value> = atomic
        .outputs
        .iter()
        .zip(&results)
        .map(|(output, ty)| match output {
            Output::Old => builder.int_cast(old, *ty, false),
            Output::Swapped(_) => builder.int_cast(swapped.expect("of a compare-and-swap"), *ty, false),
        })
        .collect();
    match (call.ty().kind(), &values[..]) {
        (TypeKind::LLVMStructTypeKind, _) => {
            let result = (0..).zip(&values).fold(builder.poison(call.ty()), |result, (index, value)| {
                builder.insert_value(result, *value, index)
            });
            call.replace_uses(result);
        }
        (_, [value]) => call.replace_uses(*value),
        _ => {}
    }
    call.erase();
}

/// The type of the variable in memory, and those of the results; `None` if the registers have parts that the instruction would leave as they were, or operands are no integers.
fn types(module: Module, builder: &Builder, atomic: &Atomic, call: Value) -> Option<(Type, Vec<Type>)> {
    let place = call.operand(atomic.place);
    if !place.ty().is_plain_pointer() || is_local(place.constant_offset(module).0) {
        return None;
    }
    if !atomic.same_place.iter().all(|other| are_equal(module, call.operand(*other), place, call)) {
        return None;
    }
    let width_of = |ty: Type| (ty.kind() == TypeKind::LLVMIntegerTypeKind).then(|| ty.int_width());
    let inputs = [Some(atomic.operand), atomic.expected].into_iter().flatten();
    let arguments: Vec<u32> = inputs
        .filter_map(|input| match input {
            Input::Argument(argument) => Some(width_of(call.operand(argument).ty())),
            Input::Constant(_) => None,
        })
        .collect::<Option<_>>()?;
    let bits = atomic.bits.or(arguments.first().copied())?;
    let results = match call.ty().kind() {
        TypeKind::LLVMVoidTypeKind => vec![],
        TypeKind::LLVMStructTypeKind => call.ty().fields(),
        _ => vec![call.ty()],
    };
    // An instruction of 32 bits clears the upper half of its register; shorter ones leave the rest as it is, as does a compare-and-swap that swaps.
    let fits = |width: u32| width == bits || (bits, width) == (32, 64);
    let is_set = |output: &Output, width: u32| match output {
        Output::Old if atomic.operation == Operation::CompareExchange => width == bits,
        Output::Old => fits(width),
        Output::Swapped(set) => width <= *set,
    };
    let all_fit = arguments.iter().all(|width| fits(*width))
        && results.len() == atomic.outputs.len()
        && atomic
            .outputs
            .iter()
            .zip(&results)
            .all(|(output, ty)| width_of(*ty).is_some_and(|w| is_set(output, w)))
        && matches!(bits, 8 | 16 | 32 | 64);
    all_fit.then(|| (builder.context.int(bits), results))
}

/// True of a local variable whose address only this function has.
fn is_local(base: Value) -> bool {
    let accesses = |user: &Value| match user.opcode() {
        Opcode::LLVMLoad => true,
        Opcode::LLVMStore => user.operand(0) != base,
        Opcode::LLVMCall => user.callee().is_inline_asm(),
        _ => false,
    };
    base.is_instruction() && base.opcode() == Opcode::LLVMAlloca && base.users().iter().all(accesses)
}

/// Whether two pointers are the same at a call. Without optimisation they are two loads of one variable.
fn are_equal(module: Module, a: Value, b: Value, call: Value) -> bool {
    let ((a, a_offset), (b, b_offset)) = (a.constant_offset(module), b.constant_offset(module));
    let is_load = |x: Value| {
        x.is_instruction()
            && x.opcode() == Opcode::LLVMLoad
            && !x.is_volatile()
            && x.ordering() == Ordering::LLVMAtomicOrderingNotAtomic
            && x.block() == call.block()
            && holds_until(x, call)
    };
    a_offset == b_offset
        && (a == b || is_load(a) && is_load(b) && are_equal(module, a.operand(0), b.operand(0), call))
}

/// Whether nothing behind an instruction and in front of a later one of its block writes memory.
fn holds_until(instruction: Value, later: Value) -> bool {
    let between = std::iter::successors(instruction.next(), |at| at.next()).take_while(|at| *at != later);
    let writes = |at: Value| {
        use Opcode::*;
        matches!(at.opcode(), LLVMStore | LLVMCall | LLVMAtomicRMW | LLVMAtomicCmpXchg | LLVMFence)
    };
    !between.into_iter().any(writes)
}
