//! Makes memory valid that a call touches behind the pass's back.

use crate::analysis::access::VA_LIST_BYTES;
use crate::analysis::facts::{Arguments, FormatCall, Kind, Length, Limit, Purpose, Range};
use crate::llvm::{IntPredicate, Module, Type, TypeKind, Value};

use super::check::Emitter;

/// Memory that a call looks at or writes as much of as it needs is made valid whole up to this size, bytes.
const ROOM: u64 = 4096;
/// Bytes of a wide character.
const WIDE_BYTES: u64 = 4;

/// Emits the range check before the call.
pub fn emit(module: Module, emitter: &Emitter<'_>, call: Value, range: &Range) {
    let pointer = call.operand(range.argument);
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    match &range.length {
        Length::Bytes(_) | Length::Arg(_) | Length::Product(..) | Length::Scaled(..) => {
            let length = bytes(emitter, call, &range.length).expect("these are known at the call");
            emitter.range(call, pointer, length, range.kind, range.fills);
        }
        Length::Capped(argument, most) => {
            let length = widened(emitter, call, *argument);
            let length = smaller(emitter, length, i64_type.constant(*most));
            emitter.range(call, pointer, length, range.kind, range.fills);
        }
        Length::StrWithin(limit) => {
            bounded(emitter, call, range, *limit, |limit| {
                builder.call_fn(emitter.entries.get("__dsm_load_str_within"), &[pointer, limit]);
                i64_type.constant(0)
            });
        }
        Length::Until { of, value, limit } => {
            bounded(emitter, call, range, *limit, |limit| {
                let value = builder.int_cast(call.operand(*value), builder.context.i32(), true);
                let searched = [call.operand(*of), value, limit];
                builder.call_fn(emitter.entries.get("__dsm_load_until"), &searched)
            });
        }
        Length::Compared { with, limit, fold } => {
            bounded(emitter, call, range, *limit, |limit| {
                let fold = builder.context.i32().constant((*fold).into());
                let compared = [pointer, call.operand(*with), limit, fold];
                builder.call_fn(emitter.entries.get("__dsm_load_compared"), &compared);
                i64_type.constant(0)
            });
        }
        Length::FormattedWithin { format, limit } => {
            let limit = widened(emitter, call, *limit);
            let length = unless_much(emitter, call, limit, || {
                smaller(emitter, formatted(module, emitter, call, *format), limit)
            });
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
        Length::End(end) => {
            let entry = match range.kind {
                Kind::Load => "__dsm_load_to",
                Kind::Store => "__dsm_store_to",
            };
            emitter.call(call, entry, &[pointer, call.operand(*end)]);
        }
        Length::Strings => emitter.call(call, "__dsm_load_strings", &[pointer]),
        Length::Str
        | Length::StrLen(_)
        | Length::Joined { .. }
        | Length::Formatted { .. }
        | Length::WideStr { .. }
        | Length::WideLen(_) => {
            // These look at strings; a null pointer has none.
            builder.before(call).locate_as(call);
            let null = builder.context.ptr().zero();
            let present = builder.icmp(IntPredicate::LLVMIntNE, pointer, null);
            let (side, tail) = emitter.branch(call, present, "dsm.string");
            let back = builder.at_end(side).br(tail);
            text(module, emitter, call, range, pointer, back);
        }
        Length::Descriptor => emitter.call(call, descriptor_entry(range), &[pointer]),
        Length::Undefined => emitter.call(call, "__dsm_fortran_define", &[pointer]),
        Length::Namelist => {
            let write = builder.context.i32().constant((range.kind == Kind::Store).into());
            emitter.call(call, "__dsm_fortran_namelist", &[pointer, write]);
        }
        Length::Constructor { elements } => {
            emitter.call(call, "__dsm_fortran_constructor", &[pointer, i64_type.constant(*elements)]);
        }
    }
}

/// The bytes of a length that the call's arguments tell.
pub fn bytes(emitter: &Emitter<'_>, call: Value, length: &Length) -> Option<Value> {
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    Some(match length {
        Length::Bytes(bytes) => i64_type.constant(*bytes),
        Length::Arg(argument) => widened(emitter, call, *argument),
        Length::Product(x, y, scale) => {
            let (x, y) = (widened(emitter, call, *x), widened(emitter, call, *y));
            let product = builder.mul(x, y);
            if *scale == 1 { product } else { builder.mul(product, i64_type.constant(*scale)) }
        }
        Length::Scaled(argument, scale) => {
            builder.mul(widened(emitter, call, *argument), i64_type.constant(*scale))
        }
        _ => return None,
    })
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
            let length = formatted(module, emitter, call, *format);
            emitter.range(back, pointer, length, range.kind, range.fills);
        }
        Length::Joined { strings, most } => {
            builder.before(back).locate_as(call);
            let ty = i64_type.function(&[builder.context.ptr(), i64_type], false);
            let strnlen = module.function("strnlen").unwrap_or_else(|| module.add_function("strnlen", ty));
            let mut length = i64_type.constant(1);
            for &(argument, limit) in *strings {
                let limit = limit_value(emitter, call, limit);
                length = builder.add(length, builder.call(strnlen, ty, &[call.operand(argument), limit]));
            }
            let length = smaller(emitter, length, limit_value(emitter, call, *most));
            emitter.range(back, pointer, length, range.kind, range.fills);
        }
        Length::WideStr { most } => {
            builder.before(back).locate_as(call);
            let most = most.map_or(i64_type.constant(u64::MAX), |argument| {
                builder.int_cast(call.operand(argument), i64_type, true)
            });
            emitter.call(back, "__dsm_load_wide_str", &[pointer, most]);
        }
        Length::WideLen(arguments) => {
            builder.before(back).locate_as(call);
            let ty = i64_type.function(&[builder.context.ptr()], false);
            let length_of = module.function("wcslen").unwrap_or_else(|| module.add_function("wcslen", ty));
            let mut length = i64_type.constant(1);
            for &argument in arguments {
                length = builder.add(length, builder.call(length_of, ty, &[call.operand(argument)]));
            }
            let bytes = builder.mul(length, i64_type.constant(WIDE_BYTES));
            emitter.range(back, pointer, bytes, range.kind, range.fills);
        }
        _ => emitter.call(back, "__dsm_load_str", &[pointer]),
    }
}

/// Bytes of the text that a `sprintf` call is going to write, with its NUL. The builder stays where it is.
fn formatted(module: Module, emitter: &Emitter<'_>, call: Value, format: u32) -> Value {
    let builder = emitter.builder;
    let (ptr, i64_type) = (builder.context.ptr(), builder.context.i64());
    let ty = builder.context.i32().function(&[ptr, i64_type, ptr], true);
    let measure = module.function("snprintf").unwrap_or_else(|| module.add_function("snprintf", ty));
    let mut args = vec![ptr.zero(), i64_type.constant(0)];
    args.extend((format..call.arg_count()).map(|i| call.operand(i)));
    let written = builder.int_cast(builder.call(measure, ty, &args), i64_type, true);
    builder.add(written, i64_type.constant(1))
}

/// Makes a range of as many bytes as a limit valid. If that is much, `find` makes valid what the call is going to read, and says how much more there is.
fn bounded(
    emitter: &Emitter<'_>,
    call: Value,
    range: &Range,
    limit: Limit,
    find: impl FnOnce(Value) -> Value,
) {
    let pointer = call.operand(range.argument);
    let limit = limit_of(emitter, call, limit);
    let length = unless_much(emitter, call, limit, || find(limit));
    emitter.range(call, pointer, length, range.kind, range.fills);
}

/// The limit if it is small; otherwise what `find` computes in a block of its own in front of the call.
fn unless_much(emitter: &Emitter<'_>, call: Value, limit: Value, find: impl FnOnce() -> Value) -> Value {
    let builder = emitter.builder;
    let i64_type = builder.context.i64();
    builder.before(call).locate_as(call);
    match limit.int() {
        Some(bytes) if (0..=ROOM as i64).contains(&bytes) => limit,
        Some(_) => find(),
        None => {
            let much = builder.icmp(IntPredicate::LLVMIntUGT, limit, i64_type.constant(ROOM));
            let head = call.block();
            let (side, tail) = emitter.branch_rare(call, much, "dsm.space");
            builder.at_end(side).locate_as(call);
            let found = find();
            builder.br(tail);
            builder.before(call).locate_as(call);
            builder.phi(i64_type, &[(limit, head), (found, side)])
        }
    }
}

/// The smaller of two unsigned numbers. The builder stays where it is.
fn smaller(emitter: &Emitter<'_>, x: Value, y: Value) -> Value {
    let builder = emitter.builder;
    builder.select(builder.icmp(IntPredicate::LLVMIntULT, x, y), x, y)
}

/// A limit as i64, of which a negative number is none. The builder is put before the call.
fn limit_of(emitter: &Emitter<'_>, call: Value, limit: Limit) -> Value {
    emitter.builder.before(call).locate_as(call);
    limit_value(emitter, call, limit)
}

/// As [`limit_of`]; the builder stays where it is.
fn limit_value(emitter: &Emitter<'_>, call: Value, limit: Limit) -> Value {
    let i64_type = emitter.builder.context.i64();
    match limit {
        Limit::None => i64_type.constant(u64::MAX),
        Limit::Bytes(bytes) => i64_type.constant(bytes),
        Limit::Arg(argument) => emitter.builder.int_cast(call.operand(argument), i64_type, true),
    }
}

/// Emits the call that reads the format before the call that uses it.
pub fn format(module: Module, emitter: &Emitter<'_>, call: Value, format: &FormatCall) {
    let builder = emitter.builder;
    let (ptr, void) = (builder.context.ptr(), builder.context.void());
    let mut args = match format.purpose {
        Purpose::Print => vec![],
        Purpose::PrintTo(to) => vec![call.operand(to)],
        Purpose::PrintWithin(to, limit) => vec![call.operand(to), widened(emitter, call, limit)],
        Purpose::Scan(source) => vec![source.map_or(ptr.zero(), |s| call.operand(s))],
    };
    let purpose = match format.purpose {
        Purpose::Print => "print",
        Purpose::PrintTo(_) => "print_to",
        Purpose::PrintWithin(..) => "print_within",
        Purpose::Scan(_) => "scan",
    };
    let wide = if format.wide { "w" } else { "" };
    args.push(call.operand(format.format));
    let fixed: Vec<Type> = args.iter().map(|a| a.ty()).collect();
    let of_list =
        || (format!("__dsm_{wide}{purpose}_list"), void.function(&[&fixed[..], &[ptr]].concat(), false));
    let mut own_list = None;
    let (name, ty) = match format.arguments {
        Arguments::From(first) => {
            args.extend((first..call.arg_count()).map(|i| call.operand(i)));
            (format!("__dsm_{wide}{purpose}_arguments"), void.function(&fixed, true))
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
