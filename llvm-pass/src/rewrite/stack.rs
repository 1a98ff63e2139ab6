//! Moves escaping locals to the shared stack.
//!
//! ```text
//! entry:   %sp    = load @__dsm_shared_sp          ret/resume/musttail:  store %sp -> @__dsm_shared_sp
//!          %frame = %sp - size (aligned)           after setjmp, landing pads:
//!          store %frame -> @__dsm_shared_sp                              store top -> @__dsm_shared_sp
//!          slot   = %frame + offset
//! ```
//! `top` is `%frame`, or in functions with allocas of run-time size what a private variable remembers of them.

use dsm_abi::layout::{SHARED_STACK_POINTER, STACK_ALIGN};

use crate::llvm::{Builder, Module, Opcode, Value};
use crate::plan::stack::{Source, StackPlan};

struct Frame<'a> {
    builder: &'a Builder,
    /// Address of the thread's shared stack pointer.
    pointer: Value,
    /// Its value on entry.
    on_entry: Value,
    /// Its value behind the fixed frame.
    fixed_top: Value,
    /// Private variable with the current top, if it varies and is asked for.
    top_slot: Option<Value>,
}

/// Applies the plan to a function.
pub fn apply(module: Module, builder: &Builder, function: Value, plan: &StackPlan, sites: &[Value]) {
    if plan.is_empty() {
        return;
    }
    let frame = enter(module, builder, function, plan);
    for slot in &plan.slots {
        match slot.source {
            Source::Alloca(site) => {
                let alloca = sites[site as usize];
                builder.before(frame_point(&frame));
                let address = slot_address(&frame, slot.offset, &alloca.name());
                retire(alloca, address);
            }
            Source::Byval(index) => copy_parameter(module, &frame, function, index, slot.offset, slot.size),
        }
    }
    for &site in &plan.dynamic {
        dynamic(module, &frame, sites[site as usize]);
    }
    for &site in &plan.saves {
        let save = sites[site as usize];
        builder.before(save).locate_as(save);
        let current = builder.load(builder.context.ptr(), frame.pointer, 8);
        save.replace_uses(current);
        save.erase();
    }
    for &site in &plan.restores {
        let restore = sites[site as usize];
        builder.before(restore).locate_as(restore);
        set_top(&frame, restore.operand(0));
        restore.erase();
    }
    for &site in &plan.reentries {
        let behind = behind(sites[site as usize]);
        builder.before(behind).locate_as(behind);
        let top = match frame.top_slot {
            Some(slot) => builder.load(builder.context.ptr(), slot, 8),
            None => frame.fixed_top,
        };
        builder.store(top, frame.pointer, 8);
    }
    if plan.moves_pointer() {
        leave(&frame, function);
    }
}

/// The place behind the frame's set-up, where slots are computed.
fn frame_point(frame: &Frame<'_>) -> Value {
    frame.fixed_top.next().expect("the frame is set up before the entry's terminator")
}

fn enter<'a>(module: Module, builder: &'a Builder, function: Value, plan: &StackPlan) -> Frame<'a> {
    let ptr = builder.context.ptr();
    let first = function.entry_block().instructions()[0];
    builder.before_records(first);
    let variable = shared_stack_pointer(module);
    let pointer = builder.intrinsic(module, "llvm.threadlocal.address", &[ptr], &[variable]);
    let on_entry = builder.load(ptr, pointer, 8);
    let mut fixed_top = on_entry;
    if !plan.slots.is_empty() {
        fixed_top = lowered(builder, on_entry, builder.context.i64().constant(plan.size), plan.align, true);
        fixed_top.set_name("dsm.frame");
        builder.store(fixed_top, pointer, 8);
    }
    let varies = !plan.dynamic.is_empty() && !plan.reentries.is_empty();
    let top_slot = varies.then(|| {
        let slot = builder.alloca(ptr, 8, "dsm.top");
        builder.store(fixed_top, slot, 8);
        slot
    });
    Frame { builder, pointer, on_entry, fixed_top, top_slot }
}

/// `top - bytes`, aligned to at least the ABI's alignment. `rounded`: the number of bytes is a multiple of that already.
fn lowered(builder: &Builder, top: Value, bytes: Value, align: u64, rounded: bool) -> Value {
    let i64_type = builder.context.i64();
    let minus = builder.sub(i64_type.constant(0), bytes);
    let lower = builder.offset(top, minus);
    if align <= STACK_ALIGN && rounded {
        return lower;
    }
    let mask = i64_type.constant(align.max(STACK_ALIGN).wrapping_neg());
    builder.int_to_ptr(builder.and(builder.address(lower), mask))
}

fn slot_address(frame: &Frame<'_>, offset: u64, name: &str) -> Value {
    let builder = frame.builder;
    // A fresh instruction even at offset 0: it carries the variable's name and debug records.
    let address = builder.offset(frame.fixed_top, builder.context.i64().constant(offset));
    if address != frame.fixed_top {
        address.set_name(name);
    }
    address
}

/// Replaces an alloca; the shared stack knows no lifetimes.
fn retire(alloca: Value, address: Value) {
    for user in alloca.users() {
        if user.is_call() && user.is_intrinsic_call() && user.callee().name().starts_with("llvm.lifetime.") {
            user.erase();
        }
    }
    alloca.replace_uses(address);
    alloca.erase();
}

fn copy_parameter(module: Module, frame: &Frame<'_>, function: Value, index: u32, offset: u64, size: u64) {
    let builder = frame.builder;
    builder.before(frame_point(frame));
    let address = builder.offset(frame.fixed_top, builder.context.i64().constant(offset));
    let parameter = function.param(index);
    parameter.replace_uses(address);
    // The shared frame may lie in lines that are not writable yet: the runtime makes them so.
    let entries = super::entries::Entries::new(module);
    let length = builder.context.i64().constant(size);
    builder.call_fn(entries.get("__dsm_store_range"), &[address, length]);
    let copied = [address, parameter, length, builder.context.int(1).constant(0)];
    let ptr = builder.context.ptr();
    builder.intrinsic(module, "llvm.memcpy", &[ptr, ptr, builder.context.i64()], &copied);
}

fn dynamic(module: Module, frame: &Frame<'_>, alloca: Value) {
    let builder = frame.builder;
    builder.before(alloca).locate_as(alloca);
    let i64_type = builder.context.i64();
    let element = module.alloc_size(alloca.allocated_type());
    let count = builder.int_cast(alloca.operand(0), i64_type, false);
    let bytes = builder.mul(count, i64_type.constant(element));
    let current = builder.load(builder.context.ptr(), frame.pointer, 8);
    let lower = lowered(builder, current, bytes, u64::from(alloca.align().max(1)), false);
    set_top(frame, lower);
    retire(alloca, lower);
}

fn set_top(frame: &Frame<'_>, top: Value) {
    frame.builder.store(top, frame.pointer, 8);
    if let Some(slot) = frame.top_slot {
        frame.builder.store(top, slot, 8);
    }
}

/// The instruction that runs after this one comes back.
fn behind(instruction: Value) -> Value {
    instruction.next().expect("calls that return twice and landing pads are not terminators")
}

fn leave(frame: &Frame<'_>, function: Value) {
    for block in function.blocks() {
        let terminator = block.terminator();
        if !matches!(terminator.opcode(), Opcode::LLVMRet | Opcode::LLVMResume) {
            continue;
        }
        let must_tail = block.instructions().into_iter().find(|i| i.call_must_tail_checked());
        let at = must_tail.unwrap_or(terminator);
        frame.builder.before(at).locate_as(at);
        frame.builder.store(frame.on_entry, frame.pointer, 8);
    }
}

fn shared_stack_pointer(module: Module) -> Value {
    module.global(SHARED_STACK_POINTER).unwrap_or_else(|| {
        let global = module.add_global(SHARED_STACK_POINTER, module.context().ptr());
        global.set_initial_exec();
        global
    })
}

impl Value {
    fn call_must_tail_checked(self) -> bool {
        self.opcode() == Opcode::LLVMCall && self.call_must_tail()
    }
}
