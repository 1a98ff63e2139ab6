//! Makes memory valid that a call touches behind the pass's back.

use crate::analysis::facts::{Length, Range};
use crate::llvm::{IntPredicate, Module, TypeKind, Value};

use super::check::Emitter;

/// Emits the range check before the call.
pub fn emit(module: Module, emitter: &Emitter<'_>, call: Value, range: &Range) {
    let pointer = call.operand(range.argument);
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    match &range.length {
        Length::Bytes(bytes) => emitter.range(call, pointer, i64_type.constant(*bytes), range.kind),
        Length::Arg(argument) => {
            let length = widened(emitter, call, *argument);
            emitter.range(call, pointer, length, range.kind);
        }
        Length::Product(x, y) => {
            let (x, y) = (widened(emitter, call, *x), widened(emitter, call, *y));
            let length = builder.mul(x, y);
            emitter.range(call, pointer, length, range.kind);
        }
        Length::Str | Length::StrLen(_) | Length::Formatted { .. } => {
            // These look at strings; a null pointer has none.
            builder.before(call).locate_as(call);
            let null = builder.context.ptr().zero();
            let present = builder.icmp(IntPredicate::LLVMIntNE, pointer, null);
            let (side, tail) = emitter.branch(call, present, "dsm.string");
            let back = builder.at_end(side).br(tail);
            text(module, emitter, call, range, pointer, back);
        }
    }
}

fn text(module: Module, emitter: &Emitter<'_>, call: Value, range: &Range, pointer: Value, back: Value) {
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    match &range.length {
        Length::StrLen(arguments) => {
            builder.before(back).locate_as(call);
            let ty = i64_type.function(&[builder.context.ptr()], false);
            let strlen = module.function("strlen").unwrap_or_else(|| module.add_function("strlen", ty));
            let mut length = i64_type.constant(1);
            for &argument in arguments {
                length = builder.add(length, builder.call(strlen, ty, &[call.operand(argument)]));
            }
            emitter.range(back, pointer, length, range.kind);
        }
        Length::Formatted { format } => {
            builder.before(back).locate_as(call);
            let ptr = builder.context.ptr();
            let ty = builder.context.i32().function(&[ptr, i64_type, ptr], true);
            let measure = module.function("snprintf").unwrap_or_else(|| module.add_function("snprintf", ty));
            let mut args = vec![ptr.zero(), i64_type.constant(0)];
            args.extend((*format..call.arg_count()).map(|i| call.operand(i)));
            let written = builder.int_cast(builder.call(measure, ty, &args), i64_type, true);
            let length = builder.add(written, i64_type.constant(1));
            emitter.range(back, pointer, length, range.kind);
        }
        _ => emitter.call(back, "__dsm_load_str", &[pointer]),
    }
}

/// An integer argument as i64.
fn widened(emitter: &Emitter<'_>, call: Value, argument: u32) -> Value {
    let value = call.operand(argument);
    emitter.builder.before(call).locate_as(call);
    debug_assert!(value.ty().kind() == TypeKind::LLVMIntegerTypeKind);
    emitter.builder.int_cast(value, emitter.builder.context.i64(), true)
}
