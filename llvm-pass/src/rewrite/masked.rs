//! Checks of accesses under a mask. Lanes that are switched off may have any address, so they are not looked at.

use crate::analysis::facts::{Kind, Lanes, Masked};
use crate::llvm::{IntPredicate, Module, TypeKind, Value};
use crate::plan::Test;

use super::check::Emitter;

/// Emits the checks before the intrinsic.
pub fn emit(module: Module, emitter: &Emitter<'_>, call: Value, masked: &Masked) {
    match (masked.lanes, masked.mask) {
        (Lanes::Packed, Some(mask)) => packed(module, emitter, call, masked, call.operand(mask)),
        _ => lanes(emitter, call, masked),
    }
}

/// A branch and a check a lane.
fn lanes(emitter: &Emitter<'_>, call: Value, masked: &Masked) {
    let builder = emitter.builder;
    for lane in 0..masked.count {
        builder.before(call).locate_as(call);
        let pointer = address(emitter, call, masked, lane);
        let mut before = call;
        if let Some(on) = is_on(emitter, call, masked, lane) {
            // The check goes in front of the branch that leads back from the lane's own block.
            let (side, tail) = emitter.branch(call, on, "dsm.lane");
            before = builder.at_end(side).br(tail);
        }
        if masked.element <= 1 {
            emitter.fixed(before, pointer, masked.element, masked.kind, Test::Line);
        } else {
            builder.before(before).locate_as(call);
            emitter.range(
                before,
                pointer,
                builder.context.i64().constant(masked.element),
                masked.kind,
                false,
            );
        }
    }
}

/// The address of a lane.
pub fn address(emitter: &Emitter<'_>, call: Value, masked: &Masked, lane: u32) -> Value {
    let (builder, i64_type) = (emitter.builder, emitter.builder.context.i64());
    let address = call.operand(masked.address);
    if lane == 0 && matches!(masked.lanes, Lanes::Strided { .. }) {
        return address;
    }
    let bytes = match masked.lanes {
        Lanes::Scattered => return builder.lane(address, lane),
        Lanes::Contiguous | Lanes::Packed => i64_type.constant(u64::from(lane) * masked.element),
        Lanes::Indexed { index, scale } => {
            let index = builder.int_cast(builder.lane(call.operand(index), lane), i64_type, true);
            builder.mul(index, builder.int_cast(call.operand(scale), i64_type, false))
        }
        Lanes::Strided { stride, unit } => {
            let stride = builder.int_cast(call.operand(stride), i64_type, true);
            builder.mul(stride, i64_type.constant(u64::from(lane) * unit))
        }
    };
    builder.offset(address, bytes)
}

/// Whether the lane counts; `None` if it always does.
pub fn is_on(emitter: &Emitter<'_>, call: Value, masked: &Masked, lane: u32) -> Option<Value> {
    let (builder, context) = (emitter.builder, emitter.builder.context);
    let bit = masked.mask.map(|mask| {
        let bit = builder.lane(call.operand(mask), lane);
        if bit.ty() == context.int(1) {
            return bit;
        }
        let ty = match bit.ty().kind() {
            TypeKind::LLVMFloatTypeKind => context.i32(),
            TypeKind::LLVMDoubleTypeKind => context.i64(),
            _ => bit.ty(),
        };
        builder.icmp(IntPredicate::LLVMIntSLT, builder.bitcast(bit, ty), ty.constant(0))
    });
    let counts = masked.limit.map(|limit| {
        let limit = call.operand(limit);
        builder.icmp(IntPredicate::LLVMIntUGT, limit, limit.ty().constant(lane.into()))
    });
    match (bit, counts) {
        (Some(bit), Some(counts)) => Some(builder.and(bit, counts)),
        (bit, counts) => bit.or(counts),
    }
}

/// The active lanes are packed from the address on.
fn packed(module: Module, emitter: &Emitter<'_>, call: Value, masked: &Masked, mask: Value) {
    let address = call.operand(masked.address);
    let builder = emitter.builder;
    builder.before(call).locate_as(call);
    let length = packed_bytes(module, emitter, mask, masked);
    let any = builder.icmp(IntPredicate::LLVMIntNE, length, builder.context.i64().constant(0));
    let (side, tail) = emitter.branch(call, any, "dsm.lane");
    let back = builder.at_end(side).br(tail);
    let kind: Kind = masked.kind;
    emitter.range(back, address, length, kind, false);
}

/// The bytes of the lanes that are on.
pub fn packed_bytes(module: Module, emitter: &Emitter<'_>, mask: Value, masked: &Masked) -> Value {
    let builder = emitter.builder;
    let bits = builder.context.int(masked.count);
    let set = builder.bitcast(mask, bits);
    let count = builder.intrinsic(module, "llvm.ctpop", &[bits], &[set]);
    let count = builder.int_cast(count, builder.context.i64(), false);
    builder.mul(count, builder.context.i64().constant(masked.element))
}
