//! The private copies of a reduction, whose addresses the compiler puts into a list for `__kmpc_reduce`.
//!
//! ```text
//! store ptr %sum, ptr %list                    %sum and %list stay on the native stack
//! call i32 @__kmpc_reduce(..., ptr %list, ptr @combine, ...)
//! ```
//!
//! Soundness. Only threads of the same process get the list: the runtime hands it to the compiler's function, on one thread while the others wait,
//! and what the process has combined goes to the variable by code of the program (`runtime/src/omp/reduce.rs`). So lists and copies may be memory of
//! the process, if two things hold. The list is seen by nobody else: it is a local whose elements are stored, and that is handed to
//! these entries, and nothing more. And the function leaves no copy of an element behind: it is here to be looked at, loads pointers from its lists,
//! and these escape as little as a parameter does that does not (`escape`).

use crate::llvm::{Opcode, Value};

use super::callee::{Callee, callee, is_exact};

/// Arguments of the entries: the list, and the function.
const LIST: u32 = 4;
const FUNCTION: u32 = 5;

/// True of the argument that is the list of private copies.
pub fn is_list(name: &str, index: u32) -> bool {
    index == LIST && matches!(name, "__kmpc_reduce" | "__kmpc_reduce_nowait")
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
