//! Makes memory valid that a call touches behind the pass's back.

use crate::analysis::access::VA_LIST_BYTES;
use crate::analysis::facts::{Arguments, FormatCall, Kind, Length, Purpose, Range};
use crate::llvm::{IntPredicate, Module, TypeKind, Value};

use super::check::Emitter;

/// Emits the range check before the call.
pub fn emit(module: Module, emitter: &Emitter<'_>, call: Value, range: &Range) {
    let pointer = call.operand(range.argument);
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    match &range.length {
        Length::Bytes(bytes) => {
            emitter.range(call, pointer, i64_type.constant(*bytes), range.kind, range.fills)
        }
        Length::Arg(argument) => {
            let length = widened(emitter, call, *argument);
            emitter.range(call, pointer, length, range.kind, range.fills);
        }
        Length::Product(x, y) => {
            let (x, y) = (widened(emitter, call, *x), widened(emitter, call, *y));
            let length = builder.mul(x, y);
            emitter.range(call, pointer, length, range.kind, range.fills);
        }
        Length::Scaled(argument, scale) => {
            let length = builder.mul(widened(emitter, call, *argument), i64_type.constant(*scale));
            emitter.range(call, pointer, length, range.kind, range.fills);
        }
        Length::Vectors(count) => {
            builder.before(call).locate_as(call);
            let count = builder.int_cast(call.operand(*count), builder.context.i32(), true);
            let entry = match range.kind {
                Kind::Load => "__dsm_load_iovec",
                Kind::Store => "__dsm_store_iovec",
            };
            emitter.call(call, entry, &[pointer, count]);
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
        Length::Descriptor => emitter.call(call, descriptor_entry(range), &[pointer]),
        Length::Namelist => {
            let write = builder.context.i32().constant((range.kind == Kind::Store).into());
            emitter.call(call, "__dsm_fortran_namelist", &[pointer, write]);
        }
        Length::Constructor { elements } => {
            emitter.call(call, "__dsm_fortran_constructor", &[pointer, i64_type.constant(*elements)]);
        }
    }
}

fn descriptor_entry(range: &Range) -> &'static str {
    match range.kind {
        Kind::Load => "__dsm_fortran_read",
        Kind::Store if range.fills => "__dsm_fortran_overwrite",
        Kind::Store => "__dsm_fortran_write",
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
            emitter.range(back, pointer, length, range.kind, range.fills);
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
            emitter.range(back, pointer, length, range.kind, range.fills);
        }
        _ => emitter.call(back, "__dsm_load_str", &[pointer]),
    }
}

/// Emits the call that reads the format before the call that uses it.
pub fn format(module: Module, emitter: &Emitter<'_>, call: Value, format: &FormatCall) {
    let builder = emitter.builder;
    let (ptr, void) = (builder.context.ptr(), builder.context.void());
    let mut args = match format.purpose {
        Purpose::Print => vec![],
        Purpose::PrintTo(to) => vec![call.operand(to)],
        Purpose::Scan(source) => vec![source.map_or(ptr.zero(), |s| call.operand(s))],
    };
    let purpose = match format.purpose {
        Purpose::Print => "print",
        Purpose::PrintTo(_) => "print_to",
        Purpose::Scan(_) => "scan",
    };
    args.push(call.operand(format.format));
    let fixed = vec![ptr; args.len()];
    let of_list = || (format!("__dsm_{purpose}_list"), void.function(&[&fixed[..], &[ptr]].concat(), false));
    let mut own_list = None;
    let (name, ty) = match format.arguments {
        Arguments::From(first) => {
            args.extend((first..call.arg_count()).map(|i| call.operand(i)));
            (format!("__dsm_{purpose}_arguments"), void.function(&fixed, true))
        }
        Arguments::List(list) => {
            args.push(call.operand(list));
            of_list()
        }
        Arguments::Forwarded => {
            let first = call.parent_function().entry_block().first_insertion_point();
            builder.before(first).locate_nowhere();
            let list = builder.alloca(builder.context.i8().array(VA_LIST_BYTES), 16, "dsm.arguments");
            own_list = Some(list);
            args.push(list);
            of_list()
        }
    };
    builder.before(call).locate_as(call);
    if let Some(list) = own_list {
        builder.intrinsic(module, "llvm.va_start", &[ptr], &[list]);
    }
    let function = module.function(&name).unwrap_or_else(|| module.add_function(&name, ty));
    builder.call(function, ty, &args);
    if let Some(list) = own_list {
        builder.intrinsic(module, "llvm.va_end", &[ptr], &[list]);
    }
}

/// An integer argument as i64.
fn widened(emitter: &Emitter<'_>, call: Value, argument: u32) -> Value {
    let value = call.operand(argument);
    emitter.builder.before(call).locate_as(call);
    debug_assert!(value.ty().kind() == TypeKind::LLVMIntegerTypeKind);
    emitter.builder.int_cast(value, emitter.builder.context.i64(), true)
}
