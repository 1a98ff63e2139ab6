//! The private copies of a reduction, whose addresses the compiler puts into a list for `__kmpc_reduce`.
//!
//! ```text
//! store ptr %sum, ptr %list                    %sum and %list stay on the native stack
//! call i32 @__kmpc_reduce(..., ptr %list, ptr @combine, ...)
//! ```
//!
//! Soundness. Only threads of the same process get the list: the runtime hands it to the compiler's function, on one thread while the others wait,
//! and what the process has combined goes to the variable by code of the program (`runtime/omp/src/reduce.rs`). So lists and copies may be memory of
//! the process, if two things hold. The list is seen by nobody else: it is a local whose elements are stored, and that is handed to
//! these entries, and nothing more. And the function leaves no copy of an element behind: it is here to be looked at, loads pointers from its lists,
//! and these escape as little as a parameter does that does not (`escape`).
//!
//! What other processes have goes there as a message, where the function is known to look at nothing but its elements, and these are numbers in locals of known
//! size ([`copied_bytes`]). The runtime is told how many bytes each has (`__dsm_reduction_copies`).

use std::collections::HashSet;

use dsm_abi::reduction::{ALIGN, Packing};

use crate::llvm::{Block, Module, Opcode, Value};

use super::callee::{Callee, callee, is_exact};
use super::is_instrumented;
use super::pointer::strip;

/// The entries.
const ENTRIES: [&str; 2] = ["__kmpc_reduce", "__kmpc_reduce_nowait"];
/// Arguments of the entries: the number of elements, the list, and the function.
const COUNT: u32 = 2;
const LIST: u32 = 4;
const FUNCTION: u32 = 5;

/// True of the argument that is the list of private copies.
pub fn is_list(name: &str, index: u32) -> bool {
    index == LIST && ENTRIES.contains(&name)
}

/// The calls that get the list which an address lies in; `None` if it lies in no such list.
pub fn calls_with_list_at(address: Value) -> Option<Vec<Value>> {
    let mut list = address;
    while list.is_instruction() && list.opcode() == Opcode::LLVMGetElementPtr {
        list = list.operand(0);
    }
    if !list.is_instruction() || list.opcode() != Opcode::LLVMAlloca {
        return None;
    }
    let (mut calls, mut work) = (vec![], vec![list]);
    while let Some(pointer) = work.pop() {
        for user in pointer.users() {
            match user.opcode() {
                Opcode::LLVMGetElementPtr => work.push(user),
                Opcode::LLVMStore if user.operand(0) != pointer => {}
                Opcode::LLVMCall => match callee(user) {
                    Callee::Intrinsic(name) if name.starts_with("llvm.lifetime.") => {}
                    Callee::OpenMp(name)
                        if user
                            .args()
                            .iter()
                            .enumerate()
                            .all(|(i, a)| *a != pointer || is_list(&name, i as u32)) =>
                    {
                        calls.push(user);
                    }
                    _ => return None,
                },
                _ => return None,
            }
        }
    }
    (!calls.is_empty()).then_some(calls)
}

/// The pointers that the function of a reduction loads from its lists; `None` if it does anything else with them, or cannot be looked at.
pub fn elements(call: Value) -> Option<Vec<Value>> {
    let function = call.operand(FUNCTION);
    if !function.is_function()
        || function.is_declaration()
        || !is_exact(function)
        || function.param_count() != 2
    {
        return None;
    }
    let mut work = vec![function.param(0), function.param(1)];
    let mut out = vec![];
    while let Some(pointer) = work.pop() {
        for user in pointer.users() {
            match user.opcode() {
                Opcode::LLVMGetElementPtr => work.push(user),
                Opcode::LLVMLoad if user.ty().is_plain_pointer() => out.push(user),
                _ => return None,
            }
        }
    }
    Some(out)
}

/// Whether an instruction stores into a reduction's list of private copies, which is a local.
pub fn stores_to_list(instruction: Value, call: Value) -> bool {
    let list = strip(call.operand(LIST));
    instruction.opcode() == Opcode::LLVMStore
        && strip(instruction.operand(1)) == list
        && list.is_instruction()
        && list.opcode() == Opcode::LLVMAlloca
}

/// The instructions that store addresses into the list of private copies of a call, which other calls may share.
pub fn stores_of_list(call: Value) -> Vec<Value> {
    let (mut stores, mut work) = (vec![], vec![call.operand(LIST)]);
    while let Some(pointer) = work.pop() {
        for user in pointer.users() {
            match user.opcode() {
                Opcode::LLVMGetElementPtr => work.push(user),
                Opcode::LLVMStore if user.operand(1) == pointer => stores.push(user),
                _ => {}
            }
        }
    }
    stores
}

/// Whether what a process has of a reduction goes to other processes as a message. Before anything is instrumented.
pub fn goes_as_message(module: Module, call: Value) -> bool {
    has_no_effects(call) && copied_bytes(module, call).is_some_and(|bytes| Packing::of(&bytes).is_some())
}

/// The calls of reductions in a module.
pub fn calls(module: Module) -> Vec<Value> {
    let entries = ENTRIES.iter().filter_map(|name| module.function(name));
    let calls = entries.flat_map(|entry| {
        entry.users().into_iter().filter(move |user| user.is_call() && user.callee() == entry)
    });
    calls.filter(|call| is_instrumented(call.parent_function())).collect()
}

/// The function that combines, of a call.
pub fn function(call: Value) -> Value {
    call.operand(FUNCTION)
}

/// The functions of reductions that look at nothing but the elements. Before anything is instrumented.
pub fn functions_without_effects(module: Module) -> HashSet<Value> {
    calls(module).into_iter().filter(|call| has_no_effects(*call)).map(function).collect()
}

/// Whether a reduction's function loads from its lists and elements, stores to elements, and does nothing else to memory.
fn has_no_effects(call: Value) -> bool {
    let Some(elements) = elements(call) else { return false };
    let function = function(call);
    let lists = [function.param(0), function.param(1)];
    function.blocks().into_iter().flat_map(Block::instructions).all(|instruction| {
        match instruction.opcode() {
            Opcode::LLVMLoad => {
                let from = strip(instruction.operand(0));
                elements.contains(&from) || lists.contains(&from)
            }
            Opcode::LLVMStore => {
                elements.contains(&strip(instruction.operand(1)))
                    && !instruction.operand(0).ty().holds_pointer()
            }
            Opcode::LLVMCall => match callee(instruction) {
                Callee::Intrinsic(name) => {
                    name.starts_with("llvm.dbg.")
                        || instruction.args().iter().all(|a| !a.ty().holds_pointer())
                }
                _ => false,
            },
            Opcode::LLVMAtomicRMW
            | Opcode::LLVMAtomicCmpXchg
            | Opcode::LLVMFence
            | Opcode::LLVMInvoke
            | Opcode::LLVMCallBr
            | Opcode::LLVMVAArg => false,
            _ => true,
        }
    })
}

/// Bytes of each element of a reduction's list; `None` if they are not all numbers in locals of known size.
pub fn copied_bytes(module: Module, call: Value) -> Option<Vec<u64>> {
    let list = call.operand(LIST);
    let count = usize::try_from(call.operand(COUNT).int()?).ok()?;
    let pointer_size = i64::from(module.pointer_size());
    let mut out = vec![None; count];
    for store in stores_of_list(call) {
        let (base, offset) = store.operand(1).constant_offset(module);
        let index = usize::try_from(offset / pointer_size).ok()?;
        if base != list || offset % pointer_size != 0 {
            return None;
        }
        let bytes = local_bytes(module, store.operand(0))?;
        // Copies of a loop with a reduction share the list.
        if out.get(index)?.is_some_and(|known| known != bytes) {
            return None;
        }
        out[index] = Some(bytes);
    }
    out.into_iter().collect()
}

/// Bytes of a local of numbers.
fn local_bytes(module: Module, local: Value) -> Option<u64> {
    if !local.is_instruction() || local.opcode() != Opcode::LLVMAlloca || local.operand(0).int() != Some(1) {
        return None;
    }
    let ty = local.allocated_type();
    let known = ty.is_fixed_size() && !ty.holds_pointer() && module.abi_align(ty) as usize <= ALIGN;
    known.then(|| module.alloc_size(ty))
}
