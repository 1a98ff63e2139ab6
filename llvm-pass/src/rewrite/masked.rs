//! Checks of accesses under a mask. Lanes that are switched off may have any address, so they are not looked at.

use crate::analysis::facts::{Kind, Lanes, Masked};
use crate::llvm::{IntPredicate, Module, Value};
use crate::plan::Test;

use super::check::Emitter;

/// Emits the checks before the intrinsic.
pub fn emit(module: Module, emitter: &Emitter<'_>, call: Value, masked: &Masked) {
    match masked.lanes {
        Lanes::Packed => packed(module, emitter, call, masked),
        Lanes::Contiguous | Lanes::Scattered => lanes(emitter, call, masked),
    }
}

/// A branch and a check a lane.
fn lanes(emitter: &Emitter<'_>, call: Value, masked: &Masked) {
    let (address, mask) = (call.operand(masked.address), call.operand(masked.mask));
    let builder = emitter.builder;
    for lane in 0..masked.count {
        builder.before(call).locate_as(call);
        let on = builder.lane(mask, lane);
        let pointer = match masked.lanes {
            Lanes::Scattered => builder.lane(address, lane),
            _ => {
                let bytes = u64::from(lane) * masked.element;
                builder.offset(address, builder.context.i64().constant(bytes))
            }
        };
        // The check goes in front of the branch that leads back from the lane's own block.
        let (side, tail) = emitter.branch(call, on, "dsm.lane");
        let back = builder.at_end(side).br(tail);
        let test = if masked.element <= 1 { Test::Line } else { Test::Ends };
        emitter.fixed(back, pointer, masked.element, masked.kind, test);
    }
}

/// The active lanes are packed from the address on.
fn packed(module: Module, emitter: &Emitter<'_>, call: Value, masked: &Masked) {
    let (address, mask) = (call.operand(masked.address), call.operand(masked.mask));
    let builder = emitter.builder;
    builder.before(call).locate_as(call);
    let bits = builder.context.int(masked.count);
    let set = builder.bitcast(mask, bits);
    let count = builder.intrinsic(module, "llvm.ctpop", &[bits], &[set]);
    let count = builder.int_cast(count, builder.context.i64(), false);
    let length = builder.mul(count, builder.context.i64().constant(masked.element));
    let any = builder.icmp(IntPredicate::LLVMIntNE, length, builder.context.i64().constant(0));
    let (side, tail) = emitter.branch(call, any, "dsm.lane");
    let back = builder.at_end(side).br(tail);
    let kind: Kind = masked.kind;
    emitter.range(back, address, length, kind, false);
}
